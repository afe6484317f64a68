"""nDCG@10 of models over the Chinese paragraphs of XQuAD, asked in Chinese and in four other languages, against BM25.

Vectors stay in the cache of BAKEOFF_HOME. Run with: python benchmarks/xquad.py
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bakeoff
from bakeoff.benchmark.model_speed import models_at_hand
from bakeoff.storage.weights import home_folder
from common import Row, show

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "xquad"
MODELS = ("bge-small-zh", "use-multilingual")
ACROSS = ("zh", "de", "ru", "ar", "th")


def main() -> int:
    """All questions in Chinese with each model, then a fifth of them in each language with the multilingual one."""
    if not DATA.is_dir():
        print(f"no XQuAD: {DATA} is missing", file=sys.stderr)
        return 1
    missing = [name for name in MODELS if name not in models_at_hand()]
    if missing:
        print(f"no weights: bakeoff models pull {' '.join(missing)}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        return show(_rows(Path(folder)))


def _rows(folder: Path) -> Iterator[Row]:
    scores = _scores(folder, "zh", MODELS, _questions("zh"))
    for model in MODELS:
        yield Row(f"{model}: nDCG@10, Chinese questions, against BM25", scores[model], scores["bm25"])
    for place, language in enumerate(ACROSS):
        asked = _questions(language)[place :: len(ACROSS)]
        scores = _scores(folder, f"across-{language}", MODELS[1:], asked)
        yield Row(
            f"{MODELS[1]}: nDCG@10, {len(asked)} questions in {language}, documents in zh, against BM25",
            scores[MODELS[1]],
            scores["bm25"],
        )


def _questions(language: str) -> list[dict[str, object]]:
    """Every question with the paragraph that answers it; paragraphs have the same names in all languages."""
    articles = json.loads((DATA / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
    return [
        {
            "id": f"{language}-{asked['id']}",
            "text": asked["question"],
            "truth": {"documents": [f"{article['title']}#{number}"]},
        }
        for article in articles
        for number, paragraph in enumerate(article["paragraphs"], 1)
        for asked in paragraph["qas"]
    ]


def _scores(
    folder: Path, name: str, models: tuple[str, ...], questions: list[dict[str, object]]
) -> dict[str, float]:
    """The mean of each model and of BM25."""
    (folder / f"{name}-queries.yaml").write_text(json.dumps({"queries": questions}))
    experiment = folder / f"{name}.yaml"
    experiment.write_text(
        f"corpus: {{squad: {json.dumps(str(DATA / 'xquad.zh.json'))}}}\n"
        f"queries: {name}-queries.yaml\n"
        "allow: [duplicate, leak]\n"  # XQuAD asks some questions twice, and some in the paragraph's words
        "chunkers: [whole]\n"
        f"embedders: [{', '.join(models)}]\n"
        "modes: [dense, bm25]\n"
        "measures: {primary: nDCG@10(document)}\n"
    )
    result = bakeoff.run(experiment, out=folder / f"run-{name}", home=home_folder())
    means = {system: result.comparison.summary(system).mean for system in result.done}
    return {name: mean for name in (*models, "bm25") for system, mean in means.items() if name in system}


if __name__ == "__main__":
    sys.exit(main())
