"""The folder of a review: pool.json (what is judged), ledger/ (what was said), files/ (review files of an export)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bakeoff.analysis import Result
from bakeoff.errors import SettingError
from bakeoff.measures.conventions import Conventions
from bakeoff.review.human_scores import judged_rankings
from bakeoff.review.ledger import Ledger, Read
from bakeoff.review.pool import Pool, read_pool, write_pool
from bakeoff.review.settle import Settled, opinions_of, settled_pool
from bakeoff.review.sides import Side, human_values, run_values, sides, suits

ROOT = Path("reviews")


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a review is; several reviewers may share the folder."""

    folder: Path

    @property
    def pool_file(self) -> Path:
        """The stored pool."""
        return self.folder / "pool.json"

    @property
    def files(self) -> Path:
        """The review files of an export."""
        return self.folder / "files"

    @property
    def ledger(self) -> Ledger:
        """What was said so far."""
        return Ledger(self.folder / "ledger")

    def pool(self) -> Pool:
        """What is judged."""
        return read_pool(self.pool_file)

    def keep(self, pool: Pool) -> str:
        """Store the pool; returns what a person should know where it takes the place of another one."""
        before = self.pool() if self.pool_file.exists() else None
        write_pool(pool, self.pool_file)
        if before is None or before.fingerprint() == pool.fingerprint():
            return ""
        return (
            f"the pool of {len(before.items)} items was replaced by one of {len(pool.items)}; judgments of texts that "
            "are in both go on to count."
        )


def desk_for(run: Path) -> Desk:
    """The folder of a run's review, below the working folder."""
    return Desk(ROOT / run.resolve().name)


def open_desk(folder: Path) -> Desk:
    """The review in a folder, or of a run's folder."""
    if (folder / "pool.json").is_file():
        return Desk(folder)
    if (folder / "run.json").is_file():
        found = desk_for(folder)
        if found.pool_file.is_file():
            return found
        raise SettingError(f"{folder} has no review yet. Begin one with: bakeoff review export {folder}")
    raise SettingError(
        f"{folder} is no review: it has no pool.json. Begin one with: bakeoff review export RUN"
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """A review as it stands: pool, ledger, what holds for each item, and what should be said."""

    pool: Pool
    read: Read
    settled: dict[str, Settled]
    notes: tuple[str, ...]


def stands(desk: Desk) -> Standing:
    """Read a review."""
    pool, read = desk.pool(), desk.ledger.read()
    notes = (*pool.notes, *read.notes, *opinions_of(pool, read.entries).notes)
    return Standing(pool, read, settled_pool(pool, read.entries), notes)


def beside_the_run(standing: Standing, result: Result) -> list[Side]:
    """Automated, human-adjusted and combined figures of the run's primary measure, as far as it suits them."""
    measure = str(suits(result.record.primary))
    categories = {row["query_id"]: row["category"] or "" for row in result.queries.to_pylist()}
    human = human_values(
        judged_rankings(standing.pool),
        standing.settled,
        measure,
        Conventions.from_dict(result.record.conventions),
        {item.id: item.document_id for item in standing.pool.items},
    )
    return sides(standing.pool.systems, measure, run_values(result, measure), human, categories)
