"""SciFact nDCG@10 of the available models through `bakeoff.run`, against published figures, and embedding cost.

Vectors stay in the cache of BAKEOFF_HOME, so only the first run takes long. Some models: scifact.py minilm bge-small
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bakeoff
from bakeoff.benchmark.model_speed import SpeedSample, measure_speeds, models_at_hand
from bakeoff.runs.checks.checking import first_chunks
from bakeoff.storage.catalogue import entries
from bakeoff.storage.weights import home_folder
from common import Row, show

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BM25 = "BM25 (Anserini, flat index, k1=0.9 b=0.4)"
NEAR = 0.0005
SAMPLED = 100
LIMIT_MINUTES = 40.0
"""Processor minutes for all models: 20 minutes on two cores."""
NOT_SCIFACT = {"bge-small-zh", "nomic"}
"""Chinese only, and more than an hour of processor time: docs/vectors.md has a part of SciFact."""


def main() -> int:
    """One run per model, one after the other."""
    if not (DATA / "scifact").is_dir():
        print(f"no SciFact: {DATA} has no folder scifact", file=sys.stderr)
        return 1
    names = sys.argv[1:] or [name for name in models_at_hand() if name not in NOT_SCIFACT]
    with tempfile.TemporaryDirectory() as folder:
        return show(_rows(names, Path(folder)))


def _rows(names: list[str], folder: Path) -> Iterator[Row]:
    peers = json.loads((DATA / "published" / "scifact.json").read_text())["systems"]
    _write_queries(folder)
    seconds = limits = 0.0
    for name in names:
        experiment = _write_experiment(folder, name)
        score, recall = _scores(experiment, folder / f"run-{name}")
        yield Row(f"{name}: nDCG@10 against published BM25", score, peers[BM25]["scores"]["ndcg_at_10"])
        if published := entries()[name].scifact:
            yield Row(f"{name}: distance from published {published}", abs(score - published), NEAR, "<= 1")
        yield Row(f"{name}: R@100 against published BM25", recall, peers[BM25]["scores"]["recall_at_100"])
        cpu, share = _embedding_cost(name, experiment)
        seconds, limits = seconds + cpu, limits + cpu * min(1.0, share or 0.0)
        if share is None:
            yield Row(f"{name}: CPU minutes to embed SciFact", cpu / 60, LIMIT_MINUTES)
        else:
            yield Row(f"{name}: CPU minutes to embed SciFact, against sgemm's", cpu / 60, cpu * share / 60)
    together = " + ".join(names)
    yield Row(f"{together}: CPU minutes that sgemm allows", limits / 60, LIMIT_MINUTES)
    everything = set(names) >= set(entries()) - NOT_SCIFACT - {"cross-encoder-small"}
    target = "<= 1" if everything else ""
    yield Row(f"{together}: CPU minutes to embed SciFact", seconds / 60, LIMIT_MINUTES, target)


def _write_queries(folder: Path) -> None:
    from typer.testing import CliRunner

    from bakeoff.cli.app import app

    done = CliRunner().invoke(
        app, ["import", "beir", str(DATA / "scifact"), "--out", str(folder / "queries.yaml")]
    )
    if done.exit_code:
        raise SystemExit(done.output)


def _write_experiment(folder: Path, name: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(
        f"corpus: {{source: beir, folder: {json.dumps(str(DATA / 'scifact'))}}}\n"
        "queries: queries.yaml\n"
        "allow: [leak]\n"  # one claim is a sentence of its abstract; the published figures count it
        "chunkers: [whole]\n"
        f"embedders: [{name}]\n"
        "modes: [dense]\n"
        "measures: {primary: nDCG@10(document), also: [R@100(document)]}\n"
    )
    return path


def _scores(experiment: Path, out: Path) -> tuple[float, float]:
    """Means of nDCG@10 and R@100."""
    result = bakeoff.run(experiment, out=out, home=home_folder())
    (system,) = result.done
    ndcg, recall = (result.compare(measure).summary(system).mean for measure in result.record.measures)
    return ndcg, recall


def _embedding_cost(name: str, experiment: Path) -> tuple[float, float | None]:
    """Processor seconds for all abstracts, and the share of them that matrix multiplication alone would take.

    From every n-th abstract: vectors may be in the cache, and cost nothing. The share is None where the arithmetic of
    a model is not known.
    """
    texts = first_chunks(experiment)
    sample = SpeedSample(texts=tuple(texts[:: len(texts) // SAMPLED]), corpus_texts=len(texts))
    (speed,) = measure_speeds([name], sample)
    if speed.cpu_seconds_per_text is None:
        raise SystemExit(f"{name}: {speed.fault}")
    return speed.cpu_seconds_per_text * len(texts), speed.share


if __name__ == "__main__":
    sys.exit(main())
