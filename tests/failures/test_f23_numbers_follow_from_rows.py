"""F23: an interval and a p-value that do not follow from the stored data. Every number here is found again from rows."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from markupsafe import escape

from bakeoff.report.render.html import write_html
from bakeoff.report.render.markdown import write_markdown
from bakeoff.report.render.number_text import score
from bakeoff.runs.analysis import Result, open_run
from bakeoff.stats.bootstrap import BootstrapSettings, mean_interval
from bakeoff.stats.correction import holm
from bakeoff.stats.tests import randomisations

_place = Path(__file__).resolve().parents[1] / "report" / "conftest.py"
_spec = importlib.util.spec_from_file_location("report_run_f23", _place)
assert _spec
assert _spec.loader
made_up = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made_up)


class SystemsTable(HTMLParser):
    """The cells of the table of systems, as a reader sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.rows, self.head = False, [], []
        self.row: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside |= ("id", "systems-table") in attrs
        if not self.inside:
            return
        if tag == "tr":
            self.row = []
        elif tag in ("td", "th") and self.row is not None:
            self.row.append("")
        elif tag == "small" and self.row:
            self.row[-1] += " "

    def handle_endtag(self, tag: str) -> None:
        self.inside &= tag != "table"
        if self.inside and tag == "tr" and self.row is not None:
            self.rows.append([" ".join(cell.split()) for cell in self.row])
            self.row = None

    def handle_data(self, data: str) -> None:
        if self.inside and self.row:
            self.row[-1] += data


@pytest.fixture
def result(tmp_path: Path) -> Result:
    return made_up.write_run(tmp_path / "run", made_up.Made(systems=6, nulls=3))


def shown(path: Path) -> list[list[str]]:
    reader = SystemsTable()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.rows


def scores_of(folder: Path) -> dict[tuple[str, str], dict[str, float]]:
    """Values by (system, measure) and query, read straight from the file."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in pq.read_table(folder / "scores.parquet").to_pylist():
        if row["value"] is not None:
            found.setdefault((row["system"], row["measure"]), {})[row["query_id"]] = row["value"]
    return found


def test_f23_every_number_of_the_systems_table_is_found_again_from_rows(result: Result) -> None:
    heading, *rows = shown(write_html(result))
    stored, queries = scores_of(result.path), pq.read_table(result.path / "queries.parquet").num_rows
    timings = {
        (row["system"], row["phase"], row["statistic"]): row["value"]
        for row in pq.read_table(result.path / "timings.parquet").to_pylist()
    }
    sizes = {
        r["system"]: r["index_bytes"] for r in pq.read_table(result.path / "systems.parquet").to_pylist()
    }
    assert len(rows) == 6
    checked = 0
    for cells in rows:
        named = dict(zip(heading, cells, strict=True))
        system = named["system"].removesuffix(" recommended")
        for measure in result.record.measures:
            # queries are resampled in order of their ids, whatever order the file has
            values = [value for _, value in sorted(stored[system, measure].items())]
            numbers = re.findall(r"[−]?[\d,]*\.?\d+", named[measure].split("n ")[0])
            mean = score(float(np.mean(values)))
            bounds = None if measure.startswith("tokens") else (0.0, 1.0)
            interval = mean_interval(values, BootstrapSettings(result.record.seed), bounds)
            ends = [] if interval.low is None else [score(interval.low), score(interval.high)]
            assert numbers == [mean, *ends], (system, measure, named[measure])
            assert f"n {len(values)}, {queries - len(values)} excluded" in named[measure]
            checked += 1
        assert float(named["p50"].split()[0]) == pytest.approx(timings[system, "total", "p50_ms"], rel=0.02)
        assert float(named["p95"].split()[0]) == pytest.approx(timings[system, "total", "p95_ms"], rel=0.02)
        assert float(named["index"].split()[0]) * 1e6 == pytest.approx(sizes[system], rel=0.01)
    assert checked == 6 * len(result.record.measures)


def test_f23_the_verdicts_numbers_are_found_again_from_rows(result: Result) -> None:
    """Difference, interval, wins, losses, ties and corrected p of the verdict, each computed from the file."""
    text = write_html(result).read_text(encoding="utf-8")
    assert str(escape(result.verdict.sentence)) in text
    primary = result.record.primary
    by_system = {
        system: values for (system, measure), values in scores_of(result.path).items() if measure == primary
    }
    ranked = sorted(by_system, key=lambda system: -np.mean(list(by_system[system].values())))
    first, second = ranked[:2]
    common = sorted(query for query in by_system[first] if query in by_system[second])
    differences = np.array([by_system[first][q] - by_system[second][q] for q in common])
    found = re.search(
        r"by (-?[\d.]+) \S+ \[(-?[\d.]+) (-?[\d.]+)\]: better on (\d+) questions?, worse on (\d+), equal on (\d+) "
        r"\(Holm p (<?[\d.]+)\)",
        " ".join([result.verdict.sentence, *result.verdict.reasons]),
    )
    assert found is not None, result.verdict
    interval = mean_interval(differences, BootstrapSettings(result.record.seed))
    assert float(found[1]) == pytest.approx(differences.mean(), abs=0.0051)
    assert float(found[2]) == pytest.approx(interval.low, abs=0.0051)
    assert float(found[3]) == pytest.approx(interval.high, abs=0.0051)
    wins, losses = int((differences > 0.01 + 1e-12).sum()), int((differences < -0.01 - 1e-12).sum())
    assert (int(found[4]), int(found[5]), int(found[6])) == (wins, losses, len(common) - wins - losses)
    names = list(result.done)
    columns = [
        [by_system[a][q] - by_system[b][q] for q in common]
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    ]
    pairs = [{a, b} for i, a in enumerate(names) for b in names[i + 1 :]]
    p_values = holm([one.p for one in randomisations(np.array(columns).T, result.record.seed)])
    assert float(found[7].lstrip("<")) == pytest.approx(p_values[pairs.index({first, second})], abs=0.0006)


def test_f23_the_command_in_the_report_writes_it_again(result: Result) -> None:
    before = {write(result).name: write(result).read_bytes() for write in (write_html, write_markdown)}
    shown_command = re.search(
        r'<pre class="block">(bakeoff report [^<]+)</pre>', before["report.html"].decode()
    )
    assert shown_command is not None
    for name in before:
        (result.path / name).unlink()
    arguments = shlex.split(shown_command[1])[1:]
    call = f"from bakeoff.cli.app import app; app({arguments!r})"
    subprocess.run([sys.executable, "-c", call], cwd=result.path.parent, check=True, capture_output=True)
    assert {name: (result.path / name).read_bytes() for name in before} == before


@pytest.mark.parametrize("write", [write_html, write_markdown])
def test_f23_the_report_is_written_again_byte_for_byte_from_the_folder_alone(result: Result, write) -> None:  # type: ignore[no-untyped-def]
    first = write(result).read_bytes()
    assert write(open_run(result.path)).read_bytes() == first


def test_f23_a_changed_row_changes_the_report(result: Result) -> None:
    before = write_html(result).read_bytes()
    table = pq.read_table(result.path / "scores.parquet")
    values = table["value"].to_pylist()
    place = next(
        i
        for i, v in enumerate(values)
        if v is not None and table["measure"][i].as_py() == result.record.primary
    )
    values[place] = 1.0 - values[place]
    pq.write_table(table.set_column(6, "value", [values]), result.path / "scores.parquet")
    assert write_html(open_run(result.path)).read_bytes() != before
