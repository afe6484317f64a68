"""Fixtures for a team's own tests: run an experiment once per session, and assert what it must show.

def test_search_is_as_good_as_on_main(bakeoff_run, assert_not_worse):
    assert_not_worse(bakeoff_run("bakeoff.yaml"), "baseline", margin=0.02)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from bakeoff.runs.analysis import Result

UNSEEN_PROBABILITY = 0.025
"""Probability of seeing no question of a kind, at the largest share of it that the lower end allows for."""


class RunExperiment(Protocol):
    """Runs an experiment file, once per session."""

    def __call__(self, experiment: str | Path = "bakeoff.yaml") -> Result: ...


class AssertNotWorse(Protocol):
    """Fails unless a run is shown to lose less than a margin against its baseline."""

    def __call__(
        self,
        run: Result | str | Path,
        baseline: Result | str | Path,
        *,
        margin: float = 0.02,
        system: str | None = None,
    ) -> None: ...


class AssertRecall(Protocol):
    """Fails unless the mean of a measure reaches a value; with `sure`, the lower end of its interval."""

    def __call__(
        self,
        run: Result | str | Path,
        measure: str,
        at_least: float,
        *,
        system: str | None = None,
        sure: bool = False,
    ) -> None: ...


@pytest.fixture(scope="session")
def bakeoff_run(tmp_path_factory: pytest.TempPathFactory) -> RunExperiment:
    """Run an experiment and return its result; a failed system fails the test."""
    finished: dict[Path, Result] = {}

    def run(experiment: str | Path = "bakeoff.yaml") -> Result:
        import bakeoff

        path = Path(experiment).resolve()
        if path not in finished:
            finished[path] = bakeoff.run(path, out=tmp_path_factory.mktemp("bakeoff") / "run")
        result = finished[path]
        assert not result.failed, f"systems failed: {result.failed}"
        return result

    return run


@pytest.fixture(scope="session")
def assert_not_worse() -> AssertNotWorse:
    """The gate as an assertion: the run must be shown not to be worse."""

    def check(
        run: Result | str | Path,
        baseline: Result | str | Path,
        *,
        margin: float = 0.02,
        system: str | None = None,
    ) -> None:
        from bakeoff.runs.gate import GateRules, run_gate

        outcome = run_gate(_open(baseline), _open(run), GateRules(margin), system=system)
        failed = [
            f"{one.system}: {one.verdict} (gain {one.gain})" for one in outcome.systems if not one.passed
        ]
        assert outcome.passed, f"not shown to lose less than {margin:g}: {'; '.join(failed)}"

    return check


@pytest.fixture(scope="session")
def assert_recall() -> AssertRecall:
    """A minimum value of a measure, by default for the recommended system."""

    def check(
        run: Result | str | Path,
        measure: str,
        at_least: float,
        *,
        system: str | None = None,
        sure: bool = False,
    ) -> None:
        result = _open(run)
        name = result.system(system) if system is not None else _recommended_system(result)
        summary = next(one for one in result.compare(measure).systems if one.system == name)
        low, high = summary.interval.low, summary.interval.high
        if low is None and summary.mean is not None and summary.at_best == 1.0:
            # perfect scores have no spread to resample: a kind of question that is not among them may score 0
            low, high = summary.mean * UNSEEN_PROBABILITY ** (1 / summary.n), summary.mean
        reached = low if sure else summary.mean
        interval = "unknown" if low is None or high is None else f"{low:.3f} to {high:.3f}"
        assert reached is not None and reached >= at_least, (
            f"{name}: {measure} is {summary.mean} (interval {interval}) on {summary.n} questions; "
            f"{at_least:g} is required"
        )

    return check


def _open(run: Result | str | Path) -> Result:
    import bakeoff

    return bakeoff.open_run(Path(run)) if isinstance(run, str | Path) else run


def _recommended_system(result: Result) -> str:
    from bakeoff.runs.live.live_system import recommended_label

    return recommended_label(result)
