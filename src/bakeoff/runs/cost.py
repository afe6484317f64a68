"""The cost of a system at the experiment's prices: per million queries, per corpus refresh, per month of storage.

A missing price or figure makes the cost null, with the reason; nothing unknown counts as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pydantic import ValidationError

from bakeoff.config.experiment_file import Prices
from bakeoff.config.yaml_document import parse
from bakeoff.errors import DataError
from bakeoff.runs.analysis import Result
from bakeoff.types import TableRow

MILLION = 1e6
HOUR = 3600.0
CHARACTERS_A_TOKEN = 4
PHASES = ("read", "chunk", "embed_chunks", "insert", "index", "ready")
ESTIMATED = f"tokens are estimated at {CHARACTERS_A_TOKEN} characters each"


@dataclass(frozen=True, slots=True)
class PricedCost:
    """An amount in the prices' currency, or null with the reason; `note` may also state an estimate."""

    amount: float | None
    note: str = ""

    @property
    def text(self) -> str:
        """The amount as shown in tables; a dash if unknown."""
        if self.amount is None:
            return "–"
        return f"{self.amount:,.2f}" if self.amount >= 0.1 else f"{self.amount:.3g}"


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Number of tokens a model reads; null if unknown."""

    count: float | None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """What one system uses: queries per second, tokens per query and refresh, seconds per refresh, index bytes."""

    embedder: tuple[str, ...]
    qps: float | None
    query_tokens: TokenUse
    refresh_tokens: TokenUse
    refresh_seconds: float | None
    index_bytes: int | None
    qps_is: str = "measured"


@dataclass(frozen=True, slots=True)
class Cost:
    """The three costs of one system."""

    million_queries: PricedCost
    refresh: PricedCost
    storage_month: PricedCost

    @property
    def texts(self) -> list[str]:
        """Cost of a million queries, a refresh and a month of storage, as shown in tables."""
        return [self.million_queries.text, self.refresh.text, self.storage_month.text]

    @property
    def notes(self) -> tuple[str, ...]:
        """Why an amount is missing, or what was estimated."""
        parts = (
            ("a million queries", self.million_queries),
            ("a refresh", self.refresh),
            ("storage", self.storage_month),
        )
        return tuple(f"{name}: {part.note}" for name, part in parts if part.note)

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        return asdict(self)


def estimate_cost(prices: Prices, usage: Usage) -> Cost:
    """Costs of a system; the machine is charged while it answers and while it builds."""
    seconds = None if not usage.qps else MILLION / usage.qps
    return Cost(
        _both(prices, usage, seconds, usage.query_tokens, MILLION, "no queries per second were measured"),
        _both(
            prices,
            usage,
            usage.refresh_seconds,
            usage.refresh_tokens,
            1.0,
            "a step came from the cache and was not timed",
        ),
        _storage(prices, usage.index_bytes),
    )


def prices_of(result: Result) -> Prices | None:
    """The price table of a run's experiment."""
    data = parse(result.record.experiment, f"{result.path}/run.json, experiment", DataError).data
    prices = data.get("prices") if isinstance(data, dict) else None
    if prices is None:
        return None
    try:
        return Prices.model_validate(prices)
    except ValidationError as exc:
        first = exc.errors()[0]
        raise DataError(f"{result.path}/run.json: prices: {first['loc']}: {first['msg']}.") from exc


def run_costs(result: Result, prices: Prices | None = None) -> dict[str, Cost]:
    """Costs of each system of a run by its own timings; empty without prices."""
    table = prices or prices_of(result)
    if table is None:
        return {}
    rows = {row["system"]: row for row in result.systems.to_pylist()}
    return {system: estimate_cost(table, run_usage(result, rows[system])) for system in result.done}


def run_usage(result: Result, row: TableRow, qps: float | None = None) -> Usage:
    """What a system of a run uses; queries per second are those of one thread, from the mean latency, unless
    measured."""
    system = row["system"]
    mean = result.timing(system, "total", "mean_ms")
    serial = 1000 / mean if mean else None
    texts = result.queries["text"].to_pylist()
    size = next((one for one in result.record.chunkings if one.chunker == row["chunker"]), None)
    return Usage(
        embedder=tuple(filter(None, (row["embedder"], (row["embedder"] or "").partition("(")[0]))),
        qps=qps if qps is not None else serial,
        query_tokens=TokenUse(sum(map(len, texts)) / max(1, len(texts)) / CHARACTERS_A_TOKEN, estimated=True),
        refresh_tokens=TokenUse(
            size.chunks * size.mean / CHARACTERS_A_TOKEN if size else None, estimated=True
        ),
        refresh_seconds=_refresh_seconds(result, system, bool(row["embedder"])),
        index_bytes=row["index_bytes"],
        qps_is="measured" if qps is not None else "1000 / mean latency, one thread",
    )


def _refresh_seconds(result: Result, system: str, embeds: bool) -> float | None:
    """Seconds of reading, chunking, embedding, inserting and indexing; null if one was not timed."""
    parts = [result.timing(system, phase, "seconds") for phase in PHASES if embeds or phase != "embed_chunks"]
    return None if any(part is None for part in parts) else sum(part or 0.0 for part in parts)


def _both(
    prices: Prices, usage: Usage, seconds: float | None, tokens: TokenUse, times: float, unknown: str
) -> PricedCost:
    """Cost of machine time and tokens together."""
    machine = prices.machine_per_hour
    if machine is None:
        return PricedCost(None, "prices.machine_per_hour is not given")
    if seconds is None:
        return PricedCost(None, unknown)
    embedding = _tokens(prices, usage.embedder, tokens, times)
    if embedding.amount is None:
        return embedding
    return PricedCost(machine * seconds / HOUR + embedding.amount, embedding.note)


def _tokens(prices: Prices, embedder: Sequence[str], tokens: TokenUse, times: float) -> PricedCost:
    """Price of the tokens a model reads; 0 without a model."""
    if not embedder:
        return PricedCost(0.0)
    priced = next((name for name in embedder if name in prices.million_tokens), None)
    if priced is None:
        return PricedCost(
            None, f"prices.million_tokens.{embedder[-1]} is not given (0 where it runs on the machine)"
        )
    price = prices.million_tokens[priced]
    if price == 0:
        return PricedCost(0.0)
    if tokens.count is None:
        return PricedCost(None, "its number of tokens is not known")
    return PricedCost(price * tokens.count * times / MILLION, ESTIMATED if tokens.estimated else "")


def _storage(prices: Prices, index_bytes: int | None) -> PricedCost:
    if prices.gb_month is None:
        return PricedCost(None, "prices.gb_month is not given")
    if index_bytes is None:
        return PricedCost(None, "the size of the index is not known")
    return PricedCost(prices.gb_month * index_bytes / 1e9)
