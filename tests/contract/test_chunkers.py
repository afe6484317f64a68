"""Every registered chunker under the contract."""

import pytest

from bakeoff import registry
from bakeoff.testing import ChunkerContract


def suites() -> dict[str, type]:
    made = {}
    for name in registry.names("chunkers"):
        made[f"Test_{name}"] = type(f"Test_{name}", (ChunkerContract,), {"name": name})
    return made


globals().update(suites())


def test_there_are_chunkers() -> None:
    assert {"line", "semantic"} <= set(registry.names("chunkers"))


def test_undeclared_gap_fails() -> None:
    suite = type("Suite", (ChunkerContract,), {"name": "line"})()
    with pytest.raises(pytest.fail.Exception):
        suite.needs("flying", there=False)
