"""The record of a run, stored as run.json: everything that is not a row of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExcludedQuery(_Record):
    """A query that a mean leaves out, and why."""

    query_id: str
    measure: str
    reason: str


class RuleHit(_Record):
    """What one rule of a query's truth matched."""

    query_id: str
    source: str
    rule: str
    chunking: str
    hits: int
    documents: int
    min_documents: int | None = None


class UnreadRecord(_Record):
    """A file that a query's truth names but that was not read: its name or pattern, and the reason."""

    query_id: str
    name: str
    file: str
    reason: str


class LeftOutRecord(_Record):
    """Files of one format that were not read: their number, and one example with its reason."""

    kind: str
    files: int
    example: str
    reason: str
    has_text: bool


class EncodingRecord(_Record):
    """A document that is not UTF-8, its encoding, and how it was chosen: mark, given, declared or guessed."""

    document: str
    encoding: str
    basis: str


class CorpusRecord(_Record):
    """What was read, by which readers, and what was not; `skipped` lists some files."""

    fingerprint: str
    documents: int
    characters: int
    language: str = ""
    """As printed, with "(detected)" if it was not set; '' if unknown."""
    readers: dict[str, int] = {}
    left_out: list[LeftOutRecord] = []
    skipped: list[tuple[str, str]] = []
    other_encodings: list[EncodingRecord] = []
    """The first thousand."""


class ChunkingRecord(_Record):
    """Chunks of one chunker; lengths in characters: minimum, quartiles, maximum."""

    chunker: str
    fingerprint: str
    chunks: int
    mean: float
    quantiles: tuple[int, int, int, int, int]


class LengthRecord(_Record):
    """Chunk lengths in a model's tokens, and the share of tokens beyond its limit."""

    chunker: str
    embedder: str
    max_tokens: int | None
    quantiles: tuple[int, int, int, int, int]
    cut: float
    cut_chunks: float
    read: int | None = None


class CanaryRecord(_Record):
    """A model's vectors of ten fixed texts: 16-bit floats in base64."""

    embedder: str
    model: str
    identity: str
    packed: str


class EmptySearchRecord(_Record):
    """A search that returned nothing for some answerable queries; `examples` are (id, text).

    `lost` counts those of the queries whose whole answer is missing in the text that the reader made.
    """

    system: str
    search: str
    queries: int
    of: int
    examples: list[tuple[str, str]] = []
    lost: int = 0


class PlacementRecord(_Record):
    """How a retriever's results were placed in the corpus: counts per method over all queries.

    `mean` is its primary score with results outside the corpus counted as wrong; `high` if they were all
    right. `short` counts the queries with fewer results than that measure looks at.
    """

    system: str
    queries: int
    given: int
    document: int
    exact: int
    folded: int
    overlap: int
    unlocated: int
    unknown_id: int
    not_placed: int
    ambiguous: int
    repeated: int
    beyond: int
    short: int = 0
    mean: float | None = None
    high: float | None = None
    examples: list[str] = []

    @property
    def outside(self) -> int:
        """Results that are nowhere in the corpus."""
        return self.unknown_id + self.not_placed

    @property
    def results(self) -> int:
        """All results."""
        inside = self.given + self.document + self.exact + self.folded + self.overlap + self.unlocated
        return inside + self.outside


class GuaranteeRecord(_Record):
    """A store's setting that trades speed for a guarantee: the run's value, and the engine's default."""

    system: str
    store: str
    name: str
    kind: Literal["consistency", "durability", "refresh"]
    value: str
    default: str


class RecommendationRecord(_Record):
    """The run's recommendation, in the words every screen uses."""

    system: str
    strength: str | None = None
    """`take` if at most the margin is given up, else `start`; None in runs of an earlier version."""
    grounds: str
    sentence: str
    lines: list[tuple[str, str]]
    banner: str = ""
    expected: float | None = None
    bound: float | None = None
    candidates: list[str] = []
    decided_by: list[str] = []


class RunRecord(_Record):
    """One run: its experiment, fingerprints, conventions, machine, versions, seeds, exclusions and notes.

    `experiment_place` is a fingerprint of the experiment file's location, relative to the run's folder.
    """

    schema_version: int = SCHEMA_VERSION
    run: str
    name: str
    status: str
    plan: str
    started: str
    finished: str | None = None
    bakeoff: str
    experiment: str
    experiment_file: str = ""
    experiment_place: str = ""
    models: str = ""
    """The text of the models.toml that named the embedders."""
    models_only: list[str] = []
    """Models from it that the user chose; [] for all."""
    primary: str
    measures: list[str]
    depth: int
    seed: int
    runs: int
    warm_up: dict[str, int] = {}
    preset: str | None = None
    current: str | None = None
    """The system in use today, by words of its label."""
    limits: dict[str, float | None]
    targets: dict[str, float] = {}
    conventions: dict[str, object]
    machine: dict[str, str | int | float]
    versions: dict[str, str]
    corpus: CorpusRecord | None = None
    chunkings: list[ChunkingRecord] = []
    lengths: list[LengthRecord] = []
    canaries: list[CanaryRecord] = []
    """These let a later run detect a model that changed under the same name."""
    queries_fingerprint: str = ""
    truth_fingerprint: str = ""
    truth_hits: list[RuleHit] = []
    unread_truth: list[UnreadRecord] = []
    """What is missing in the truth, if the experiment allows that: the means of these queries are marked."""
    leaked: list[str] = []
    """Queries whose text occurs word for word in a document: the verdict is also given without them."""
    excluded: list[ExcludedQuery] = []
    recommendation: RecommendationRecord | None = None
    """Scored by the run's rules; a review may change it. None in runs of an earlier version."""
    systems: list[str] = []
    resumed: dict[str, str] = {}
    """Date of each system that an earlier start of this run finished."""
    empty_searches: list[EmptySearchRecord] = []
    placements: list[PlacementRecord] = []
    guarantees: list[GuaranteeRecord] = []
    notes: list[str] = []
    tables: dict[str, str] = {}
    """Hash of each result table's file, by table name."""


@dataclass(frozen=True, slots=True)
class ReviewedTruth:
    """Queries of a run that people judged completely for every system, who judged, and to which rank."""

    queries: tuple[str, ...]
    reviewers: tuple[str, ...]
    k: int
    of: int

    @property
    def sentence(self) -> str:
        """Sentence on whose judgments the scores follow."""
        people = ", ".join(self.reviewers)
        rest = self.of - len(self.queries)
        others = f"; rules judge the other {rest:,}" if rest else ""
        return (
            f"People ({people}) judged the first {self.k} results of every system for {len(self.queries):,} of "
            f"{self.of:,} questions, and their judgments replace the rules there{others}."
        )
