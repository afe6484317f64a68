"""An assistant over MCP reaches the runs of one folder by name, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.cli.mcp import RunTools
from bakeoff.errors import DataError


@pytest.fixture
def tools(tmp_path: Path) -> RunTools:
    """Runs of a folder next to one that is not in it; one of them is damaged, one a link out."""
    outside, inside = tmp_path / "outside", tmp_path / "runs"
    for folder in (outside / "secret", inside / "damaged"):
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{")
    (inside / "link").symlink_to(outside / "secret")
    return RunTools(inside)


@pytest.mark.parametrize(
    "name",
    ["../outside/secret", "/etc", "..", ".", "", "link", "damaged/../damaged", "a\0b", "x" * 5000, "~root"],
)
def test_no_name_leads_out_of_the_folder(name: str, tools: RunTools) -> None:
    for ask in (
        tools.explain_run,
        lambda run: tools.search(run, "q"),
        lambda run: tools.compare_systems(run, "a", "b"),
    ):
        with pytest.raises(DataError, match="not a run"):
            ask(name)


def test_one_damaged_run_does_not_hide_the_others(tools: RunTools) -> None:
    (row,) = tools.list_runs()
    assert row["run"] == "damaged"
    assert str(row["status"]).startswith("unreadable")
