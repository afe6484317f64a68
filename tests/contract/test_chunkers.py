"""Every registered chunker under the contract."""

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
