import pytest

from bakeoff import registry
from bakeoff.errors import MissingExtraError, UnknownPluginError


class Stranger:
    version = "1"


def test_built_ins_are_there() -> None:
    assert {"exact", "faiss", "tantivy"} <= set(registry.names("stores"))
    assert {"folder"} <= set(registry.names("sources"))


def test_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(UnknownPluginError, match=r"no store is called 'faisss'\. Did you mean 'faiss'\?"):
        registry.load("stores", "faisss")


def test_unknown_kind() -> None:
    with pytest.raises(UnknownPluginError, match="Kinds: sources"):
        registry.names("databases")


def test_add_and_remove() -> None:
    registry.add("stores", "stranger", Stranger)
    try:
        assert registry.load("stores", "stranger") is Stranger
        assert "stranger" in [entry.name for entry in registry.entries("stores")]
        with pytest.raises(UnknownPluginError, match="registered already"):
            registry.add("stores", "stranger", Stranger)
    finally:
        registry.remove("stores", "stranger")
    assert "stranger" not in registry.names("stores")


def test_a_built_in_name_is_taken() -> None:
    with pytest.raises(UnknownPluginError, match="registered already"):
        registry.add("stores", "exact", Stranger)


def test_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.delitem(sys.modules, "bakeoff.plugins.stores.faiss", raising=False)
    with pytest.raises(MissingExtraError, match=r"faiss needs faiss: pip install 'bakeoff\[faiss\]'"):
        registry.load("stores", "faiss")
    entry = next(entry for entry in registry.entries("stores") if entry.name == "faiss")
    assert "pip install" in entry.missing
