"""A large corpus under limits: of open files, of memory; files that may not be read; a corpus that is at work."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.benchmark.scale.measure_sizes import needed_bytes
from bakeoff.runs.folder import read_record

pytestmark = pytest.mark.slow

MANY = """\
name: many
corpus: {folder: corpus}
queries: queries.yaml
chunkers: [line, tokens]
embedders: [{wordllama: {dims: 64}}]
stores: [exact, faiss, hnswlib, sqlite_vec, lancedb]
modes: [dense, bm25]
"""


@pytest.fixture
def many(home: Path, laid_out: Callable[..., Path]) -> Path:
    """200 files more, and twelve systems."""
    path = laid_out(Path.cwd(), MANY)
    for number in range(200):
        (Path("corpus") / f"note-{number}.md").write_text(
            f"# Note {number}\n\nIt is about matter {number}.\n"
        )
    return path


def test_few_open_files_and_many_documents_and_systems(many: Path, typed: Callable[..., Any]) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    done = typed("run", many, "--out", "run", "-q", preexec_fn=limited)
    assert done.code == 0, done.err


def test_a_file_that_may_not_be_read_is_named_and_the_others_are_read(
    home: Path, laid_out: Callable[..., Path], typed: Callable[..., Any]
) -> None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("setpriv is not there to give up what root may do")
    path = laid_out(
        Path.cwd(),
        MANY.replace("[line, tokens]", "[line]").replace("faiss, hnswlib, sqlite_vec, lancedb", ""),
    )
    closed, folder = Path("corpus/closed.md"), Path("corpus/shut")
    closed.write_text("nobody reads this\n")
    folder.mkdir()
    closed.chmod(0)
    folder.chmod(0)
    before = (
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"] if os.geteuid() == 0 else []
    )
    try:
        done = typed("run", path, "--out", "run", before=before)
    finally:
        folder.chmod(0o755)
    assert done.code == 0, done.err
    skipped = dict(read_record(Path("run")).corpus.skipped)
    assert skipped.keys() == {"closed.md", "shut/"}
    assert all("Permission denied" in reason for reason in skipped.values())


@pytest.mark.parametrize("store", ["exact", "hnswlib", "sqlite_vec"])
def test_an_index_is_built_within_what_its_budget_counts_with(store: str, tmp_path: Path) -> None:
    """`bakeoff scale --memory` refuses by this figure, so a build must not take more: measured by the kernel, in a process of its own."""
    size, dims = 20_000, 64
    code = f"""
        import numpy as np
        from pathlib import Path
        from bakeoff.benchmark.scale.measure_size import SIZE, ScaleJob, run_job, truth_file
        from bakeoff.benchmark.scale.session import ScaleOptions
        from bakeoff.types import Metric

        folder = Path({str(tmp_path)!r})
        chance = np.random.default_rng(7)
        for name, rows in (("base", {size}), ("queries", 20)):
            made = chance.standard_normal((rows, {dims}), dtype=np.float32)
            np.save(folder / f"{{name}}.npy", made / np.linalg.norm(made, axis=1, keepdims=True))
        found = np.zeros((20, 100), np.int64)
        np.savez(truth_file(folder, {size}), ids=found, distances=found.astype(np.float32))
        run_job(ScaleJob(SIZE, {store!r}, {size}, 1, folder, Metric.COSINE, ScaleOptions(({size},))))
        status = Path("/proc/self/status").read_text()
        print(int(status.split("VmHWM:")[1].split()[0]) * 1024)
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout.split()[-1]) <= needed_bytes(size, dims)
