"""What a report in Markdown says of its corpus and truth, and how it was made."""

from __future__ import annotations

from bakeoff.report.render import number_text as say
from bakeoff.report.sections import findings as find
from bakeoff.report.sections.provenance import Provenance
from bakeoff.report.sections.systems import SystemsTable
from bakeoff.runs.markdown_tables import block, escape_markdown, omitted_rows_note, table

SIZES = ("chunker", "chunks", "mean", "shortest", "first quartile", "median", "third quartile", "longest")


def corpus_and_truth(back: Provenance) -> list[str]:
    """How the corpus was cut, what is left out of the means, what each rule matched, and what was not read."""
    lines = ["## Corpus and truth", "", *_chunks(back), *_lengths(back), *_exclusions(back)]
    if back.rules:
        hits = [(hit.query_id, hit.source, hit.rule, hit.hits, hit.documents) for hit in back.rules]
        lines += table(["question", "source", "rule", "hits", "documents"], hits, left=3)
        lines += omitted_rows_note(back.rules_hidden, "rules", "run.json")
    if back.skipped.rows:
        lines += table(["not read", "because"], back.skipped.rows, left=2)
        lines += omitted_rows_note(back.skipped.hidden, "files", "run.json")
    return lines


def _chunks(back: Provenance) -> list[str]:
    if not back.chunkings:
        return []
    rows = [
        (one.chunker, say.whole(one.chunks), say.whole(one.mean), *map(say.whole, one.quantiles))
        for one in back.chunkings
    ]
    return [f"**{escape_markdown(find.of_chunks(back.chunkings))}**", "", *table(SIZES, rows)]


def _lengths(back: Provenance) -> list[str]:
    if not back.lengths:
        return []
    rows = [
        (one.embedder, one.chunker, one.max_tokens or "none", one.quantiles[2], f"{one.cut_chunks:.0%}",
         f"{one.cut:.0%}")
        for one in back.lengths
    ]  # fmt: skip
    headings = ["model", "chunker", "limit in tokens", "median", "chunks cut", "text cut off"]
    return ["", f"**{escape_markdown(find.of_lengths(back.lengths))}**", "", *table(headings, rows)]


def _exclusions(back: Provenance) -> list[str]:
    if not back.exclusions:
        return []
    rows = [
        (
            one.reason,
            ", ".join(one.queries) + (f" and {one.hidden:,} more" if one.hidden else ""),
            ", ".join(one.measures),
        )
        for one in back.exclusions
    ]
    return table(["excluded because", "questions", "from the means of"], rows, left=3)


def how_it_was_made(back: Provenance, systems: SystemsTable) -> list[str]:
    """Measures, conventions, run and environment, the experiment itself, and the command that writes it again."""
    lines = ["## How it was made", ""]
    lines += table(
        ["measure", "meaning", "truth"], [(n.label, n.meaning, n.sources) for n in systems.measures], left=3
    )
    for heading, rows in (
        ("conventions", back.conventions),
        ("run", back.identity),
        ("environment", back.environment),
    ):
        lines += table([heading, ""], rows, left=2)
    lines += [*block(back.experiment), "In the folder that holds the run, this writes the report again:", ""]
    return lines + block(back.command)
