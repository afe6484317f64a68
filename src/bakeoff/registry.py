"""The only plug-in look-up: entry points, loaded on first use, with errors that say what to do."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import isfunction
from typing import Literal, overload

from bakeoff.errors import MissingExtraError, UnknownPluginError
from bakeoff.protocols import (
    Chunker,
    Embedder,
    Encoder,
    Executor,
    Plugin,
    Reader,
    Reranker,
    Retriever,
    Source,
    Store,
)
from bakeoff.storage.plugin_output import mask_output

KINDS = (
    "sources",
    "readers",
    "chunkers",
    "embedders",
    "encoders",
    "stores",
    "rerankers",
    "retrievers",
    "executors",
    "measures",
)


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """A registered plug-in, whether or not it can be imported here."""

    kind: str
    name: str
    target: str
    package: str
    missing: str = ""


_added: dict[tuple[str, str], type] = {}
_METHODS = {
    kind: tuple(name for name, found in vars(protocol).items() if isfunction(found) and name[0] != "_")
    for kind, protocol in (
        ("embedders", Embedder),
        ("encoders", Encoder),
        ("rerankers", Reranker),
        ("retrievers", Retriever),
    )
}
"""Methods that a plug-in of a kind must have; stores and sources may lack some."""


def names(kind: str) -> tuple[str, ...]:
    """Registered names of a kind, sorted."""
    return tuple(sorted({*_points(kind), *(name for k, name in _added if k == kind)}))


def add(kind: str, name: str, plugin: type) -> None:
    """Register a class of this process, for notebooks and tests; an existing name is an error."""
    if name in names(kind):
        raise UnknownPluginError(f"{kind[:-1]} {name!r} is already registered. Choose another name.")
    _added[kind, name] = plugin


def remove(kind: str, name: str) -> None:
    """Undo `add`."""
    _added.pop((kind, name), None)


@overload
def load(kind: Literal["sources"], name: str) -> type[Source]: ...
@overload
def load(kind: Literal["readers"], name: str) -> type[Reader]: ...
@overload
def load(kind: Literal["chunkers"], name: str) -> type[Chunker]: ...
@overload
def load(kind: Literal["embedders"], name: str) -> type[Embedder]: ...
@overload
def load(kind: Literal["encoders"], name: str) -> type[Encoder]: ...
@overload
def load(kind: Literal["stores"], name: str) -> type[Store]: ...
@overload
def load(kind: Literal["rerankers"], name: str) -> type[Reranker]: ...
@overload
def load(kind: Literal["retrievers"], name: str) -> type[Retriever]: ...
@overload
def load(kind: Literal["executors"], name: str) -> type[Executor]: ...
@overload
def load(kind: Literal["measures"], name: str) -> type: ...
@overload
def load(kind: str, name: str) -> type[Plugin]: ...
def load(kind: str, name: str) -> type[Plugin]:
    """The class registered under a name; unknown names and missing packages raise errors with a remedy."""
    if (kind, name) in _added:
        return _check_plugin(kind, name, _added[kind, name])
    point = _points(kind).get(name)
    if point is None:
        raise UnknownPluginError(_unknown(kind, name))
    return _check_plugin(kind, name, _import(point))


def _check_plugin(kind: str, name: str, plugin: type) -> type[Plugin]:
    """The class with masked output; raises if it lacks its version or a method of its kind."""
    missing = [] if kind == "measures" or hasattr(plugin, "version") else ["version"]
    missing += [f"method {method}" for method in _METHODS.get(kind, ()) if not hasattr(plugin, method)]
    if missing:
        raise UnknownPluginError(
            f"the {kind[:-1]} {name!r} ({plugin.__module__}:{plugin.__qualname__}) has no "
            f"{' or '.join(missing)}. The plug-in guide has an example of each kind."
        )
    return mask_output(kind, plugin)


def entries(kind: str) -> list[PluginEntry]:
    """Every plug-in of a kind, with the reason if it can't be used here."""
    found = []
    for name in names(kind):
        point = _points(kind).get(name)
        target = (
            point.value if point else f"{_added[kind, name].__module__}:{_added[kind, name].__qualname__}"
        )
        found.append(PluginEntry(kind, name, target, _package(point), _missing(kind, name)))
    return found


def _missing(kind: str, name: str) -> str:
    try:
        load(kind, name)
    except (MissingExtraError, UnknownPluginError) as exc:
        return str(exc)
    return ""


@cache
def _points(kind: str) -> dict[str, EntryPoint]:
    if kind not in KINDS:
        raise UnknownPluginError(f"no kind of plug-in is called {kind!r}. Kinds: {', '.join(KINDS)}.")
    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=f"bakeoff.{kind}"):
        other = points.get(point.name)
        if other is not None and other.value != point.value:
            raise UnknownPluginError(
                f"two packages register the {kind[:-1]} {point.name!r}: {_package(other)} ({other.value}) and "
                f"{_package(point)} ({point.value}). Uninstall one of them."
            )
        points[point.name] = point
    return points


def _import(point: EntryPoint) -> type[Plugin]:
    try:
        return point.load()
    except ImportError as exc:
        if isinstance(exc.__cause__, KeyboardInterrupt):  # Ctrl-C while an extension module was being loaded
            raise exc.__cause__ from None
        if exc.name is not None and f"{point.module}.".startswith(f"{exc.name}."):
            raise UnknownPluginError(_bad_entry_point(point, exc)) from exc
        extra = f"pip install '{_package(point)}[{point.name}]'"
        if exc.name is None:
            raise MissingExtraError(f"{point.name} cannot be loaded: {exc}. Try: {extra}") from exc
        raise MissingExtraError(f"{point.name} needs {exc.name.split('.')[0]}: {extra}") from exc
    except Exception as exc:  # a module of another package may raise anything
        raise UnknownPluginError(_bad_entry_point(point, exc)) from exc


def _bad_entry_point(point: EntryPoint, exc: Exception) -> str:
    return (
        f"the package {_package(point)} registers {point.name!r} as {point.value}, which cannot be loaded "
        f"({type(exc).__name__}: {exc}). Correct the entry point or the module."
    )


def packages() -> tuple[str, ...]:
    """Other packages that register plug-ins, sorted."""
    points = (point for kind in KINDS for point in _points(kind).values())
    return tuple(sorted({_package(point) for point in points} - {"bakeoff"}))


def _package(point: EntryPoint | None) -> str:
    return point.dist.name if point is not None and point.dist is not None else "bakeoff"


def _unknown(kind: str, name: str) -> str:
    known = names(kind)
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    return f"no {kind[:-1]} is called {name!r}.{hint} Known: {', '.join(known) or 'none'}."
