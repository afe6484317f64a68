"""What `streamlit run` serves: the dashboard, only for a browser that opened the printed address with its token.

Streamlit trusts any request whose Origin equals its Host, so a foreign domain that resolves to this machine could read
everything. Here the Host must be this machine, an Origin must match it, and the token must be right.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
from streamlit.starlette import App as StreamlitApp

from bakeoff.runtime.page_access import PARAMETER, REFUSAL, PageAccess

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN_VARIABLE = "BAKEOFF_DASHBOARD_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable that passes the token to the serving process."""
HEALTH = "/_stcore/health"
LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?")
REFUSED = 403
POLICY_VIOLATION = 1008


class Guard:
    """Refuses unauthorised requests and passes the others on."""

    def __init__(self, app: App) -> None:
        self._app, self._token = app, os.environ[TOKEN_VARIABLE]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or connection; the page stores the token as a cookie."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif _ours(scope) and (scope["path"] == HEALTH or self._knows(scope)):
            await self._app(scope, receive, self._with_cookie(scope, send))
        elif scope["type"] == "websocket":  # closed before it is accepted: the browser gets 403
            await receive()
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        else:
            await send({"type": "http.response.start", "status": REFUSED,
                        "headers": [(b"content-type", b"text/plain; charset=utf-8")]})  # fmt: skip
            await send({"type": "http.response.body", "body": REFUSAL.encode()})

    def _access(self, scope: Scope) -> PageAccess:
        return PageAccess(self._token, scope["server"][1])

    def _knows(self, scope: Scope) -> bool:
        cookies = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"cookie"]
        return self._access(scope).allows(scope["query_string"].decode("latin-1"), "; ".join(cookies))

    def _with_cookie(self, scope: Scope, send: Send) -> Send:
        """The same answer, with a cookie if the address has the token."""
        if f"{PARAMETER}=".encode() not in scope["query_string"] or scope["path"] == HEALTH:
            return send

        async def answer(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                cookie = (b"set-cookie", self._access(scope).set_cookie().encode())
                message = {**message, "headers": [*message.get("headers", ()), cookie]}
            await send(message)

        return answer


def _ours(scope: Scope) -> bool:
    """Whether there is one Host header, naming this machine, and every Origin matches it."""
    headers = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    hosts = [value for name, value in headers if name == b"host"]
    origins = [value for name, value in headers if name == b"origin"]
    here = len(hosts) == 1 and LOOPBACK.fullmatch(hosts[0]) is not None
    return here and all(origin == f"http://{hosts[0]}" for origin in origins)


app = StreamlitApp(Path(__file__).with_name("app.py"), middleware=[Middleware(Guard)])
