"""Which preset writes which files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bakeoff.analysis import open_run
from bakeoff.errors import DataError, MeasureError, SettingError
from bakeoff.measures import presets
from bakeoff.measures.presets import Preset
from bakeoff.report.ann_data import RECORD, kind_of
from bakeoff.report.exports import ann, code, goldsql, lineage, vectordb
from bakeoff.report.exports.files import Export, Files
from bakeoff.report.exports.material import Material

EXPORTS: dict[str, Export] = {
    "lineage": lineage.export,
    "ann": ann.export,
    "code": code.export,
    "vectordb": vectordb.export,
    "goldsql": goldsql.export,
}


def export_run(folder: Path, name: str, *, trust: bool = False) -> Files:
    """The files of a preset, named as itself or as its source system, for the folder of a run or of `bakeoff ann`."""
    preset = _preset(name)
    if (folder / RECORD).is_file() and not (folder / "run.json").is_file():
        return _export_benchmark(folder, preset.name)
    result = open_run(folder, trust=trust)
    if not result.done:
        raise DataError(f"{folder} has no finished system. Finish the run first: bakeoff run --out {folder}")
    material = Material(result, str(preset.unit), preset.conventions)
    files = EXPORTS[preset.name](material)
    return replace(files, notes=(*result.trusted_changes, *files.notes, *_notes(material, preset.name)))


def _export_benchmark(folder: Path, preset: str) -> Files:
    """The files of a comparison of stores on vectors, which has those of one preset only."""
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


def _notes(material: Material, preset: str) -> Iterator[str]:
    """What is null in the files and why, and which means rest on incomplete truth."""
    incomplete = {one.query_id for one in material.result.record.unread_truth}
    if incomplete:
        yield (
            f"The truth of {len(incomplete):,} queries names documents that were not read: means over them rest on "
            "incomplete truth (run.json, unread_truth)."
        )
    if material.missing:
        yield (
            f"{', '.join(material.missing)}: not measured in this run, so null in the files. "
            f"`preset: {preset}` in the experiment measures all of them."
        )
    for other in dict.fromkeys(material.unlike.values()):
        names = ", ".join(shown for shown, text in material.unlike.items() if text == other)
        yield (
            f"{names}: computed by other conventions than those of {preset} ({other}), so null in the files. "
            f"`preset: {preset}` in the experiment computes them by its own."
        )
