"""A result that nobody holds is gone, with its tables: a long-lived process does not grow with each run it looks at."""

import gc
import weakref
from typing import Any

from bakeoff.analysis import open_run
from bakeoff.judging import held_out, what_makes_the_difference


def test_a_result_is_forgotten_with_what_was_asked_of_it(ran: Any) -> None:
    result = open_run(ran.result.path)
    assert held_out(result) is held_out(result)
    what_makes_the_difference(result)
    _ = result.verdict
    watched = weakref.ref(result)
    del result
    gc.collect()
    assert watched() is None
