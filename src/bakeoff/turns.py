"""Systems measured in turns: a round of queries goes through all of them, and each ends as a cell, failed or done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from bakeoff import __version__, segmentation
from bakeoff.blocks import Helpers, helpers
from bakeoff.empty_search_notes import empty_search_sentences, noteworthy_empty_searches
from bakeoff.errors import CacheError, ConsentError, told
from bakeoff.events import SystemFinished, Warned
from bakeoff.fingerprint import fingerprint
from bakeoff.modes import Hybrid
from bakeoff.plan import System
from bakeoff.recording import Ingredients
from bakeoff.results import RunFolder
from bakeoff.stages.cell import Measuring, failed_cell, faulty_cell, measure, measuring
from bakeoff.stages.kitchen import Kitchen
from bakeoff.stages.latency_check import LatencyCheck, disagreements
from bakeoff.stages.marking import WORTH_ROWS
from bakeoff.stages.system_tables import Cell
from bakeoff.stages.work import Workshop, stage
from bakeoff.types import Status


def cells(made: Ingredients, kitchen: Kitchen, folder: RunFolder, shop: Workshop) -> Iterator[Cell]:
    """One system after the other, for timings are not taken side by side."""
    total, name = len(made.plan.systems), folder.path.name
    keys = [_cell_key(made, system, name) for system in made.plan.systems]
    kept = [folder.cell(key) for key in keys]
    tasks = [_measuring(made, system, name, kitchen) for system in made.plan.systems]
    todo = [task for task, cell in zip(tasks, kept, strict=True) if cell is None]
    workers = _scorers(made, todo, shop)
    faults, checks = _rounds(todo, kitchen, kitchen.repeats if workers is None else kitchen.repeats + 1)
    with _scoring(workers, shop):
        for done, (task, key, cell) in enumerate(zip(tasks, keys, kept, strict=True), 1):
            label = task.system.label
            ended = cell or _kept(
                folder,
                key,
                _measured_cell(task, kitchen, faults.get(label), checks.get(label), workers, shop),
            )
            reason = ended.systems["reason"][0].as_py()
            shop.emit(SystemFinished(label, done, total, failed=reason, resumed=cell is not None))
            empty = empty_search_sentences(noteworthy_empty_searches([ended], made.queries))
            for sentence in (*disagreements(ended.timings), *empty):
                shop.emit(Warned(sentence))
            yield ended


def _kept(folder: RunFolder, key: str, cell: Cell) -> Cell:
    """The same cell, durable where its system is done."""
    if cell.systems["status"][0].as_py() == Status.DONE:
        folder.keep(key, cell)
    return cell


def _scorers(made: Ingredients, todo: list[Measuring], shop: Workshop) -> Helpers | None:
    """Who scores: the workers where there is much to score, and then all is searched before they come."""
    rows = len(todo) * len(made.queries.queries) * made.plan.settings.depth
    return helpers(shop.executor) if rows >= WORTH_ROWS else None


@contextlib.contextmanager
def _scoring(workers: Helpers | None, shop: Workshop) -> Iterator[None]:
    """The workers while systems are scored."""
    if workers is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        with stage(shop, "start", "workers", 1, "executors") as report:
            report.summary = stack.enter_context(workers.called())
        yield


def _rounds(
    tasks: list[Measuring], kitchen: Kitchen, end: int
) -> tuple[dict[str, Exception], dict[str, LatencyCheck]]:
    """All rounds before `end`, in turns between the systems (F35); faults and latency checks by system."""
    faults: dict[str, Exception] = {}
    checks: dict[str, LatencyCheck] = {}
    for number in range(1, end):
        for task in tasks:
            label = task.system.label
            if label not in faults:
                with _noted(faults, label):
                    kitchen.answers(task.system, number, task.tuner)
                    if number == kitchen.repeats:
                        checks[label] = _latency_check(task, kitchen)
    return faults, checks


def _latency_check(task: Measuring, kitchen: Kitchen) -> LatencyCheck:
    """The check after the last round; what was measured does not depend on it."""
    try:
        return kitchen.latency_check(task.system)
    except Exception as exc:  # noqa: BLE001 - an engine that fails on another thread is recorded
        return LatencyCheck(0, note=told(exc))


@contextlib.contextmanager
def _noted(faults: dict[str, Exception], label: str) -> Iterator[None]:
    try:
        yield
    except (CacheError, ConsentError):
        raise
    except Exception as exc:  # noqa: BLE001 - one system's fault is recorded, the others go on
        faults[label] = exc


def _measured_cell(
    task: Measuring,
    kitchen: Kitchen,
    fault: Exception | None,
    check: LatencyCheck | None,
    workers: Helpers | None,
    shop: Workshop,
) -> Cell:
    """A system's tables; of one that failed, what it had measured before."""
    try:
        if fault is not None:
            raise fault
        if workers is None:
            kitchen.answers(task.system, weigh=task.tuner)
            return measure(task, kitchen, check=_latency_check(task, kitchen))
        with stage(shop, "score", task.system.label, len(task.queries.queries), "queries") as report:
            report.advance(0)
            return measure(task, kitchen, workers, report.advance, check)
    except (CacheError, ConsentError):  # a full disk is nobody's fault, and none of the others could be kept
        raise
    except Exception as exc:  # noqa: BLE001 - one system's fault is recorded, the others go on
        reason = told(exc)
    try:
        return faulty_cell(task, kitchen, reason)
    except CacheError:
        raise
    except Exception:  # noqa: BLE001 - what there is cannot be scored either
        return failed_cell(task.run, task.system, reason)


def _measuring(made: Ingredients, system: System, run_name: str, kitchen: Kitchen) -> Measuring:
    return measuring(
        run_name,
        system,
        made.queries,
        made.truth,
        made.plan.measures,
        made.plan.conventions,
        kitchen,
        made.plan.settings.seed,
    )


def _cell_key(made: Ingredients, system: System, run_name: str) -> str:
    """What a finished system depends on; anything else that changes leaves it standing."""
    settings = made.plan.settings
    shaped = [
        settings.depth,
        settings.runs,
        settings.metric,
        made.plan.conventions.to_dict(),
        list(made.plan.measures),
    ]
    inputs = [made.corpus.fingerprint, made.queries_key, made.truth_key]  # queries hold what is masked
    names = [run_name, system.label]  # they stand in every row
    if isinstance(system.mode.params, Hybrid) and system.mode.params.tuned:
        shaped.append(settings.seed)  # it deals the folds
    return fingerprint("cell", __version__, segmentation.VERSION, names, system.identity(), shaped, inputs)
