"""The server of the review page: this machine only, and only for the page it gave out itself.

Every request must name this machine as its host (a foreign name that leads here is refused), come from no other origin
where the browser says which, and, but for the page itself, carry the token of the page.
"""

from __future__ import annotations

import hmac
import json
import logging
import re
import secrets
import sys
from dataclasses import asdict
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from bakeoff.errors import BakeoffError, SettingError
from bakeoff.measures.labels import Label
from bakeoff.review.ledger import NOTE_LIMIT, LedgerKind
from bakeoff.review.web.page import PageSetup, page, policy
from bakeoff.review.web.reviewer_session import Answer
from bakeoff.review.web.session import PageState, ReviewSession

HOST = "127.0.0.1"
BODY_LIMIT = 200_000
TOKEN = "X-Review-Token"  # noqa: S105 - the name of a header
_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?")
_LENGTH = re.compile(r"[0-9]{1,9}")
_TIME = "%Y-%m-%dT%H:%M:%S.%f+00:00"
log = logging.getLogger(__name__)


class RequestRefused(BakeoffError):
    """A request that is not served, with the status it is answered with."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _SentResponse(BaseModel):
    """What every request of the page says: who, and which cards it has already."""

    model_config = ConfigDict(extra="forbid", strict=True)
    reviewer: str = Field(max_length=400)
    have: list[str] = Field(default=[], max_length=200)


def _moment(value: str) -> str:
    """A time in the form the ledger keeps; 2026-13-40 is not one."""
    try:
        same = datetime.strptime(value, _TIME).strftime(_TIME) == value
    except ValueError:
        same = False
    if not same:
        raise ValueError("it is not a UTC time such as 2026-01-31T12:00:00.000000+00:00")
    return value


class UndoRequest(_SentResponse):
    """Take back the last answer; the time names the keystroke."""

    time: Annotated[str, AfterValidator(_moment)]


class VoteRequest(UndoRequest):
    """An answer to what is shown."""

    key: str = Field(max_length=64)
    kind: str
    judgment: str = ""
    grade: int | None = Field(default=None, ge=0, le=3)
    note: str = Field(default="", max_length=NOTE_LIMIT)

    def answer(self) -> Answer:
        """The answer, refused where it is none."""
        kinds = {kind.value: kind for kind in (LedgerKind.JUDGE, LedgerKind.CANNOT, LedgerKind.LATER)}
        labels = {label.value: label for label in Label}
        if self.kind not in kinds or self.judgment not in labels:
            raise RequestRefused(
                HTTPStatus.BAD_REQUEST, f"{self.kind} {self.judgment} is not an answer. Reload the page."
            )
        return Answer(kinds[self.kind], labels[self.judgment], self.grade, self.note)


class ReviewServer(ThreadingHTTPServer):
    """A review on a port of this machine; 0 takes a free one."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, room: ReviewSession, port: int, reviewer: str = "") -> None:
        self.room = room
        self.token = secrets.token_urlsafe(24)
        self.reviewer = reviewer
        try:
            super().__init__((HOST, port), Handler)
        except OSError as exc:
            raise SettingError(
                f"port {port} of this machine can't be used: {exc.strerror}. Choose another with --port."
            ) from exc

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_address[1]}/"

    def page(self) -> bytes:
        """The page with this server's token."""
        room, manner = self.room, self.room.manner
        name = f"{room.name}{'/final' if manner.adjudicate else ''}"
        return page(
            PageSetup(name, room.pool.run, self.token, self.reviewer, manner.graded, manner.adjudicate)
        )

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - as the base class has it
        """A closed connection is not logged; a fault of ours is."""
        gone = isinstance(sys.exc_info()[1], ConnectionError | TimeoutError)
        log.log(
            logging.DEBUG if gone else logging.ERROR, "a request of the review page failed", exc_info=True
        )


class Handler(BaseHTTPRequestHandler):
    """One request: checked, answered, and never anything but text or JSON."""

    server: ReviewServer
    protocol_version = "HTTP/1.1"
    server_version = "bakeoff"
    sys_version = ""
    disable_nagle_algorithm = True
    timeout = 120
    routes: ClassVar[dict[str, type[_SentResponse]]] = {
        "/open": _SentResponse,
        "/say": VoteRequest,
        "/undo": UndoRequest,
    }

    def do_GET(self) -> None:
        """The page."""
        self._guarded(self._page)

    def do_POST(self) -> None:
        """What the page says."""
        self._guarded(self._told)

    def _guarded(self, answer: Any) -> None:
        try:
            self._check_sender()
            answer()
        except RequestRefused as exc:
            self._error(exc.status, str(exc))
        except ValidationError as exc:
            first = exc.errors(include_url=False, include_input=False)[0]
            self._error(HTTPStatus.BAD_REQUEST, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        except SettingError as exc:
            unsaved = "not saved" in str(exc)  # the disk is full or gone: the page keeps it and tries again
            self._error(HTTPStatus.SERVICE_UNAVAILABLE if unsaved else HTTPStatus.CONFLICT, str(exc))
        except BakeoffError as exc:
            self._error(HTTPStatus.BAD_REQUEST, str(exc))

    def _check_sender(self) -> None:
        host = ", ".join(self.headers.get_all("Host", []))  # said twice it is neither
        if not _LOOPBACK.fullmatch(host):
            raise RequestRefused(
                HTTPStatus.FORBIDDEN, f"host {host!r} is not this machine. Open {self.server.address}"
            )
        for origin in self.headers.get_all("Origin", []):
            if origin != f"http://{host}":
                raise RequestRefused(HTTPStatus.FORBIDDEN, f"origin {origin!r} is another site.")
        if (
            self.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")
            and self.command != "GET"
        ):
            raise RequestRefused(HTTPStatus.FORBIDDEN, "the request comes from another site.")

    def _page(self) -> None:
        path = self.path.partition("?")[0]
        if path != "/":
            raise RequestRefused(HTTPStatus.NOT_FOUND, f"nothing is at {path}.")
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page())

    def _told(self) -> None:
        body = self._body()
        sent_token = self.headers.get(TOKEN, "").encode("latin-1", "replace")
        if not hmac.compare_digest(sent_token, self.server.token.encode()):
            raise RequestRefused(
                HTTPStatus.FORBIDDEN, "the page is of another start of this server. Reload it."
            )
        form = self.routes.get(self.path)
        if form is None:
            raise RequestRefused(HTTPStatus.NOT_FOUND, f"nothing is at {self.path}.")
        told = _serve(self.server.room, form.model_validate_json(body))
        data = json.dumps(asdict(told), ensure_ascii=False).encode("utf-8", "replace")
        self._send(HTTPStatus.OK, "application/json", data)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not _LENGTH.fullmatch(length) or int(length) > BODY_LIMIT:
            self.close_connection = True
            raise RequestRefused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {BODY_LIMIT:,} bytes."
            )
        body = self.rfile.read(int(length))
        if self.headers.get_content_type() != "application/json":
            raise RequestRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "requests are application/json.")
        return body

    def _error(self, status: HTTPStatus, text: str) -> None:
        if status is HTTPStatus.FORBIDDEN:
            self.close_connection = True
        self._send(status, "application/json", json.dumps({"error": text}).encode())

    def _send(self, status: HTTPStatus, kind: str, data: bytes) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(data))),
            ("Content-Security-Policy", policy() if kind.startswith("text/html") else "default-src 'none'"),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Requests are not logged."""
        log.debug(format, *args)


def _serve(room: ReviewSession, sent: _SentResponse) -> PageState:
    if isinstance(sent, VoteRequest):
        return room.say(sent.reviewer, sent.key, sent.answer(), sent.time, sent.have)
    if isinstance(sent, UndoRequest):
        return room.undo(sent.reviewer, sent.time, sent.have)
    return room.open(sent.reviewer, sent.have)
