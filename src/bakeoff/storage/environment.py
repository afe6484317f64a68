"""Connection settings and keys: from the environment, else `.env`, else what `bakeoff servers up` recorded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from bakeoff.errors import SettingError
from bakeoff.storage.weights import home_folder

FILE = ".env"
_LINE = re.compile(
    r"""(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s#"']*)\s*(?:#.*)?"""
)


class SettingSource(IntEnum):
    """Source of a value, least trusted first."""

    EXPERIMENT = 0
    FILE = 1
    USER = 2

    @property
    def label(self) -> str:
        """The source for messages."""
        return ("the experiment", FILE, "the environment")[self]


@dataclass(frozen=True, slots=True)
class SettingValue:
    """The value of a variable, and its source."""

    text: str
    source: SettingSource


def get_setting(name: str) -> str | None:
    """The value of a variable, or None if it is unset or empty."""
    setting = find_setting(name)
    return setting.text if setting is not None else None


def find_setting(name: str) -> SettingValue | None:
    """The value of a variable with its source; a server of `bakeoff servers up` is as trusted as the environment."""
    if os.environ.get(name):
        return SettingValue(os.environ[name], SettingSource.USER)
    for path, source in ((Path(FILE), SettingSource.FILE), (server_env_file(), SettingSource.USER)):
        value = read(path).get(name)
        if value:
            return SettingValue(value, source)
    return None


def all_settings() -> Iterator[tuple[str, str]]:
    """All variables set anywhere; an unreadable file is reported when a setting is requested."""
    for place in (os.environ, *(_readable(path) for path in (Path(FILE), server_env_file()))):
        yield from list(place.items())


def _readable(path: Path) -> dict[str, str]:
    try:
        return read(path)
    except SettingError:
        return {}


def server_env_file() -> Path:
    """The file with settings of the running servers, in `.env` format."""
    return home_folder() / "servers" / "env"


def read(path: Path) -> dict[str, str]:
    """The variables in a file of NAME=value lines; errors never include a value."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
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
    match = _LINE.fullmatch(line)
    if match is None:
        raise SettingError(f"{path}, line {number} is not NAME=value. Put quotes around a value with spaces.")
    value = match["value"]
    return match["name"], value[1:-1] if value[:1] in ('"', "'") else value
