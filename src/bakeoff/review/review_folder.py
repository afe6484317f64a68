"""The folder of a review: pool.json (what is judged), guideline.md (how), ledger/ (judgments), files/ (YAML)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bakeoff.errors import SettingError
from bakeoff.measures.conventions import Conventions
from bakeoff.review.auto_vs_human import (
    AutoVsHuman,
    compare_auto_human,
    human_values,
    matching_measure,
    run_values,
)
from bakeoff.review.choices import LabelScheme
from bakeoff.review.human_scores import judged_rankings
from bakeoff.review.ledger import Ledger, ReadLedger
from bakeoff.review.outcomes import ItemOutcome, OutcomeState, opinions_of, settled_pool
from bakeoff.review.pool import ReviewPool, read_pool, write_pool
from bakeoff.runs.analysis import Result
from bakeoff.storage.cache import write_file

ROOT = Path("reviews")
GUIDELINE = "guideline.md"
GUIDELINE_BYTES = 20_000


@dataclass(frozen=True, slots=True)
class ReviewFolder:
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
        """The entries so far."""
        return Ledger(self.folder / "ledger")

    @property
    def guideline(self) -> str:
        """The reviewers' guideline as plain text; empty if there is none."""
        path = self.folder / GUIDELINE
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    def keep_guideline(self, source: Path) -> None:
        """Store a guideline for every reviewer of this review."""
        if not source.is_file():
            raise SettingError(f"{source} does not exist. Give a text file with the guideline.")
        if source.stat().st_size > GUIDELINE_BYTES:
            raise SettingError(
                f"{source} is longer than {GUIDELINE_BYTES:,} bytes, too long to read next to each passage."
            )
        write_file(self.folder / GUIDELINE, source.read_bytes())

    def pool(self) -> ReviewPool:
        """The stored pool."""
        return read_pool(self.pool_file)

    def use_labels(self, scheme: LabelScheme | None) -> LabelScheme | None:
        """The scheme of this review, changed to the wanted one if nothing is judged yet; None for a new review."""
        if not self.pool_file.exists():
            return scheme
        pool = self.pool()
        if scheme is None or scheme is pool.labels:
            return pool.labels
        if self.ledger.read().entries:
            raise SettingError(
                f"people judged {self.folder} by {pool.labels}, so it can't change to {scheme}. "
                "Start another review with: bakeoff review export RUN --to FOLDER"
            )
        write_pool(replace(pool, labels=scheme), self.pool_file)
        return scheme

    def keep(self, pool: ReviewPool) -> str:
        """Store the pool; return a note if it replaces another one."""
        before = self.pool() if self.pool_file.exists() else None
        write_pool(pool, self.pool_file)
        if before is None or before.fingerprint() == pool.fingerprint():
            return ""
        return (
            f"the pool of {len(before.items)} items was replaced by one of {len(pool.items)}; judgments of "
            "unchanged texts still count."
        )


def review_of_run(run: Path) -> ReviewFolder:
    """The folder of a run's review: reviews/NAME in the working folder, else next to the run or to its runs/."""
    folder = run.resolve()
    places = [ReviewFolder(base / ROOT / folder.name) for base in (Path(), *folder.parents[:2])]
    return next((place for place in places if place.pool_file.is_file()), places[0])


def open_review(folder: Path) -> ReviewFolder:
    """The review in a folder, or of a run's folder."""
    if (folder / "pool.json").is_file():
        return ReviewFolder(folder)
    if (folder / "run.json").is_file():
        review = review_of_run(folder)
        if review.pool_file.is_file():
            return review
        raise SettingError(f"{folder} has no review yet. Start one with: bakeoff review export {folder}")
    raise SettingError(
        f"{folder} is not a review: it has no pool.json. Start one with: bakeoff review export RUN"
    )


@dataclass(frozen=True, slots=True)
class ReviewState:
    """The state of a review: pool, ledger, the outcome of each item, and notes."""

    pool: ReviewPool
    read: ReadLedger
    settled: dict[str, ItemOutcome]
    notes: tuple[str, ...]

    @property
    def decided(self) -> int:
        """How many items have a final outcome."""
        undecided = (OutcomeState.OPEN, OutcomeState.CONFLICT)
        return sum(outcome.state not in undecided for outcome in self.settled.values())


def load_state(review: ReviewFolder) -> ReviewState:
    """Read a review."""
    pool, read = review.pool(), review.ledger.read()
    notes = (*pool.notes, *read.notes, *opinions_of(pool, read.entries).notes)
    return ReviewState(pool, read, settled_pool(pool, read.entries), notes)


def compare_with_run(state: ReviewState, result: Result) -> list[AutoVsHuman]:
    """Automated, human-adjusted and combined figures of the run's primary measure, if human labels determine it."""
    measure = str(matching_measure(result.record.primary))
    categories = {row["query_id"]: row["category"] or "" for row in result.queries.to_pylist()}
    human = human_values(
        judged_rankings(state.pool),
        state.settled,
        measure,
        Conventions.from_dict(result.record.conventions),
        {item.id: item.document_id for item in state.pool.items},
    )
    return compare_auto_human(state.pool.systems, measure, run_values(result, measure), human, categories)
