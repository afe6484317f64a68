"""A run in a notebook: its progress is drawn while it works, and the result is a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.slow
def test_a_notebook_draws_the_progress_and_the_result(
    laid_out: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbclient
    import nbformat

    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    laid_out(tmp_path)
    code = "import bakeoff\nresult = bakeoff.run('bakeoff.yaml', out='first')\nresult"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    drawn, shown = [one for one in notebook.cells[0].outputs if "data" in one]
    progress, result = drawn["data"]["text/html"], shown["data"]["text/html"]
    systems = progress.count("<tr>")
    assert progress.count('<progress value="') == systems > 4
    assert all(word in progress for word in ("<td>read</td>", "<td>embed</td>", "<td>measure</td>"))
    assert result.startswith("<p><strong>")
    assert "<table>" in result


def test_outside_a_notebook_nothing_is_drawn(ran: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from bakeoff.runtime.notebook import notebook_listener

    assert notebook_listener() is None
    assert capsys.readouterr().out == ""


def test_the_last_state_of_every_stage_is_drawn(ran: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from bakeoff.runtime.notebook import NotebookProgress

    pages: list[str] = []

    class Handle:
        def update(self, obj: Any) -> None:
            pages.append(obj.data)

    listener: Callable[[Any], None] = NotebookProgress(Handle())
    for event in ran.events:
        listener(event)
    stages = {(event.stage, event.label) for event in ran.events if hasattr(event, "stage")}
    assert pages[-1].count("<tr>") == len(stages) + 1
    assert f'value="{len(ran.result.record.systems)}" max="{len(ran.result.record.systems)}"' in pages[-1]
