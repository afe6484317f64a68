"""Who may ask the dashboard: a browser that was given this machine's own address, and no other site in it.

Streamlit takes a request whose Origin is its Host for its own page, so a foreign name that leads here could read
everything. Here the Host must be this machine, and an Origin, where there is one, the same.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?")
REFUSED = 403
POLICY_VIOLATION = 1008


class Guard:
    """Answers requests of strangers itself, and passes on the others."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request or connection."""
        if scope["type"] not in ("http", "websocket") or _ours(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":  # closed before it is accepted: the browser gets 403
            await receive()
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        else:
            await send({"type": "http.response.start", "status": REFUSED,
                        "headers": [(b"content-type", b"text/plain; charset=utf-8")]})  # fmt: skip
            await send({"type": "http.response.body", "body": b"This dashboard is for this machine only."})


def _ours(scope: Scope) -> bool:
    """Whether the Host is this machine, said once, and every Origin is that Host."""
    said = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    hosts = [value for name, value in said if name == b"host"]
    origins = [value for name, value in said if name == b"origin"]
    here = len(hosts) == 1 and LOOPBACK.fullmatch(hosts[0]) is not None
    return here and all(origin == f"http://{hosts[0]}" for origin in origins)
