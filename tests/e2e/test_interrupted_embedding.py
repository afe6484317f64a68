"""SIGTERM or Ctrl-C while a real model embeds: the run stops, keeps finished batches, and resumes."""

from __future__ import annotations

import json
import signal
import subprocess
import sysconfig
import time
from pathlib import Path

import pytest

from bakeoff.errors import ModelNotFoundError
from bakeoff.pipeline.embed import BATCH
from bakeoff.storage import weights

BAKEOFF = Path(sysconfig.get_path("scripts")) / "bakeoff"
DOCUMENTS = 2 * BATCH + 10
EXPERIMENT = """
corpus: {folder: docs}
queries: queries.yaml
chunkers: [whole]
embedders: [{minilm: {threads: 1}}]
stores: [exact]
modes: [dense]
"""


@pytest.fixture(scope="module")
def minilm() -> Path:
    """The folder of the real weights, found before a test gets its own home."""
    try:
        return weights.find("minilm").folder.resolve()
    except ModelNotFoundError:
        pytest.skip("run make models")


@pytest.fixture
def slow_experiment(minilm: Path, home: Path) -> Path:
    """The run folder of an experiment that embeds for several seconds, in three batches."""
    (home / "models").mkdir(parents=True)
    (home / "models" / "minilm").symlink_to(minilm)
    work = Path.cwd()
    (work / "docs").mkdir()
    words = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split()
    for i in range(DOCUMENTS - 1):
        text = " ".join(words[(i * 13 + at) % len(words)] for at in range(40))
        (work / "docs" / f"d{i}.md").write_text(f"Item {i}: {text}", encoding="utf-8")
    (work / "docs" / "cats.md").write_text("Cats sleep for most of the day.", encoding="utf-8")
    (work / "queries.yaml").write_text(
        "queries: [{id: q, text: how long do cats sleep, truth: {documents: [cats.md]}}]\n"
    )
    (work / "bakeoff.yaml").write_text(EXPERIMENT)
    return work / "out"


def embedded(run: Path) -> int:
    """Number of chunks with vectors according to the progress file; -1 before the stage starts."""
    try:
        stages = json.loads((run / "progress.json").read_text())["stages"]
    except (FileNotFoundError, ValueError):
        return -1
    return next((one["done"] for one in stages if one["stage"] == "embed"), -1)


def interrupt(run: Path, number: int, after: int) -> subprocess.CompletedProcess[str]:
    """Start the experiment and send a signal after this number of embedded chunks."""
    process = subprocess.Popen([BAKEOFF, "run", "--out", run], stderr=subprocess.PIPE, text=True)
    while embedded(run) < after and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)  # the next batch is being embedded
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess("", process.returncode, "", err)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_helper_thread_stops_within_its_batch_and_the_rest_is_embedded_later(
    number: int, slow_experiment: Path
) -> None:
    stopped = interrupt(slow_experiment, number, after=BATCH)
    assert stopped.returncode == 128 + number and "Traceback" not in stopped.stderr
    assert embedded(slow_experiment) == BATCH  # neither the batch under way nor the next one was finished
    status = subprocess.run(
        [BAKEOFF, "status", slow_experiment, "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(status.stdout)[0]["status"] == "stopped"
    subprocess.run([BAKEOFF, "run", "--out", slow_experiment], check=True, capture_output=True)
    stages = json.loads((slow_experiment / "progress.json").read_text())["stages"]
    resumed = next(one for one in stages if one["stage"] == "embed")
    assert (resumed["cached"], resumed["done"]) == (BATCH, DOCUMENTS)
