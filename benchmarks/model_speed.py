"""How close the catalogue's models come to the matrix multiplication limit, by CPU time.

Models whose weights are not here are left out: bakeoff models pull NAME. For sentence-transformers, name a Python that
has it in BAKEOFF_BENCH_TORCH: an encoder of the same sizes with random weights, which take as long as any, embeds the
same texts on one thread, by turns.
Run with: python benchmarks/model_speed.py
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

from bakeoff.benchmark.model_speed import SpeedSample, measure_speeds, models_at_hand, typical_texts
from bakeoff.storage.catalogue import entries
from bakeoff.storage.weights import find
from common import Row, show

TARGETS = {"minilm": ">= 0.6", "bge-small": ">= 0.6", "e5-small": ">= 0.6"}
AGAINST_TORCH = ("bge-small", "e5-small")
TURNS = 3
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
    rows += _against_torch([name for name in AGAINST_TORCH if name in speeds])
    return show(rows)


def _against_torch(names: list[str]) -> list[Row]:
    """Texts per CPU second of ours and of sentence-transformers, the median of some turns."""
    python = os.environ.get("BAKEOFF_BENCH_TORCH", "")
    if not python:
        print("sentence-transformers: not installed (name a Python that has it in BAKEOFF_BENCH_TORCH)")
        return []
    rows, texts = [], typical_texts()
    for name in names:
        ours, peers = [], []
        for _ in range(TURNS):
            (speed,) = measure_speeds([name], SpeedSample(texts=texts))
            ours.append(speed.cpu_seconds_per_text or 0.0)
            peers.append(_torch_seconds(python, name, texts) / len(texts))
        rates = 1 / statistics.median(ours), 1 / statistics.median(peers)
        rows.append(Row(f"{name}: texts per cpu-s against sentence-transformers", *rates, ">= 1.4"))
    return rows


def _torch_seconds(python: str, name: str, texts: tuple[str, ...]) -> float:
    """CPU seconds of sentence-transformers for all texts, on one thread."""
    entry = entries()[name]
    sizes = {"dims": entry.dims, "layers": entry.layers, "tokens": entry.max_tokens}
    job = {**sizes, "tokenizer": str(find(name).folder / "tokenizer.json"), "texts": texts}
    done = subprocess.run(
        [python, "-c", _TORCH], input=json.dumps(job), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{python} could not run sentence-transformers: {done.stderr.strip()[-300:]}")
    return float(done.stdout.split()[-1])


_TORCH = """
import json, sys, tempfile, time
import torch
from sentence_transformers import SentenceTransformer, models
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
torch.set_num_threads(1)
job = json.load(sys.stdin)
with tempfile.TemporaryDirectory() as folder:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=job["tokenizer"], pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]"
    )
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=job["dims"], num_hidden_layers=job["layers"],
        num_attention_heads=job["dims"] // 32, intermediate_size=4 * job["dims"], max_position_embeddings=job["tokens"],
    )
    BertModel(config).save_pretrained(folder)
    words = models.Transformer(folder, max_seq_length=job["tokens"])
    encoder = SentenceTransformer(modules=[words, models.Pooling(job["dims"]), models.Normalize()], device="cpu")
encoder.encode(job["texts"][:4])
begin = time.process_time()
encoder.encode(job["texts"], batch_size=32)
print(time.process_time() - begin)
"""


if __name__ == "__main__":
    sys.exit(main())
