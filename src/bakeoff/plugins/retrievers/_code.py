"""Loads objects of the user's own code by name (`module:attribute`). Only modules the user allowed are imported."""

from __future__ import annotations

import importlib
import sys
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from bakeoff.errors import RetrieverError
from bakeoff.plugins._settings import Settings
from bakeoff.storage.consent import require_code

ObjectName = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")]


class CodeParams(Settings):
    """Where the code is."""

    folder: Path = Field(
        Path(), exclude=True, description="folder of the module; default: that of the experiment"
    )


def load_object(name: str, folder: Path) -> Any:
    """The object behind a name; the folder is searched for its module first."""
    module, _, attribute = name.partition(":")
    require_code(module)
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        return attrgetter(attribute)(importlib.import_module(module))
    except ModuleNotFoundError as exc:
        raise RetrieverError(
            f"{name}: no module is called {exc.name}. Searched in {folder} and among installed packages."
        ) from exc
    except AttributeError as exc:
        raise RetrieverError(f"{name}: {exc}.") from exc


def make_object(name: str, folder: Path, methods: tuple[str, ...]) -> Any:
    """An object with one of some methods; a function or class is called without arguments to make one."""
    found = load_object(name, folder)
    if not any(hasattr(found, method) for method in methods) or isinstance(found, type):
        if not callable(found):
            raise RetrieverError(
                f"{name} is a {type(found).__name__}, which has no method {' or '.join(methods)}."
            )
        found = found()
    if not any(hasattr(found, method) for method in methods):
        raise RetrieverError(
            f"{name} makes a {type(found).__name__}, which has no method {' or '.join(methods)}."
        )
    return found
