"""The bundled experiments with their corpora and queries."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import SettingError


@dataclass(frozen=True, slots=True)
class ExampleVectors:
    """An example without documents: a dataset of vectors, stores over it, and the recall they are brought to."""

    dataset: str
    stores: str
    target_recall: float


@dataclass(frozen=True, slots=True)
class Example:
    """A bundled experiment: what it is about, and what there is to learn from its verdict."""

    name: str
    title: str
    lesson: str
    vectors: ExampleVectors | None = None
    weights: tuple[str, ...] = ()
    """Models of the catalogue whose weights it needs."""

    @property
    def experiment(self) -> Path:
        """Its experiment file; an example of vectors has none."""
        return Path(__file__).parent / self.name / "bakeoff.yaml"


_ALL = (
    Example(
        "stdlib",
        "questions about Python's standard library, answered by its source code",
        "the model and the mode decide, the chunker hardly; the leaders are tied",
        weights=("minilm",),
    ),
    Example(
        "lineage",
        "questions about a SQL warehouse: joins, schemas, data flow, transformations",
        "a common target (P@5 > .8) no system can reach, and 53 questions that separate few of 15 systems",
        weights=("minilm",),
    ),
    Example(
        "incidents",
        "fifty questions over synthetic accident reports: truth by SQL, signals and sections",
        "truth made of words favours the system that reads words: review before you believe it",
        weights=("minilm",),
    ),
    Example(
        "models",
        "five real embedding models and bm25 on the questions about the SQL warehouse",
        "the usual small model is not the best one; 8-bit weights cost little; bm25 is a baseline to beat",
        weights=("minilm", "bge-small-int8", "bge-small", "e5-small"),
    ),
    Example(
        "ann",
        "20,000 synthetic vectors, asked with queries of another kind than the rows: stores at equal recall",
        "speeds mean nothing before recall is equal, and a setting tuned on some queries may not hold on others",
        ExampleVectors("synthetic:20000x64,ood", "exact,faiss,faiss:build.index=ivf", 0.95),
    ),
)


def examples() -> tuple[Example, ...]:
    """Every example that is installed."""
    return tuple(example for example in _ALL if example.vectors or example.experiment.exists())


def find(name: str) -> Example:
    """The example of a name."""
    known = {example.name: example for example in examples()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise SettingError(f"no example is called {name!r}.{hint} Known: {', '.join(known)}.")
