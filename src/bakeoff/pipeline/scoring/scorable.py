"""Whether a run can score a measure: `validate` reports these problems, and `run` stops at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bakeoff.config.plan import Plan, System
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import Measure, parse
from bakeoff.measures.neighbours import TRUE_NEIGHBOURS
from bakeoff.types import Unit


def unscorable_reason(plan: Plan, chunks: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield each measure that a run of this plan can't score, with the reason; `chunks` is their number by
    chunker."""
    for name in plan.measures:
        measure = parse(name)
        why = _labels(measure) or _answers(measure, plan) or _neighbours(measure, plan, chunks)
        why = why or (_retrievers(measure, plan) if name == plan.primary else "")
        if why:
            yield name, why


def searches_vectors(system: System) -> bool:
    """Whether a system finds chunks by its own vector search, so that exact search is a valid reference."""
    return system.has_reference


def needs_chunk_counts(measure: Measure) -> bool:
    """Whether scoring a measure requires a minimum number of chunks."""
    return measure.needs is RequiredInput.NEIGHBOURS


def needs_whole_corpus(measure: Measure) -> bool:
    """Whether a measure depends on chunks that were not retrieved, because it counts all relevant ones."""
    return measure.needs is RequiredInput.JUDGMENTS and measure.unit in (Unit.CHUNK, Unit.SECTION)


def _retrievers(measure: Measure, plan: Plan) -> str:
    names = [system.label for system in plan.systems if system.retriever is not None]
    if not names or not needs_whole_corpus(measure):
        return ""
    return (
        f"{measure} counts all relevant {measure.unit}s of the corpus, but a retriever ({names[0]}) shows "
        "only those "
        "it returns. Choose a primary measure that counts documents or answers."
    )


def _labels(measure: Measure) -> str:
    if measure.needs is not RequiredInput.LABELS:
        return ""
    return f"{measure} needs {measure.needs}, which a run does not have. Remove it."


def _answers(measure: Measure, plan: Plan) -> str:
    """Refuse answers if k counts chunks: one chunk may hold several answers, which would share a rank, and
    precision could exceed 1."""
    if plan.conventions.k_counts != "chunks" or measure.unit is not Unit.ANSWER:
        return ""
    return (
        f"{measure} counts answers, and by these conventions k counts chunks (k_counts: chunks). "
        "Measure documents, or set conventions: {k_counts: units}."
    )


def _neighbours(measure: Measure, plan: Plan, chunks: Mapping[str, int]) -> str:
    """Refuse more exact neighbours than are retrieved, or than there are chunks."""
    if measure.needs is not RequiredInput.NEIGHBOURS:
        return ""
    systems = [system for system in plan.systems if searches_vectors(system)]
    needed = measure.k or 0 if measure.name == "kNN" else TRUE_NEIGHBOURS
    for system in systems:
        depth = system.depth or plan.settings.depth
        if depth < needed:
            return (
                f"{measure} needs the {needed} nearest chunks, but only {depth} are retrieved. "
                f"Set depth: {needed} or more."
            )
        count = chunks.get(system.chunker.label)
        if count is not None and count < needed:
            return (
                f"{measure} needs the {needed} nearest chunks, but {system.chunker.label} makes only "
                f"{count:,}. Remove it, or measure a larger corpus."
            )
    return ""
