"""The contract of a store, for pytest."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, cast

import pytest

from bakeoff.protocols import CompleteStore
from bakeoff.testing.contracts import PluginContract
from bakeoff.testing.store_checks import CHECKS
from bakeoff.testing.store_fixture import ContractCheck, DeclaredGap, StoreFixture


class StoreContract(PluginContract):
    """Every check of the contract; declared `gaps` of the plug-in are skips with their reason.

    `gaps` of the test class apply only with these `params`; `no_gaps` lists those of the plug-in that don't.
    A metric an engine lacks is a gap by its name ("dot"): `create` must then reject it.
    """

    kind = "stores"
    gaps: ClassVar[dict[str, str]] = {}
    no_gaps: ClassVar[tuple[str, ...]] = ()
    rows: ClassVar[int] = 300
    dims: ClassVar[int] = 16
    recall: ClassVar[float] = 0.95
    score_error: ClassVar[float] = 1e-3

    @pytest.fixture
    def bench(self, tmp_path: Path) -> StoreFixture:
        """The store under test."""
        plugin = cast("type[CompleteStore]", self.plugin())
        declared = {**getattr(plugin, "gaps", {}), **self.gaps}
        return StoreFixture(
            name=self.name,
            plugin=plugin,
            folder=tmp_path,
            params=self.params,
            gaps={gap: reason for gap, reason in declared.items() if gap not in self.no_gaps},
            rows=self.rows,
            dims=self.dims,
            recall=self.recall,
            score_error=self.score_error,
        )

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name.replace(" ", "_"))
    def test_store(self, check: ContractCheck, bench: StoreFixture) -> None:
        try:
            check(bench)
        except DeclaredGap as gap:
            pytest.skip(f"{self.name}: {gap}")
