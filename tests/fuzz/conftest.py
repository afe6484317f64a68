"""The parsers stand in the package `fuzzed` beside this file; `benchmarks/fuzzing` finds it the same way."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
