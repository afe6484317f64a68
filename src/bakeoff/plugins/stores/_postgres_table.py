"""A pgvector collection's table as SQL: its columns, indexes and search statements.

Small vectors are an index over an expression of the full ones, which the table keeps: halfvec, or the signs
as bits. A sparse vector is a sparsevec; token vectors are an array, which no index covers.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from bakeoff.errors import StoreError
from bakeoff.plugins.kit.adapter import EF, PROBES, GraphBuild
from bakeoff.plugins.stores._postgres import MOST_EF
from bakeoff.protocols import SearchKnob
from bakeoff.types import Metric, PayloadField, Storage, VectorKind

LIMITS = {"hnsw": 2_000, "ivfflat": 2_000, "none": 16_000}
SIGNS = {Metric.COSINE: "<=>", Metric.DOT: "<#>", Metric.L2: "<->"}
OPERATORS = {Metric.COSINE: "vector_cosine_ops", Metric.DOT: "vector_ip_ops", Metric.L2: "vector_l2_ops"}
TYPES: dict[VectorKind, str] = {"dense": "vector({})", "sparse": "sparsevec({})", "tokens": "vector({})[]"}
MOST_WEIGHTS = {"hnsw": 1_000, "none": 16_000}
"""Most weights of a sparse vector that an index accepts."""
SMALL_LIMITS = {"float16": 4_000, "binary": 64_000}
COLUMNS = {"text": "text", "integer": "bigint", "number": "double precision"}
INDEXES = {"text": "hash", "integer": "btree", "number": "btree"}  # a B-tree accepts no text over 2.7 kB
FUSE = """WITH near AS ({near}), words AS ({words}), ranked AS (
SELECT id, row_number() OVER (ORDER BY far, id) AS place FROM near UNION ALL
SELECT id, row_number() OVER (ORDER BY score DESC, id) FROM words)
SELECT id, sum(1.0 / (60 + place))::float8 AS score FROM ranked GROUP BY id ORDER BY score DESC, id LIMIT {k}"""
MAXSIM = """SELECT id, score FROM "{table}" CROSS JOIN LATERAL (SELECT sum(near) AS score FROM (
SELECT max(-(mine <#> asked)) AS near FROM unnest(vector) AS mine,
unnest(%s::vector[]) WITH ORDINALITY AS one(asked, place) GROUP BY place) AS nearest) AS summed
WHERE score IS NOT NULL AND {condition} ORDER BY score DESC, id LIMIT {k}"""


class Build(GraphBuild):
    """Build settings of the index; ef_construction is at least twice m."""

    index: Literal["hnsw", "ivfflat", "none"] = "hnsw"
    lists: Annotated[int, Field(ge=1, le=32_768, description="IVFFlat: cells")] = 100

    def knob(self) -> SearchKnob | None:
        """The setting that trades recall for speed; the engine keeps at most 1,000 candidates."""
        cells = replace(PROBES, high=self.lists)
        return {"hnsw": replace(EF, high=MOST_EF), "ivfflat": cells}.get(self.index)

    def options(self) -> str:
        """Index options as SQL."""
        if self.index == "hnsw":
            return f"m = {self.m}, ef_construction = {max(self.ef_construction, 2 * self.m)}"
        return f"lists = {self.lists}"


@functools.lru_cache(1024)
def nearest(table: str, far: str, k: int, condition: str = "true") -> str:
    """SQL for the k rows nearest to a vector; values: the vector, the condition's.

    The limit is part of the text, because with a parameter the server replans every search; and equal text is
    the same object, by which the client finds its prepared statement.
    """
    return f'SELECT id, {far} AS far FROM "{table}" WHERE {condition} ORDER BY far LIMIT {k}'  # noqa: S608


@functools.lru_cache(1024)
def rescored(near: str, table: str, far: str, k: int) -> str:
    """SQL for the k nearest of a statement's rows by their full vectors; values: the vector, the statement's."""
    full = f'SELECT id, {far} AS far FROM ({near}) AS near JOIN "{table}" USING (id)'  # noqa: S608
    return f"{full} ORDER BY 2 LIMIT {k}"


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """One collection's table; 0 dimensions means texts only."""

    name: str
    dims: int
    metric: Metric
    build: Build
    words: str = "english"
    """The engine's text search configuration."""
    storage: Storage = "float32"
    kind: VectorKind = "dense"

    @property
    def full_distance(self) -> str:
        """Distance of the full vectors to a value."""
        return f"vector {SIGNS[self.metric]} %s"

    @property
    def distance(self) -> str:
        """Distance of the indexed vectors to a value."""
        if self.storage == "float32":
            return self.full_distance
        sign = "<~>" if self.storage == "binary" else SIGNS[self.metric]
        return f"{self._index_expression('vector')} {sign} {self._index_expression('%s::vector')}"

    def _index_expression(self, value: str) -> str:
        if self.storage == "float16":
            return f"({value}::halfvec({self.dims}))"
        return f"(binary_quantize({value})::bit({self.dims}))" if self.storage == "binary" else value

    @property
    def operators(self) -> str:
        """Operator class of the vectors' index."""
        if self.storage == "binary":
            return "bit_hamming_ops"
        small = "halfvec" if self.storage == "float16" else "vector"
        return OPERATORS[self.metric].replace("vector", "sparsevec" if self.kind == "sparse" else small)

    @property
    def index(self) -> str | None:
        """Kind of the vectors' index, if they have one."""
        return (
            self.build.index if self.dims and self.build.index != "none" and self.kind != "tokens" else None
        )

    @property
    def most_weights(self) -> int:
        """Most weights of a sparse vector; raises StoreError if the index takes no sparse vectors."""
        most = MOST_WEIGHTS.get(self.build.index)
        if most is None:
            raise StoreError(
                f"pgvector has no {self.build.index} index over sparse vectors. Use build.index hnsw or none."
            )
        return most

    def create_table(self, fields: dict[str, PayloadField]) -> str:
        """SQL that replaces the table with an empty one; raises StoreError if its index takes fewer dimensions."""
        index, limit = self.index or "none", LIMITS[self.index or "none"]
        if index != "none":
            limit = SMALL_LIMITS.get(self.storage, limit)
        if self.kind != "sparse" and self.dims > limit:
            hint = " build.index none takes 16,000, but compares every row." if index != "none" else ""
            raise StoreError(
                f"pgvector: {self.dims:,} dimensions are over the {limit:,} of index {index}.{hint}"
            )
        columns = [
            "id bigint PRIMARY KEY",
            f"vector {TYPES[self.kind].format(max(self.dims, 1))}",
            "text text",
        ]
        columns += [f"{column} {COLUMNS[field.kind]} NOT NULL" for column, field in fields.items()]
        columns += [f"words tsvector GENERATED ALWAYS AS (to_tsvector('{self.words}', text)) STORED"]
        return f'DROP TABLE IF EXISTS "{self.name}"; CREATE TABLE "{self.name}" ({", ".join(columns)})'

    def create_indexes(self, fields: dict[str, PayloadField], *, words: bool) -> Iterator[str]:
        """SQL for an index per payload field, one for the words if any, and one for the vectors."""
        parts = [f"{INDEXES[field.kind]} ({column})" for column, field in fields.items()]
        parts += ["gin (words)"] if words else []
        if self.index:
            column = self._index_expression("vector")
            parts += [f"{self.index} ({column} {self.operators}) WITH ({self.build.options()})"]
        yield from (f'CREATE INDEX ON "{self.name}" USING {part}' for part in parts)

    def nearest(self, k: int, condition: str = "true") -> str:
        """SQL for the k rows nearest to a vector; values: the vector, the condition's."""
        return nearest(self.name, self.distance, k, condition)

    def rescored(self, k: int, candidates: int, condition: str = "true") -> str:
        """SQL for the k nearest by the full vectors among candidates; values: the vector twice, the condition's."""
        return rescored(self.nearest(candidates, condition), self.name, self.full_distance, k)

    def best_by_maxsim(self, k: int, condition: str) -> str:
        """SQL for the k best rows by MaxSim over every row; values: the query's tokens, the condition's."""
        return MAXSIM.format(table=self.name, condition=condition, k=k)

    def matching(self, k: int) -> str:
        """SQL for the k best rows with any of a text's words, ranked with the length of their text; value: text."""
        asked = f"replace(plainto_tsquery('{self.words}', %s)::text, ' & ', ' | ')::tsquery AS asked"
        ranked = "ts_rank(words, asked, 1)::float8 AS score"
        found = f'SELECT id, {ranked} FROM "{self.name}", (SELECT {asked}) AS one WHERE words @@ asked'  # noqa: S608
        return f"{found} ORDER BY score DESC, id LIMIT {k}"

    def fuse_rankings(self, deep: int, k: int) -> str:
        """SQL for the k best by reciprocal rank fusion of nearest rows and best by words; values: vector, text."""
        return FUSE.format(near=self.nearest(deep), words=self.matching(deep), k=k)

    def select_rows(self, columns: tuple[str, ...]) -> str:
        """SQL for some columns of some rows; value: ids."""
        return f'SELECT {", ".join(columns)} FROM "{self.name}" WHERE id = ANY(%s)'  # noqa: S608

    def delete_rows(self) -> str:
        """SQL that deletes some rows; value: ids."""
        return f'DELETE FROM "{self.name}" WHERE id = ANY(%s)'  # noqa: S608
