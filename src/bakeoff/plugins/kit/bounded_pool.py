"""Size and time limits for official clients built on urllib3, and the parts of a server's address."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import urllib3

from bakeoff.errors import StoreError
from bakeoff.runtime.http_client import HttpClient, HttpFailure
from bakeoff.storage.redaction import redact

PORTS = {"http": 80, "https": 443}


class Redirect(HttpFailure):
    """A redirect, which is not followed because the key would be sent along."""


def redirect(status: int, headers: Mapping[str, str]) -> Redirect:
    """The failure for a redirect, with its target."""
    other = redact(headers.get("location", "another address"))[:200]
    return Redirect(
        f"HTTP {status}, a redirect to {other}. Redirects are not followed. Set the address that it redirects to"
    )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The parts of a server's address."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def place(self) -> str:
        """The host and port, for messages."""
        return f"{self.host}:{self.port}"

    @property
    def root(self) -> str:
        """The address without its path."""
        return f"{self.scheme}://{self.place}"


def endpoint_of(engine: str, url: str) -> Endpoint:
    """Parse an address; one that can't be parsed raises a StoreError."""
    try:
        at = urllib3.util.parse_url(url)
    except urllib3.exceptions.HTTPError:
        at = urllib3.util.Url()
    if at.scheme not in PORTS or not at.host:
        raise StoreError(f"{engine}: its address can't be parsed. Use http://host:port.")
    return Endpoint(at.scheme, at.host, at.port or PORTS[at.scheme], (at.path or "").rstrip("/"))


class BoundedPool:
    """A urllib3 pool for one address with limits on bytes and total seconds, and without redirects."""

    def __init__(self, root: str, seconds: float) -> None:
        self._client, self._seconds = HttpClient(root), seconds

    def urlopen(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        *,
        headers: Mapping[str, str],
        timeout: float | None = None,
        **_: object,
    ) -> urllib3.HTTPResponse:
        """Send a request and return the complete answer; failures are HttpFailures, which the client wraps."""
        answer = self._client.send(method, url, body, headers, timeout or self._seconds)
        if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
            raise redirect(answer.status, answer.headers)
        return urllib3.HTTPResponse(
            io.BytesIO(answer.content),
            answer.headers,
            answer.status,
            decode_content=False,
            enforce_content_length=False,  # the header gives the compressed size
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
