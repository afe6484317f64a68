"""How close the catalogue's models come to the matrix multiplication limit, by CPU time.

Models whose weights are not here are left out: bakeoff models pull NAME.
Run with: python benchmarks/model_speed.py
"""

from __future__ import annotations

import sys

from bakeoff.benchmark.model_speed import SpeedSample, measure_speeds, models_at_hand, typical_texts
from common import Row, show

TARGETS = {"minilm": ">= 0.6", "bge-small": ">= 0.6", "e5-small": ">= 0.6"}
PAIRS = (("minilm-int8", "minilm"), ("bge-small-int8", "bge-small"))


def main() -> int:
    """Measure the encoders one after the other and print their shares, then int8 against fp32."""
    names = [name for name in (*TARGETS, *(int8 for int8, _ in PAIRS)) if name in models_at_hand()]
    speeds = {one.name: one for one in measure_speeds(names, SpeedSample(texts=typical_texts()))}
    rows = [
        Row(f"{name}: arithmetic per cpu-s against sgemm", share, 1.0, TARGETS.get(name, ""))
        for name, one in speeds.items()
        if (share := one.share) is not None
    ]
    for int8, fp32 in PAIRS:
        if int8 in speeds and fp32 in speeds and speeds[int8].share and speeds[fp32].share:
            ours, peer = speeds[int8].share or 0.0, speeds[fp32].share or 1.0
            rows.append(Row(f"{int8}: texts per cpu-s against {fp32}", ours, peer, ">= 1.5"))
    return show(rows)


if __name__ == "__main__":
    sys.exit(main())
