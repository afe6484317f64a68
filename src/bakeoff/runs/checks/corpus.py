"""Checks the documents: files skipped, encodings, and queries whose text occurs in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bakeoff.corpus.segmentation import word_spans
from bakeoff.corpus.skipped_files import describe_skipped, summarise_skipped
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.pipeline.reading.encodings import documents_with_a_mark, encoding_sentence, other_encodings
from bakeoff.runs.checks.findings import CorpusFacts, Finding, Level
from bakeoff.runs.checks.leaks import RUN, Leak, leaks
from bakeoff.runs.checks.queries import is_imported
from bakeoff.runs.checks.text import name_some, quote
from bakeoff.runtime.count_text import count
from bakeoff.truth.leaked_sentences import LEAK
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.rules import CharacterRange, Rule, SpansRule, leaves


def corpus_facts(corpus: ReadCorpus, chunks: dict[str, int]) -> CorpusFacts:
    """Summarise what was read."""
    import pyarrow.compute as pc

    characters = int(pc.sum(pc.utf8_length(corpus.documents["text"])).as_py() or 0)
    return CorpusFacts(
        documents=corpus.documents.num_rows,
        characters=characters,
        language=corpus.language_text,
        skipped=summarise_skipped(corpus.skipped),
        chunks=chunks,
    )


def check_corpus(corpus: ReadCorpus, queries: QuerySet) -> Iterator[Finding]:
    """Files skipped, and leaks."""
    skipped = summarise_skipped(corpus.skipped)
    if skipped:
        level: Level = "warning" if skipped[0].has_text else "note"
        yield Finding(level, "skipped", "corpus", describe_skipped(skipped))
    yield from _check_encodings(corpus, queries)
    yield from check_leaks(find_leaks(corpus, queries), corpus, queries)


def _check_encodings(corpus: ReadCorpus, queries: QuerySet) -> Iterator[Finding]:
    """Files that are not UTF-8, and character offsets into files with a byte order mark."""
    encodings = other_encodings(corpus)
    if encodings:
        level: Level = "warning" if encodings[0].basis == "guessed" else "note"
        yield Finding(level, "encoding", "corpus", encoding_sentence(encodings))
    marked = documents_with_a_mark(corpus)
    for row, rule in enumerate(queries.rules):
        for name in sorted(_counted_by_characters(rule) & marked):
            message = f"{name} starts with a byte order mark, which is not a character of its text."
            fix = "Offsets from a tool that counts the mark are one too high."
            yield Finding("warning", "byte-order-mark", queries.where(row), f"{message} {fix}")


def _counted_by_characters(rule: Rule | None) -> set[str]:
    """Documents that a rule refers to by character offsets."""
    spans = [leaf for _, leaf in leaves(rule) if isinstance(leaf, SpansRule)] if rule is not None else []
    return {place.document for leaf in spans for place in leaf.places if isinstance(place, CharacterRange)}


def find_leaks(corpus: ReadCorpus, queries: QuerySet) -> list[Leak]:
    """Every query whose whole text, or a run of words, occurs in a document."""
    return leaks([query.text for query in queries.queries], corpus.documents["text"])


def copied_queries(leaks: Sequence[Leak], queries: QuerySet) -> tuple[str, ...]:
    """Human-written queries whose whole text occurs in a document."""
    copied = (queries.queries[leak.query] for leak in leaks if leak.whole)
    return tuple(query.id for query in copied if not query.synthetic)


def check_leaks(leaks: Sequence[Leak], corpus: ReadCorpus, queries: QuerySet) -> Iterator[Finding]:
    """Leaks of human-written queries, with possible coincidences in one finding, and of synthetic ones in
    another (F10)."""
    ids = corpus.documents["id"]
    real_leaks = [leak for leak in leaks if not queries.queries[leak.query].synthetic]
    by_chance = [leak for leak in real_leaks if leak.whole and _may_be_chance(queries, leak)]
    for leak in real_leaks:
        if leak not in by_chance:
            yield _leak(queries, leak, [ids[row].as_py() for row in leak.documents])
    if by_chance:
        yield _share(queries, by_chance, ids[by_chance[0].documents[0]].as_py())
    yield from _synthetic(queries, [leak for leak in leaks if queries.queries[leak.query].synthetic])


def _may_be_chance(queries: QuerySet, leak: Leak) -> bool:
    """Whether a match may be coincidence: the query is short, or its judgments were collected elsewhere."""
    return is_imported(queries) or len(word_spans(queries.queries[leak.query].text)) < RUN


def _share(queries: QuerySet, leaks: Sequence[Leak], example: str) -> Finding:
    """The share of queries that occur in documents, if that doesn't stop the run."""
    names, total = [queries.queries[leak.query].id for leak in leaks], len(queries.queries)
    text = (
        f"{len(names):,} of {count(total, 'query', 'queries')} ({len(names) / total:.0%}) occur word for word in a"
        f" document ({name_some(names)}; {names[0]} in {example}), which favours word search."
    )
    return Finding(
        "warning", "leak-share", queries.name, f"{text} The verdict is reported with and without them."
    )


def _leak(queries: QuerySet, leak: Leak, documents: list[str]) -> Finding:
    where, text = queries.where(leak.query), queries.queries[leak.query].text
    if leak.whole:
        message = f"this question is copied from {name_some(documents)} word for word, so it is too easy."
        fix = "Reword it, exclude that document, or mark the query synthetic: true."
        return Finding("error", "leak", where, f"{message} {fix}")
    message = (
        f"{RUN} consecutive words, from {quote(_words_from(text, leak.at))}, occur in {name_some(documents)}."
    )
    return Finding("warning", "leak-run", where, f"{message} Reword it.")


def _synthetic(queries: QuerySet, leaks: list[Leak]) -> Iterator[Finding]:
    """Synthetic queries come from the corpus; those that name their sentence can be masked."""
    copies = [queries.queries[leak.query] for leak in leaks]
    tagged = [query.id for query in copies if LEAK in query.tags]
    others = [query.id for query in copies if LEAK not in query.tags]
    if tagged:
        named = f"{count(len(tagged), 'synthetic query', 'synthetic queries')} ({name_some(tagged)})"
        text = f"{named} {'occurs' if len(tagged) == 1 else 'occur'} verbatim in the corpus"
        fix = "A run blanks these sentences before it embeds the documents."
        yield Finding("note", "leak-synthetic", queries.name, f"{text} (tagged {LEAK}). {fix}")
    if others:
        text = f"{count(len(others), 'synthetic query', 'synthetic queries')} ({name_some(others)}) share {RUN} words"
        fix = "They favour word search: reword them, or read their scores separately."
        yield Finding(
            "warning", "leak-synthetic", queries.name, f"{text} or all of their words with a document. {fix}"
        )


def _words_from(text: str, at: int) -> str:
    """The words of a text from position `at`, as long as a run."""
    words = word_spans(text)[at : at + RUN]
    return text[words[0][0] : words[-1][1]] if words else text
