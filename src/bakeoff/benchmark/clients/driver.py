"""The driver of client processes: accepts them, checks their clocks, starts a load and gathers results."""

from __future__ import annotations

import contextlib
import hmac
import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from bakeoff.benchmark.clients.client import Call
from bakeoff.benchmark.clients.launch import Launcher, StartedClient
from bakeoff.benchmark.clients.merged_loop import (
    ROUND_TRIPS,
    ClientResult,
    ClockCheck,
    ClockOffset,
    CommonWindow,
    MergedLoop,
    RoundTrip,
    client_notes,
    lost_sentence,
    offset_of,
    on_duty,
)
from bakeoff.benchmark.clients.messages import (
    FIRST_BYTES,
    MOST_BYTES,
    AnswerCount,
    ClientCommand,
    ClockReply,
    Hello,
    Line,
    LoadShare,
    LostError,
    Message,
    Ready,
)
from bakeoff.benchmark.loop_report import LoopReport, merge_reports
from bakeoff.benchmark.targets import TargetSpec
from bakeoff.errors import StoreError
from bakeoff.pipeline.loops.client_threads import INTERRUPTED, PATIENCE_SECONDS
from bakeoff.runtime.scheduler import installed_version

M = TypeVar("M", bound=Message)
CALLING_SECONDS = 120.0
OPENING_SECONDS = 300.0
ANSWER_SECONDS = 30.0
HELLO_SECONDS = 10.0
STRANGERS = 32
"""Extra backlog for foreign connections, which must not block the clients."""
LEAD_SECONDS = 0.2
"""The delay between the start order and the start, so that every client has received it."""


@contextlib.contextmanager
def gather_clients(
    launcher: Launcher, clients: int, recipe: TargetSpec, timeout: float
) -> Iterator[ClientDriver]:
    """A number of clients, each with the target open and warm; they are released at the end."""
    started: list[StartedClient] = []
    members: dict[int, _Client] = {}
    try:
        with socket.create_server((launcher.host, 0), backlog=clients + STRANGERS) as server:
            token = secrets.token_hex(16)
            host, port = server.getsockname()[:2]
            started += [launcher.start(Call(host, port, token, number)) for number in range(clients)]
            _let_in(server, token, started, members)
        team = ClientDriver([members[number] for number in range(clients)])
        team.open(recipe, timeout)
        yield team
    finally:
        for member in members.values():
            member.let_go()
        for one in started:
            one.stop()


class ClientDriver:
    """Clients waiting for a load; a lost client is not replaced."""

    def __init__(self, clients: Sequence[_Client]) -> None:
        self._clients = list(clients)

    def open(self, recipe: TargetSpec, timeout: float) -> None:
        """Have every client open and warm up its target; if one cannot, nothing is measured."""
        for client in self._clients:
            client.order(ClientCommand(do="open", recipe=recipe.to_dict(), timeout=timeout))
        for client in self._clients:
            client.ready("while it opened the target")

    def run(self, share: LoadShare) -> MergedLoop:
        """Run one load, shared by all clients; `number` and `clients` are filled in here."""
        clients = self._clients
        for client in clients:
            if client.lost:
                raise StoreError(f"client {client.name} was lost ({client.lost}): no other load was sent.")
        for place, client in enumerate(clients):
            client.order(_with(share, place, len(clients)))
        for client in clients:
            client.ready("before the load began")
        before = [client.offset() for client in clients]
        zero = time.perf_counter_ns() + int(LEAD_SECONDS * 1e9)
        members = []
        for client, offset in zip(clients, before, strict=True):
            client.order(ClientCommand(do="begin", at=round(ClockCheck(offset).to_their_clock(zero))))
            members.append(client.member(ClockCheck(offset)))
        stopped = self._collect(clients, members, share.deadline + share.timeout + OPENING_SECONDS)
        return _merge_clients(clients, members, zero, stopped)

    def _collect(self, clients: list[_Client], members: list[ClientResult], seconds: float) -> str:
        """Collect every result and check the clocks again; Ctrl-C is passed on, and partial results are kept."""
        stopped = ""
        for place, client in enumerate(clients):
            try:
                members[place] = client.result(members[place], seconds)
            except KeyboardInterrupt:
                stopped, seconds = INTERRUPTED, PATIENCE_SECONDS * 2
                for other in clients:
                    other.order(ClientCommand(do="stop"))
                members[place] = client.result(members[place], seconds)
        if stopped and not any(one.report for one in members):
            raise KeyboardInterrupt
        for place, client in enumerate(clients):
            members[place] = client.check_clock(members[place])
        return stopped


class _Client:
    """One client and the connection to it."""

    def __init__(self, hello: Hello, line: Line, started: StartedClient) -> None:
        self.number, self.host = hello.number, hello.host
        self.name = f"{hello.number + 1} ({hello.host}:{hello.pid})"
        self.lost = ""
        self._line, self._started = line, started

    def order(self, order: ClientCommand) -> None:
        """Send an order; a lost connection shows when the answer is awaited."""
        with contextlib.suppress(LostError):
            self._line.send(order.model_dump(exclude_defaults=True))

    def answer(self, kind: type[M], seconds: float) -> M:
        """Its next message; a client that cannot continue is a StoreError."""
        message = self._line.hear(seconds)
        if "failed" in message:
            raise StoreError(f"client {self.name} cannot continue: {message['failed']}")
        return kind.read(message)

    def offset(self) -> ClockOffset:
        """The current offset of its clock."""
        return offset_of([self._round_trip() for _ in range(ROUND_TRIPS)])

    def member(self, clock: ClockCheck) -> ClientResult:
        """Its result before any report: nothing measured."""
        return ClientResult(self.number, self.name, self.host, clock)

    def ready(self, when: str) -> None:
        """Wait until it has carried out the order."""
        try:
            self.answer(Ready, OPENING_SECONDS)
        except LostError as exc:
            raise StoreError(f"client {self.name} was lost {when}: {self._reason(exc)}.") from exc

    def result(self, member: ClientResult, seconds: float) -> ClientResult:
        """What it measured, or why it was lost."""
        try:
            return replace(member, report=self.answer(LoopReport, seconds))
        except LostError as exc:
            self.lost = self._reason(exc)
            return replace(member, lost=self.lost)

    def check_clock(self, member: ClientResult) -> ClientResult:
        """Its clock offset after the load, if it is still connected."""
        if self.lost:
            return member
        try:
            return replace(member, clock=ClockCheck(member.clock.before, self.offset()))
        except LostError as exc:
            self.lost = self._reason(exc)
            return member

    def count(self, begin: int, end: int) -> int | None:
        """Its answers between two readings of its clock; null if it has disconnected."""
        self.order(ClientCommand(do="count", at=begin, until=end))
        try:
            return self.answer(AnswerCount, ANSWER_SECONDS).answered
        except LostError:
            return None

    def let_go(self) -> None:
        """Release it: no work is left."""
        self.order(ClientCommand(do="go"))
        self._line.close()

    def _reason(self, exc: LostError) -> str:
        """Why it is gone: how its process ended if known, else the connection's error."""
        return self._started.end_reason() or str(exc)

    def _round_trip(self) -> RoundTrip:
        wall, sent = time.time_ns(), time.perf_counter_ns()
        self.order(ClientCommand(do="clock"))
        reply = self.answer(ClockReply, ANSWER_SECONDS)
        answered = self._line.heard_at
        return RoundTrip(sent, reply.heard, reply.said, answered, reply.wall, wall + (answered - sent) // 2)


def _let_in(
    server: socket.socket, token: str, started: Sequence[StartedClient], clients: dict[int, _Client]
) -> None:
    """Accept the clients that know the token, by number; refuse others."""
    until = time.monotonic() + CALLING_SECONDS
    while len(clients) < len(started):
        server.settimeout(max(0.01, min(1.0, until - time.monotonic())))
        try:
            link, _ = server.accept()
        except TimeoutError:
            _check_alive(started, set(clients), until)
            continue
        line = Line(link, FIRST_BYTES)
        try:
            hello = Hello.read(line.hear(HELLO_SECONDS))
        except LostError:
            line.close()
            continue
        if (
            not hmac.compare_digest(hello.word.encode("utf-8", "replace"), token.encode())
            or hello.number in clients
            or not 0 <= hello.number < len(started)
        ):
            line.close()
            continue
        line.longest = MOST_BYTES
        clients[hello.number] = _Client(hello, line, started[hello.number])
        _check_version(hello)


def _check_alive(started: Sequence[StartedClient], called: set[int], until: float) -> None:
    """The error for a client that ended, or was silent too long, before it connected."""
    missing = [number for number in range(len(started)) if number not in called]
    gone = {number: how for number in missing if (how := started[number].end_reason(0))}
    if gone or time.monotonic() > until:
        number = next(iter(gone), missing[0])
        how = gone.get(number, f"no connection within {CALLING_SECONDS:g} s; can its machine reach this one?")
        raise StoreError(f"client {number + 1} of {len(started)} did not connect: {how}")


def _check_version(hello: Hello) -> None:
    if hello.version != installed_version():
        raise StoreError(
            f"client {hello.number + 1} on {hello.host} has bakeoff {hello.version}, the driver {installed_version()}. "
            "Install the same version on every node."
        )


def _with(share: LoadShare, place: int, clients: int) -> ClientCommand:
    return ClientCommand(do="take", load=share.model_copy(update={"number": place, "clients": clients}))


def _merge_clients(
    clients: Sequence[_Client], members: Sequence[ClientResult], zero: int, stopped: str
) -> MergedLoop:
    """All clients on the driver's clock, and the window in which all were active."""
    timed = [_on_driver_clock(one, zero) for one in members]
    last = max((one.ended for one in timed if one.ended is not None), default=0.0)
    first = min((one.began for one in timed if one.began is not None), default=0.0)
    span = on_duty(timed)
    if span is not None:
        timed = [
            _count_in_window(client, one, zero, span) for client, one in zip(clients, timed, strict=True)
        ]
    timed = [replace(one, notes=client_notes(one, last)) for one in timed]
    reports = [one.report for one in timed if one.report is not None]
    reasons = (one.stopped for one in reports if one.stopped)
    report = merge_reports(
        reports,
        began=round(first * 1e9),
        ended=round(last * 1e9),
        stopped=stopped or lost_sentence(timed) or next(reasons, ""),
        one_machine=len({client.host for client in clients}) == 1,
    )
    return MergedLoop(tuple(timed), _window(timed, span), report)


def _on_driver_clock(member: ClientResult, zero: int) -> ClientResult:
    report = member.report
    if report is None:
        return member
    began, ended = (
        round((member.clock.to_our_clock(at) - zero) / 1e9, 9) for at in (report.began, report.ended)
    )
    return replace(member, began=began, ended=ended)


def _count_in_window(
    client: _Client, member: ClientResult, zero: int, span: tuple[float, float]
) -> ClientResult:
    if member.report is None or client.lost:
        return member
    begin, end = (round(member.clock.to_their_clock(zero + at * 1e9)) for at in span)
    return replace(member, in_window=client.count(begin, end))


def _window(members: Sequence[ClientResult], span: tuple[float, float] | None) -> CommonWindow | None:
    counts = [one.in_window for one in members if one.report is not None]
    if span is None or any(count is None for count in counts):
        return None
    return CommonWindow(span[0], span[1] - span[0], sum(count or 0 for count in counts))
