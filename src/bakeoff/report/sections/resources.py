"""Resources: seconds by phase, CPU and memory of client and server, index size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bakeoff.benchmark.results.load_results import all_loads, open_load
from bakeoff.errors import BakeoffError
from bakeoff.report.render import number_text as say
from bakeoff.report.sections.findings import of_phases
from bakeoff.report.sections.parts import Bar, BarChart, BarGroup, Chart, ReportSection, TextTable
from bakeoff.report.sections.under_load import loads_of, shown_points
from bakeoff.runs.analysis import Result
from bakeoff.runs.stored_times import SPEED, START, WHOLE, PhaseRow
from bakeoff.types import Json

SIDES = ("client", "server")
OPENING = "opening"
UNSEEN = "the index size is what the store reports; servers and some stores report none"
CLIENT = "The client holds embedded engines and models."
NO_SERVER = (
    "No server process runs here: embedded engines work inside the client; remote servers are not measured."
)
HOW = "CPU and memory are measured under load: bakeoff load"


@dataclass(frozen=True, slots=True)
class Phase:
    """One system's use in one phase, by client and server: average CPU in percent of one core, peak memory in MB."""

    system: str
    phase: str
    cpu: tuple[float | None, ...]
    peak_cpu: tuple[float | None, ...]
    memory: tuple[float | None, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """One resource: its name, format and value in a phase."""

    name: str
    verb: str
    caption: str
    say: Callable[[float | None], str]
    of: Callable[[Phase], tuple[float | None, ...]]
    columns: tuple[tuple[str, Callable[[Phase], tuple[float | None, ...]]], ...]


def resources_section(result: Result, systems: Sequence[str]) -> ReportSection | None:
    """Sizes from the run, CPU and memory from its newest load; None if neither is known."""
    phases, heaviest = _phases(result, systems)
    charts = tuple(_charts(result, systems, phases, heaviest))
    if not charts:
        return None
    seen = any(value is not None for phase in phases for value in phase.memory)
    notes = () if seen else (f"{HOW} {result.record.run}",)
    return ReportSection("resources", "Resources", "", (), notes, charts)


def _charts(
    result: Result, systems: Sequence[str], phases: Sequence[Phase], heaviest: str
) -> Iterator[Chart]:
    notes = tuple(dict.fromkeys(f"–: {note}" for phase in phases for note in phase.notes if note))
    drawn = [phase for phase in phases if phase.phase in (OPENING, heaviest)]
    for use in USES:
        if any(part is not None for phase in drawn for part in use.of(phase)):
            unseen = all(use.of(phase)[1] is None for phase in drawn)
            caption = (
                f"{use.caption}, while an index is opened and under the heaviest load ({heaviest}). "
                f"{NO_SERVER if unseen else CLIENT}"
            )
            plot = BarChart(SIDES, _groups(drawn, use.of), use.say, use.name)
            yield Chart(use.name, _finding(use, drawn), caption, plot, _grid(phases, use), notes)
    size = _size_chart(result, systems)
    if size is not None:
        yield size


def _finding(use: ResourceRow, phases: Sequence[Phase]) -> str:
    """The system and phase that use most, client and server together."""
    sums = [
        (sum(part for part in use.of(phase) if part is not None), phase)
        for phase in phases
        if any(part is not None for part in use.of(phase))
    ]
    most, one = max(sums, key=lambda found: found[0])
    least = min(sums, key=lambda found: found[0])[0]
    span = "" if use.say(most) == use.say(least) else f"; the least is {use.say(least)}"
    return f"{one.system} {use.verb}: {use.say(most)} ({one.phase}){span}"


def _groups(
    phases: Sequence[Phase], values: Callable[[Phase], tuple[float | None, ...]]
) -> tuple[BarGroup, ...]:
    systems = dict.fromkeys(phase.system for phase in phases)
    return tuple(
        BarGroup(system, tuple(Bar(phase.phase, values(phase)) for phase in phases if phase.system == system))
        for system in systems
    )


def _grid(phases: Sequence[Phase], use: ResourceRow) -> TextTable:
    """Every phase of every system."""
    headings = [f"{side} {column}" for column, _ in use.columns for side in SIDES]
    rows = [
        (phase.system, phase.phase, *(use.say(part) for _, values in use.columns for part in values(phase)))
        for phase in phases
    ]
    return TextTable(("system", "phase", *headings), tuple(rows), 2)


def _size_chart(result: Result, systems: Sequence[str]) -> Chart | None:
    stored = {row["system"]: row["index_bytes"] for row in result.systems.to_pylist()}
    sizes = [(system, stored.get(system)) for system in systems]
    measured = sorted((size, system) for system, size in sizes if size is not None)
    if not measured:
        return None
    (low, smallest), (high, largest) = measured[0], measured[-1]
    first = f"{largest} has the largest index: {say.size(high)}"
    finding = first if low == high else f"{first}; {smallest} has the smallest: {say.size(low)}"
    groups = tuple(BarGroup(system, (Bar("", (size,)),)) for system, size in sizes)
    grid = TextTable(("system", "index"), tuple((system, say.size(size)) for system, size in sizes))
    notes = (f"–: {UNSEEN}",) if len(measured) < len(sizes) else ()
    caption = "As reported by the store: its files on disk, or its vectors in memory."
    return Chart(
        "index_size", finding, caption, BarChart(("index",), groups, say.size, "index size"), grid, notes
    )


USES = (
    ResourceRow(
        "memory",
        "uses the most memory",
        "The highest resident memory",
        say.megabytes,
        lambda one: one.memory,
        (("peak memory", lambda one: one.memory),),
    ),
    ResourceRow(
        "processor",
        "uses the most CPU",
        "Average in percent of one core",
        say.percent,
        lambda one: one.cpu,
        (("CPU", lambda one: one.cpu), ("peak CPU", lambda one: one.peak_cpu)),
    ),
)


def _phases(result: Result, systems: Sequence[str]) -> tuple[list[Phase], str]:
    """What the newest load observed, and the name of its heaviest load; empty if there is none."""
    if not all_loads(result.path):
        return [], ""
    try:
        record = open_load(result.path).record
    except BakeoffError:
        return [], ""  # the section on load explains it
    points = shown_points(record, systems)
    loads = loads_of(points)
    shown = {point["system"] for point in points}
    opened = {row["system"]: row["ingestion"]["resources"] for row in record["systems"]}
    phases: list[Phase] = []
    for system in dict.fromkeys(point["system"] for point in points):
        if system in opened and system in shown:
            phases.append(_phase(system, OPENING, opened[system]))
        mine = sorted((p for p in points if p["system"] == system), key=lambda p: _order(p, loads))
        phases += [_phase(system, point["load"], point["resources"]) for point in mine]
    return phases, loads[-1]["load"] if loads else ""


def _order(point: Mapping[str, Json], loads: Sequence[Mapping[str, Json]]) -> int:
    return [load["load"] for load in loads].index(point["load"])


def _phase(system: str, phase: str, stored: Mapping[str, Json]) -> Phase:
    used = [stored.get(side) or {} for side in SIDES]
    return Phase(
        system,
        phase,
        tuple(one.get("avg_cpu_percent") for one in used),
        tuple(one.get("peak_cpu_percent") for one in used),
        tuple(one.get("peak_memory_mb") for one in used),
        tuple(f"{side}: {one.get('note')}" for side, one in zip(SIDES, used, strict=True) if one.get("note")),
    )


PARTLY = "not all of it was timed"
CAPTION = (
    "Seconds of each phase; systems that share a part share its time. Cached parts have the time of the run that "
    "built them."
)


def phase_chart(phases: Sequence[str], rows: Sequence[PhaseRow]) -> Chart | None:
    """The bars with their table; None if this run built nothing."""
    kinds = tuple(phase for phase in phases if phase != WHOLE)
    if not any(time.value for row in rows for time in row.phases):
        return None
    groups = tuple(BarGroup(row.system, (_bar(phases, row),)) for row in rows)
    return Chart(
        "ingestion",
        of_phases(phases, rows),
        CAPTION,
        BarChart(kinds, groups, say.seconds, "seconds"),
        phase_grid(phases, rows),
    )


def phase_grid(phases: Sequence[str], rows: Sequence[PhaseRow]) -> TextTable:
    """The seconds of each phase, and the speed of models where it is known."""
    fast = any(row.speed.value is not None for row in rows)
    cells = (
        (
            row.system,
            *(say.seconds(time.value) for time in row.phases),
            *([row.start_text, row.speed_text] if fast else []),
        )
        for row in rows
    )
    return TextTable(("system", *phases, *([START, SPEED] if fast else [])), tuple(cells))


def _bar(phases: Sequence[str], row: PhaseRow) -> Bar:
    times = {phase: time.value for phase, time in zip(phases, row.phases, strict=True)}
    total = times.pop(WHOLE, None)
    return Bar("", tuple(times.values()), say.seconds(total) if total is not None else PARTLY)
