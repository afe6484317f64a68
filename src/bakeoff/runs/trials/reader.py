"""One file through one reader, as a run would read it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import ValidationError

from bakeoff import registry
from bakeoff.config.file_readers import file_readers
from bakeoff.config.plan import PluginSpec
from bakeoff.corpus.document_kinds import kind_of
from bakeoff.errors import SettingError
from bakeoff.pipeline.reading.process import ReaderProcesses
from bakeoff.types import Document, Json, Skipped, SourceItem


@dataclass(frozen=True, slots=True)
class TriedReader:
    """What a reader made of a file, and how long that took."""

    answer: Document | Skipped
    seconds: float

    def as_json(self) -> dict[str, Json]:
        """The document or the reason, and the seconds."""
        return {**asdict(self.answer), "seconds": self.seconds}


def try_reader(name: str, params: Mapping[str, object], file: Path) -> TriedReader:
    """Read a file with a reader by its name, whatever kinds it is used for."""
    plugin = registry.load("readers", name)
    kind = kind_of(file.name)
    if kind not in plugin.kinds:
        raise SettingError(f"{name} does not read {kind} files. It reads: {', '.join(plugin.kinds)}.")
    try:
        chosen = PluginSpec("readers", name, name, plugin.Params(**params))
    except ValidationError as exc:
        raise SettingError(f"{name}: {exc.errors()[0]['loc']}: {exc.errors()[0]['msg']}.") from exc
    if not file.is_file():
        raise SettingError(f"{file} is not a file. Give the file to read.")
    folder = registry.load("sources", "folder")
    source = folder(folder.Params(folder=file.resolve().parent, include=[file.name]))
    (item,) = (one for one in source.items() if one.id == file.name)
    begin = time.perf_counter()
    if not isinstance(item, SourceItem):
        return TriedReader(item, 0.0)
    with ReaderProcesses(source, file_readers([file.name], {kind: chosen}), [item]) as processes:
        (answer,) = processes.read([item])
    return TriedReader(answer, time.perf_counter() - begin)
