"""Resource figures against the machine's limits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.benchmark.resources.usage import (
    MachineLimits,
    Meter,
    ResourceUse,
    Sampler,
    _Side,
    check_energy,
    check_memory,
    machine_limits,
    memory_bytes,
    within_limits,
)

TWO_CORES = MachineLimits(2, 4_000_000_000)


def test_figures_beyond_the_machine_are_null_with_the_reason() -> None:
    found = within_limits(ResourceUse(1282.0, 1500.0, 4368.0, 5000.0, 50), TWO_CORES, seconds=5.0)
    assert (found.avg_cpu_percent, found.peak_cpu_percent) == (None, None)
    assert (found.avg_memory_mb, found.peak_memory_mb, found.samples) == (None, None, 50)
    assert "1,282 %" in found.note and "2 cores" in found.note and "4,368 MB" in found.note


def test_figures_within_the_machine_stay_as_they_are() -> None:
    use = ResourceUse(150.0, 200.0, 100.0, 4000.0, 5)
    assert within_limits(use, TWO_CORES, seconds=5.0) == use
    assert within_limits(ResourceUse(note="no server"), TWO_CORES) == ResourceUse(note="no server")


@pytest.mark.parametrize(("processes", "shown"), [(1, None), (30, 200.0)])
def test_ticks_of_the_clock_of_many_processes_are_no_excess(processes: int, shown: float | None) -> None:
    """Each of thirty processes may be counted 10 ms too much: half a core over half a second."""
    found = within_limits(ResourceUse(230.0, 230.0, 1.0, 1.0, 2), TWO_CORES, seconds=0.5, processes=processes)
    assert found.avg_cpu_percent == found.peak_cpu_percent == shown


def test_memory_and_energy_have_limits_too(tmp_path: Path) -> None:
    assert check_memory(3999.0, TWO_CORES) == (3999.0, "") and check_memory(None, TWO_CORES) == (None, "")
    assert check_memory(4001.0, TWO_CORES)[0] is None
    assert check_energy(150.0, 1.0, 1) == (150.0, "") and check_energy(1e6, 1.0, 1)[0] is None
    package = tmp_path / "intel-rapl:0"
    package.mkdir()
    (package / "max_energy_range_uj").write_text(str(2**60))
    (package / "energy_uj").write_text("1000000")
    meter = Meter(tmp_path)
    (package / "energy_uj").write_text("0")  # the counter was reset: it seems to have run over its end
    assert meter.read().joules is None and "W" in meter.read().note


def test_a_process_that_is_seen_late_counts_once_and_from_its_start() -> None:
    """What it did before it was seen falls between two looks, not into one sample: 1,282 % on two cores."""
    import psutil

    busy = "import time\nwhile time.process_time() < 0.5: pass\nprint('done', flush=True)\nimport sys; sys.stdin.read()"
    side = _Side()
    side.sample([psutil.Process()], True)
    with subprocess.Popen([sys.executable, "-c", busy], stdin=-1, stdout=-1) as child:
        assert child.stdout is not None and child.stdin is not None
        child.stdout.readline()
        side.sample([psutil.Process()], False)
        side.sample([psutil.Process(), psutil.Process(child.pid)], True)
        child.stdin.close()
    found = side.use("")
    assert found.avg_cpu_percent is not None and found.peak_cpu_percent is not None
    assert 0 < found.peak_cpu_percent <= machine_limits().cpu_percent


def test_older_processor_time_of_a_server_is_not_of_this_pass() -> None:
    import psutil

    side = _Side()
    me = psutil.Process()
    assert sum(me.cpu_times()[:2]) > 0.1, "this process has worked before"
    side.sample([me], True)
    assert side._rows[0][1] == 0.0


def test_one_process_has_its_resident_memory() -> None:
    import psutil

    me = psutil.Process(os.getpid())
    assert memory_bytes([me]) == pytest.approx(me.memory_info().rss, rel=0.05)


def test_a_sampled_block_is_within_the_machine() -> None:
    with Sampler() as sampler:
        sum(i * i for i in range(300_000))
    client = sampler.result.client
    assert client.avg_cpu_percent is not None and client.avg_cpu_percent <= machine_limits().cpu_percent
    assert client.peak_memory_mb is not None and client.peak_memory_mb <= machine_limits().memory_mb


def test_a_zero_of_a_short_time_is_no_figure() -> None:
    limits, use = MachineLimits(2, 10**9), ResourceUse(avg_cpu_percent=0.0, peak_cpu_percent=0.0)
    short = within_limits(use, limits, seconds=0.3)
    assert short.avg_cpu_percent is None and "tick" in short.note
    assert within_limits(use, limits, seconds=60.0).avg_cpu_percent == 0.0
