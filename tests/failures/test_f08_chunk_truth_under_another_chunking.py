"""F08: comparing chunkers on chunk-level truth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bakeoff.errors import TruthError
from bakeoff.report.render.markdown import write_markdown
from bakeoff.runs.analysis import open_run
from bakeoff.runs.run import run
from bakeoff.storage.schemas import CHUNKS, JUDGMENTS
from bakeoff.truth.units import RankedUnits, bound_chunkings, collapse_ranking, derive_units
from bakeoff.types import Unit


def chunks(size: int) -> pa.Table:
    starts = list(range(0, 100, size))
    ends = [min(start + size, 100) for start in starts]
    ones, empty = [1] * len(starts), [""] * len(starts)
    places = {"doc": [0] * len(starts), "start": starts, "end": ends, "line_start": ones, "line_end": ones}
    return CHUNKS.table(
        {"id": empty, **places, "section": empty, "symbol": empty, "context": empty, "text": empty}
    )


BOUND = JUDGMENTS.table(
    {
        "query": [0],
        "doc": [0],
        "start": [20],
        "end": [30],
        "grade": [1],
        "source": ["sql"],
        "chunking": ["tens"],
    }
)


@pytest.mark.parametrize("unit", [Unit.CHUNK, Unit.DOCUMENT, Unit.SECTION, Unit.ANSWER])
def test_f08_truth_made_on_chunks_is_refused_under_another_chunking(unit: Unit) -> None:
    with pytest.raises(TruthError, match=r'"tens".*"fifties"'):
        derive_units(BOUND, chunks(50), "fifties", unit)


def test_f08_answers_are_refused_too() -> None:
    import numpy as np

    served = RankedUnits(np.zeros(1, np.int32), np.zeros(1, np.int64), np.ones(1))
    with pytest.raises(TruthError, match="fifties"):
        collapse_ranking(served, chunks(50), Unit.ANSWER, BOUND, "fifties")


def test_f08_under_its_own_chunking_exactly_the_judged_chunk_counts() -> None:
    judged = derive_units(BOUND, chunks(10), "tens", Unit.CHUNK)
    assert judged.item.tolist() == [2]


def test_f08_a_run_refuses_to_compare_chunkers_on_it(small: Path) -> None:
    """One chunker may be measured on it; of two the longer chunks would win."""
    truth = "{sql: \"chunk_text LIKE '%refund%'\"}"
    Path("queries.yaml").write_text(f"queries:\n  - {{id: a, text: money back, truth: {truth}}}\n")
    assert run(small, out=Path("one")).done
    two = re.sub(r"chunkers: .*", "chunkers: [line, whole]", small.read_text())
    small.write_text(two)
    with pytest.raises(TruthError, match="chunkers line, whole"):
        run(small, out=Path("two"))


def test_f08_who_compares_chunkers_can_see_that_the_truth_is_bound() -> None:
    assert bound_chunkings(BOUND) == ("tens",)


TWO = "chunkers: [{line: {doc_lines: 2, code_lines: 2}}, whole]"


@pytest.mark.parametrize("primary", ["P@5(chunk)", "nDCG@10(chunk)", "SecAcc@5"])
def test_f08_a_measure_that_counts_chunks_does_not_decide_between_chunkers(
    small: Path, cli: Any, primary: str
) -> None:
    """Truth by document and span, which every chunker shares; the measure alone would favour one of them."""
    text = small.read_text() + f"measures: {{primary: {primary}, also: []}}\n"
    small.write_text(re.sub(r"chunkers: .*", TWO, text))
    for command in (("validate", "--quiet"), ("run", "--quiet", "--out", "two")):
        done = cli(*command)
        told = " ".join((done.out + done.err).split())
        assert done.code == 2 and f"{primary} counts chunks" in told and "Use one chunker" in told
    small.write_text(text.replace("SecAcc@5", "P@5(chunk)"))
    assert cli("run", "--quiet", "--out", "one").code == 0


def test_f08_beside_chunkers_stand_what_their_chunks_cost_and_how_long_they_are(
    small: Path, cli: Any
) -> None:
    """One reads whole documents and the other two lines: nobody who sees the scores can miss it."""
    text = small.read_text() + "measures: {primary: nDCG@5, also: [P@5(chunk)]}\n"
    small.write_text(re.sub(r"chunkers: .*", TWO, text))
    assert cli("run", "--quiet", "--out", "run").code == 0
    result = open_run(Path("run"))
    assert result.record.measures == ["nDCG@5(document)", "P@5(chunk)", "tokens@5(chunk)"]
    lines, whole = (result.summaries("tokens@5")[system].mean for system in result.done)
    assert lines is not None and whole is not None and whole > 3 * lines
    sizes = {one.chunker.partition("(")[0]: one for one in result.record.chunkings}
    assert sizes["whole"].quantiles[2] > 3 * sizes["line"].quantiles[2]
    page = " ".join(write_markdown(result).read_text(encoding="utf-8").split())
    assert "tokens@5(chunk)" in page and re.search(r"[^.]*P@5\(chunk\) count chunks", page)
    for one in result.record.chunkings:
        assert f"| {one.chunks:,} | {round(one.mean):,} | {one.quantiles[0]:,} |" in page


def test_f08_keywords_over_chunks_are_truth_of_chunks(small: Path) -> None:
    """ "Any generic keyword in the chunk" is met more easily by long chunks, so it compares none."""
    truth = "{keywords: {any: [refund, card]}}"
    Path("queries.yaml").write_text(f"queries:\n  - {{id: a, text: money back, truth: {truth}}}\n")
    small.write_text(re.sub(r"chunkers: .*", TWO, small.read_text()))
    with pytest.raises(TruthError, match="truth by keywords"):
        run(small, out=Path("run"))
