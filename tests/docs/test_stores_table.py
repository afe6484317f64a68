"""What the README says of stores and of the demo is what was measured: benchmarks/stores.md, and the demo's own page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LAST_DIGIT = 0.00051


def rows(text: str, header: str) -> dict[str, list[str]]:
    """The rows of the table whose first line begins so, by their first cell."""
    lines = iter(text.splitlines())
    assert any(line.startswith(header) for line in lines), f"no table begins with {header!r}"
    next(lines)
    found = {}
    for line in lines:
        if not line.startswith("|"):
            break
        first, *rest = (cell.strip() for cell in line.strip("|").split("|"))
        found[first] = rest
    return found


MEASURED = rows((ROOT / "benchmarks" / "stores.md").read_text(encoding="utf-8"), "| store | version |")
SAID = rows(README, "| store | engine that was run")


def test_every_store_that_was_measured_is_in_the_readme() -> None:
    figures = {name for name, cells in SAID.items() if re.search(r"\.\d", cells[-1])}
    assert figures == set(MEASURED)


@pytest.mark.parametrize("name", MEASURED)
def test_a_store_has_its_figures(name: str) -> None:
    ndcg, knn = (float(MEASURED[name][place]) for place in (2, 3))
    assert float(SAID[name][2]) == pytest.approx(knn, abs=LAST_DIGIT)
    assert float(SAID[name][3]) == pytest.approx(ndcg, abs=LAST_DIGIT)


@pytest.mark.parametrize("name", MEASURED)
def test_a_store_has_the_version_that_ran(name: str) -> None:
    ran, said = MEASURED[name][0], SAID[name][0]
    version = re.findall(r"\d+(?:\.\d+)+", ran)[0]
    assert re.search(rf"\b{re.escape('.'.join(version.split('.')[:2]))}\b", said), (
        f"{ran!r} ran, {said!r} is said"
    )


def shown(block: str) -> list[tuple[str, list[float]]]:
    """The systems of the printed table, each with mean, low, high and the other measures."""
    found = re.findall(r"^[A-Z]  (\S.*?) {2,}(\.\d.*)$", block, re.MULTILINE)
    return [(name, [float(one) for one in re.findall(r"\.\d+", cells)]) for name, cells in found]


def test_the_demo_prints_what_its_page_holds() -> None:
    kept = json.loads((ROOT / "docs" / "examples" / "stdlib.scores.json").read_text(encoding="utf-8"))
    table = shown(README)
    assert len(table) >= 3
    for system, (mean, low, high, reciprocal_rank, *_) in table:
        names = ["nDCG@10(document)", "RR@10(answer)"]
        values = [[v for v in kept["measures"][name][system] if v is not None] for name in names]
        assert [mean, reciprocal_rank] == pytest.approx([fmean(one) for one in values], abs=LAST_DIGIT), (
            system
        )
        assert low < mean < high
