"""Configurations measured one after the other, each in fresh processes and from an empty cache."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel

from bakeoff.benchmark.configurations.jobs import IngestionJob, SystemJob, TrialFigure, TrialIngestion
from bakeoff.benchmark.configurations.trial import ingest_documents, measure_configuration
from bakeoff.benchmark.resources.usage import sum_or_none
from bakeoff.benchmark.run_in_subprocess import run_isolated
from bakeoff.benchmark.targets import Pids
from bakeoff.config.plan import Plan, System
from bakeoff.fingerprint import fingerprint
from bakeoff.pipeline.read import Sample


@dataclass(frozen=True, slots=True)
class Servers:
    """Looks up the processes and the data folder of a store's server."""

    pids: Pids
    data_folder: Callable[[str, BaseModel | None], Path | None] = lambda *_: None


@dataclass(slots=True)
class Trials:
    """Trials in `home`; the systems that share an ingestion share its figures, of all documents or a sample."""

    plan: Plan
    home: Path
    servers: Servers
    sample: Sample | None = None
    ingestions: dict[Path, TrialIngestion] = field(default_factory=dict)

    def measure(self, system: System, salt: str) -> list[TrialFigure]:
        """Every figure of one system, from reading to searching; `salt` names its collections."""
        ingestion = self._ingestion(system)
        store = system.store or system.keyword
        assert store is not None
        own = self.home / fingerprint(system.label)[:12]
        own.mkdir()
        job = SystemJob(
            plan=self.plan,
            system=system,
            ingestion=ingestion,
            home=own,
            salt=salt,
            pids=tuple(self.servers.pids(store.name, store.params)),
            server_data=self.servers.data_folder(store.name, store.params),
            sample=self.sample,
        )
        figures = [*ingestion.figures, *run_isolated(measure_configuration, job)]
        parts = [one.value for one in figures if one.name in ("documents_s", "engine_s")]
        return [*figures, TrialFigure("total_s", sum_or_none(parts))]

    def _ingestion(self, system: System) -> TrialIngestion:
        labels = [part.label if part else "" for part in (system.chunker, system.embedder)]
        place = self.home / fingerprint("ingestion", labels)[:12]
        if place not in self.ingestions:
            shutil.rmtree(place, ignore_errors=True)  # what failed is not resumed: its times would be partial
            place.mkdir()
            job = IngestionJob(self.plan, system.chunker, system.embedder, place, self.sample)
            self.ingestions[place] = run_isolated(ingest_documents, job)
        return self.ingestions[place]
