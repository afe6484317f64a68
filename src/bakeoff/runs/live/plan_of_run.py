"""Finds the plan a run was made with from its experiment file; selects systems by words of their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bakeoff.config import experiment
from bakeoff.config.plan import ModelFile, Plan, System, match_labels
from bakeoff.errors import DataError, MissingExtraError, SettingError, UnknownPluginError, UserError
from bakeoff.examples import examples
from bakeoff.runs.analysis import Result, open_run


def choose_systems(
    plan: Plan, wanted: str | None, letters: Mapping[str, str] | None = None
) -> tuple[System, ...]:
    """Systems matching comma-separated names; all if there are none. `letters` are those of a run's table."""
    if wanted is None:
        return plan.systems
    systems = {system.label: system for system in plan.systems}
    labels = list(systems)
    if wanted in systems:  # a label may contain commas
        return (systems[wanted],)
    found: dict[str, System] = {}
    for name in filter(None, (part.strip() for part in wanted.split(","))):
        fits = match_labels(name, labels, letters or {})
        if not fits:
            raise SettingError(f"{name!r} matches no system. Systems: {'; '.join(labels)}.")
        found |= {label: systems[label] for label in fits}
    if not found:
        raise SettingError("--systems names nothing. Leave it out for all systems.")
    return tuple(found.values())


def plan_of_run(run: Path, experiment: Path | None, models: Path | None = None) -> tuple[Plan, Path, Result]:
    """A run's plan, models.toml and result: from the given files, or nearby ones that produce the same plan."""
    result = open_run(run)
    near = [Path(), *run.resolve().parents[:2]]
    own = Path(result.record.experiment_file).name or "bakeoff.yaml"
    places = (
        [experiment]
        if experiment
        else [*(one / own for one in near), *near, *(one.experiment for one in examples())]
    )
    absent: list[UserError] = []
    for place in places:
        path = place / "bakeoff.yaml" if place.is_dir() else place
        for chosen in _model_files(result, [*near, path.parent], models):
            try:
                plan = _readable(path, chosen, experiment is not None)
            except (MissingExtraError, UnknownPluginError) as exc:
                absent += [exc] if experiment or path.name == own else []
                continue
            if plan is not None:  # --runs may have overridden the number of repeats
                plan = plan.with_runs(result.record.runs)
                if plan.fingerprint() == result.record.plan:
                    return plan, path, result
    if absent:
        raise absent[0]
    what = (
        f"{experiment} plans something else than" if experiment else "no experiment near it plans the same as"
    )
    also = ", and its file of models with --models FILE" if result.record.models else ""
    raise DataError(
        f"{run}: {what} this run. Give its file with --experiment FILE{also}; if it or bakeoff changed "
        "since, run it again."
    )


def _model_files(result: Result, near: Sequence[Path], file: Path | None) -> list[ModelFile]:
    """Files that may have named a run's models: the given one, or the experiment's own and identical ones nearby."""
    text, only = result.record.models, tuple(result.record.models_only)
    if file is not None:
        return [ModelFile(file, only)]
    files = dict.fromkeys(path.resolve() for folder in near for path in sorted(folder.glob("*.toml")))
    same = [path for path in files if text and path.read_text(encoding="utf-8", errors="replace") == text]
    return [ModelFile(None, only), *(ModelFile(path, only) for path in same)]


def _readable(path: Path, models: ModelFile, named: bool) -> Plan | None:
    """The plan of a file; None for a nearby file that can't be read. A missing plug-in is an error."""
    try:
        return experiment.load(path, models)
    except (MissingExtraError, UnknownPluginError):
        raise
    except UserError:
        if named and (models.path is not None or not models.only):
            raise
        return None
