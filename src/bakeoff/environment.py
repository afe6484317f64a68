"""Connection settings and keys: from the environment, else `.env` here, else what `bakeoff servers up` recorded."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bakeoff.errors import SettingError
from bakeoff.weights import home

FILE = ".env"
_LINE = re.compile(
    r"""(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s#"']*)\s*(?:#.*)?"""
)


def setting(name: str) -> str | None:
    """The value of a variable, or None where it is set nowhere or to nothing."""
    places = (os.environ, *(read(path) for path in (Path(FILE), recorded())))
    return next((place[name] for place in places if place.get(name)), None)


def recorded() -> Path:
    """The file with the settings of the servers that are running, in the form of a `.env`."""
    return home() / "servers" / "env"


def read(path: Path) -> dict[str, str]:
    """The variables of a file of NAME=value lines; a value is never part of an error's text."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingError(
            f"cannot read {path} ({type(exc).__name__}). It must be a text of NAME=value lines."
        ) from exc
    lines = enumerate(text.splitlines(), 1)
    return dict(
        _pair(path, number, line.strip()) for number, line in lines if line.strip() and line.strip()[0] != "#"
    )


def _pair(path: Path, number: int, line: str) -> tuple[str, str]:
    found = _LINE.fullmatch(line)
    if found is None:
        raise SettingError(f"{path}, line {number} is not NAME=value. Put quotes around a value with spaces.")
    value = found["value"]
    return found["name"], value[1:-1] if value[:1] in ('"', "'") else value
