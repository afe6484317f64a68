"""All measures by name: built-in ones, then those of other packages (entry points `bakeoff.measures`)."""

from __future__ import annotations

from bakeoff.errors import MeasureError
from bakeoff.measures.builtin import BUILT_IN
from bakeoff.measures.definitions import MeasureDefinition

_BY_NAME: dict[str, MeasureDefinition] = {one.name: one for one in BUILT_IN}
_BY_LONG_NAME = {long.lower(): one for one in BUILT_IN for long in (one.name, *one.long_names)}
_instances: dict[type, MeasureDefinition] = {}


def all_measures() -> tuple[MeasureDefinition, ...]:
    """All measures: built-in ones in documentation order, then others by name."""
    return (*BUILT_IN, *_other_measures())


def find_measure(name: str) -> MeasureDefinition | None:
    """The measure of exactly that name; entry points are read only for names that are not built in."""
    return _BY_NAME.get(name) or next((one for one in _other_measures() if one.name == name), None)


def find_by_long_name(name: str) -> MeasureDefinition | None:
    """The measure of that name or long name, ignoring case."""
    known = _BY_LONG_NAME.get(name.lower())
    return known or next((one for one in _other_measures() if name.lower() in _spellings(one)), None)


def long_names() -> dict[str, str]:
    """Lower-case spellings of all measures, with their names."""
    return {spelling: one.name for one in all_measures() for spelling in _spellings(one)}


def _other_measures() -> list[MeasureDefinition]:
    from bakeoff import registry  # entry points are read only for names that are not built in

    return [_instance(name, registry.load("measures", name)) for name in registry.names("measures")]


def _instance(name: str, plugin: type) -> MeasureDefinition:
    if plugin not in _instances:
        _instances[plugin] = _check(name, plugin)()
    return _instances[plugin]


def _check(name: str, plugin: object) -> type[MeasureDefinition]:
    """Raise if a plug-in is not a measure of that name, or if a spelling means a built-in measure."""
    if not (isinstance(plugin, type) and issubclass(plugin, MeasureDefinition)):
        raise MeasureError(f"measure {name!r}: {plugin!r} is not a subclass of MeasureDefinition.")
    if getattr(plugin, "name", None) != name:
        raise MeasureError(
            f"measure {name!r}: the class is named differently: {getattr(plugin, 'name', None)!r}."
        )
    clash = next((spelling for spelling in _spellings(plugin) if spelling in _BY_LONG_NAME), None)
    if clash:
        raise MeasureError(
            f"measure {name!r}: {clash!r} means the built-in {_BY_LONG_NAME[clash].name}. Choose another name."
        )
    return plugin


def _spellings(one: MeasureDefinition | type[MeasureDefinition]) -> list[str]:
    return [spelling.lower() for spelling in (one.name, *one.long_names)]
