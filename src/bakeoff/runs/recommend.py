"""Recommends a system from a result, with the warnings that affect the decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bakeoff.corpus.languages import LANGUAGES, detect_language
from bakeoff.measures.ceilings import describe_exhausted_depth
from bakeoff.measures.names import parse
from bakeoff.runs.analysis import Result
from bakeoff.runs.decisive_systems import MOST_COMPARED, compares_all
from bakeoff.runs.empty_searches import empty_search_sentences
from bakeoff.runs.record import RecommendationRecord
from bakeoff.runs.system_needs import decision_rule
from bakeoff.runs.vector_forms import smallest_form_sentence
from bakeoff.runs.verdict import gather_evidence
from bakeoff.stats.number_format import questions
from bakeoff.stats.recommendation_text import Recommendation, recommend
from bakeoff.storage.catalogue import entries
from bakeoff.truth.human_judgments import NOT_BY_PEOPLE

LAST_LATIN = 0x024F
NON_LATIN = 0.2
"""Questions count as non-Latin above this share of their letters."""


def recommend_run(result: Result) -> Recommendation | None:
    """The recommendation under the experiment's rule; None if no system finished."""
    if not result.done:
        return None
    recommendation = recommend(gather_evidence(result), result.verdict, decision_rule(result))
    vectors = smallest_form_sentence(result, recommendation.system)
    warnings = tuple(_warnings(result, recommendation))
    return replace(recommendation, warnings=warnings, banner=_banner(result), vectors=vectors)


def summary_sentence(result: Result) -> str:
    """One line on a run: its recommendation, or that no system finished."""
    recommendation = result.recommendation
    return (
        "No system finished, so none can be recommended."
        if recommendation is None
        else recommendation.sentence
    )


def recommendation_record(result: Result) -> RecommendationRecord | None:
    """The recommendation in the form of run.json."""
    recommendation = result.recommendation
    if recommendation is None:
        return None
    return RecommendationRecord(
        system=recommendation.system,
        strength=str(recommendation.strength),
        grounds=str(recommendation.grounds),
        sentence=recommendation.sentence,
        lines=list(recommendation.lines),
        banner=recommendation.banner,
        expected=recommendation.expected,
        bound=recommendation.bound,
        candidates=list(recommendation.candidates),
        decided_by=list(recommendation.decided_by),
    )


def _banner(result: Result) -> str:
    drafts, every = _drafts(result), result.queries.num_rows
    if not every or drafts < every:
        return ""
    return (
        f"All {questions(every)} are machine-written drafts: they show that the systems work, not which "
        "one serves your users. Write or review some before you decide."
    )


def _warnings(result: Result, recommendation: Recommendation) -> Iterator[str]:
    from bakeoff.pipeline.canary import MIXED

    drafts, every = _drafts(result), result.queries.num_rows
    if 0 < drafts < every:
        yield f"{drafts:,} of {questions(every)} are machine-written drafts."
    yield from (note for note in result.record.notes if NOT_BY_PEOPLE in note or MIXED in note)
    yield from _exhausted(result)
    yield from _failure_notes(result)
    if not compares_all(result):
        yield f"Only the {MOST_COMPARED} best of {len(result.done):,} systems are compared."
    yield from _unread(result)
    yield from empty_search_sentences(result.record.empty_searches)
    yield from _leak_notes(result, recommendation)
    yield from _stand_ins(result, recommendation.system)
    yield from _non_latin(result, recommendation.system)


def _drafts(result: Result) -> int:
    return sum(result.queries["synthetic"].to_pylist())


def _exhausted(result: Result) -> Iterator[str]:
    """A primary measure that counts every document of the corpus."""
    documents = result.record.corpus.documents if result.record.corpus is not None else 0
    if why := describe_exhausted_depth(parse(result.record.primary), documents):
        yield why


def _failure_notes(result: Result) -> Iterator[str]:
    if result.failed:
        count, every = len(result.failed), len(result.record.systems)
        yield f"{count:,} of {every:,} systems failed and {'is' if count == 1 else 'are'} not compared."


def _unread(result: Result) -> Iterator[str]:
    """Files with text that were not read."""
    for one in result.record.corpus.left_out if result.record.corpus is not None else ():
        if one.has_text:
            files = f"1 {one.kind} file was" if one.files == 1 else f"{one.files:,} {one.kind} files were"
            yield f"{files} not read ({one.reason})."


def _leak_notes(result: Result, recommendation: Recommendation) -> Iterator[str]:
    """The recommendation without the questions that occur word for word in a document, if it differs (F10)."""
    leaked = result.record.leaked
    if not leaked or set(leaked) >= set(result.queries["query_id"].to_pylist()):
        return
    rest = result.without(leaked)
    other = recommend(gather_evidence(rest), rest.verdict, decision_rule(result))
    if other.system != recommendation.system:
        yield (
            f"Without the {questions(len(leaked))} that occur word for word in a document, {other.system} "
            "would be recommended."
        )


def _stand_ins(result: Result, system: str) -> Iterator[str]:
    rows = zip(result.systems["system"].to_pylist(), result.systems["stand_in"].to_pylist(), strict=True)
    if dict(rows).get(system):
        yield "It uses a stand-in, not a real model."


def _non_latin(result: Result, system: str) -> Iterator[str]:
    """A warning if the questions use a script most models were not made for; keyword search needs no model."""
    rows = zip(result.systems["system"].to_pylist(), result.systems["embedder"].to_pylist(), strict=True)
    model = dict(rows).get(system)
    texts = result.queries["text"].to_pylist()
    if not model or _made_for(model, texts):
        return
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    foreign = sum(ord(letter) > LAST_LATIN for letter in letters)
    if letters and foreign / len(letters) >= NON_LATIN:
        share = f"{foreign / len(letters):.0%} of the letters of your questions are not Latin"
        yield f"{share}: check that {model} was made for their language."


def _made_for(model: str, texts: list[str]) -> bool:
    """Whether the catalogue lists the model for the questions' language."""
    entry, language = entries().get(model.partition("(")[0]), detect_language(texts)
    return entry is not None and bool(language) and LANGUAGES[language].code in entry.languages
