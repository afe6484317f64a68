"""What every store adapter needs: strict settings, translated errors, scores, and checks of rows and dimensions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.metadata import version
from inspect import isfunction
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast

import numpy as np
from pydantic import BaseModel, Field

from bakeoff.errors import StoreError
from bakeoff.plugins._settings import Settings as Settings  # noqa: PLC0414 - part of the kit
from bakeoff.protocols import Guarantee, SearchKnob
from bakeoff.storage.redaction import redact
from bakeoff.types import Hits, Metric, Storage

D = TypeVar("D", bound=Callable[..., Any])
T = TypeVar("T")


class NoQuery(Settings):
    """A search without settings."""


class GraphBuild(Settings):
    """Build settings of an HNSW graph."""

    m: Annotated[int, Field(ge=2, le=128, description="links per node")] = 16
    ef_construction: Annotated[int, Field(ge=4, description="candidates kept while building")] = 200


class GraphParams(Settings):
    """Parameters of a store whose index is an HNSW graph."""

    build: GraphBuild = GraphBuild()


class GraphQuery(Settings):
    """Search settings of an HNSW graph."""

    ef: Annotated[int, Field(ge=1, description="candidates kept; never under k")] = 64


EF = SearchKnob("ef", counts_rows=True, sweep=(16, 32, 64, 128, 256))
PROBES = SearchKnob("probes", sweep=(1, 2, 4, 8, 16, 32))


def guarantee(
    kind: Literal["consistency", "durability", "refresh"],
    place: str,
    model: BaseModel,
    own: str | None = None,
) -> Guarantee:
    """The guarantee that a field of Params or Query sets; `own` is the engine's default if it differs from the field's.

    `place` is the path of the field from the Params ("build.refresh_interval") or from the Query ("query.consistency").
    """
    field = place.rpartition(".")[2]
    default = type(model).model_fields[field].default
    return Guarantee(place, kind, str(getattr(model, field)), own if own is not None else str(default))


class TunedByEf:
    """Mixin for a store whose index is always a graph, searched with `ef` candidates."""

    @classmethod
    def search_knob(cls, params: Settings) -> SearchKnob | None:  # noqa: ARG003 - every such index is a graph
        """The number of candidates."""
        return EF


def translate_errors(
    engine: str, *errors: type[Exception], advice: Callable[[Exception], str] = lambda _: ""
) -> Callable[[D], D]:
    """Decorate a method, or a store for all its public methods, so that the engine's errors become StoreErrors.

    Engine "" means the store's `engine`.
    """

    def decorate(target: D) -> D:
        if not isinstance(target, type):
            return wrap(target)
        for name, method in list(vars(target).items()):
            if isfunction(method) and not name.startswith("_"):
                setattr(target, name, wrap(method))
        return target

    def wrap(method: D) -> D:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return method(*args, **kwargs)
            except StoreError:
                raise
            except errors as exc:
                name = engine or getattr(args[0], "engine", "the store")
                text = (
                    f"{name}, {method.__name__.lstrip('_')}: {exc}{advice(exc)}{_not_listening(exc, args[0])}"
                )
                raise StoreError(redact(text)) from exc

        return cast(D, call)

    return decorate


def _not_listening(exc: Exception, store: object) -> str:
    """Advice where nothing listens at the server's address, with the store's `address`; empty for other errors."""
    refused = isinstance(exc, ConnectionRefusedError) or "connection refused" in str(exc).lower()
    address = getattr(store, "address", "")
    at = f" by {address}" if address else ""
    return f"{at}. Check that the server is running and its address is correct" if refused else ""


def make_hits(ids: object, scores: object) -> Hits:
    """Build hits from an engine's lists or arrays."""
    return Hits(np.asarray(ids, np.int64), np.asarray(scores, np.float64))


def score_from_distance(distances: object, metric: Metric) -> np.ndarray:
    """Scores from an engine's distances: minus the squared distance, or 1 − distance for cosine and dot."""
    far = np.asarray(distances, np.float64)
    return -far if metric is Metric.L2 else 1.0 - far


def expect_rows(engine: str, held: int, inserted: int) -> None:
    """Raise a StoreError unless every inserted row is held."""
    if held != inserted:
        raise StoreError(f"{engine} holds {held} of {inserted} rows after building its index.")


def require_open(engine: str, handle: T | None) -> T:
    """The handle a store searches with; a closed store, whose handle is None, raises a StoreError."""
    if handle is None:
        raise StoreError(f"{engine} is closed: create or open a collection before searching.")
    return handle


def require_dims(engine: str, held: int, vector: np.ndarray) -> None:
    """Raise a StoreError unless a query has the dimension of the collection."""
    if vector.shape[-1] != held:
        raise StoreError(f"{engine} holds vectors of {held} numbers, but the query has {vector.shape[-1]}.")


def expect_dims(engine: str, held: int, asked: int) -> None:
    """Raise a StoreError unless an existing collection has the requested dimension."""
    if held != asked:
        raise StoreError(
            f"{engine} holds vectors of {held} numbers in this collection; {asked} were asked for."
        )


def installed_engine(*packages: str) -> str:
    """Names and versions of installed packages."""
    return ", ".join(f"{package} {version(package)}" for package in packages)


class SmallVectors:
    """Mixin for a store that can also keep vectors in the number formats `storages`; `_storage` is the choice."""

    storages: ClassVar[tuple[Storage, ...]]
    _storage: Storage = "float32"

    def set_storage(self, storage: Storage) -> None:
        """Choose the number format, before `create` or `open`."""
        if storage not in ("float32", *self.storages):
            raise StoreError(f"vectors can be kept as float32, {', '.join(self.storages)}, not as {storage}.")
        self._storage = storage


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1 in float32; zeros stay zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def sign_bits(rows: np.ndarray) -> np.ndarray:
    """One bit per dimension, 1 if positive, packed into bytes; the last byte is zero-padded."""
    return np.packbits(np.asarray(rows) > 0, axis=-1)


def score_from_hamming(distances: object, dims: int) -> np.ndarray:
    """Scores from Hamming distances of signs: 1 if all agree, −1 if none does."""
    return 1.0 - 2.0 * np.asarray(distances, np.float64) / dims


class PackagedEngine:
    """Mixin for a store whose engine is a Python package."""

    package: ClassVar[str]

    def engine_version(self) -> str:
        """The name and version of the package."""
        return installed_engine(self.package)
