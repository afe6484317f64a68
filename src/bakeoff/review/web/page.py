"""The page as one response with its style and script, the only ones the browser may run."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from dataclasses import asdict, dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class PageSetup:
    """What the script of the page must know of the review."""

    review: str
    """Distinguishes this review from another on the same port."""
    run: str
    token: str
    reviewer: str
    graded: bool
    adjudicate: bool


def page(setup: PageSetup) -> bytes:
    """The page; outside data is escaped in one attribute."""
    style, script = _file("page.css"), _file("page.js")
    text = _file("page.html")
    text = text.replace("{{ style }}", style).replace("{{ script }}", script)
    return text.replace("{{ setup }}", html.escape(json.dumps(asdict(setup)))).encode("utf-8")


def policy() -> str:
    """The Content-Security-Policy: our style and our script by hash, and requests to where the page is from."""
    return (
        f"default-src 'none'; script-src '{_hash(_file('page.js'))}'; style-src '{_hash(_file('page.css'))}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _file(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
