"""Access to a local page: only with the address that the command printed, which contains a token.

The first request carries the token in its address and receives it as a cookie, so that later ones don't need
it.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from bakeoff.errors import SettingError

PARAMETER = "token"
TOKEN_VARIABLE = "BAKEOFF_PAGE_TOKEN"  # noqa: S105 - the name of a variable
SHORTEST = 16
REFUSAL = "This page requires a token. Open the address that the command printed."


def new_token() -> str:
    """A random token, or the one in BAKEOFF_PAGE_TOKEN."""
    token = os.environ.get(TOKEN_VARIABLE, "")  # never from a .env file: that may be somebody else's
    if token and not re.fullmatch(rf"[\w-]{{{SHORTEST},}}", token, re.ASCII):
        raise SettingError(
            f"{TOKEN_VARIABLE} must have at least {SHORTEST} characters: letters, digits, - and _. "
            "Unset it to get a new token at each start."
        )
    return token or secrets.token_urlsafe(24)


class PageAccess:
    """The token of one server; `port` separates the cookies of two servers on one machine."""

    def __init__(self, token: str, port: int) -> None:
        self.token, self._cookie = token, f"bakeoff-{port}"

    def allows(self, query: str, cookies: str) -> bool:
        """Whether the query of an address, or the Cookie header, has the token."""
        return any(
            hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())
            for token in (*parse_qs(query).get(PARAMETER, ()), self._from_cookie(cookies))
        )

    def set_cookie(self) -> str:
        """The Set-Cookie header: for this machine's page only, and not for scripts."""
        return f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def _from_cookie(self, cookies: str) -> str:
        try:
            cookie = SimpleCookie(cookies).get(self._cookie)
        except CookieError:
            return ""
        return cookie.value if cookie else ""
