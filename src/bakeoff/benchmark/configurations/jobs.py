"""What one process measures of a configuration, and the figures it returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bakeoff.config.plan import Plan, PluginSpec, System
from bakeoff.pipeline.read import Sample


@dataclass(frozen=True, slots=True)
class TrialFigure:
    """One measured value; `top_k` is None for ingestion, and a null value has its reason in `note`."""

    name: str
    value: float | None
    top_k: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class IngestionJob:
    """The documents, all or a sample, that one process reads, chunks and embeds; its cache is in `home`."""

    plan: Plan
    chunker: PluginSpec
    embedder: PluginSpec | None
    home: Path
    sample: Sample | None = None


@dataclass(frozen=True, slots=True)
class TrialIngestion:
    """Vectors for the stores of one run: cache key, file of the query vectors, and times."""

    home: Path
    vectors: str
    queries: Path | None
    figures: tuple[TrialFigure, ...]


@dataclass(frozen=True, slots=True)
class SystemJob:
    """What one process indexes and searches; `salt` names its collections.

    `pids` and `server_data` are the processes and the data folder of its store's server, where it was started here.
    """

    plan: Plan
    system: System
    ingestion: TrialIngestion
    home: Path
    salt: str
    pids: tuple[int, ...] = ()
    server_data: Path | None = None
    sample: Sample | None = None
