"""What a system needs in production, from a run's rows: parts, tokens per answer, money; and the decision rule."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from bakeoff.config.experiment_file import DecideSettings
from bakeoff.config.modes import MODES, RETRIEVER
from bakeoff.config.yaml_document import parse
from bakeoff.errors import DataError
from bakeoff.measures.definitions import RequiredInput
from bakeoff.measures.names import parse as parse_measure
from bakeoff.runs.analysis import Result
from bakeoff.runs.cost import prices_of, run_costs
from bakeoff.runs.once import once_per_result
from bakeoff.stats.preferences import DecisionRule

CHARACTERS_A_TOKEN = 4
ADDRESSES = ("url", "uri", "dsn")
"""The store parameter with the address of its server."""
EMBEDDED_TOO = ("chroma", "milvus", "qdrant")
"""Stores that run in-process if no address is set."""


@dataclass(frozen=True, slots=True)
class TokenMean:
    """Tokens of the results per question: mean and 95 % interval."""

    mean: float
    between: tuple[float, float] | None


@once_per_result
def decision_rule(result: Result) -> DecisionRule:
    """The rule under `decide` in the run's experiment, or the default."""
    data = parse(result.record.experiment, f"{result.path}/run.json, experiment", DataError).data
    rule = data.get("decide") if isinstance(data, dict) else None
    try:
        settings = DecideSettings.model_validate(rule or {})
    except ValidationError as exc:
        first = exc.errors()[0]
        raise DataError(f"{result.path}/run.json: decide: {first['loc']}: {first['msg']}.") from exc
    return DecisionRule(margin=settings.margin, prefer=tuple(settings.prefer), ratio=settings.ratio)


@once_per_result
def running_parts(result: Result) -> dict[str, tuple[str, ...] | None]:
    """What each system needs to run: a model, a server, a reranker, a second index; None for the user's own
    program."""
    return {
        row["system"]: None if row["mode"] == RETRIEVER.name else tuple(_parts(row))
        for row in result.systems.to_pylist()
    }


def _parts(row: dict[str, Any]) -> list[str]:
    stored = json.loads(row["params"] or "[]")
    stores = [part for part in stored if isinstance(part, list) and part[:1] == ["stores"]]
    parts = ["model"] if row["embedder"] else []
    parts += ["server"] if any(_on_server(part[1], part[3]) for part in stores) else []
    parts += ["reranker"] if row["reranker"] else []
    mode = MODES.get((row["mode"] or "").partition("(")[0])
    return [*parts, "second index"] if mode is not None and len(mode.legs) > 1 else parts


def _on_server(store: str, params: dict[str, object]) -> bool:
    address = [params[name] for name in ADDRESSES if name in params]
    return bool(address) and (any(address) or store not in EMBEDDED_TOO)


@once_per_result
def question_tokens(result: Result) -> dict[str, TokenMean]:
    """Tokens of the results per question, as measured by the run; else estimated from the passages."""
    named = [
        name
        for name in result.record.measures
        if parse_measure(name).definition.needs is RequiredInput.TOKENS
    ]
    if not named:
        return _estimated_tokens(result)
    tokens = {}
    for system, summary in result.summaries(named[0]).items():
        low, high = summary.interval.low, summary.interval.high
        if summary.mean is not None:
            between = None if low is None or high is None else (low, high)
            tokens[system] = TokenMean(summary.mean, between)
    return tokens


def _estimated_tokens(result: Result) -> dict[str, TokenMean]:
    """A quarter of the characters of the first ten passages, per question."""
    import pyarrow as pa
    import pyarrow.compute as pc

    passages = result.passages
    lengths = (
        pa.table({"chunk_id": passages["chunk_id"], "length": pc.utf8_length(passages["text"]).cast("int64")})
        .group_by("chunk_id")
        .aggregate([("length", "max")])
    )
    first = result.rankings.filter(pc.less_equal(result.rankings["rank"], 10)).select(["system", "chunk_id"])
    sums = first.join(lengths, "chunk_id").group_by("system").aggregate([("length_max", "sum")])
    questions = max(1, result.queries.num_rows)
    rows = zip(sums["system"].to_pylist(), sums["length_max_sum"].to_pylist(), strict=True)
    return {
        system: TokenMean(length / CHARACTERS_A_TOKEN / questions, None) for system, length in rows if length
    }


def question_cost(result: Result, system: str) -> float | None:
    """Price of 1,000 questions, if the experiment has prices."""
    amount = run_costs(result)[system].million_queries.amount if prices_of(result) is not None else None
    return None if amount is None else amount / 1000
