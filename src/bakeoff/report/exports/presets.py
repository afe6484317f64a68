"""Which preset writes which files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bakeoff.analysis import open_run
from bakeoff.errors import DataError, SettingError
from bakeoff.measures import presets
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


def export_run(folder: Path, preset: str) -> Files:
    """The files of a preset for a run's folder."""
    if preset not in EXPORTS:
        raise SettingError(f"no export is called {preset!r}. Choose one of {', '.join(EXPORTS)}.")
    result = open_run(folder)
    if not result.done:
        raise DataError(f"{folder} has no finished system. Finish the run first: bakeoff run --out {folder}")
    material = Material(result, str(presets.preset(preset).unit))
    files = EXPORTS[preset](material)
    if not material.missing:
        return files
    note = (
        f"{', '.join(material.missing)}: not measured in this run, so null in the files. "
        f"`preset: {preset}` in the experiment measures all of them."
    )
    return replace(files, notes=(note,))
