"""A measured system as a standalone project: settings, pinned versions, scripts and a self-test."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel

from bakeoff import __version__
from bakeoff.config import experiment
from bakeoff.config.plan import Plan, PluginSpec, System
from bakeoff.errors import DataError, SettingError
from bakeoff.runs.analysis import Result
from bakeoff.runs.live.live_system import FoundPassage, LiveSystem, tuned_weight
from bakeoff.runs.live.replay import EXPECTED, expected_rankings, write_expected, write_measured
from bakeoff.runtime.count_text import count
from bakeoff.storage import catalogue, weights

SETTINGS, QUERIES, RETRIEVER = "system.yaml", "queries.yaml", "retriever.py"
SCRIPTS = ("search.py", "ingest.py", "selftest.py", "README.md", "Dockerfile")
GRID_KEYS = {
    "readers",
    "chunkers",
    "embedders",
    "encoders",
    "models",
    "stores",
    "modes",
    "mode",
    "rerankers",
    "retrievers",
}
"""Keys of an experiment that span its systems."""
RUN_KEYS = {
    "executor",
    "current",
    "prices",
    "targets",
    "limits",
    "top_k",
    "runs",
    "judgments",
    "name",
    "allow",
}
"""Keys of an experiment that only a comparison needs."""


class Framework(StrEnum):
    """The framework that calls a project's search."""

    PYTHON = "python"
    LANGCHAIN = "langchain"
    LLAMAINDEX = "llamaindex"
    HAYSTACK = "haystack"

    @property
    def package(self) -> str | None:
        """The package of the framework; None for plain Python."""
        names = {"langchain": "langchain-core", "llamaindex": "llama-index-core", "haystack": "haystack-ai"}
        return names.get(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenSystem:
    """A system of a run, its plan, and the framework of its project."""

    plan: Plan
    result: Result
    system: System
    framework: Framework = Framework.PYTHON


def write_project(choice: TakenSystem, out: Path) -> None:
    """Write the project into a new folder, whole or not at all."""
    if choice.system.retriever is not None:
        raise SettingError(
            f"{choice.system.label} is a search of yours: there is nothing to take. Name another system."
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SettingError(f"{out} already exists and is not empty. Choose another folder with --out.")
    part = out.with_name(f"{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        _write_files(choice, part)
        if out.is_dir():
            out.rmdir()
        part.rename(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_files(choice: TakenSystem, folder: Path) -> None:
    shutil.copyfile(choice.plan.queries, folder / QUERIES)
    (folder / SETTINGS).write_text(_settings_text(choice, folder), encoding="utf-8")
    _check_settings(choice, folder / SETTINGS)
    questions = write_expected(expected_rankings(choice.result, choice.system.label), folder / EXPECTED)
    write_measured(choice.result, choice.system.label, folder)
    (folder / "requirements.txt").write_text(
        "".join(f"{line}\n" for line in _requirements(choice)), encoding="utf-8"
    )
    words = _template_words(choice, questions)
    for name in SCRIPTS:
        (folder / name).write_text(_render(name, words), encoding="utf-8")
    if choice.framework is not Framework.PYTHON:
        script = _render(f"{choice.framework.value}.py", words)
        (folder / RETRIEVER).write_text(script, encoding="utf-8")


def _render(name: str, words: Mapping[str, object]) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bakeoff.report"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - these are programs and Markdown, not pages
    )
    return environment.get_template(f"project/{name}.j2").render(words).rstrip() + "\n"


def _settings_text(choice: TakenSystem, folder: Path) -> str:
    import yaml

    label, run = plain_text(choice.system.label), plain_text(choice.result.path.name)
    head = f"# {label}: one system of the run {run}, as bakeoff measured it.\n"
    return head + yaml.safe_dump(_settings(choice, folder), sort_keys=False, allow_unicode=True)


def _settings(choice: TakenSystem, folder: Path) -> dict[str, object]:
    """The experiment's keys with one system instead of the grid; paths are relative to the new file."""
    plan, system = choice.plan, choice.system
    dropped = GRID_KEYS | RUN_KEYS | {"corpus", "queries"}
    settings = plan.settings.model_dump(mode="json", exclude_unset=True, exclude=dropped)
    if plan.settings.preset:
        settings["preset"] = plan.settings.preset
    paths = {name: value for name, value in plan.source.params if isinstance(value, Path)}
    corpus = {**plan.settings.corpus, **{name: _relative(path, folder) for name, path in paths.items()}}
    parts: dict[str, object] = {"chunkers": [_part(system.chunker, folder)]}
    if system.chunker.reading is not None:
        parts["readers"] = {kind: _part(part, folder) for kind, part in system.chunker.reading.parts}
    if system.embedder is not None:
        parts[system.embedder.kind] = [_part(system.embedder, folder)]
    if system.store is not None:
        parts["stores"] = [_part(system.store, folder, query=system.search)]
    return {"corpus": corpus, "queries": QUERIES, **parts, "modes": [_mode(system, folder)], **settings}


def _part(
    spec: PluginSpec, folder: Path, *, query: BaseModel | None = None, depth: int | None = None
) -> dict[str, object]:
    """A plug-in as the experiment file specifies it."""
    params = {**_given(spec.params, folder), **spec.form.chosen()}
    if "dims" in spec.form.chosen():
        params["dims"] = [
            spec.form.dims
        ]  # a list means truncated vectors; a single number may be a parameter of the plug-in
    if query is not None and (settings := _given(query, folder)):
        params["query"] = settings
    return {f"{spec.name}@{depth}" if depth else spec.name: params}


def _mode(system: System, folder: Path) -> dict[str, object] | list[dict[str, object]]:
    """The mode, or a pipeline of the mode and its rerankers."""
    first = _part(system.mode, folder, depth=system.depth)
    if not system.rerank:
        return first
    return [first, *(_part(step.part, folder, depth=step.depth) for step in system.rerank)]


def _given(params: BaseModel, folder: Path) -> dict[str, object]:
    """The parameters that were set, with paths relative to a folder."""
    settings = params.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    paths = {name: value for name, value in params if isinstance(value, Path) and name in settings}
    return {**settings, **{name: _relative(path, folder) for name, path in paths.items()}}


def _relative(path: Path, folder: Path) -> str:
    """A path relative to a folder; the folder is renamed to its final name after writing."""
    return os.path.relpath(path, folder.resolve())


def _check_settings(choice: TakenSystem, path: Path) -> None:
    """Raise if the settings do not plan exactly the measured system."""
    plan = experiment.load(path)
    if [system.identity() for system in plan.systems] != [choice.system.identity()]:
        raise DataError(
            f"{choice.system.label} cannot be written as a separate file: that file would plan another system."
        )


def _requirements(choice: TakenSystem) -> list[str]:
    """bakeoff with the extras of the plug-ins, and the installed versions of their packages."""
    parts = [part.name for part in choice.system.parts if part is not None and part.kind != "modes"]
    parts.append(choice.plan.source.name)
    known_extras = importlib.metadata.metadata("bakeoff").get_all("Provides-Extra") or []
    extras = sorted(
        {name for part in parts for name in (part, part.replace("_", "-")) if name in known_extras}
    )
    named = f"bakeoff[{','.join(extras)}]" if extras else "bakeoff"
    lines = [f"{named}=={__version__}", *_pin_versions(extras)]
    package = choice.framework.package
    return [*lines, _pin(package) or package] if package else lines


def _pin_versions(extras: list[str]) -> Iterator[str]:
    """The direct requirements of bakeoff and some extras, at their installed versions."""
    names: dict[str, None] = {}
    for line in importlib.metadata.requires("bakeoff") or ():
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        package = re.match(r"[\w.-]+", line)
        if package and (extra is None or extra[1] in extras):
            names[package[0]] = None
    yield from filter(None, (_pin(name) for name in names if name != "bakeoff"))


def _pin(package: str) -> str | None:
    try:
        return f"{package}=={importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return None


def plain_text(text: str) -> str:
    """Text that cannot end the docstring, comment, table cell or code span it is put into."""
    return re.sub(r"[^\w ·.,:;@+=()\[\]/%~–-]", "_", " ".join(text.split()))


def _template_words(choice: TakenSystem, questions: int) -> dict[str, object]:
    result, system = choice.result, choice.system
    record, comparison = result.record, result.comparison
    summary = next((summary for summary in comparison.systems if summary.system == system.label), None)
    return {
        "label": plain_text(system.label),
        "run": plain_text(result.path.name),
        "day": plain_text(record.started[:10]),
        "framework": choice.framework.value,
        "weight": tuned_weight(result, system),
        "questions": count(questions, "question"),
        "documents": count(record.corpus.documents, "document") if record.corpus else "unknown",
        "measured": f"{plain_text(record.primary)} {summary.mean:.3f} on {count(summary.n, 'question')}"
        if summary and summary.n
        else "not scored",
        "parts": list(_part_rows(system)),
        "pulls": model_downloads(system),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
    }


def _part_rows(system: System) -> Iterator[tuple[str, str]]:
    names = {
        "chunkers": "chunker",
        "embedders": "model",
        "encoders": "model",
        "stores": "store",
        "modes": "mode",
        "rerankers": "reranker",
    }
    for part in system.parts:
        if part is not None:
            name, weights = names[part.kind], _weights(part)
            yield name, plain_text(part.label)
            if weights is not None:
                yield from (
                    (plain_text(f"{file} of {weights[0]}"), f"SHA-256 `{plain_text(value)}`")
                    for file, value in weights[1].items()
                )


def model_downloads(system: System) -> list[str]:
    """The commands that download weights which no package contains."""
    weights = [_weights(part) for part in system.parts if part is not None]
    return [f"bakeoff models pull {one[0]}" for one in weights if one is not None]


def _weights(part: PluginSpec) -> tuple[str, Mapping[str, str]] | None:
    """The model that `bakeoff models pull` downloads for a plug-in, with file hashes; None if there is none."""
    if part.kind not in ("embedders", "rerankers"):
        return None
    name = str(getattr(part.params, "model", "") or part.name)
    entry = catalogue.entries().get(name)
    if entry is not None:
        return (name, entry.files) if entry.files else None
    pulled = "/" in name and (weights.models_folder(name) / weights.RECORD_FILE).is_file()
    return (name, weights.find(name).hashes) if pulled else None


def search_through(folder: Path, system: LiveSystem) -> Callable[[str, int], Sequence[FoundPassage]]:
    """The search of a project through its framework, on an open system; ImportError if that is not installed."""
    import runpy

    sys.path.insert(0, str(folder.resolve()))
    earlier = sys.modules.pop("search", None)
    try:
        script = runpy.run_path(str(folder / RETRIEVER))
    finally:
        sys.path.remove(str(folder.resolve()))
        sys.modules.pop("search", None)
        if earlier is not None:
            sys.modules["search"] = earlier
    retriever, find = script["open_retriever"](system), script["find"]
    return lambda text, k: find(retriever, text, k)
