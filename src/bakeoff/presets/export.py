"""Writes the files of a preset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bakeoff.benchmark.results.records import RECORD, kind_of
from bakeoff.errors import DataError, MeasureError, SettingError
from bakeoff.measures import presets
from bakeoff.measures.neighbours import TRUE_NEIGHBOURS
from bakeoff.measures.presets import Preset
from bakeoff.presets.ann import export as ann
from bakeoff.presets.code import export as code
from bakeoff.presets.export_context import ExportContext
from bakeoff.presets.export_files import Export, Files
from bakeoff.presets.goldsql import export as goldsql
from bakeoff.presets.lineage import export as lineage
from bakeoff.presets.lineage.decision_matrix import name_current
from bakeoff.presets.vectordb import export as vectordb
from bakeoff.review.reviewed_run import BY_RULES, Truth, open_runs, same_truth
from bakeoff.runs.analysis import Result
from bakeoff.types import Unit

EXPORTS: dict[str, Export] = {
    "lineage": lineage.export_lineage,
    "ann": ann.export_ann,
    "code": code.export_code,
    "vectordb": vectordb.export_vectordb,
    "goldsql": goldsql.export_goldsql,
}


def export_run(
    folder: Path,
    name: str,
    *,
    report_text: Callable[[Result], str],
    trust: bool = False,
    pair: tuple[str, str] | None = None,
    current: str | None = None,
    also: Sequence[Path] = (),
    reviews: Sequence[Path] = (),
    truth: Truth = "reviewed",
) -> Files:
    """The files of a preset, by its name or its source system's, for the folder of a run or of `bakeoff ann`.

    `report_text` writes the report of a run, for a system whose files include one.
    `also` are runs of other days with the same truth, whose models enter the same files.
    """
    preset = _preset(name)
    if (folder / RECORD).is_file() and not (folder / "run.json").is_file():
        return _export_benchmark(folder, preset.name)
    if also and preset.name != "lineage":
        raise SettingError(
            f"--also applies only to --preset lineage; --preset {preset.name} writes the files of one run."
        )
    results = open_runs([folder, *also], trust=trust, reviews=reviews, truth=truth)
    for result in results:
        if not result.done:
            path = result.path
            raise DataError(f"{path} has no finished system. Finish the run first: bakeoff run --out {path}")
    if also:
        return _export_runs(results, preset, current)
    result = results[0].with_current(current)
    chosen = _pair(result, preset.name, *pair) if pair else None
    material = ExportContext(result, str(preset.unit), preset.conventions, chosen, report_text)
    files = EXPORTS[preset.name](material)
    return replace(files, notes=(*result.trusted_changes, *files.notes, *_notes(material, preset)))


def _export_runs(results: Sequence[Result], preset: Preset, current: str | None) -> Files:
    """The files of several runs, each question judged the same way in all of them."""
    runs = same_truth(results)
    kept = name_current(runs.results, current)
    materials = [ExportContext(result, str(preset.unit), preset.conventions) for result in kept]
    files = lineage.export_runs(materials)
    changes = [note for result in kept for note in result.trusted_changes]
    notes = dict.fromkeys(note for material in materials for note in _notes(material, preset))
    truth = () if runs.sentence == BY_RULES else (runs.sentence,)
    return replace(files, notes=(*truth, *changes, *files.notes, *notes))


def _pair(result: Result, preset: str, challenger: str, incumbent: str) -> tuple[str, str]:
    """The labels of the two requested systems."""
    if preset != "goldsql":
        raise SettingError(
            f"--pair applies only to --preset goldsql; --preset {preset} does not compare two systems."
        )
    found = result.system(challenger), result.system(incumbent)
    if found[0] == found[1]:
        raise SettingError(f"--pair names {found[0]} twice. Name two systems: {'; '.join(result.done)}.")
    return found


def _export_benchmark(folder: Path, preset: str) -> Files:
    """The files of a comparison of stores on vectors, which only one preset writes."""
    kind = kind_of(folder)
    if (kind, preset) == ("ann", "ann"):
        return ann.export_vectors(folder)
    if kind == "ann":
        raise SettingError(
            f"{folder} is of `bakeoff ann`, which measures no documents: --preset ann writes its files, "
            f"--preset {preset} those of a run of `bakeoff run`."
        )
    raise SettingError(f"{folder} is of `bakeoff {kind}`. Give the folder of a run, or one of `bakeoff ann`.")


def _preset(name: str) -> Preset:
    try:
        found = presets.preset(name)
    except MeasureError:
        found = None
    if found is None or found.name not in EXPORTS:
        raise SettingError(f"no export is called {name!r}. Choose one of {', '.join(EXPORTS)}.")
    return found


def _notes(material: ExportContext, preset: Preset) -> Iterator[str]:
    """Notes on null values and their reasons, and on means with incomplete truth (F55)."""
    if material.result.record.unread_truth:
        incomplete = {row.query_id for row in material.result.record.unread_truth}
        yield (
            f"The truth of {len(incomplete):,} queries names documents that were not read: means over them rest on "
            "incomplete truth (run.json, unread_truth)."
        )
    if material.missing:
        names = ", ".join(material.missing)
        yield f"{names}: not measured in this run, so null in the files. {_remedy(material, preset)}"
    for other in dict.fromkeys(material.unlike.values()):
        names = ", ".join(shown for shown, text in material.unlike.items() if text == other)
        yield (
            f"{names}: computed by other conventions than those of {preset.name} ({other}), so null in the files. "
            f"`preset: {preset.name}` in the experiment computes them by its own."
        )


def _remedy(material: ExportContext, preset: Preset) -> str:
    """How to measure them; the preset itself only if it can score a run of this corpus."""
    fewest = min([material.result.record.depth, *(row["chunks"] or 0 for row in material.systems)])
    if preset.unit is Unit.VECTOR and fewest < TRUE_NEIGHBOURS:
        return (
            f"They need {TRUE_NEIGHBOURS} chunks and depth: {TRUE_NEIGHBOURS} or more; this run has {fewest}."
        )
    return f"`preset: {preset.name}` in the experiment measures all of them."
