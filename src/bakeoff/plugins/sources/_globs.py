"""Globs over paths: `*.py` matches a name anywhere, `docs/**/*.md` a path below the folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A case-insensitive test of posix paths against any of the patterns."""
    parts = [_regex(pattern) for pattern in patterns]
    found = re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)
    return lambda path: found.fullmatch(path) is not None


def _regex(pattern: str) -> str:
    """Translate a pattern; one with a slash is anchored at the folder, one without matches at any depth."""
    pattern = pattern.removeprefix("./")
    if "/" not in pattern.rstrip("/"):
        return (
            f"(?:.*/)?{_translate(pattern.rstrip('/'))}(?:/.*)?"
            if pattern.endswith("/")
            else f"(?:.*/)?{_translate(pattern)}"
        )
    return _translate(pattern.lstrip("/") + ("**" if pattern.endswith("/") else ""))


def _translate(pattern: str) -> str:
    steps = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|.", pattern, re.DOTALL)
    return "".join(steps.get(token) or _literal(token) for token in tokens)


def _literal(token: str) -> str:
    if len(token) == 1:
        return re.escape(token)
    inner = token[1:-1].replace("\\", "\\\\")
    return f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
