"""Results are not written between the documents, and the review keeps only times that are times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from bakeoff.errors import SettingError
from bakeoff.review.web.server import UndoRequest
from bakeoff.runs.run import run

TEXT = "corpus: {{folder: {folder}{more}}}\nqueries: queries.yaml\nchunkers: [line]\nmodes: [bm25]\n"


@pytest.mark.parametrize("out", ["corpus/run", "corpus", "corpus/guide/deep/run", "./corpus/../corpus/run"])
def test_a_run_inside_the_corpus_is_refused(
    out: str, home: Path, cli: Callable[..., str], laid_out: Callable[..., Path]
) -> None:
    laid_out(Path.cwd(), TEXT.format(folder="corpus", more=""))
    before = sorted(Path("corpus").rglob("*"))
    assert "the corpus folder" in cli("run", "--out", out, code=2)
    assert sorted(Path("corpus").rglob("*")) == before


def test_a_link_into_the_corpus_is_refused(home: Path, laid_out: Callable[..., Path]) -> None:
    path = laid_out(Path.cwd(), TEXT.format(folder="corpus", more=""))
    Path("elsewhere").symlink_to("corpus")
    with pytest.raises(SettingError):
        run(path, out="elsewhere/run")


def test_the_usual_folder_of_runs_is_refused_where_the_corpus_is_all_around(
    home: Path, laid_out: Callable[..., Path], cli: Callable[..., str]
) -> None:
    laid_out(Path.cwd(), TEXT.format(folder=".", more=""))
    cli("run", code=2)
    laid_out(Path.cwd(), TEXT.format(folder=".", more=", exclude: ['runs/**', '*.yaml']"))
    cli("run", "-q", code=None)
    assert list(Path("runs").glob("*/run.json"))


@pytest.mark.parametrize("out", ["run", "corpus-run", ".corpus/run", "corpus/.hidden/run"])
def test_other_folders_are_fine(out: str, home: Path, laid_out: Callable[..., Path]) -> None:
    assert run(laid_out(Path.cwd(), TEXT.format(folder="corpus", more="")), out=out).systems


@pytest.mark.parametrize(
    "time",
    ["2026-13-40T25:61:61.000000+00:00", "2026-02-30T00:00:00.000000+00:00", "2026-01-01", "", "now", "٢٠٢٦-01-01T00:00:00.000000+00:00",
     "2026-01-01T00:00:00.000000+00:00\n", "2026-01-01T00:00:00.000000+02:00", "2026-01-01T24:00:00.000000+00:00"],
)  # fmt: skip
def test_a_review_time_that_is_not_a_date_is_refused(time: str) -> None:
    with pytest.raises(ValidationError):
        UndoRequest.model_validate({"reviewer": "a", "time": time})
    assert UndoRequest.model_validate({"reviewer": "a", "time": "2026-02-28T23:59:59.000001+00:00"})
