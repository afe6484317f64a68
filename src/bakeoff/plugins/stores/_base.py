"""What adapters of other people's engines share: strict settings, their errors in our words, one meaning of a score."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from bakeoff.errors import StoreError
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


class GraphQuery(Settings):
    """What shapes a search in an HNSW graph."""

    ef: Annotated[int, Field(ge=1, description="candidates kept; never under k")] = 64


def translated(engine: str, *errors: type[Exception]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator: the engine's errors become StoreErrors with the engine's own words."""

    def wrap(method: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return method(*args, **kwargs)
            except StoreError:
                raise
            except errors as exc:
                raise StoreError(f"{engine}, {method.__name__}: {exc}") from exc

        return call

    return wrap


def hits(ids: Any, scores: Any) -> Hits:
    """An answer from whatever lists or arrays an engine returns."""
    return Hits(np.asarray(ids, np.int64), np.asarray(scores, np.float64))


def nearness(distances: Any, metric: Metric) -> np.ndarray:
    """Scores from an engine's distances: minus the squared distance, or 1 − distance for cosine and dot."""
    far = np.asarray(distances, np.float64)
    return -far if metric is Metric.L2 else 1.0 - far


def expect_rows(engine: str, held: int, inserted: int) -> None:
    """Every inserted row is held, or a StoreError says how many are."""
    if held != inserted:
        raise StoreError(f"{engine} holds {held} of {inserted} rows after building its index.")


def arrow_rows(batch: Batch) -> pa.Table:
    """A batch as a table of `id` and `vector`, a list of fixed length."""
    import pyarrow as pa

    assert batch.vectors is not None
    flat = pa.array(np.ascontiguousarray(batch.vectors, np.float32).ravel())
    vectors = pa.FixedSizeListArray.from_arrays(flat, batch.vectors.shape[1])
    return pa.table({"id": batch.ids, "vector": vectors})
