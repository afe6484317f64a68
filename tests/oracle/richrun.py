"""A small run with everything a report has to count: grades, spans, negatives, ties, failed and partial systems."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from bakeoff import registry
from bakeoff.errors import StoreError
from bakeoff.runs.analysis import Result
from bakeoff.runs.run import run
from bakeoff.types import Hits

SEED = 7
MEASURES = (
    "nDCG@10(document)", "RR@10(document)", "P@5(document)", "R@5(document)", "AP@10(document)", "Hit@3(document)",
    "RR@10(answer)", "SpanRecall@3", "SpanPrecision@3", "SpanIoU@3", "tokens@5", "FalseAlarm@0.3", "AUROC",
)  # fmt: skip
TOPICS = (
    "invoice payment refund card bank transfer", "password login token session signature key",
    "backup restore database copy snapshot region", "container image deploy rollback health probe",
    "parcel shipping weight address courier customs", "cache eviction memory entry capacity lookup",
    "retry backoff jitter network timeout attempt", "search ranking index vector query score",
)  # fmt: skip
FILLER = "the service keeps a record of every change and people read it when something is not as before"


@dataclass(frozen=True)
class Truth:
    """What a query's file says: grades of documents, and gold spans (document, start, end)."""

    grades: dict[str, int]
    spans: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True)
class Rich:
    """The run, its truth by query (none for a negative one) and the documents' texts."""

    result: Result
    truth: dict[str, Truth]
    texts: dict[str, str]


def made(folder: Path) -> Rich:
    """Lay it out, run it once more than once, and return it."""
    texts = _texts()
    queries, truth = _queries(texts)
    for name, text in texts.items():
        path = folder / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "queries.yaml").write_text(yaml.safe_dump({"queries": queries}), encoding="utf-8")
    (folder / "bakeoff.yaml").write_text(_experiment(), encoding="utf-8")
    with _faulty_stores():
        result = run(folder / "bakeoff.yaml", out=folder / "run", home=folder / "home")
    return Rich(result, truth, texts)


def _experiment() -> str:
    lines = {
        "name": "rich",
        "corpus": {"folder": "corpus"},
        "queries": "queries.yaml",
        "chunkers": ["whole", {"line": {"doc_lines": 2, "overlap": 0.5}}],
        "embedders": [{"wordllama": {"dims": 64}}],
        "stores": ["exact", "dying", "stillborn"],
        "modes": ["dense", "bm25", "hybrid"],
        "depth": 20,
        "runs": 4,
        "seed": SEED,
        "measures": {"primary": MEASURES[0], "also": list(MEASURES[1:])},
    }
    return json.dumps(lines)


def _texts() -> dict[str, str]:
    """Three documents a topic, one a copy of another under a second name, so that equal scores come up."""
    words, found = random.Random(3), {}
    for number, topic in enumerate(TOPICS):
        for part in range(3):
            lines = [
                " ".join([*words.choices(topic.split(), k=2 + part), *words.choices(FILLER.split(), k=7)])
                + "."
                for _ in range(6)
            ]
            found[f"{'notes' if part else 'guide'}/{number}-{part}.md"] = "\n".join(lines) + "\n"
    return {**found, "notes/copy.md": found["guide/2-0.md"]}


def _queries(texts: dict[str, str]) -> tuple[list[dict[str, Any]], dict[str, Truth]]:
    words, queries, truth = random.Random(5), [], {}
    for number in range(28):
        topic, part = number % len(TOPICS), number % 3
        names = [f"{'notes' if one else 'guide'}/{topic}-{one}.md" for one in (part, (part + 1) % 3)]
        name = f"q{(number * 11) % 28:02d}"
        query = {
            "id": name,
            "cluster": name,  # the formulas here resample queries
            "text": " ".join(
                [*words.choices(TOPICS[topic].split(), k=2), *words.choices(TOPICS[(topic + number) % 8].split(), k=1),
                 *words.choices(FILLER.split(), k=3)]
            ),
            "category": ("lookup", "why", "compare")[number % 3],
            "difficulty": ("easy", "hard")[number % 2],
            "tags": {"language": "en" if number % 4 else "de"},
        }  # fmt: skip
        if number % 2:
            spans = tuple(_line(texts, names[0], at) for at in (1 + number % 3, 5))
            rules = [{"characters": {"document": d, "from": a, "to": b}, "grade": 2} for d, a, b in spans]
            query["truth"] = {"any": [*rules, {"documents": [names[1]]}]}
            truth[name] = Truth({names[0]: 2, names[1]: 1}, spans)
        else:
            query["truth"] = {"any": [{"documents": [names[0]], "grade": 3}, {"documents": [names[1]]}]}
            truth[name] = Truth({names[0]: 3, names[1]: 1})
        queries.append(query)
    for number, text in enumerate(
        ("sourdough bread recipe", "airspeed of a swallow", "index of a violin", "moon")
    ):
        queries.insert(
            5 * number,
            {"id": f"neg{number}", "text": text, "category": "lookup", "difficulty": "hard", "truth": "negative",
             "tags": {"language": "en"}},
        )  # fmt: skip
    return queries, truth


def _line(texts: dict[str, str], document: str, number: int) -> tuple[str, int, int]:
    """Where a line of a document stands, from 1."""
    lines = texts[document].splitlines(keepends=True)
    start = sum(map(len, lines[: number - 1]))
    return document, start, start + len(lines[number - 1].rstrip("\n"))


@contextmanager
def _faulty_stores() -> Iterator[None]:
    """A store that is never built, and one that gives up at its twentieth search."""
    exact = registry.load("stores", "exact")

    class Dying(exact):  # type: ignore[misc, valid-type]
        searches = 0

        def search(self, vector: np.ndarray, k: int, query: Any) -> Hits:
            type(self).searches += 1
            if self.searches > 20:
                raise StoreError("the engine is gone.")
            return super().search(vector, k, query)  # type: ignore[no-any-return]

    class Stillborn(exact):  # type: ignore[misc, valid-type]
        def insert(self, *_: Any) -> None:
            raise StoreError("no room on the disk.")

    names = {"dying": Dying, "stillborn": Stillborn}
    for name, plugin in names.items():
        registry.add("stores", name, plugin)
    try:
        yield
    finally:
        for name in names:
            registry.remove("stores", name)
