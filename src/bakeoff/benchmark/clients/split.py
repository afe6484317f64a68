"""The part of a load that each of several clients takes: together they send what one would have sent."""

from __future__ import annotations

import numpy as np

from bakeoff.benchmark.open_loop import Arrivals

_SPLIT = 0x5B117
"""Keeps the draw of who sends apart from the draw of when, which has the same seed."""


def threads_of(number: int, clients: int, concurrency: int) -> int:
    """How many of the threads of a closed loop a client has."""
    return len(range(number, concurrency, clients))


def closed_share(number: int, clients: int, concurrency: int, requests: int) -> np.ndarray:
    """The numbers of the requests a client makes: as many for each thread, whoever has it."""
    every = np.arange(requests)
    return every[(every % concurrency) % clients == number]


def open_share(number: int, clients: int, count: int, arrivals: Arrivals, seed: int) -> np.ndarray:
    """The numbers of the arrivals a client sends.

    Fixed ones take turns. Of Poisson arrivals each is drawn for a client, whatever the others are: so every client's
    own are Poisson too, and all of them together are those that one client would send.
    """
    every = np.arange(count)
    if arrivals == "fixed":
        return every[every % clients == number]
    return every[np.random.default_rng([seed, _SPLIT]).integers(clients, size=count) == number]
