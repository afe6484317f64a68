"""What validation examines: the plan, the queries, the corpus, its chunks if needed, and the resolved truth."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from bakeoff.config import yaml_document
from bakeoff.config.plan import Plan, PluginSpec
from bakeoff.config.yaml_document import Keys, YamlDocument
from bakeoff.errors import ExperimentError, TruthError
from bakeoff.measures.conventions import Conventions
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.presets import Preset, preset
from bakeoff.pipeline.chunk import ChunkedCorpus
from bakeoff.pipeline.given_vectors import chunk_supplier
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.reading.readings import with_quoted_passages
from bakeoff.pipeline.scoring.scorable import needs_chunk_counts
from bakeoff.runs.checks.filters import left_documents, needs_chunk_fields
from bakeoff.truth.human_judgments import read_judgments, with_judgments
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.resolve import Truth, resolve
from bakeoff.truth.rules import leaves
from bakeoff.types import Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bakeoff.truth.units import Judged


@dataclass(frozen=True)
class ValidationContext:
    """An experiment with everything that is known without a model."""

    plan: Plan
    queries: QuerySet
    corpus: ReadCorpus
    chunkings: Mapping[str, ChunkedCorpus]
    truth: Truth
    located: YamlDocument
    _judged: dict[tuple[Unit, str], dict[str, Judged]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def preset(self) -> Preset | None:
        """The preset the experiment names."""
        return named_preset(self.plan)

    @property
    def conventions(self) -> Conventions:
        """The measuring conventions."""
        return self.plan.conventions

    @property
    def chunk_counts(self) -> dict[str, int]:
        """Number of chunks per chunker, if the corpus was chunked."""
        return {label: chunking.chunks.num_rows for label, chunking in self.chunkings.items()}

    def where(self, path: Keys) -> str:
        """ "bakeoff.yaml, line 14" for a path in the experiment."""
        return self.located.where(path)

    @cached_property
    def labels(self) -> dict[str, str]:
        """Chunker label by chunking fingerprint; '' for judgments bound to none."""
        return {"": "", **{chunking.fingerprint: label for label, chunking in self.chunkings.items()}}

    @cached_property
    def filtered(self) -> dict[int, np.ndarray]:
        """Mask of the documents that pass each query's filter."""
        return left_documents(self.queries, self.corpus)

    @cached_property
    def bound(self) -> bool:
        """Whether any judgment applies to one chunking only."""
        from bakeoff.truth.units import bound_chunkings

        return bool(bound_chunkings(self.truth.judgments))

    def unit_judgments(self, unit: Unit, source: str = "") -> dict[str, Judged]:
        """Judgments of a unit by chunker, of one source or all; a single entry '' if they are the same for
        any chunker."""
        if (unit, source) not in self._judged:
            self._judged[unit, source] = self._derive_units(unit, source)
        return self._judged[unit, source]

    def _derive_units(self, unit: Unit, source: str) -> dict[str, Judged]:
        from bakeoff.storage.schemas import CHUNKS
        from bakeoff.truth.units import derive_units, judgments_from

        table = judgments_from(self.truth.judgments, source)
        if unit is Unit.ANSWER:
            import pyarrow.compute as pc

            table = table.filter(pc.is_valid(table["start"]))
        if not self.bound and unit in (Unit.DOCUMENT, Unit.ANSWER):
            return {
                "": derive_units(table, CHUNKS.arrow().empty_table(), "", unit, conventions=self.conventions)
            }
        units = {}
        for label, chunking in self.chunkings.items():
            # if no rule applies to a chunker's chunks, the truth checks report it
            with contextlib.suppress(TruthError):
                units[label] = derive_units(
                    table, chunking.chunks, chunking.fingerprint, unit, conventions=self.conventions
                )
        return units

    def relevant(self, unit: Unit, rel: int | None = None) -> dict[str, np.ndarray]:
        """Number of relevant items per query, by chunker; relevant means grade `rel` or the conventions'."""
        import numpy as np

        count, lowest = len(self.queries.queries), self.conventions.rel if rel is None else rel
        return {
            label: np.bincount(judged.query[judged.grade >= lowest], minlength=count)
            for label, judged in self.unit_judgments(unit).items()
        }


def named_preset(plan: Plan) -> Preset | None:
    """The preset a plan names; an unknown one is an error."""
    return preset(plan.settings.preset) if plan.settings.preset else None


def plan_truth(plan: Plan, queries: QuerySet, corpus: ReadCorpus, chunks: Mapping[str, pa.Table]) -> Truth:
    """The truth a plan is scored with, including people's judgments if it names a set of them."""
    corpus = with_quoted_passages(corpus, queries)
    skipped, allowed = corpus.skipped, plan.settings.allow
    truth = resolve(queries, corpus.documents, chunks, unread=skipped, allowed=allowed)
    if plan.settings.judgments is None:
        return truth
    judged = read_judgments(plan.folder / plan.settings.judgments)
    return with_judgments(truth, queries, corpus.documents, judged, unread=skipped, allowed=allowed)


def experiment_text(plan: Plan, name: str) -> YamlDocument:
    """The experiment file with the line of every value."""
    return yaml_document.parse(plan.text, name, ExperimentError)


def chunkers(plan: Plan) -> list[PluginSpec]:
    """The chunkers of a plan, each once; if readers are compared, on the first reader's text.

    Retrievers have their own chunks and are left out.
    """
    cut = (system.chunker for system in plan.systems if system.retriever is None)
    parts = {part.label: part for part in cut}.values()
    return [part for part in parts if part.reading in (None, plan.readings[0])]


def needs_chunks(plan: Plan, queries: QuerySet) -> bool:
    """Whether chunks come from elsewhere, or a rule or measure refers to chunks: then the corpus is chunked."""
    if any(map(chunk_supplier, chunkers(plan))):
        return True
    rules = (rule for rule in queries.rules if rule is not None)
    over = any(
        "chunks" in (getattr(leaf, "over", ""), getattr(leaf, "written", ""))
        for rule in rules
        for _, leaf in leaves(rule)
    )
    return over or needs_chunk_fields(queries) or any(_by_chunk(parse(name)) for name in plan.measures)


def _by_chunk(measure: Measure) -> bool:
    by_unit = measure.needs is RequiredInput.JUDGMENTS and measure.unit in (Unit.CHUNK, Unit.SECTION)
    return by_unit or measure.needs is RequiredInput.SECTIONS or needs_chunk_counts(measure)
