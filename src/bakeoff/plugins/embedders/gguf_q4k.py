"""The q4_k packing of ggml: 256 numbers as 4-bit steps between a scale and a minimum for each 32 of them.

The `gguf` package only unpacks it. Steps are set by the range of each 32 numbers, a plainer choice than the
search in ggml's own quantiser, so errors are a little larger than in files made by that.
"""

from __future__ import annotations

import numpy as np

Q4K_ROW = 256
_PART = 32


def quantise_q4k(values: np.ndarray) -> np.ndarray:
    """Rows of float32, a multiple of 256 long, as rows of packed bytes."""
    parts = values.reshape(-1, Q4K_ROW // _PART, _PART)
    low = np.minimum(parts.min(axis=2), 0)
    step = (parts.max(axis=2) - low) / 15
    scale, scales = _six_bits(step)
    minimum, minimums = _six_bits(-low)
    real_step = scale.astype(np.float32) * scales
    real_low = minimum.astype(np.float32) * minimums
    steps = (parts + real_low[..., None]) / np.where(real_step > 0, real_step, 1)[..., None]
    quants = np.clip(np.rint(steps), 0, 15).astype(np.uint8)
    blocks = np.concatenate(
        [scale.view(np.uint8), minimum.view(np.uint8), _pack_scales(scales, minimums), _pack_quants(quants)],
        axis=1,
    )
    return blocks.reshape(*values.shape[:-1], -1)


def _six_bits(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A half-precision unit for each block, and the numbers as multiples of it from 0 to 63."""
    unit = (numbers.max(axis=1, keepdims=True) / 63).astype(np.float16)
    wide = unit.astype(np.float32)
    multiples = np.rint(numbers / np.where(wide > 0, wide, 1))
    return unit, np.clip(multiples, 0, 63).astype(np.uint8)


def _pack_scales(scales: np.ndarray, minimums: np.ndarray) -> np.ndarray:
    """Sixteen 6-bit numbers in 12 bytes: the last four of each are split into 4 low and 2 high bits."""
    first = scales[:, :4] | (scales[:, 4:] >> 4 << 6)
    second = minimums[:, :4] | (minimums[:, 4:] >> 4 << 6)
    third = (scales[:, 4:] & 15) | ((minimums[:, 4:] & 15) << 4)
    return np.concatenate([first, second, third], axis=1)


def _pack_quants(quants: np.ndarray) -> np.ndarray:
    """Two 4-bit numbers a byte: part 0 beside part 1, part 2 beside part 3 and so on."""
    pairs = quants.reshape(-1, 4, 2, _PART)
    return (pairs[:, :, 0] | (pairs[:, :, 1] << 4)).reshape(-1, Q4K_ROW // 2)
