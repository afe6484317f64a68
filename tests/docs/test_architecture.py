"""The map of rooms is that of the tree, and every room has its layer."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
ROOMS = {
    path.stem
    for path in (ROOT / "src" / "bakeoff").iterdir()
    if not path.name.startswith(("_", ".")) and (path.suffix == ".py" or path.is_dir())
}
APART = {"plugins", "examples"}
"""What no layer holds: plug-ins have contracts of their own, examples are data."""


def test_every_room_is_on_the_map_and_no_other() -> None:
    tree = PAGE.split("bakeoff/\n")[1].split("```")[0]
    modules = tree.splitlines()[0].split("   ")[0].split()
    packages = re.findall(r"^  (\w+)/ ", tree, re.MULTILINE)
    assert {*modules, *packages} == ROOMS


def test_every_room_has_one_layer() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = [one["layers"] for one in contracts["contracts"] if one["type"] == "layers"]
    named = [name for layer in layers for name in layer.split(" | ")]
    assert sorted(named) == sorted(ROOMS - APART)
