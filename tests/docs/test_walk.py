"""The page that walks a query through the code names what is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "walk.md"
NAMES = sorted(set(re.findall(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`", PAGE.read_text(encoding="utf-8"))))
FILES = {"bakeoff.yaml", "heapq.py"}


def found(name: str) -> object:
    """The module, class or function of a dotted name below the package."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            here: object = importlib.import_module(".".join(("bakeoff", *parts[:cut])))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            here = getattr(here, part)
        return here
    raise AttributeError(name)


@pytest.mark.parametrize("name", [one for one in NAMES if one not in FILES and not one.endswith(".parquet")])
def test_every_name_is_one_of_ours(name: str) -> None:
    assert found(name) is not None


def test_the_walk_is_a_whole_one() -> None:
    rooms = {name.split(".")[0] for name in NAMES}
    assert {"cli", "config", "truth", "pipeline", "measures", "runs", "stats"} <= rooms


def test_a_name_that_is_gone_is_noticed() -> None:
    with pytest.raises(AttributeError):
        found("pipeline.query_pipeline.nowhere")
    with pytest.raises(AttributeError):
        found("pipeline.nowhere.dense")
