"""bakeoff mcp: runs for an assistant that speaks the Model Context Protocol, over standard input and output."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

import typer

from bakeoff.errors import BakeoffError, DataError, MissingExtraError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from bakeoff.runs.analysis import Result

Json = dict[str, object]
P = ParamSpec("P")
T = TypeVar("T")
INSTRUCTIONS = (
    "Results of bakeoff: which embedding model, chunker, vector database and retrieval mode suits a set of documents. "
    "Quote numbers with their intervals, and do not call a tie a difference."
)


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(mcp)


def mcp(
    folder: Annotated[Path, typer.Argument(help="The folder that holds the runs.")] = Path("runs"),
) -> None:
    """Serve runs to an assistant (Model Context Protocol).

    Over standard input and output; the tools list, explain, compare and search runs.
    """
    build_server(folder).run("stdio")


def build_server(folder: Path) -> MCPServer:
    """A server for the runs in one folder; names never lead outside it."""
    from bakeoff import __version__

    try:
        from mcp.server.mcpserver import MCPServer
    except ImportError as exc:
        raise MissingExtraError("mcp needs mcp 2 or later: pip install 'bakeoff[mcp]'") from exc
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder. Give the folder that holds the runs.")
    tools = RunTools(folder)
    server = MCPServer("bakeoff", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    for tool in (tools.list_runs, tools.explain_run, tools.compare_systems, tools.search):
        server.tool()(_with_reasons(tool))
    return server


def _with_reasons(tool: Callable[P, T]) -> Callable[P, T]:
    """Wrap a tool so that the assistant sees our error messages; the server hides the text of all others."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return tool(*args, **kwargs)
        except BakeoffError as exc:
            raise ToolError(str(exc)) from exc

    return call


class RunTools:
    """The questions an assistant can ask about the runs in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def list_runs(self) -> list[Json]:
        """The runs of the folder: name, experiment, status, day, primary measure and number of systems."""
        return [_record_row(self._folder / name) for name in self._names()]

    def explain_run(self, run: str) -> Json:
        """The recommendation of a run, how sure it is, what would change it, and every system with its interval."""
        result = self._open(run)
        recommendation = result.recommendation
        return {
            "recommendation": recommendation.sentence if recommendation else "No system finished.",
            "strength": str(recommendation.strength) if recommendation else None,
            "details": dict(recommendation.lines) if recommendation else {},
            "verdict": result.verdict.sentence if result.done else "",
            "reasons": list(result.verdict.reasons) if result.done else [],
            "measure": result.record.primary,
            "systems": _system_rows(result) if result.done else [],
            "failed": result.failed,
        }

    def compare_systems(self, run: str, a: str, b: str, measure: str = "") -> Json:
        """Two systems of a run, paired by question; `a` and `b` are letters of explain_run or words of one label."""
        result = self._open(run)
        comparison = result.compare(measure or result.record.primary)
        pair = comparison.pair(result.system(a), result.system(b))
        return {
            "measure": comparison.measure,
            "a": pair.a,
            "b": pair.b,
            "mean_a": pair.mean_a,
            "mean_b": pair.mean_b,
            "difference": pair.difference,
            "interval": [pair.interval.low, pair.interval.high],
            "questions": pair.n,
            "better": pair.better,
        }

    def search(self, run: str, question: str, system: str = "", k: int = 5) -> list[Json]:
        """The passages that a system of a run finds for a question; the recommended system without a name."""
        import bakeoff

        with bakeoff.load_system(self._path(run), system or None) as live:
            return [asdict(passage) for passage in live.search(question, k)]

    def _open(self, run: str) -> Result:
        import bakeoff

        return bakeoff.open_run(self._path(run))

    def _path(self, run: str) -> Path:
        """The folder of a run by its name; SettingError if the name is not in the list."""
        names = self._names()
        if run not in names:
            raise DataError(f"{run[:100]!r} is not a run of this folder. Runs: {', '.join(names) or 'none'}.")
        return self._folder / run

    def _names(self) -> list[str]:
        """The runs in this folder; links that lead out of it are ignored."""
        folders = [path.parent for path in sorted(self._folder.glob("*/run.json"))]
        return [one.name for one in folders if one.resolve().parent == self._folder]


def _record_row(folder: Path) -> Json:
    """A run's summary, or why its record cannot be read."""
    from bakeoff.runs.folder import read_record

    try:
        one = read_record(folder)
    except BakeoffError as exc:
        return {"run": folder.name, "status": f"unreadable: {exc}"}
    return {
        "run": one.run,
        "experiment": one.name,
        "status": one.status,
        "started": one.started,
        "primary": one.primary,
        "systems": len(one.systems),
    }


def _system_rows(result: Result) -> list[Json]:
    summaries = result.summaries(result.record.primary)
    return [
        {
            "letter": letter,
            "system": system,
            "mean": summaries[system].mean,
            "interval": [summaries[system].interval.low, summaries[system].interval.high],
            "questions": summaries[system].n,
        }
        for letter, system in result.letters.items()
    ]
