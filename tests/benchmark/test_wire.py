"""One connection between the driver and a client, ended by one thread while another waits on it."""

from __future__ import annotations

import socket
import threading

import pytest

from bakeoff.benchmark.clients.messages import Line, LostError


@pytest.mark.parametrize("seconds", [None, 600])
def test_a_line_closed_by_another_thread_wakes_who_waits(seconds: float | None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        for _ in range(100):  # the waiting thread is in a different place each time
            with socket.create_connection(door.getsockname()) as link, door.accept()[0]:
                assert _heard(Line(link), seconds)


def _heard(line: Line, seconds: float | None) -> list[LostError]:
    """What a thread that waits on the line is told when it is closed."""
    lost: list[LostError] = []
    began = threading.Event()

    def listen() -> None:
        began.set()
        try:
            line.hear(seconds)
        except LostError as exc:
            lost.append(exc)

    thread = threading.Thread(target=listen)
    thread.start()
    began.wait()
    line.close()
    thread.join(60)
    assert not thread.is_alive()
    return lost
