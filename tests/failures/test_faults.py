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
NAMES = sorted(path.stem for path in (HERE / "faults").glob("*.toml"))


@dataclass(frozen=True)
class Edit:
    """One place of the package, and what stands there in the faulty copy."""

    file: str
    find: str
    put: str


@dataclass(frozen=True)
class Fault:
    """A failure as it would look here, or once did; `tests` are relative to the folder of all tests."""

    name: str
    what: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


def _read(name: str) -> list[Fault]:
    """The faults in a file; each may name its tests, else they are those of the known failure of that number."""
    found = tomllib.loads((HERE / "faults" / f"{name}.toml").read_text())["fault"]
    usual = [f"failures/{path.name}" for path in sorted(HERE.glob(f"test_{name}_*.py"))]
    return [
        Fault(
            name, one["what"], tuple(Edit(**edit) for edit in one["edit"]), tuple(one.get("tests") or usual)
        )
        for one in found
    ]


FAULTS = [fault for name in NAMES for fault in _read(name)]
each_fault = pytest.mark.parametrize("fault", FAULTS, ids=[f"{one.name}: {one.what}" for one in FAULTS])


@each_fault
def test_the_place_of_each_fault_is_there_once(fault: Fault) -> None:
    """A change of the package that moves such a place has to move the fault with it."""
    assert fault.edits and fault.tests
    assert all((HERE.parent / test.partition("::")[0]).is_file() for test in fault.tests)
    for edit in fault.edits:
        assert (PACKAGE / edit.file).read_text().count(edit.find) == 1, edit
        assert edit.find != edit.put


@pytest.mark.slow
@each_fault
def test_a_fault_put_back_is_found(fault: Fault, tmp_path: Path) -> None:
    """Its tests fail on a copy with the fault; that they pass without it, their own run shows."""
    shutil.copytree(PACKAGE, tmp_path / "bakeoff", ignore=shutil.ignore_patterns("__pycache__"))
    for edit in fault.edits:
        place = tmp_path / "bakeoff" / edit.file
        place.write_text(place.read_text().replace(edit.find, edit.put))
    tests = [f"{HERE.parent}/{test}" for test in fault.tests]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *tests],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0 and "skipped" in done.stdout and "passed" not in done.stdout:
        pytest.skip("its tests need an engine that this machine does not have")
    assert done.returncode == 1, (
        done.stdout + done.stderr
    )  # 1: a test failed; 2: the copy cannot even be read
    assert "FAILED " in done.stdout, done.stdout
