"""What adapters of other people's engines share: strict settings, their errors in our words, one meaning of a score.

Payloads and filters are in `_payload`, and in `_beside` for engines without; graphs kept as a file are in `_graph`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, ParamSpec, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from bakeoff.errors import StoreError
from bakeoff.protocols import Guarantee, SearchKnob
from bakeoff.storage.redaction import redact
from bakeoff.types import Batch, Hits, Metric

if TYPE_CHECKING:
    import pyarrow as pa

P = ParamSpec("P")
T = TypeVar("T")


class Settings(BaseModel):
    """Settings that refuse unknown keys and do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoQuery(Settings):
    """Nothing to choose when searching."""


class GraphBuild(Settings):
    """What shapes an HNSW graph."""

    m: Annotated[int, Field(ge=2, le=128, description="links a node")] = 16
    ef_construction: Annotated[int, Field(ge=4, description="candidates kept while building")] = 200


class GraphParams(Settings):
    """How an HNSW index is built."""

    build: GraphBuild = GraphBuild()


class GraphQuery(Settings):
    """What shapes a search in an HNSW graph."""

    ef: Annotated[int, Field(ge=1, description="candidates kept; never under k")] = 64


EF = SearchKnob("ef", counts_rows=True, sweep=(16, 32, 64, 128, 256))
PROBES = SearchKnob("probes", sweep=(1, 2, 4, 8, 16, 32))


def guarantee(
    kind: Literal["consistency", "durability", "refresh"],
    place: str,
    model: BaseModel,
    own: str | None = None,
) -> Guarantee:
    """The guarantee that a field of Params or Query sets; `own` is the engine's default where the field's is another.

    `place` is the path of the field from the Params ("build.refresh_interval") or from the Query ("query.consistency").
    """
    field = place.rpartition(".")[2]
    default = type(model).model_fields[field].default
    return Guarantee(place, kind, str(getattr(model, field)), own if own is not None else str(default))


class TunedByEf:
    """A store whose index is always a graph, searched with `ef` candidates."""

    @classmethod
    def search_knob(cls, params: Settings) -> SearchKnob | None:  # noqa: ARG003 - every such index is a graph
        """The number of candidates."""
        return EF


def translate_errors(
    engine: str, *errors: type[Exception], advice: Callable[[Exception], str] = lambda _: ""
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator: the engine's errors become StoreErrors with the engine's own words; "" is the store's `engine`."""

    def wrap(method: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return method(*args, **kwargs)
            except StoreError:
                raise
            except errors as exc:
                name = engine or getattr(args[0], "engine", "the store")
                raise StoreError(
                    redact(f"{name}, {method.__name__.lstrip('_')}: {exc}{advice(exc)}")
                ) from exc

        return call

    return wrap


def make_hits(ids: Any, scores: Any) -> Hits:
    """An answer from whatever lists or arrays an engine returns."""
    return Hits(np.asarray(ids, np.int64), np.asarray(scores, np.float64))


def score_from_distance(distances: Any, metric: Metric) -> np.ndarray:
    """Scores from an engine's distances: minus the squared distance, or 1 − distance for cosine and dot."""
    far = np.asarray(distances, np.float64)
    return -far if metric is Metric.L2 else 1.0 - far


def expect_rows(engine: str, held: int, inserted: int) -> None:
    """Every inserted row is held, or a StoreError says how many are."""
    if held != inserted:
        raise StoreError(f"{engine} holds {held} of {inserted} rows after building its index.")


def arrow_rows(batch: Batch, more: dict[str, pa.Array] | None = None) -> pa.Table:
    """A batch as a table of `id`, `vector` (a list of fixed length), and what more columns are given."""
    import pyarrow as pa

    assert batch.vectors is not None
    flat = pa.array(np.ascontiguousarray(batch.vectors, np.float32).ravel())
    vectors = pa.FixedSizeListArray.from_arrays(flat, batch.vectors.shape[1])
    return pa.table({"id": batch.ids, "vector": vectors, **(more or {})})


def require_open(engine: str, handle: T | None) -> T:
    """What a store searches with, or a StoreError where the store is closed."""
    if handle is None:
        raise StoreError(f"{engine} is closed: create or open a collection before searching.")
    return handle


def require_dims(engine: str, held: int, vector: np.ndarray) -> None:
    """A query has the dimension of the collection, or a StoreError says both."""
    if vector.shape[-1] != held:
        raise StoreError(f"{engine} holds vectors of {held} numbers; the query has {vector.shape[-1]}.")


def expect_dims(engine: str, held: int, asked: int) -> None:
    """An existing collection's vectors have the length that was asked for, or a StoreError says both."""
    if held != asked:
        raise StoreError(
            f"{engine} holds vectors of {held} numbers in this collection; {asked} were asked for."
        )


def installed_engine(*packages: str) -> str:
    """An engine that is a package of this Python: its name and version."""
    return ", ".join(f"{package} {version(package)}" for package in packages)


class PackagedEngine:
    """A store whose engine is a package of this Python."""

    package: ClassVar[str]

    def engine_version(self) -> str:
        """The package's name and version."""
        return installed_engine(self.package)
