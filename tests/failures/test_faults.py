"""Each known failure, put back into a copy of the package, makes its own test fail: no test of this folder is idle."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

import bakeoff

HERE = Path(__file__).parent
PACKAGE = Path(bakeoff.__file__).parent
NUMBERS = sorted(path.stem for path in (HERE / "faults").glob("f*.toml"))


@dataclass(frozen=True)
class Edit:
    """One place of the package, and what stands there in the faulty copy."""

    file: str
    find: str
    put: str


@dataclass(frozen=True)
class Fault:
    """A failure of another system as it would look here."""

    number: str
    what: str
    edits: tuple[Edit, ...]


def _read(number: str) -> list[Fault]:
    """The faults of a number, from the file of its name beside this one."""
    told = tomllib.loads((HERE / "faults" / f"{number}.toml").read_text())["fault"]
    return [Fault(number, one["what"], tuple(Edit(**edit) for edit in one["edit"])) for one in told]


FAULTS = [fault for number in NUMBERS for fault in _read(number)]
each_fault = pytest.mark.parametrize("fault", FAULTS, ids=[f"{one.number}: {one.what}" for one in FAULTS])


@each_fault
def test_the_place_of_each_fault_is_there_once(fault: Fault) -> None:
    """A change of the package that moves such a place has to move the fault with it."""
    assert fault.edits
    for edit in fault.edits:
        assert (PACKAGE / edit.file).read_text().count(edit.find) == 1, edit
        assert edit.find != edit.put


@pytest.mark.slow
@each_fault
def test_a_fault_put_back_is_found(fault: Fault, tmp_path: Path) -> None:
    """The tests of its number fail on a copy with the fault; that they pass without it, their own run shows."""
    shutil.copytree(PACKAGE, tmp_path / "bakeoff", ignore=shutil.ignore_patterns("__pycache__"))
    for edit in fault.edits:
        place = tmp_path / "bakeoff" / edit.file
        place.write_text(place.read_text().replace(edit.find, edit.put))
    tests = sorted(HERE.glob(f"test_{fault.number}_*.py"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *map(str, tests)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, (
        done.stdout + done.stderr
    )  # 1: a test failed; 2: the copy cannot even be read
    assert "FAILED " in done.stdout, done.stdout
