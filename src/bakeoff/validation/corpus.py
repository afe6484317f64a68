"""Checks of the documents: what was left out, and queries whose text stands in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bakeoff.stages.encodings import documents_with_a_mark, encoding_sentence, other_encodings
from bakeoff.stages.mask import LEAK
from bakeoff.stages.read import Corpus, left_out, left_out_sentence
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.rules import CharacterRange, Rule, Spans, leaves
from bakeoff.validation.findings import CorpusFacts, Finding, Level
from bakeoff.validation.leaks import RUN, SENTENCE, Leak, leaks
from bakeoff.validation.wording import number, quoted, some


def corpus_facts(corpus: Corpus, chunks: dict[str, int]) -> CorpusFacts:
    """What was read, in numbers."""
    import pyarrow.compute as pc

    characters = int(pc.sum(pc.utf8_length(corpus.documents["text"])).as_py() or 0)
    return CorpusFacts(corpus.documents.num_rows, characters, left_out(corpus.skipped), chunks)


def check_corpus(corpus: Corpus, queries: QuerySet) -> Iterator[Finding]:
    """Files left out, and leaks."""
    found = left_out(corpus.skipped)
    if found:
        level: Level = "warning" if found[0].has_text else "note"
        yield Finding(level, "skipped", "corpus", left_out_sentence(found))
    yield from _check_encodings(corpus, queries)
    yield from check_leaks(corpus, queries)


def _check_encodings(corpus: Corpus, queries: QuerySet) -> Iterator[Finding]:
    """Files that are not UTF-8, and character offsets into files with a byte order mark."""
    found = other_encodings(corpus)
    if found:
        level: Level = "warning" if found[0].basis == "guessed" else "note"
        yield Finding(level, "encoding", "corpus", encoding_sentence(found))
    marked = documents_with_a_mark(corpus)
    for row, rule in enumerate(queries.rules):
        for name in sorted(_counted_by_characters(rule) & marked):
            said = f"{name} starts with a byte order mark, which is not a character of its text."
            fix = "Character offsets of a tool that counts the mark are one too high."
            yield Finding("warning", "byte-order-mark", queries.where(row), f"{said} {fix}")


def _counted_by_characters(rule: Rule | None) -> set[str]:
    """The documents that a rule points into by character offsets."""
    spans = [leaf for _, leaf in leaves(rule) if isinstance(leaf, Spans)] if rule is not None else []
    return {place.document for leaf in spans for place in leaf.places if isinstance(place, CharacterRange)}


def check_leaks(corpus: Corpus, queries: QuerySet) -> Iterator[Finding]:
    """Leaks of hand-made queries one by one, those of synthetic ones together (F10)."""
    ids = corpus.documents["id"]
    found = leaks([query.text for query in queries.queries], corpus.documents["text"])
    for leak in found:
        if not queries.queries[leak.query].synthetic:
            documents = [ids[row].as_py() for row in leak.documents]
            yield _leak(queries, leak, documents)
    yield from _synthetic(queries, [leak for leak in found if queries.queries[leak.query].synthetic])


def _leak(queries: QuerySet, leak: Leak, documents: list[str]) -> Finding:
    where, text = queries.where(leak.query), queries.queries[leak.query].text
    if leak.whole:
        said = f"its text stands word for word in {some(documents)}: finding it proves nothing."
        fix = "Ask in other words, take that document out, or mark the query synthetic: true."
        if len(re.findall(r"\w+", text)) >= SENTENCE:
            return Finding("error", "leak", where, f"{said} {fix}")
        said = f"its few words stand in {some(documents)} as they are, perhaps by chance; word search is favoured."
        return Finding("warning", "leak-run", where, f"{said} Ask in other words.")
    said = (
        f"{RUN} words of it in a row, from {quoted(_words_from(text, leak.at))}, stand in {some(documents)}."
    )
    return Finding("warning", "leak-run", where, f"{said} Ask in other words.")


def _synthetic(queries: QuerySet, found: list[Leak]) -> Iterator[Finding]:
    """Synthetic queries are made of the corpus; those that say which sentence can be masked."""
    whole = [queries.queries[leak.query] for leak in found]
    tagged = [query.id for query in whole if LEAK in query.tags]
    others = [query.id for query in whole if LEAK not in query.tags]
    if tagged:
        text = f"{number(len(tagged), 'synthetic query', 'synthetic queries')} ({some(tagged)}) stand in the corpus"
        fix = "A run blanks these sentences before it embeds the documents."
        yield Finding("note", "leak-synthetic", queries.name, f"{text}, as their {LEAK} tags say. {fix}")
    if others:
        text = f"{number(len(others), 'synthetic query', 'synthetic queries')} ({some(others)}) share {RUN} words"
        fix = "Word search is favoured by them; reword them, or tell their scores apart."
        yield Finding("warning", "leak-synthetic", queries.name, f"{text} or all with a document. {fix}")


def _words_from(text: str, at: int) -> str:
    """The part of a text from one of its words on, as long as a run."""
    found = list(re.finditer(r"\w+", text))[at : at + RUN]
    return text[found[0].start() : found[-1].end()] if found else text
