"""Both ways in which measures are computed."""

from __future__ import annotations

import pytest

from bakeoff.measures import plain


@pytest.fixture(params=["plain", "arrays"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bakeoff.evaluate` takes the plain way for small input; here it is made to take each in turn."""
    if request.param == "arrays":
        monkeypatch.setattr(plain, "SMALL", -1)
