"""The client processes of a load test on the terminal: counts, latencies and clock offsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bakeoff.cli import console
from bakeoff.cli.options.vectors import number

if TYPE_CHECKING:
    from bakeoff.benchmark.clients.merged_loop import ClientResult
    from bakeoff.benchmark.load.session import LoadSession
    from bakeoff.benchmark.passes import Pass

MOST_ROWS = 16
"""Further rows are only in the files."""
HEADERS = [
    "system",
    "client",
    "answered",
    "QPS",
    "p99 ms",
    "late p99",
    "began ms",
    "clock off ms",
    "± ms",
    "drift ppm",
]


def print_clients(found: LoadSession, names: Mapping[str, str]) -> None:
    """Print each client of the last pass of each system and load, if there were several processes."""
    last = {(one.system, one.load): one for one in found.passes if one.team}
    if not last:
        return
    rows = [[names[one.system], *_row(member, one)] for one in last.values() for member in one.team]
    console.print_line(
        "Client processes, last run; speeds over the time in which all were sending", style="bold"
    )
    console.table(HEADERS, rows[:MOST_ROWS], right=tuple(range(2, len(HEADERS))))
    if len(rows) > MOST_ROWS:
        console.print_line(f"– {len(rows) - MOST_ROWS} more in load_clients.parquet", style="dim")
    console.print_line()


def _row(member: ClientResult, one: Pass) -> list[str]:
    from bakeoff.benchmark.load.tables import client_values

    values = client_values(member, one)
    clock = [values["wall_offset_ms"], values["offset_unsure_ms"]]
    began = values["began_s"]
    if member.lost:
        return [member.name, "lost", *["–"] * 4, *(number(one, 3) for one in clock), "–"]
    return [
        member.name,
        f"{values['answered']:,}",
        number(values["qps"], 0),
        number(values["p99_ms"], 3),
        number(values["lag_p99_ms"], 3),
        number(None if began is None else round(began * 1e3, 1) + 0.0, 1),  # no minus before a zero
        *(number(one, 3) for one in clock),
        number(values["drift_ppm"], 1),
    ]
