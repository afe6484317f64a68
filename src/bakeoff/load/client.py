"""One client process of a closed loop: reads its recipe, opens the target, says it is ready, and asks its share.

Lines of JSON: in comes the task, out goes {"ready": true}; in comes {"begin": ns of the shared clock}, out the result.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TextIO

from bakeoff.errors import BakeoffError, DataError
from bakeoff.load.closed import closed_loop, warm_up
from bakeoff.load.systems import SystemRecipe
from bakeoff.load.targets import Target, VectorRecipe

RECIPES: dict[str, type[VectorRecipe | SystemRecipe]] = {"vectors": VectorRecipe, "system": SystemRecipe}


def main() -> int:
    """Serve one task; a failure is said in one line, so that the other side can tell it."""
    speak = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what an engine prints must not mix with the answers
    try:
        _serve(json.loads(sys.stdin.readline()), speak)
    except BakeoffError as exc:
        _say(speak, {"failed": str(exc)})
        return 1
    return 0


def _serve(task: dict[str, Any], speak: TextIO) -> None:
    with tempfile.TemporaryDirectory(prefix="bakeoff-client-", ignore_cleanup_errors=True) as home:
        target = _opened(dict(task["recipe"]), Path(home))
        warm_up(target.search, target.others, target.k, target.query, timeout=task["timeout"])
        share = range(task["number"], task["requests"], task["clients"])
        asked = [target.asked[i % len(target.asked)] for i in share]
        _say(speak, {"ready": True})
        begin = json.loads(sys.stdin.readline())["begin"]
        time.sleep(max(0.0, (begin - time.perf_counter_ns()) / 1e9))
        loop = closed_loop(
            target.search, asked, target.k, target.query, timeout=task["timeout"], deadline=task["deadline"]
        )
    short = sum(1 for hits in loop.answers if hits is not None and len(hits.ids) < target.k)
    _say(
        speak,
        {
            "nanoseconds": loop.nanoseconds.tolist(),
            "began": loop.began,
            "seconds": loop.seconds,
            "errors": list(loop.errors),
            "timeouts": loop.timeouts,
            "stopped": loop.stopped,
            "short": short,
        },
    )
    os._exit(0) if loop.timeouts else target.close()  # a search that hangs is left behind with its process


def _opened(recipe: dict[str, Any], home: Path) -> Target:
    kind = recipe.pop("kind")
    if kind not in RECIPES:
        raise DataError(f"a client process got a recipe of the kind {kind!r}.")
    return RECIPES[kind](**recipe).open(home)


def _say(speak: TextIO, value: dict[str, Any]) -> None:
    speak.write(json.dumps(value) + "\n")
    speak.flush()


if __name__ == "__main__":
    sys.exit(main())
