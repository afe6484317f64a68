from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any, ClassVar

import pytest

from bakeoff import errors, registry
from bakeoff.cli import console
from bakeoff.errors import (
    BakeoffError,
    CacheError,
    CorpusError,
    ExperimentError,
    MissingExtraError,
    QueryFileError,
    SettingError,
    StoreError,
    UnknownPluginError,
    UserError,
)
from bakeoff.runs.analysis import open_run
from bakeoff.types import Hits


def one_paragraph(done: Any, error: type[BakeoffError] = UserError) -> str:
    """The message of a command that refuses: an error of ours, nothing on stdout, no traceback, no blank line."""
    assert done.code == error.exit_code and issubclass(getattr(errors, done.kind), error)
    assert done.out == "" and "Traceback" not in done.err
    assert done.err.startswith("error  ") and "\n\n" not in done.err
    return str(done.err)


# --- what works -------------------------------------------------------------------------------------


def test_run_prints_table_recommendation_and_where_the_report_is(tiny: Path, cli: Any) -> None:
    done = cli("run", "--out", "out")
    assert done.code == 0
    assert "Start with " in done.out and "How sure" in done.out and "Report   out/report.html" in done.out
    assert "Verdict" not in done.out and "Factors" not in done.out, "the evidence needs --verbose"
    assert "semantic · wordllama(dims=64) · faiss · hybrid" in done.out
    assert Path("out/report.html").stat().st_size > 10_000
    assert "measured  line · bm25  (3 of 10)" in done.err and "\x1b" not in done.err + done.out


def test_quiet_says_the_outcome_only(small: Path, cli: Any) -> None:
    done = cli("run", small, "--quiet", "--out", "out")
    assert done.code == 0 and done.err == "" and "Start with " in done.out


def test_runs_repeats_the_timings_of_this_run_only(small: Path, cli: Any) -> None:
    """S3-13: --runs N, and the experiment stays as it is."""
    before = small.read_text()
    assert cli("run", "-q", "--runs", 3, "--out", "out").code == 0
    assert json.loads(Path("out/run.json").read_text())["runs"] == 3 and small.read_text() == before
    assert cli("run", "--runs", 0).code == 2


def test_json_is_json_and_nothing_else(tiny: Path, cli: Any) -> None:
    done = cli("run", "--json", "--out", "out")
    assert done.code == 0 and done.err == ""
    found = done.json
    assert found["run"] == "out" and len(found["systems"]) == 10 and found["failed"] == {}
    first = found["systems"][0]["measures"]["nDCG@10(document)"]
    assert first["n"] == 12 and first["excluded"] == 2 and 0 < first["mean"] <= 1
    assert found["verdict"]["sentence"]


def test_without_out_the_folder_is_named_by_experiment_and_time(small: Path, cli: Any) -> None:
    assert cli("run", "-q").code == 0
    assert [path.name[:8] for path in Path("runs").iterdir()] == ["small-20"]


def test_a_folder_means_the_experiment_in_it(small: Path, cli: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("run", "work", "-q", "--out", "out").code == 0


def test_spaces_and_unicode_in_every_path(home: Path, laid_out: Any, cli: Any) -> None:
    folder = Path("mein Ordner – 東京 [x]")
    experiment = laid_out(folder)
    done = cli("--home", folder / "häuser & co", "run", experiment, "--json", "--out", folder / "Lauf №1")
    assert done.code == 0 and done.json["run"].endswith("Lauf №1")
    assert (folder / "häuser & co" / "cache").is_dir()


# --- a system that fails ----------------------------------------------------------------------------


@pytest.fixture
def mended(register: Any, small: Path) -> list[bool]:
    """A store that fails until it is mended, beside one that works."""
    state = [False]

    class Broken(registry.load("stores", "exact")):
        def search(self, vector: Any, k: int, query: Any) -> Hits:
            if not state[0]:
                raise StoreError("the engine closed the connection.")
            return super().search(vector, k, query)

    register("stores", "broken", Broken)
    small.write_text(small.read_text().replace("[exact]", "[exact, broken]"))
    return state


def test_a_failed_system_is_code_1_and_tried_again(mended: list[bool], cli: Any) -> None:
    done = cli("run", "--out", "out")
    assert done.code == 1
    said = " ".join(done.out.split())
    assert "failed line(" in said and "the engine closed the connection." in said
    assert "other system" in said
    mended[0] = True
    again = cli("run", "--out", "out")
    assert again.code == 0 and again.err.count("earlier run") == 1


def test_a_narrow_terminal_keeps_the_names_of_systems(
    small: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = small.read_text().replace("{line: {doc_lines: 4, code_lines: 6}}", "line")
    small.write_text(short.replace("{wordllama: {dims: 64}}", "wordllama"))
    monkeypatch.setattr(console.out, "width", 70)
    done = cli("run", "-q", "--out", "out")
    systems = [row["system"] for row in cli("run", "-q", "--out", "out", "--json").json["systems"]]
    table = done.out.partition("Start with ")[0]
    assert done.code == 0 and all(system in table for system in systems)
    assert max(map(len, table.splitlines()[1:-2])) <= 70


def test_a_failed_system_in_json(mended: list[bool], cli: Any) -> None:
    done = cli("run", "--out", "out", "--json")
    assert done.code == 1
    assert list(done.json["failed"].values()) == ["the engine closed the connection."]
    assert len(done.json["systems"]) == 1


def test_all_systems_failed(mended: list[bool], small: Path, cli: Any) -> None:
    small.write_text(small.read_text().replace("[exact, broken]", "[broken]"))
    for options in ((), ("--json",)):
        done = cli("run", "--out", "out", *options)
        assert done.code == 1 and "the engine closed the connection." in done.out
        assert "bug in bakeoff" not in done.err


# --- what is wrong ----------------------------------------------------------------------------------


def test_no_experiment(home: Path, cli: Any) -> None:
    said = one_paragraph(cli("run"), ExperimentError)
    assert "bakeoff.yaml" in said and "bakeoff init" in said


def test_bad_yaml(small: Path, cli: Any) -> None:
    small.write_text("corpus: {folder: a\n")
    assert "bakeoff.yaml, line" in one_paragraph(cli("run"), ExperimentError)


def test_an_unknown_key(small: Path, cli: Any) -> None:
    small.write_text(small.read_text() + "dept: 5\n")
    said = one_paragraph(cli("run"), ExperimentError)
    assert "line 9" in said and '"dept"' in said and '"depth"' in said


def test_an_unknown_plugin(small: Path, cli: Any) -> None:
    small.write_text(small.read_text().replace("[exact]", "[exakt]"))
    said = one_paragraph(cli("run"), UnknownPluginError)
    assert "'exakt'" in said and "'exact'" in said


def test_a_missing_extra(small: Path, cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.delitem(sys.modules, "bakeoff.plugins.stores.faiss", raising=False)
    small.write_text(small.read_text().replace("[exact]", "[faiss]"))
    assert "pip install 'bakeoff[faiss]'" in one_paragraph(cli("run"), MissingExtraError)


def test_no_query_file(small: Path, cli: Any) -> None:
    Path("queries.yaml").unlink()
    assert "queries.yaml" in one_paragraph(cli("run"), QueryFileError)
    assert not Path("runs").exists()


def test_no_corpus_folder(small: Path, cli: Any) -> None:
    shutil.rmtree("corpus")
    assert "corpus" in one_paragraph(cli("run", "-q", "--out", "out"), CorpusError)


def test_an_empty_corpus(small: Path, cli: Any) -> None:
    shutil.rmtree("corpus")
    Path("corpus").mkdir()
    assert "corpus" in one_paragraph(cli("run", "-q", "--out", "out"), CorpusError)


def test_nothing_but_a_binary_file(small: Path, cli: Any) -> None:
    shutil.rmtree("corpus")
    Path("corpus").mkdir()
    Path("corpus/picture.md").write_bytes(b"\x89PNG\x00\x00")
    said = one_paragraph(cli("run", "-q", "--out", "out"))
    assert "Skipped 1 file " in said and "picture.md (binary)" in said


def test_an_unreadable_file_among_others_is_left_out_and_named(small: Path, cli: Any) -> None:
    Path("corpus/latin.md").write_bytes("Größe\x00".encode("utf-16-le") + b"\xff\xfe\xfd")
    Path("corpus/gone.md").symlink_to("nowhere.md")
    assert cli("run", "-q", "--out", "out").code == 0
    corpus = json.loads(Path("out/run.json").read_text())["corpus"]
    assert set(dict(corpus["skipped"])) == {"gone.md", "latin.md"}
    assert [(one["kind"], one["files"]) for one in corpus["left_out"]] == [("markdown", 1)] * 2, "two reasons"


def test_unread_files_are_in_the_record_and_the_report(small: Path, cli: Any) -> None:
    Path("corpus/board deck.pptx").write_bytes(b"PK")
    Path("corpus/old.zip").write_bytes(b"PK")
    done = cli("run", "-q", "--verbose", "--out", "out")
    assert done.code == 0 and "Skipped 2 files (1 PowerPoint, 1 archive)" in " ".join(done.out.split())
    record = json.loads(Path("out/run.json").read_text())
    assert [one["kind"] for one in record["corpus"]["left_out"]] == ["PowerPoint", "archive"]
    assert cli("report", "out", "--format", "md").code == 0
    page = " ".join(Path("out/report.md").read_text(encoding="utf-8").split())
    assert "Skipped 2 files (1 PowerPoint, 1 archive)" in page and "board deck.pptx (" in page


def test_truth_that_matches_nothing(small: Path, cli: Any) -> None:
    path = Path("queries.yaml")
    path.write_text(path.read_text().replace("[guide/auth.md]", "[doc_001]"))
    said = one_paragraph(cli("run", "-q", "--out", "out"))
    assert said.count('no document matches "doc_001"') == 3
    assert not Path(os.environ["BAKEOFF_HOME"], "cache", "embed").exists()


def test_out_below_a_file(small: Path, cli: Any) -> None:
    assert "--out" in one_paragraph(cli("run", "--out", small / "below"), SettingError)


def test_out_is_a_file(small: Path, cli: Any) -> None:
    assert "queries.yaml" in one_paragraph(cli("run", "--out", "queries.yaml"), SettingError)


def test_home_below_a_file(small: Path, cli: Any) -> None:
    said = one_paragraph(cli("--home", small / "below", "run", "-q", "--out", "out"))
    assert "BAKEOFF_HOME" in said


def test_no_permission_to_write_the_cache(small: Path, cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *rest: Any, **options: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    Path("out").mkdir()
    monkeypatch.setattr(Path, "mkdir", refuse)
    said = one_paragraph(cli("run", "-q", "--out", "out"))
    assert "permission" in said.lower()


# --- a full disk ------------------------------------------------------------------------------------


def test_a_disk_that_says_it_is_full(small: Path, cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    left, sync = [12], os.fsync

    def full(handle: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    one_paragraph(cli("run", "-q", "--out", "out"), CacheError)
    monkeypatch.undo()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A file system of so many kilobytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    options = [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if mount is None or subprocess.run(options, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")

    def sized(kilobytes: int) -> Path:
        subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", str(place)], check=True)
        return place

    yield sized
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.slow
def test_a_really_full_disk_and_then_a_larger_one(tiny: Path, cli: Any, disk: Callable[[int], Path]) -> None:
    sizes = range(12, 700, 48)
    for kilobytes in sizes:
        place = disk(kilobytes)
        done = cli("--home", place, "run", "-q", "--out", "out")
        assert done.code in (0, 1) and "Traceback" not in done.err and "bug in bakeoff" not in done.err
        if done.code == 0:
            break
        assert "disk is full" in done.err or "failed" in done.out
    assert done.code == 0 and kilobytes > sizes[0]
    found = json.loads(Path("out/run.json").read_text())
    assert found["status"] == "done"


def test_debug_shows_where(small: Path, cli: Any) -> None:
    shutil.rmtree("corpus")
    done = cli("--debug", "run", "-q", "--out", "out")
    assert done.code == 2 and "Traceback" in done.err and "error  " in done.err and done.kind == "CorpusError"


# --- status -----------------------------------------------------------------------------------------


def test_status_of_a_finished_run(small: Path, cli: Any) -> None:
    cli("run", "-q", "--out", "runs/one")
    done = cli("status")
    assert done.code == 0 and "one" in done.out and "Next     open runs/one/report.html" in done.out
    (found,) = cli("status", "runs/one", "--json").json
    recommendation = found.pop("recommendation")
    assert recommendation["strength"] == "start"  # one system: nothing is compared
    assert recommendation["system"] in done.out.replace("\n         ", " ")
    assert found | {"started": ""} == {
        "run": "runs/one",
        "status": "done",
        "done": 1,
        "failed": 0,
        "review": None,
        "to_do": 0,
        "started": "",
    }


def test_status_of_a_run_with_failures(mended: list[bool], cli: Any) -> None:
    cli("run", "-q", "--out", "runs/one")
    found = cli("status", "--json").json[0]
    assert (found["status"], found["done"], found["failed"]) == ("partial", 1, 1)
    assert "--out runs/one   retries" in cli("status").out


def test_debug_shows_where_a_system_failed(
    mended: list[bool], cli: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "bakeoff.runs.measure_loop")
    cli("run", "-q", "--out", "runs/one")
    (record,) = [one for one in caplog.records if one.name == "bakeoff.runs.measure_loop"]
    assert record.exc_info is not None


def test_status_of_a_stopped_run(small: Path, cli: Any) -> None:
    path = Path("queries.yaml")
    right = path.read_text()
    path.write_text(right.replace("[guide/auth.md]", "[doc_001]"))
    cli("run", "-q", "--out", "runs/one")
    found = cli("status", "--json").json[0]
    assert (found["status"], found["done"], found["to_do"]) == ("stopped", 0, 1)
    path.write_text(right)
    assert cli("run", "-q", "--out", "runs/one").code == 0
    assert cli("status", "--json").json[0]["status"] == "done"


def test_status_doubts_only_a_run_whose_process_is_unknown(small: Path, cli: Any) -> None:
    cli("run", "--out", "r", "-q")
    record = json.loads(Path("r/run.json").read_text())
    for status, doubted in (("stopped", False), ("running", False)):
        Path("r/run.json").write_text(json.dumps({**record, "status": status}))
        assert ("still running" in " ".join(cli("status", "r").out.split())) == doubted
    Path("r/progress.json").unlink()
    assert "still running" in " ".join(cli("status", "r").out.split())


def test_status_never_counts_below_zero(small: Path, cli: Any) -> None:
    cli("run", "-q", "--out", "runs/one")
    small.write_text(small.read_text().replace("depth: 20", "depth: 5"))
    cli("run", "-q", "--out", "runs/one")
    record = json.loads(Path("runs/one/run.json").read_text())
    Path("runs/one/run.json").write_text(json.dumps({**record, "status": "running"}))
    found = cli("status", "--json").json[0]
    assert (found["done"], found["to_do"]) == (1, 0)


def test_status_of_nothing(home: Path, cli: Any) -> None:
    assert "bakeoff run" in one_paragraph(cli("status"))
    done = cli("status", "--json")
    assert done.code == 2 and done.json["error"]["kind"] == "DataError"


def test_a_table_as_query_file_is_refused_with_the_command_that_reads_it(small: Path, cli: Any) -> None:
    Path("queries.csv").write_text("question,document\nhow?,a.md\n")
    experiment = Path("bakeoff.yaml").read_text()
    Path("bakeoff.yaml").write_text(re.sub(r"(?m)^queries: .*$", "queries: queries.csv", experiment))
    done = cli("run")
    assert done.code == 2 and "bakeoff import csv queries.csv --out queries.yaml" in done.err


def test_what_other_tools_call_a_key_is_known(small: Path, cli: Any) -> None:
    Path("queries.yaml").write_text("queries:\n  - {id: a, question: how?, answer: a.md}\n")
    done = cli("run")
    assert done.code == 2
    assert '"text"' in done.err and '"truth"' in done.err


def test_a_verdict_on_drafts_says_so(tiny: Path, cli: Any) -> None:
    cli("init", "corpus", "--into", "mine")
    assert "DRAFTS" in cli("run", "mine", "--out", "out").out
    assert "drafts" in (open_run("out").recommendation or pytest.fail()).banner


def test_systems_that_failed_alike_are_reported_once(mended: list[bool], small: Path, cli: Any) -> None:
    small.write_text(re.sub(r"modes: .*", "modes: [dense, hybrid]", small.read_text()))
    done = cli("run", "--quiet", "--out", "out", "--json")
    assert len(done.json["failed"]) == 2
    said = cli("run", "--quiet", "--out", "out").out
    assert len(re.findall(r"(?m)^failed ", said)) == 1 and said.count("the engine closed the connection") == 1


def test_status_names_the_experiment_that_goes_on(mended: list[bool], small: Path, cli: Any) -> None:
    small.rename("other file.yaml")
    cli("run", "other file.yaml", "--out", "runs/one", "-q")
    assert "Next     bakeoff run 'other file.yaml' --out runs/one " in cli("status").out
    Path("other file.yaml").unlink()
    assert "Next     bakeoff run EXPERIMENT --out runs/one " in cli("status").out


def test_runs_without_a_query_in_common_are_not_compared(small: Path, cli: Any) -> None:
    cli("run", "--out", "one", "-q")
    written = Path("queries.yaml").read_text()
    Path("queries.yaml").write_text(re.sub(r"\bid: ", "id: other-", written))
    cli("run", "--out", "two", "-q")
    done = cli("diff", "one", "two")
    assert done.code == 2 and "share no question" in done.err


def test_factors_that_change_together_are_named_with_one_share(
    laid_out: Any, home: Path, cli: Any, register: Any
) -> None:
    """Each store works with one chunker only, so nothing separates the two; bm25 has no store."""

    class Takes(registry.load("stores", "exact")):
        few: ClassVar[bool]

        def create(self, collection: str, dims: int, metric: Any) -> None:
            self.rows = 0
            super().create(collection, dims, metric)

        def insert(self, batch: Any) -> None:
            self.rows += len(batch.ids)
            super().insert(batch)

        def ready(self) -> None:
            if (self.rows <= 8) is not self.few:
                raise StoreError(f"{self.rows} chunks are not for this store")
            super().ready()

    register("stores", "small_one", type("SmallOne", (Takes,), {"few": True}))
    register("stores", "large_one", type("LargeOne", (Takes,), {"few": False}))
    laid_out(
        Path.cwd(),
        "corpus: {folder: corpus}\nqueries: queries.yaml\nchunkers: [whole, {line: {doc_lines: 2, code_lines: 3}}]\n"
        "embedders: [{wordllama: {dims: 64}}]\nstores: [small_one, large_one]\nmodes: [dense, bm25]\n"
        "depth: 20\nmeasures: {primary: P@1(document)}\n",
    )
    done = cli("run", "--json", "--out", "out")
    assert done.code == 1 and len(done.json["systems"]) == 4, "two of six combinations fail"
    factors = done.json["factors"]
    assert factors["confounded"] == [["chunker", "store"]]
    named = [one["factor"] for one in factors["shares"]]
    assert "chunker and store" in named and not {"chunker", "store"} & set(named)
    assert sum(one["share"] for one in factors["shares"]) == pytest.approx(1)
    shown = cli("run", "--verbose", "--out", "out").out
    assert cli("report", "out", "--format", "md").code == 0
    for text in (shown, Path("out/report.html").read_text(), Path("out/report.md").read_text()):
        text = " ".join(unescape(text).split())
        assert "chunker and store" in text and factors["notes"][0] in text


BY_SOURCE = """\
corpus: {folder: corpus}
queries: queries.yaml
chunkers: [whole]
modes: [bm25]
depth: 20
measures: {primary: R@1(document), also: ["R@1(document, source=documents)", "R@1(document, source=second)"]}
"""


def test_a_measure_by_one_source_of_truth_counts_that_one_alone(laid_out: Any, home: Path, cli: Any) -> None:
    """C-8: two rules name one document each; the first result is right by one of them, and by the union half."""
    laid_out(Path.cwd(), BY_SOURCE)
    both = "{any: [{documents: [guide/auth.md]}, {documents: [src/slug.py], name: second}]}"
    first = "{documents: [guide/billing.md]}"
    Path("queries.yaml").write_text(
        f"queries:\n  - {{id: a, text: how long is an access token valid, truth: {both}}}\n"
        f"  - {{id: b, text: get my money back after a purchase, truth: {first}}}\n"
    )
    (row,) = cli("run", "--json", "--out", "out").json["systems"]
    found = {name: (one["mean"], one["n"]) for name, one in row["measures"].items()}
    assert found == {
        "R@1(document)": (0.75, 2),
        "R@1(document, source=documents)": (1.0, 2),
        "R@1(document, source=second)": (0.0, 1),
    }
    rows = open_run(Path("out")).scores.to_pylist()
    assert {row["source"] for row in rows if "second" in row["measure"] and row["value"] is not None} == {
        "second"
    }
    for wrong, named in (
        ("source=seconds", "documents, second"),
        ("SecAcc@5(chunk, source=second)", "section"),
    ):
        text = (
            BY_SOURCE.replace("source=second", wrong)
            if wrong.startswith("source")
            else BY_SOURCE.replace("R@1(document, source=second)", wrong)
        )
        Path("bakeoff.yaml").write_text(text)
        for command in ("validate", "run"):
            done = cli(command)
            assert done.code == 2 and named in done.out + done.err
