"""A signal that comes in the middle of an import is neither lost nor turned into something else."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from bakeoff.runtime.signals import interrupting_threads, raise_if_interrupted

ASKED = [signal.SIGINT, signal.SIGTERM]
LOST = """
    import os, weakref
    class Thing: ...
    def callback(_): os.kill(os.getpid(), {number}); len("x")  # what it raises is ignored
    thing = Thing()
    held = weakref.ref(thing, callback)
    del thing
"""
WRAPPED = """
    import os, time
    try:
        os.kill(os.getpid(), {number})
        time.sleep(0.2)
    except BaseException as exc:
        raise ImportError("initialization failed") from exc
"""
STUCK = """
    import os, threading, time
    print("in", flush=True)
    while True: time.sleep(0.01)
"""
MAIN = """
    import sys
    from bakeoff.runtime.signals import Terminated, TerminationGuard
    ending = TerminationGuard()
    ending.listen()
    try:
        import imported
        while True:
            sum(range(100))
    except KeyboardInterrupt as exc:
        sys.exit(ending.code(130))
"""


def start(folder: Path, module: str) -> subprocess.Popen[str]:
    (folder / "imported.py").write_text(textwrap.dedent(module))
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(MAIN)], cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


@pytest.mark.parametrize("number", ASKED)
@pytest.mark.parametrize("module", [LOST, WRAPPED], ids=["lost", "wrapped"])
def test_a_signal_during_an_import_is_heard_after_it(module: str, number: int, tmp_path: Path) -> None:
    process = start(tmp_path, module.format(number=int(number)))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number and err == ""


@pytest.mark.parametrize("number", ASKED)
def test_a_second_signal_does_not_wait_for_the_import(number: int, tmp_path: Path) -> None:
    process = start(tmp_path, STUCK)
    assert process.stdout is not None and process.stdout.readline() == "in\n"
    process.send_signal(number)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number


def test_an_import_that_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    process = start(tmp_path, STUCK)
    assert process.stdout is not None and process.stdout.readline() == "in\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


BORN = {
    "subprocess": """
        def told():
            os.kill(os.getppid(), {number})
            time.sleep(0.2)
        child = subprocess.Popen(["sleep", "60"], preexec_fn=told)
        """,
    "multiprocessing": """
        class Told(multiprocessing.get_context("fork").Process):
            @staticmethod
            def _Popen(process):
                made = multiprocessing.context.ForkProcess._Popen(process)
                os.kill(os.getpid(), {number})
                time.sleep(0.2)
                return made
        child = Told(target=time.sleep, args=(60,))
        child.start()
        """,
}
OWNER = """
    import multiprocessing, os, subprocess, time
    from bakeoff.runtime.signals import TerminationGuard
    child = None
    TerminationGuard().listen()
    try:
        {born}
        time.sleep(60)
    except KeyboardInterrupt:
        child.kill()
        child.wait() if hasattr(child, "wait") else child.join()
        print("known", flush=True)
    """


@pytest.mark.parametrize("number", ASKED)
@pytest.mark.parametrize("how", BORN)
def test_a_signal_while_a_process_is_started_leaves_it_known(how: str, number: int) -> None:
    born = textwrap.indent(textwrap.dedent(BORN[how]).format(number=int(number)), " " * 4)
    code = textwrap.dedent(OWNER).replace("    {born}", born)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("known\n", "", 0)


def test_an_interrupt_of_the_waiting_thread_reaches_its_helpers() -> None:
    seen: list[str] = []

    def work() -> None:
        try:
            while True:
                raise_if_interrupted()
                time.sleep(0.01)
        except KeyboardInterrupt:
            seen.append("stopped")

    helper = threading.Thread(target=work, daemon=True)
    with pytest.raises(KeyboardInterrupt), interrupting_threads():
        helper.start()
        raise KeyboardInterrupt
    helper.join(20)
    assert seen == ["stopped"]
    with interrupting_threads():
        raise_if_interrupted()  # the next run is not affected
