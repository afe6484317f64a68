"""mask: blanks the sentences that synthetic queries were generated from, so that no query finds its own
source."""

from __future__ import annotations

from dataclasses import replace

from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.read import ReadCorpus
from bakeoff.truth.leaked_sentences import LEAK, blank_sentences
from bakeoff.truth.queries import QuerySet
from bakeoff.truth.rules import Documents, Rule, SpansRule, leaves


def blank_leaked_sentences(corpus: ReadCorpus, queries: QuerySet) -> ReadCorpus:
    """Return the corpus to embed, with the source sentences of queries blanked; unchanged if there are none."""
    import pyarrow as pa

    leaks = _leaks(queries)
    if not leaks:
        return corpus
    documents = corpus.documents
    names, versions = documents["id"].to_pylist(), documents["version"].to_pylist()
    texts = documents["text"].to_pylist()
    for row, name in enumerate(names):
        if name in leaks:
            texts[row] = blank_sentences(texts[row], leaks[name])
            versions[row] = fingerprint("masked", versions[row], leaks[name])
    for column, values in (("version", versions), ("text", texts)):
        field = documents.schema.field(column)
        place = documents.column_names.index(column)
        documents = documents.set_column(place, field, pa.array(values, field.type))
    return replace(
        corpus,
        documents=documents,
        fingerprint=fingerprint("masked", corpus.fingerprint, leaks),
        readings={label: blank_leaked_sentences(one, queries) for label, one in corpus.readings.items()},
    )


def _leaks(queries: QuerySet) -> dict[str, list[str]]:
    """Return the sentences to blank, by document."""
    sentences: dict[str, list[str]] = {}
    for query, rule in zip(queries.queries, queries.rules, strict=True):
        if LEAK in query.tags and rule is not None:
            for name in _documents(rule):
                sentences.setdefault(name, []).append(query.tags[LEAK])
    return sentences


def _documents(rule: Rule) -> set[str]:
    names: set[str] = set()
    for _, leaf in leaves(rule):
        if isinstance(leaf, Documents):
            names.update(leaf.names)
        elif isinstance(leaf, SpansRule):
            names.update(place.document for place in leaf.places)
    return names
