"""Cost of validation beyond reading the corpus: 10,000 documents, 200 and 10,000 queries, CPU and wall seconds.

Reading and validating take turns, each with an empty cache. Run with: python benchmarks/validation.py
"""

from __future__ import annotations

import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.config import experiment
from bakeoff.pipeline.context import StageContext
from bakeoff.pipeline.reading.readings import read_corpus
from bakeoff.runs.checks.checking import validate
from bakeoff.runs.checks.leaks import leaks
from bakeoff.storage.cache import Cache
from bakeoff.truth.duplicates import find_similar
from common import Row, show

DOCUMENTS, WORDS, VOCABULARY, REPEATS = 10_000, 400, 20_000, 3
MANY_QUERIES = 10_000
LEAKED = 7


@dataclass(frozen=True, slots=True)
class Seconds:
    """What a piece of work took."""

    cpu: float
    wall: float


def main() -> int:
    """Measure everything and print the rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = _corpus(folder / "docs")
        path = _experiment(folder, texts)
        plan = experiment.load(path)
        took = _interleaved(
            {
                "read": lambda home: read_corpus(plan, StageContext(Cache(home / "cache"))),
                "validate": lambda home: _checked(path, home),
            },
            folder / "home",
        )
        corpus = read_corpus(plan, StageContext(Cache(folder / "kept")))
        many = _queries(random.Random(9), texts, MANY_QUERIES)
        leaking = _timed(lambda: leaks(many, corpus.documents["text"]))
        repeating = _timed(lambda: find_similar(many))
    read, checked = took["read"], took["validate"]
    return show(
        [
            Row(f"validate {DOCUMENTS:,} documents, reading them, CPU s", checked.cpu, read.cpu, "<= 1.5"),
            Row(f"validate {DOCUMENTS:,} documents, reading them, wall s", checked.wall, read.wall, "<= 1.5"),
            Row(f"leaks of {MANY_QUERIES:,} queries, reading, CPU s", leaking.cpu, read.cpu, "<= 0.5"),
            Row(f"duplicates of {MANY_QUERIES:,} queries, reading, CPU s", repeating.cpu, read.cpu, "<= 0.5"),
        ]
    )


def _corpus(folder: Path) -> list[str]:
    """Markdown files of random words whose frequencies fall as in natural text."""
    dice = random.Random(7)
    vocabulary = [
        "".join(dice.choices("abcdefghijklmnoprstu", k=dice.randint(3, 10))) for _ in range(VOCABULARY)
    ]
    weights = [1 / rank for rank in range(1, VOCABULARY + 1)]
    texts = []
    for place in range(DOCUMENTS):
        words = dice.choices(vocabulary, weights, k=WORDS)
        body = "\n".join(" ".join(words[i : i + 12]) for i in range(0, WORDS, 12))
        texts.append(f"# {' '.join(words[:3])}\n\n{body}.\n")
        path = folder / f"{place // 100:03d}" / f"{place}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[-1])
    return texts


def _queries(dice: random.Random, texts: list[str], count: int) -> list[str]:
    """Words drawn from documents, so that runs of words are rare but words are not."""
    return [" ".join(dice.choices(dice.choice(texts).split(), k=dice.randint(5, 14))) for _ in range(count)]


def _experiment(folder: Path, texts: list[str]) -> Path:
    """200 queries, of which some stand in the corpus."""
    dice = random.Random(8)
    asked = _queries(dice, texts, 200 - LEAKED)
    asked += [" ".join(dice.choice(texts).split()[20:30]) for _ in range(LEAKED)]
    lines = [
        f'  - {{id: q{i}, text: "{text}", truth: {{documents: ["{i}.md"]}}}}\n'.replace("#", "")
        for i, text in enumerate(asked)
    ]
    (folder / "queries.yaml").write_text("queries:\n" + "".join(lines))
    path = folder / "bakeoff.yaml"
    path.write_text("corpus: {folder: docs}\nqueries: queries.yaml\nchunkers: [line]\nmodes: [dense, bm25]\n")
    return path


def _checked(path: Path, home: Path) -> None:
    """Validate, and stop unless exactly what was leaked is found."""
    report = validate(path, home=home)
    found = [finding for finding in report.findings if finding.code == "leak"]
    if len(found) != LEAKED or report.faults() != LEAKED:
        raise SystemExit(f"{len(found)} leaks and {report.faults()} errors found, {LEAKED} leaks were made")


def _interleaved(works: Mapping[str, Callable[[Path], object]], home: Path) -> dict[str, Seconds]:
    """The median of each work; they take turns, and each starts with an empty cache."""
    took: dict[str, list[Seconds]] = {name: [] for name in works}
    for _ in range(REPEATS):
        for name, work in works.items():
            shutil.rmtree(home, ignore_errors=True)
            took[name].append(_timed(lambda work=work: work(home)))  # type: ignore[misc]
    return {
        name: Seconds(
            statistics.median(each.cpu for each in all_), statistics.median(each.wall for each in all_)
        )
        for name, all_ in took.items()
    }


def _timed(work: Callable[[], object]) -> Seconds:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Seconds(time.process_time() - cpu, time.perf_counter() - wall)


if __name__ == "__main__":
    sys.exit(main())
