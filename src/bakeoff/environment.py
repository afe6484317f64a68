"""Connection settings and keys: from the environment, else `.env` here, else what `bakeoff servers up` recorded."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bakeoff.errors import SettingError
from bakeoff.weights import home

FILE = ".env"
SECRET = ("KEY", "TOKEN", "PASSWORD", "SECRET")
ADDRESS = ("DSN", "URL", "URI")
"""How the names of variables end whose values, or whose addresses' passwords, are not shown."""
SHORTEST = 6
"""Characters of a value below which hiding it would hide ordinary words."""
_LINE = re.compile(
    r"""(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s#"']*)\s*(?:#.*)?"""
)


def setting(name: str) -> str | None:
    """The value of a variable, or None where it is set nowhere or to nothing."""
    places = (os.environ, *(read(path) for path in (Path(FILE), recorded())))
    return next((place[name] for place in places if place.get(name)), None)


def masked(text: str) -> str:
    """The text without the keys and passwords that are set: clients and servers repeat them in their errors."""
    for secret in sorted(_secrets(), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _secrets() -> set[str]:
    places = [os.environ, *(_readable(path) for path in (Path(FILE), recorded()))]
    pairs = [(name.upper(), value.strip()) for place in places for name, value in place.items()]
    found = {value for name, value in pairs if name.endswith(SECRET)}
    for name, value in pairs:
        if name.endswith(ADDRESS):
            found |= set(_of_address(value))
    return {secret for secret in found if len(secret) >= SHORTEST}


def _of_address(value: str) -> Iterator[str]:
    """The password of an address, as it is and as a header carries it."""
    try:
        at = urlsplit(value)
        user, password = unquote(at.username or ""), unquote(at.password or "")
    except ValueError:
        return
    if password:
        yield from (at.password or "", password, b64encode(f"{user}:{password}".encode()).decode())


def _readable(path: Path) -> dict[str, str]:
    try:
        return read(path)
    except SettingError:  # told where a setting is asked for, not while another error is
        return {}


def recorded() -> Path:
    """The file with the settings of the servers that are running, in the form of a `.env`."""
    return home() / "servers" / "env"


def read(path: Path) -> dict[str, str]:
    """The variables of a file of NAME=value lines; a value is never part of an error's text."""
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
    found = _LINE.fullmatch(line)
    if found is None:
        raise SettingError(f"{path}, line {number} is not NAME=value. Put quotes around a value with spaces.")
    value = found["value"]
    return found["name"], value[1:-1] if value[:1] in ('"', "'") else value
