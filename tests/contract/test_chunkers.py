"""Every registered chunker under the contract."""

from collections.abc import Callable

import pytest

from bakeoff import registry
from bakeoff.testing import ChunkerContract

OTHERS = {"tokens": {"tokenizer": ["words"]}, "sentences": {"language": ["german"]}}


def suites() -> dict[str, type]:
    made = {}
    for name in sorted(set(registry.names("chunkers")) - {"existing"}):  # that one cuts nothing
        made[f"Test_{name}"] = type(
            f"Test_{name}", (ChunkerContract,), {"name": name, "others": OTHERS.get(name, {})}
        )
    return made


globals().update(suites())


def test_there_are_chunkers() -> None:
    assert {"line", "semantic"} <= set(registry.names("chunkers"))


def test_a_parameter_that_changes_nothing_is_found(register: Callable[..., None]) -> None:
    class Idle(registry.load("chunkers", "line")):
        class Params(registry.load("chunkers", "line").Params):
            depth: int = 3

    register("chunkers", "idle", Idle)
    suite = type("Suite", (ChunkerContract,), {"name": "idle"})()
    with pytest.raises(AssertionError, match="value of depth"):
        suite.test_every_parameter_has_an_effect()
