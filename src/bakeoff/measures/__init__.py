"""Measures: what each name means (definitions), and how it is computed (the evaluator). definitions, names,
explain, conventions and presets are plain Python; array computations need numpy."""
