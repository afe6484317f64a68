"""Shares of a load and clocks of other machines, where the truth is known: no client runs here."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bakeoff.benchmark.clients.client import closed_share, open_share, threads_of
from bakeoff.benchmark.clients.merged_loop import (
    ClientResult,
    ClockCheck,
    ClockOffset,
    RoundTrip,
    client_notes,
    lost_sentence,
    offset_of,
    on_duty,
)
from bakeoff.benchmark.clients.messages import LostError
from bakeoff.benchmark.load_spec import LoadSpec, LoadStep, parse_clients, parse_loads
from bakeoff.benchmark.loop_report import Buckets, LoopReport, merge_reports
from bakeoff.benchmark.open_loop import arrival_times
from bakeoff.benchmark.passes import pass_percentiles
from bakeoff.benchmark.resources.usage import ResourceUse
from bakeoff.benchmark.results.histogram import Histogram
from bakeoff.errors import SettingError

HERE = ClockCheck(ClockOffset(0.0, 0.0, 0.0))


@pytest.mark.parametrize("arrivals", ["fixed", "poisson"])
@pytest.mark.parametrize("clients", [1, 2, 3, 7])
def test_clients_together_send_what_one_would(arrivals: str, clients: int) -> None:
    count, rate = 5000, 1000.0
    whole = arrival_times(count, rate, arrivals, 7)
    parts = [open_share(number, clients, count, arrivals, 7) for number in range(clients)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(count))
    assert np.array_equal(np.sort(np.concatenate([whole[part] for part in parts])), whole)


def test_fixed_arrivals_are_interleaved() -> None:
    due = arrival_times(9, 1000.0, "fixed", 7)
    parts = [due[open_share(number, 3, 9, "fixed", 7)] for number in range(3)]
    assert [part.tolist() for part in parts] == [[at, at + 3e6, at + 6e6] for at in (0, 1e6, 2e6)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_split_of_poisson_arrivals_is_poisson(seed: int) -> None:
    """Gaps of each client and of all together are exponential at their rates, and neighbours say nothing of each other."""
    count, rate, clients = 40_000, 2000.0, 4
    due = arrival_times(count, rate, "poisson", seed)
    parts = [due[open_share(number, clients, count, "poisson", seed)] for number in range(clients)]
    union = np.sort(np.concatenate(parts))
    for arrivals, expected in [(union, rate), *((part, rate / clients) for part in parts)]:
        gaps = np.diff(arrivals) / 1e9
        assert stats.kstest(gaps, "expon", args=(0, 1 / expected)).pvalue > 0.001
        assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 4 / np.sqrt(len(gaps))
    bins = int(union[-1] // 1e8)
    counts = np.stack([np.histogram(part, bins, (0, bins * 1e8))[0] for part in parts])
    assert np.abs(np.corrcoef(counts)[~np.eye(clients, dtype=bool)]).max() < 4 / np.sqrt(bins), "independent"


def test_the_draw_of_who_is_not_the_draw_of_when() -> None:
    gaps = np.diff(arrival_times(20_000, 1.0, "poisson", 7))
    first = np.isin(np.arange(1, 20_000), open_share(0, 2, 20_000, "poisson", 7))
    assert stats.mannwhitneyu(gaps[first], gaps[~first]).pvalue > 0.001


@given(st.integers(1, 9), st.integers(0, 40), st.integers(1, 500))
def test_closed_shares_are_all_requests_in_proportion_to_threads(clients: int, more: int, times: int) -> None:
    concurrency = clients + more
    requests = concurrency * times
    parts = [closed_share(number, clients, concurrency, requests) for number in range(clients)]
    threads = [threads_of(number, clients, concurrency) for number in range(clients)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(requests))
    assert sum(threads) == concurrency and [len(part) for part in parts] == [one * times for one in threads]


@given(
    st.integers(-(10**18), 10**18),
    st.lists(st.tuples(*[st.integers(0, 10**9)] * 3), min_size=1, max_size=20),
)
def test_an_offset_is_never_further_off_than_it_says(skew: int, ways: list[tuple[int, int, int]]) -> None:
    """However long the way there, the work and the way back took."""
    trips, now = [], 10**12
    for there, work, back in ways:
        heard = now + there
        said = heard + work
        trips.append(RoundTrip(now, heard + skew, said + skew, said + back))
        now = said + back + 1000
    found = offset_of(trips)
    assert abs(found.nanoseconds - skew) <= found.unsure + abs(skew) * 1e-15 + 1
    assert found.unsure == min(there + back for there, _, back in ways) / 2


def test_a_clock_that_runs_fast_is_followed() -> None:
    skew, ppm, begin, end = 5_000_000_000, 300.0, 10**12, 10**12 + 60_000_000_000

    def theirs(ours: float) -> float:
        return ours + skew + (ours - begin) * ppm / 1e6

    def check(at: float) -> ClockOffset:
        return ClockOffset(theirs(at) - at, 20_000.0, at)

    clock = ClockCheck(check(begin), check(end))
    assert clock.drift_ppm == pytest.approx(ppm) and clock.drift_unsure_ppm == pytest.approx(40_000 / 60e3)
    for at in (begin, begin + 17_000_000_000, end):
        assert clock.to_their_clock(at) == pytest.approx(theirs(at), abs=1000)
        assert clock.to_our_clock(theirs(at)) == pytest.approx(at, abs=1000)
    assert clock.notes() == []


def test_clocks_out_of_the_ordinary_are_marked() -> None:
    lame = ClockCheck(ClockOffset(0.0, 25e6, 0.0, wall_ms=-4200.0), ClockOffset(9e6, 1e3, 10e9))
    unsure, wall = lame.notes()
    assert "±25.0 ms" in unsure and "4,200 ms behind" in wall, "the drift is not surer than the offsets"
    fast = ClockCheck(ClockOffset(0.0, 1e3, 0.0), ClockOffset(9e6, 1e3, 10e9))
    (drift,) = fast.notes()
    assert "900 ± 0 µs" in drift
    assert ClockCheck(ClockOffset(0.0, 1e3, 0.0)).drift_ppm is None


def report(nanoseconds: list[int], missing: int = 0, **more: object) -> LoopReport:
    values = np.array(nanoseconds, np.int64)
    lag = Buckets.of(Histogram.of(values // 10))
    fields = {
        "began": 0, "ended": 0, "intended": len(values) + missing, "sent": len(values) + missing,
        "answered": len(values), "errors": missing, "error": "tired." if missing else "", "timeouts": 0, "unsent": 0,
        "short": 0, "total_ns": int(values.sum()), "drift": None, "latency": Buckets.of(Histogram.of(values, missing)),
        "lag": lag, "due": 1.0, "sent_last": 1.0, "stopped": "", "use": ResourceUse(50.0, 80.0, 100.0, 120.0, 3),
    }  # fmt: skip
    return LoopReport(**{**fields, **more})


def member(
    number: int, given: LoopReport | None, began: float = 0.0, ended: float = 1.0, **more: object
) -> ClientResult:
    at = {"began": began, "ended": ended} if given else {}
    return ClientResult(number, f"{number + 1} (host:{number})", "host", HERE, given, **at, **more)


def merged(*reports: LoopReport, stopped: str = "") -> LoopReport:
    return merge_reports(reports, began=0, ended=10**9, stopped=stopped, one_machine=False)


def test_merged_figures_are_those_of_all_samples_together() -> None:
    generator = np.random.default_rng(3)
    one, two = (generator.lognormal(13, 1, size).astype(np.int64) for size in (4000, 1500))
    loop = merged(report(one.tolist(), missing=3), report(two.tolist()))
    latency = loop.latency.histogram()
    union = np.concatenate([one, two])
    known = Histogram.of(union, 3)
    assert np.array_equal(latency.buckets, known.buckets)
    assert np.array_equal(latency.counts, known.counts) and latency.missing == 3
    for row in pass_percentiles(latency):
        percent = float(row.name.strip("p_ms"))
        assert row.milliseconds == known.percentile(percent) / 1e6
        exact = np.percentile(np.concatenate([union, np.full(3, union.max())]), percent) / 1e6
        assert row.milliseconds == pytest.approx(exact, rel=0.002)
    assert loop.mean_ms == pytest.approx(union.mean() / 1e6) and loop.lag.histogram().count == 5500
    assert (loop.sent, loop.answered, loop.errors, loop.error) == (5503, 5500, 3, "tired.")
    assert loop.use == ResourceUse(100.0, 160.0, 200.0, 240.0, 6) and loop.seconds == 1.0 and loop.reached


def test_the_window_is_what_all_have_in_common() -> None:
    late, early, gone = (
        member(0, report([1]), 0.5, 5.0), member(1, report([1]), 0.0, 3.0), member(2, None, lost="killed by SIGKILL"),
    )  # fmt: skip
    assert on_duty([late, early, gone]) == (0.5, 3.0) and on_duty([gone]) is None
    assert on_duty([member(0, report([1]), 0.0, 1.0), member(1, report([1]), 2.0, 3.0)]) is None
    (began,), (ended,) = client_notes(late, 5.0), client_notes(early, 5.0)
    assert "0.50 s late" in began and "2.00 s before" in ended
    lost = lost_sentence([late, early, gone])
    assert lost.startswith("client 3 (host:2) ") and "SIGKILL" in lost and lost.endswith(" 2")
    assert lost_sentence([late]) == ""


def test_a_rate_counts_as_held_only_where_every_client_sent_in_time() -> None:
    good, slow = report([1] * 100), report([1] * 100, sent_last=1.5)
    assert merged(good, good).reached and not merged(good, slow).reached
    assert not merged(good, stopped="client 2 was lost").reached


def test_what_is_not_understood_is_a_loss_and_no_crash() -> None:
    for line in ({}, {"began": "x"}, {**report([1]).model_dump(), "more": 1}):
        with pytest.raises(LostError):
            LoopReport.read(line)


def test_clients_by_word_and_by_number() -> None:
    assert parse_clients("threads") == ("threads", 0) and parse_clients("processes") == ("processes", 0)
    assert parse_clients("3") == ("processes", 3) and parse_loads(None, None, None, 3)[0] == (3,)
    loads = LoadSpec((4, 6), clients="processes", processes=2).loads
    assert [one.name for one in loads] == ["4 threads in 2 processes", "6 threads in 2 processes"]
    assert [one.team for one in loads] == [2, 2] and LoadStep(
        "closed", 1, None, "processes"
    ).name == "1 process"
    rate = LoadSpec(rates=(50.0,), clients="processes", processes=1)
    assert rate.loads[0].name == "50/s from 1 process" and rate.most_processes == 1
    assert LoadSpec((1, 4), clients="processes").most_processes == 4 and LoadSpec().most_processes == 0


@pytest.mark.parametrize("text", ["0", "-1", "two", "257", "1.5", "²", ""])
def test_clients_that_cannot_be(text: str) -> None:
    with pytest.raises(SettingError, match="--clients"):
        parse_clients(text)


def test_more_processes_than_threads_are_refused() -> None:
    with pytest.raises(SettingError, match=r"--clients.*3.*--concurrency.*2"):
        LoadSpec((4, 2), clients="processes", processes=3)
