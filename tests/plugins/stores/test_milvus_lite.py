"""milvus-lite on a busy machine: its process is waited for until it listens."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytest.importorskip("milvus_lite")


@pytest.mark.slow
def test_a_process_that_does_not_listen_yet_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its package gives it half a second; here it is given none."""
    from bakeoff.plugins.stores.milvus import MilvusStore

    waited = subprocess.Popen.wait

    def at_once(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if timeout == 0.5:
            raise subprocess.TimeoutExpired(process.args, timeout)
        return waited(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", at_once)
    store = MilvusStore(MilvusStore.Params(), tmp_path)
    try:
        assert "milvus-lite" in store.engine_version()
    finally:
        store.close()
