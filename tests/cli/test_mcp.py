"""The server for assistants, asked by the protocol's own client over a real process."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bakeoff.cli.mcp import RunTools
from bakeoff.errors import DataError

pytest.importorskip("mcp.server.mcpserver")


@pytest.fixture
def tools(ran: Any) -> RunTools:
    return RunTools(ran.result.path.parent)


def test_a_run_is_listed_and_explained(ran: Any, tools: RunTools) -> None:
    (listed,) = tools.list_runs()
    shown = tools.explain_run(listed["run"])
    assert shown["recommendation"] == ran.result.recommendation.sentence
    assert shown["strength"] == "start"
    assert len(shown["systems"]) == len(ran.result.done)


def test_two_systems_are_compared_as_in_python(ran: Any, tools: RunTools) -> None:
    a, b = ran.result.done[:2]
    pair = ran.result.comparison.pair(a, b)
    shown = tools.compare_systems(ran.result.path.name, a, b)
    assert (shown["difference"], shown["questions"]) == (pair.difference, pair.n)


@pytest.mark.parametrize("name", ["..", "../..", "nope", "/etc", ""])
def test_only_runs_of_the_folder_are_read(tools: RunTools, name: str) -> None:
    with pytest.raises(DataError):
        tools.explain_run(name)


@pytest.mark.slow
def test_a_client_of_the_protocol_lists_and_searches(ran: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import anyio
    from mcp import Client, StdioServerParameters

    home = ran.result.path.parent / "home"
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "bakeoff", "mcp", str(ran.result.path.parent)],
        env={"BAKEOFF_HOME": str(home), "PATH": str(Path(sys.executable).parent)},
    )
    question = ran.result.queries["text"][0].as_py()

    async def talk() -> tuple[set[str], Any]:
        async with Client(command) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            asked = {"run": ran.result.path.name, "question": question, "system": ran.result.done[0], "k": 1}
            return names, await client.call_tool("search", asked)

    names, answer = anyio.run(talk)
    assert names == {"list_runs", "explain_run", "compare_systems", "search"}
    first = ran.result.rankings.to_pylist()[0]
    found = json.loads(answer.content[0].text)
    assert (found if isinstance(found, dict) else found[0])["document"] == first["document_id"]
