"""Energy of the whole machine, where its processor counts it (RAPL) and lets us read; else null with the reason."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from bakeoff.benchmark.resources.limits import check_energy

POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True, slots=True)
class Energy:
    """Joules of all processor packages over a stretch of work, everything else on the machine included."""

    joules: float | None
    note: str = ""


UNMEASURED = Energy(None, "not measured")


class Meter:
    """Reads the counters when made and again when asked; a counter that ran over its end is put right."""

    def __init__(self, root: Path = POWERCAP) -> None:
        self._packages = sorted(root.glob("*-rapl:[0-9]")) if root.is_dir() else []
        self._begin, self._note = _counters(self._packages)
        self._since = time.perf_counter()

    def read(self) -> Energy:
        """The energy since this meter was made."""
        if self._begin is None:
            return Energy(None, self._note)
        end, note = _counters(self._packages)
        if end is None:
            return Energy(None, note)
        used = 0
        for package, before, after in zip(self._packages, self._begin, end, strict=True):
            used += after - before if after >= before else after - before + _range(package)
        return Energy(*check_energy(used / 1e6, time.perf_counter() - self._since, len(self._packages)))


def _counters(packages: list[Path]) -> tuple[list[int] | None, str]:
    """Microjoules of each package, or why they cannot be told."""
    if not packages:
        return None, "this machine does not offer its energy counters (RAPL)"
    try:
        return [int((package / "energy_uj").read_text()) for package in packages], ""
    except (OSError, ValueError) as exc:
        return None, f"the energy counters cannot be read ({type(exc).__name__}); they usually need root"


def _range(package: Path) -> int:
    return int((package / "max_energy_range_uj").read_text())
