from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from bakeoff import registry
from bakeoff.errors import MissingExtraError, UnknownPluginError
from bakeoff.runtime.machine import package_versions


class Stranger:
    version = "1"


def test_built_ins_are_there() -> None:
    assert {"exact", "faiss", "tantivy"} <= set(registry.names("stores"))
    assert {"folder"} <= set(registry.names("sources"))


def test_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(UnknownPluginError, match=r"'faisss'.*'faiss'"):
        registry.load("stores", "faisss")


def test_unknown_kind() -> None:
    with pytest.raises(UnknownPluginError, match="Kinds: sources"):
        registry.names("databases")


def test_add_and_remove() -> None:
    registry.add("stores", "stranger", Stranger)
    try:
        assert registry.load("stores", "stranger") is Stranger
        assert "stranger" in [entry.name for entry in registry.entries("stores")]
        with pytest.raises(UnknownPluginError, match="already registered"):
            registry.add("stores", "stranger", Stranger)
    finally:
        registry.remove("stores", "stranger")
    assert "stranger" not in registry.names("stores")


def test_a_plug_in_that_lacks_a_method_of_its_kind_is_refused() -> None:
    class Incomplete:
        def embed(self) -> None: ...

    registry.add("embedders", "incomplete", Incomplete)
    try:
        with pytest.raises(UnknownPluginError, match=r"'incomplete' .*Incomplete\) .*close\."):
            registry.load("embedders", "incomplete")
    finally:
        registry.remove("embedders", "incomplete")


def test_a_plug_in_without_a_version_is_refused(register: Callable[..., None]) -> None:
    register("chunkers", "unversioned", type("Unversioned", (), {}))
    with pytest.raises(UnknownPluginError, match=r"'unversioned' .* has no version\."):
        registry.load("chunkers", "unversioned")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Installs a package whose only content is the entry point of a store."""

    def write(target: str) -> None:
        folder = tmp_path / "elsewhere-1.5.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.5\n")
        (folder / "entry_points.txt").write_text(f"[bakeoff.stores]\nwrong = {target}\n")
        monkeypatch.syspath_prepend(tmp_path)
        registry._points.cache_clear()

    yield write
    monkeypatch.undo()
    registry._points.cache_clear()


@pytest.mark.parametrize("target", ["nowhere:Store", "bakeoff.nowhere:Store", "bakeoff.types:Nothing"])
def test_a_wrong_entry_point_is_named_and_hides_no_other_plug_in(
    target: str, install: Callable[[str], None]
) -> None:
    install(target)
    with pytest.raises(UnknownPluginError, match=f"elsewhere registers 'wrong' as {target}"):
        registry.load("stores", "wrong")
    unusable = {entry.name: bool(entry.missing) for entry in registry.entries("stores")}
    assert unusable["wrong"] and not unusable["exact"]


def test_a_package_with_plug_ins_is_part_of_the_environment(install: Callable[[str], None]) -> None:
    install("bakeoff.types:Nothing")
    assert package_versions()["elsewhere"] == "1.5"


def test_a_built_in_name_is_taken() -> None:
    with pytest.raises(UnknownPluginError, match="already registered"):
        registry.add("stores", "exact", Stranger)


def test_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.delitem(sys.modules, "bakeoff.plugins.stores.faiss", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'bakeoff\[faiss\]'"):
        registry.load("stores", "faiss")
    entry = next(entry for entry in registry.entries("stores") if entry.name == "faiss")
    assert "pip install" in entry.missing


def _cannot_load(monkeypatch: pytest.MonkeyPatch, cause: BaseException | None) -> None:
    """As pybind11 says it when the code of a module raises."""

    def load(self: EntryPoint) -> Any:
        raise ImportError("initialization failed") from cause

    monkeypatch.setattr(EntryPoint, "load", load)


def test_a_package_that_is_there_and_broken_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _cannot_load(monkeypatch, None)
    with pytest.raises(MissingExtraError):
        registry.load("stores", "hnswlib")


def test_ctrl_c_while_a_package_is_loaded_is_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    _cannot_load(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        registry.load("stores", "hnswlib")
