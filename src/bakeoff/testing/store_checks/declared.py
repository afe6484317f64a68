"""A store's declarations: settings that reject unknown keys, gaps that are gaps."""

from __future__ import annotations

from bakeoff.testing.store_fixture import ABILITIES, BEHAVIOURS, LIMIT, StoreFixture, Suite, expect

suite = Suite()


@suite.check()
def settings_refuse_unknown_keys(bench: StoreFixture) -> None:
    for model in (bench.plugin.Params, bench.plugin.Query):
        expect(model.model_config.get("extra") == "forbid", f"{model.__name__} accepts unknown keys.")


@suite.check()
def gaps_are_gaps(bench: StoreFixture) -> None:
    """A gap has a known name and a reason, and the plug-in really lacks it."""
    known = (*ABILITIES, LIMIT, *BEHAVIOURS)
    declared = dict(getattr(bench.plugin, "gaps", {}))
    for ability, reason in declared.items():
        expect(ability in known, f"a gap {ability!r} is declared; there are {', '.join(known)}.")
        expect(reason.strip(), f"the gap {ability!r} has no reason.")
        there = ability not in BEHAVIOURS and bench.has(ability)
        expect(not there, f"{ability} is declared as a gap ({reason}) but exists.")
