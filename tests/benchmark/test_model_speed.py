"""`bakeoff models bench` measures a real model in a process of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bakeoff.benchmark.model_speed import encoder_flop, typical_texts
from bakeoff.cli.app import app


@pytest.mark.slow
def test_a_model_is_measured_and_one_that_is_not_here_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    done = CliRunner().invoke(app, ["models", "bench", "wordllama", "mpnet", "--json"])
    assert done.exit_code == 0, done.output
    words, absent = json.loads(done.stdout)
    assert words["texts_per_second"] > 0 and words["tokens_per_second"] > words["texts_per_second"]
    assert words["share"] is None and words["corpus_seconds"] is None
    assert "bakeoff models pull mpnet" in absent["fault"]
    assert dict(os.environ) == before


def test_texts_differ_and_arithmetic_is_counted() -> None:
    texts = typical_texts()
    assert len(set(texts)) == len(texts) == 64
    assert encoder_flop(256, 6, 384) == 6 * (2 * 256 * 12 * 384**2 + 4 * 256**2 * 384)
