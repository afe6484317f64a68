from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_info_clear_and_run_again(small: Path, home: Path, cli: Any) -> None:
    cli("run", "-q", "--out", "one")
    found = cli("cache", "info", "--json").json
    stages = {row["stage"]: row for row in found["stages"]}
    assert found["folder"] == str(home / "cache")
    assert {"read", "chunk", "chunks", "embed", "vectors"} <= set(stages)
    assert all(row["artifacts"] > 0 and row["bytes"] > 0 for row in stages.values())
    assert "embed" in cli("cache", "info").out
    assert cli("cache", "clear", "--stage", "embed", "--yes").code == 0
    assert "embed" not in {row["stage"] for row in cli("cache", "info", "--json").json["stages"]}
    assert "MB freed" in cli("cache", "clear", "--yes").out
    assert cli("cache", "info", "--json").json["stages"] == []
    assert cli("run", "-q", "--out", "two").code == 0


def test_an_empty_cache(home: Path, cli: Any) -> None:
    assert cli("cache", "info").out == f"0.0 MB in {home / 'cache'}\n"


def test_an_unknown_stage_is_refused(small: Path, cli: Any) -> None:
    cli("run", "-q", "--out", "one")
    done = cli("cache", "clear", "--stage", "embedd", "--yes")
    assert done.code == 2 and "'embedd'" in done.err


def test_no_means_no(small: Path, home: Path, cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    cli("run", "-q", "--out", "one")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert cli("cache", "clear").code == 130
    assert (home / "cache" / "embed").is_dir()


def test_a_shared_cache(
    small: Path, home: Path, tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec", reason="needs bakeoff[s3]")
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("BAKEOFF_CACHE", str(shared))
    cli("run", "-q", "--out", "one")
    found = cli("cache", "info", "--json").json
    assert found["shared"] == str(shared)
    assert {"read", "chunk", "embed"} <= {row["stage"] for row in found["shared_stages"]}
    assert f"MB in {shared}, shared" in cli("cache", "info").out
    cleared = cli("cache", "clear", "--yes").out
    assert str(shared) in cleared and any(shared.glob("embed/??/*"))
    before = {path: path.stat().st_mtime_ns for path in shared.rglob("*")}
    assert cli("run", "-q", "--out", "two").code == 0
    assert {path: path.stat().st_mtime_ns for path in shared.rglob("*")} == before, (
        "all of it came from there"
    )


def test_a_shared_cache_that_is_not_there(
    small: Path, tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec", reason="needs bakeoff[s3]")
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path / "nowhere"))
    done = cli("run", "-q", "--out", "one")
    assert done.code == 2 and "bucket or folder" in done.err
    monkeypatch.setenv("BAKEOFF_CACHE", "s3://user:password@bucket")
    done = cli("run", "-q", "--out", "two")
    assert done.code == 2 and "BAKEOFF_CACHE" in done.err and "password@" not in done.err
