"""The server of the review page: for this machine only, and only for its own page.

Every request must name this machine as its host (a foreign name that leads here is refused), come from no other origin
where the browser names one, and carry the token: in the address or a cookie for the
page, in a header for what the page sends.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import json
import logging
import re
import sys
from dataclasses import asdict, dataclass
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from bakeoff.errors import BakeoffError, SettingError
from bakeoff.review.choices import BY_WORD, CHOICES
from bakeoff.review.ledger import NOTE_LIMIT, LedgerKind
from bakeoff.review.web.reviewer_session import Answer
from bakeoff.review.web.session import PageState, ReviewSession
from bakeoff.runtime.page_access import PARAMETER, REFUSAL, PageAccess, new_token

HOST = "127.0.0.1"
BODY_LIMIT = 200_000
TOKEN = "X-Review-Token"  # noqa: S105 - the name of a header
_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?")
_LENGTH = re.compile(r"[0-9]{1,9}")
_TIME = "%Y-%m-%dT%H:%M:%S.%f+00:00"
log = logging.getLogger(__name__)


class RequestRefused(BakeoffError):
    """A refused request, with its HTTP status."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _SentResponse(BaseModel):
    """What every request of the page contains: the reviewer, and the cards it already has."""

    model_config = ConfigDict(extra="forbid", strict=True)
    reviewer: str = Field(max_length=400)
    have: list[str] = Field(default=[], max_length=200)


def _moment(value: str) -> str:
    """A valid time in the ledger's format."""
    try:
        same = datetime.strptime(value, _TIME).strftime(_TIME) == value
    except ValueError:
        same = False
    if not same:
        raise ValueError("not a UTC time such as 2026-01-31T12:00:00.000000+00:00")
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
        choice = BY_WORD.get(self.judgment)
        if self.kind not in kinds or (choice is None) is (self.kind == LedgerKind.JUDGE):
            raise RequestRefused(
                HTTPStatus.BAD_REQUEST, f"{self.kind} {self.judgment} is not an answer. Reload the page."
            )
        return Answer(kinds[self.kind], choice, self.grade, self.note)


class ReviewServer(ThreadingHTTPServer):
    """A review on a port of this machine; 0 takes a free one."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, session: ReviewSession, port: int, reviewer: str = "") -> None:
        self.session = session
        self.token = new_token()
        self.reviewer = reviewer
        try:
            super().__init__((HOST, port), Handler)
        except OSError as exc:
            raise SettingError(
                f"port {port} of this machine can't be used: {exc.strerror}. Choose another with --port."
            ) from exc

    @property
    def access(self) -> PageAccess:
        """The access rules of the page."""
        return PageAccess(self.token, int(self.server_address[1]))

    @property
    def address(self) -> str:
        """The page's address with its token."""
        return f"http://{HOST}:{self.server_address[1]}/?{PARAMETER}={self.token}"

    def page(self) -> bytes:
        """The page with this server's token."""
        session, options = self.session, self.session.options
        name = f"{session.name}{'/final' if options.adjudicate else ''}"
        setup = PageSetup(
            review=name,
            run=session.pool.run,
            token=self.token,
            reviewer=self.reviewer,
            graded=options.graded,
            adjudicate=options.adjudicate,
            choices=tuple((one.word, one.name, one.meaning) for one in CHOICES[session.pool.labels]),
            guideline=session.review.guideline,
        )
        return page(setup)

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - as the base class has it
        """Log errors of the server, but not closed connections."""
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
        self._respond(self._page)

    def do_POST(self) -> None:
        """What the page says."""
        self._respond(self._receive)

    def _respond(self, answer: Any) -> None:
        try:
            self._check_sender()
            answer()
        except RequestRefused as exc:
            self._error(exc.status, str(exc))
        except ValidationError as exc:
            first = exc.errors(include_url=False, include_input=False)[0]
            self._error(HTTPStatus.BAD_REQUEST, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        except SettingError as exc:
            unsaved = "not saved" in str(
                exc
            )  # the disk is full or gone: the page keeps the answer and retries
            self._error(HTTPStatus.SERVICE_UNAVAILABLE if unsaved else HTTPStatus.CONFLICT, str(exc))
        except BakeoffError as exc:
            self._error(HTTPStatus.BAD_REQUEST, str(exc))

    def _check_sender(self) -> None:
        host = ", ".join(self.headers.get_all("Host", []))  # a repeated header is ambiguous
        if not _LOOPBACK.fullmatch(host):
            raise RequestRefused(HTTPStatus.FORBIDDEN, f"host {host!r} is not this machine. {REFUSAL}")
        for origin in self.headers.get_all("Origin", []):
            if origin != f"http://{host}":
                raise RequestRefused(HTTPStatus.FORBIDDEN, f"origin {origin!r} is another site.")
        if (
            self.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")
            and self.command != "GET"
        ):
            raise RequestRefused(HTTPStatus.FORBIDDEN, "the request comes from another site.")

    def _page(self) -> None:
        path, _, query = self.path.partition("?")
        if path != "/":
            raise RequestRefused(HTTPStatus.NOT_FOUND, f"{path} does not exist.")
        if not self.server.access.allows(query, "; ".join(self.headers.get_all("Cookie", []))):
            raise RequestRefused(HTTPStatus.FORBIDDEN, REFUSAL)
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page())

    def _receive(self) -> None:
        body = self._body()
        sent_token = self.headers.get(TOKEN, "").encode("latin-1", "replace")
        if not hmac.compare_digest(sent_token, self.server.token.encode()):
            raise RequestRefused(
                HTTPStatus.FORBIDDEN, "the server was started again. Open the address that it printed"
            )
        form = self.routes.get(self.path)
        if form is None:
            raise RequestRefused(HTTPStatus.NOT_FOUND, f"{self.path} does not exist.")
        answer = _serve(self.server.session, form.model_validate_json(body))
        data = json.dumps(asdict(answer), ensure_ascii=False).encode("utf-8", "replace")
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
        if kind.startswith("text/html"):
            self.send_header("Set-Cookie", self.server.access.set_cookie())
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Requests are not logged."""
        log.debug(format, *args)


def _serve(session: ReviewSession, sent: _SentResponse) -> PageState:
    if isinstance(sent, VoteRequest):
        return session.save_answer(sent.reviewer, sent.key, sent.answer(), sent.time, sent.have)
    if isinstance(sent, UndoRequest):
        return session.undo(sent.reviewer, sent.time, sent.have)
    return session.open(sent.reviewer, sent.have)


_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSetup:
    """The settings of the page's script."""

    review: str
    """Distinguishes this review from another on the same port."""
    run: str
    token: str
    reviewer: str
    graded: bool
    adjudicate: bool
    choices: tuple[tuple[str, str, str], ...]
    """Value, name and meaning of each button."""
    guideline: str


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
