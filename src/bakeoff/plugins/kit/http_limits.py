"""Size and time limits for official clients built on httpx."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx

from bakeoff.plugins.kit.bounded_pool import redirect
from bakeoff.runtime import http_client


class BoundedTransport(httpx.HTTPTransport):
    """An httpx transport that limits the bytes and the total seconds of an answer; a redirect is a failure."""

    def __init__(self, url: str, seconds: float) -> None:
        super().__init__(proxy=http_client.proxy_for(url))
        self._seconds = seconds

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of its answer is read within the limits."""
        deadline = time.monotonic() + self._seconds
        request.headers["accept-encoding"] = "identity"
        answer = super().handle_request(request)
        if answer.is_redirect:
            answer.close()
            raise redirect(answer.status_code, answer.headers)
        if answer.headers.get("content-encoding", "identity") != "identity":
            answer.close()
            raise httpx.DecodingError("the answer is compressed, which was not asked for", request=request)
        assert isinstance(answer.stream, httpx.SyncByteStream)
        body = _BoundedBody(answer.stream, deadline)
        return httpx.Response(
            answer.status_code, headers=answer.headers, stream=body, extensions=answer.extensions
        )


class _BoundedBody(httpx.SyncByteStream):
    """The body of an answer, limited in bytes and time."""

    def __init__(self, body: httpx.SyncByteStream, deadline: float) -> None:
        self._body, self._deadline = body, deadline

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in self._body:
            size += len(piece)
            if size > http_client.LARGEST_ANSWER:
                raise httpx.ReadError(f"the answer has more than {http_client.LARGEST_ANSWER:,} bytes")
            if time.monotonic() > self._deadline:
                raise httpx.ReadTimeout("timed out: the answer was not complete in time")
            yield piece

    def close(self) -> None:
        self._body.close()
