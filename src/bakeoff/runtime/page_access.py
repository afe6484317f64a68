"""Who may open a page of this machine: whoever has the address that the command printed, with its token.

The first request carries the token in its address and gets it as a cookie, so that later ones need no token in theirs.
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
REFUSAL = "This page needs the token of its address. Open the address that the command printed."


def new_token() -> str:
    """A token that cannot be guessed, or the one that BAKEOFF_PAGE_TOKEN gives."""
    given = os.environ.get(TOKEN_VARIABLE, "")  # never from a .env file: that may be somebody else's
    if given and not re.fullmatch(rf"[\w-]{{{SHORTEST},}}", given, re.ASCII):
        raise SettingError(
            f"{TOKEN_VARIABLE} must have at least {SHORTEST} characters: letters, digits, - and _. "
            "Leave it out, and each start makes its own."
        )
    return given or secrets.token_urlsafe(24)


class PageAccess:
    """The token of one server; `port` keeps the cookies of two servers on one machine apart."""

    def __init__(self, token: str, port: int) -> None:
        self.token, self._cookie = token, f"bakeoff-{port}"

    def allows(self, query: str, cookies: str) -> bool:
        """Whether the query of an address, or the Cookie header, has the token."""
        return any(
            hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())
            for given in (*parse_qs(query).get(PARAMETER, ()), self._from_cookie(cookies))
        )

    def set_cookie(self) -> str:
        """The Set-Cookie header: for this machine's page only, and not for scripts."""
        return f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def _from_cookie(self, cookies: str) -> str:
        try:
            found = SimpleCookie(cookies).get(self._cookie)
        except CookieError:
            return ""
        return found.value if found else ""
