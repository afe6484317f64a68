"""Every registered chunker under the contract."""

from collections.abc import Callable, Iterator

import pytest
from pydantic import Field

from bakeoff import registry
from bakeoff.plugins.kit import Settings
from bakeoff.testing import ChunkerContract
from bakeoff.types import Document, Piece

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


def test_a_value_that_loses_text_is_found(register: Callable[..., None]) -> None:
    class WindowParams(Settings):
        size: int = Field(default=100, ge=1)
        step: int = Field(default=100, ge=1)

    class Windows:
        version = "1"
        Params = WindowParams

        def __init__(self, params: WindowParams) -> None:
            self._params = params

        def chunk(self, document: Document) -> Iterator[Piece]:
            for start in range(0, len(document.text), self._params.step):
                yield Piece(start, min(start + self._params.size, len(document.text)))

    register("chunkers", "windows", Windows)
    suite = type("Suite", (ChunkerContract,), {"name": "windows"})()
    suite.test_covers_every_character(Windows(WindowParams()), "plain")
    with pytest.raises(AssertionError, match="with size=50, no piece holds character 50"):
        suite.test_other_values_cover_every_character()
