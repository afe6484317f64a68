"""Experiments, model lists, settings, and values given on the command line."""

from __future__ import annotations

from pathlib import Path

from bakeoff.cli.trials import part as cli_tests
from bakeoff.cli.trials import store as cli_teststore
from bakeoff.config import experiment, models_toml
from bakeoff.storage import environment
from fuzzed.reader import Reader

EXPERIMENT = b"""# Which is best?
corpus: {folder: docs, include: ["**/*.md"]}
queries: queries.yaml
chunkers: [line, {tokens: {size: 256, overlap: 32}}]
embedders: [wordllama]
stores: [exact, {faiss: {build: {index: hnsw}, query: {ef: [16, 64]}}}]
modes: [dense, bm25, hybrid]
measures: {primary: nDCG@10(document), also: [R@20(document)]}
limits: {p95_ms: 100}
prices: {currency: EUR, date: 2026-01-01, machine_per_hour: 0.4, gb_month: 0.1, million_tokens: {wordllama: 0}}
"""
MODELS = b"""[[fastembed]]
model = "BAAI/bge-small-en-v1.5"

[[mistralrs]]
model = "embedding-gemma"
quantization = "q8"
"""


def options(path: Path) -> object:
    """The lines as values of `--set` and `--param`."""
    given = path.read_bytes().decode("utf-8", "replace").splitlines()
    return cli_teststore._nest_settings(given), cli_tests._values(given, None)


READERS = [
    Reader("experiment", "bakeoff.yaml", experiment.load, EXPERIMENT),
    Reader("models.toml", "models.toml", models_toml.read_models_file, MODELS),
    Reader(".env", ".env", environment.read, b"A=b\nexport C='d e' # note\n"),
    Reader("options", "options.txt", options, b"build.m=32\nbuild.kinds=[a, b]\nquery={ef: 16}\n"),
]
