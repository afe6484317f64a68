"""Text from a corpus, a query file or an experiment is shown: it steers no terminal, page, table or spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from bakeoff.cli import console
from bakeoff.cli.views.progress import ProgressBars, ProgressLines
from bakeoff.cli.views.sanitise import show_controls, visible_json
from bakeoff.presets.ann.export import export_ann
from bakeoff.report.render.latex import plain
from bakeoff.runs.run import run
from bakeoff.runtime.events import StageFinished, StageStarted, SystemFinished, WarningRaised

STEERING = [
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1bP+q544e\x1b\\",
    "\x9b31mC1",
    "\x9d0;title\x9c",
    "over\rwritten",
    "back\x08\x08",
    "\u202ereversed\u202c",
    "\u2066isolated\u2069",
]
MARKUP = "[bold red]not bold[/] [link=http://evil]x[/link]"
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A colour terminal that keeps what is written to it."""
    out = io.StringIO()
    kind = type(console.out)
    for name in ("out", "err"):
        made = kind(file=out, force_terminal=True, color_system=None, highlight=False, width=200)
        monkeypatch.setattr(console, name, made)
    return out


@pytest.mark.parametrize("text", [*STEERING, MARKUP])
def test_nothing_printed_steers_the_terminal(text: str, screen: io.StringIO) -> None:
    console.print_line(text)
    console.warn(text)
    console._report_failure((text, text), 2, "DataError")
    console.table(["a", "b"], [[text, "x"]])
    console.err.print(text, markup=False)
    shown = screen.getvalue()
    assert not HARMFUL.search(re.sub("\x1b\\[[0-9;]*m", "", shown)), "only our own colours are left"
    assert text not in STEERING or text not in shown
    assert text != MARKUP or shown.count(MARKUP) == 6


@pytest.mark.parametrize("text", STEERING)
def test_progress_steers_nothing(text: str) -> None:
    out = io.StringIO()
    lines = ProgressLines(Console(file=out, width=200))
    for event in (StageStarted("chunk", text, 1, "x"), StageFinished("chunk", text, 0.1, text), WarningRaised(text),
                  SystemFinished(text, 1, 1, failed=text)):  # fmt: skip
        lines(event)
    assert out.getvalue().strip() and not HARMFUL.search(out.getvalue())
    screen = io.StringIO()
    bars = ProgressBars(Console(file=screen, force_terminal=True, color_system=None, width=200))
    for event in (StageStarted("chunk", text, 1, "x"), StageFinished("chunk", text, 0.1, text), WarningRaised(text),
                  SystemFinished(text, 1, 1, failed=text)):  # fmt: skip
        bars(event)
    bars.close()
    assert text not in screen.getvalue()


def test_what_is_shown_of_a_control_character() -> None:
    assert show_controls("a\x1b[1m\x9b\u202eb\tc\n") == "a\\x1b[1m\\x9b\\u202eb\tc\n"
    assert show_controls("Größe 東京 🗼 עברית") == "Größe 東京 🗼 עברית"


@pytest.mark.parametrize("text", STEERING)
def test_json_for_scripts_keeps_the_value(text: str) -> None:
    shown = visible_json(json.dumps({"a": text}, ensure_ascii=False))
    assert not HARMFUL.search(shown) and json.loads(shown) == {"a": text}


@pytest.mark.slow
def test_log_lines_of_debug_steer_nothing(home: Path, typed: Any, laid_out: Callable[..., Path]) -> None:
    laid_out(Path.cwd(), 'corpus: {folder: corpus}\nqueries: "q\\e]0;owned\\a.yaml"\n')
    said = typed("run", code=2, debug=True)
    assert "owned" in said and not HARMFUL.search(said)


# --- a whole run with a hostile corpus ----------------------------------------------------------------

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"
NAMES = ["\x1b]0;owned\x07.md", f"{SCRIPT[:8]}.md", "=cmd()|x.md", "| pipe `tick` $x$ \\input{a}.md"]


@pytest.fixture
def hostile(home: Path, laid_out: Callable[..., Path]) -> Path:
    """A run whose documents' names and texts, queries and categories try everything."""
    text = "corpus: {folder: corpus}\nqueries: queries.json\nchunkers: [whole]\nembedders: [{wordllama: {dims: 64}}]\n"
    path = laid_out(Path.cwd(), f'name: "{SCRIPT}"\n{text}stores: [exact]\nmodes: [dense, bm25]\n')
    for place, name in enumerate(NAMES):
        (Path("corpus") / name).write_text(
            f"# {SCRIPT} \x1b[31m\n\nword{place} {SCRIPT} \x1b]0;owned\x07 </textarea>\n```\n````\n{SCRIPT}\n"
        )
    asked = [
        {"id": f"{place}\x1b[31m{SCRIPT}", "text": f"where is word{place} said? {SCRIPT} \x1b]0;owned\x07",
         "category": f"\x1b[31m{SCRIPT}", "difficulty": "hard", "truth": {"documents": [f"*{name[-6:]}"]}}
        for place, name in enumerate(NAMES)
    ]  # fmt: skip
    Path("queries.json").write_text(json.dumps({"queries": asked}))
    return run(path, out="run").path


def test_pages_show_hostile_text_and_do_not_run_it(hostile: Path, cli: Callable[..., str]) -> None:
    said = cli("report", hostile, "--format", "html,md,latex")
    said += (
        cli("status", hostile)
        + cli("compare", hostile, code=None)
        + cli("validate", "bakeoff.yaml", code=None)
    )
    assert not HARMFUL.search(said)
    page = (hostile / "report.html").read_text(encoding="utf-8")
    assert "<img" not in page and "<script>alert" not in page and "&lt;script&gt;" in page
    text = (hostile / "report.md").read_text(encoding="utf-8")
    assert "<script>" in text and "<script>" not in _outside_fences(text)


def _outside_fences(text: str) -> str:
    """Markdown without its code blocks; a block ends at a fence at least as long as the one that began it."""
    fence, kept = "", []
    for line in text.splitlines():
        ticks = re.match("`{3,}", line)
        if fence and ticks and line.strip() == ticks[0] and len(ticks[0]) >= len(fence):
            fence = ""
        elif not fence and ticks:
            fence = ticks[0]
        elif not fence:
            kept.append(line)
    return re.sub("`[^`]*`", "", "\n".join(kept))


def test_latex_prints_commands_as_text() -> None:
    assert plain("\\input{/etc/passwd}") == r"\textbackslash{}input\{/etc/passwd\}"
    assert plain("a\n\n\\end{table} % $x^2$ & #1 ~") == (
        r"a \textbackslash{}end\{table\} \% \$x\textasciicircum{}2\$ \& \#1 \textasciitilde{}"
    )


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1\n"])
def test_a_spreadsheet_shows_what_begins_like_a_formula(name: str) -> None:
    """Decided: the one CSV we write puts an apostrophe before such a text; numbers and other texts stay as they are."""
    timing = lambda *_: None  # noqa: E731
    material = SimpleNamespace(
        systems=[{"system": name}, {"system": "line · bm25"}],
        result=SimpleNamespace(timing=timing),
        mean=lambda *_: -0.5,
        pick=lambda *_: "x",
    )
    rows = list(
        csv.reader(io.StringIO(export_ann(material).contents["ann_results.csv"].decode(), newline=""))
    )  # type: ignore[arg-type]
    assert rows[1][0] == f"'{name.strip()}" and rows[2][:2] == ["line · bm25", "-0.5"]
