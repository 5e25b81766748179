#!/usr/bin/env bash
# Training throughput against a plain padded PyTorch/Hugging Face loop on the same sequences, float32, same threads, in turn:
#   scripts/bench_train.sh [build/roll] [rounds]
# 32 sequences of lognormal length (mu 4.6, sigma 0.8, at most 512). The peer takes micro-batches of 4 padded sequences
# and torch's AdamW; roll replays the sequences as rollouts and updates once a step (its policy loss, entropy included).
# Useful tokens a second; and 6 x parameters x useful tokens a second as a share of the float32 matrix product's peak,
# measured in the same rounds; then the same update in bfloat16 against itself in float32. Needs a Python with torch and transformers (BENCH_PYTHON). THREADS: 2.
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=${THREADS:-2} TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
exec "${BENCH_PYTHON:-python3}" - "${1:-build/roll}" "${2:-5}" <<'PYTHON'
import os, pathlib, statistics, sys, tempfile, time

import torch, transformers

sys.path.insert(0, "scripts")
from bench_replay import LENGTHS, make_model, prepare, step_seconds

transformers.logging.set_verbosity_error()
threads = int(os.environ["OMP_NUM_THREADS"])
torch.set_num_threads(threads)
binary, rounds = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
MODELS = {"hidden 256, 4 layers, vocabulary 512": (256, 4, 704, 4, 512, 2.6, 0.45),
          "hidden 512, 8 layers, vocabulary 8192": (512, 8, 1408, 8, 8192, 2.0, 0.55)}


def sgemm_peak():
    """The best of some square products."""
    best = 0
    for n in (512, 1024, 1536):
        a, b = torch.ones(n, n), torch.ones(n, n)
        for _ in range(3):
            start = time.perf_counter()
            a @ b
            best = max(best, 2 * n**3 / (time.perf_counter() - start))
    return best


def peer(model_folder, sequences):
    """A function that runs one update and returns its seconds."""
    model = transformers.AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32, attn_implementation="sdpa")
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    total = sum(len(s) - 1 for s in sequences)

    def update():
        start = time.perf_counter()
        for begin in range(0, len(sequences), 4):
            batch = sequences[begin : begin + 4]
            longest = max(map(len, batch))
            ids = torch.tensor([s + [0] * (longest - len(s)) for s in batch])
            mask = torch.tensor([[1] * len(s) + [0] * (longest - len(s)) for s in batch])
            logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1]
            log_p = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None])[..., 0]
            (-(log_p * mask[:, 1:]).sum() / total).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter() - start

    update()
    return update, sum(p.numel() for p in model.parameters())


for name, (hidden, layers, inner, heads, vocabulary, wanted_ratio, wanted_share) in MODELS.items():
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        make_model(binary, folder / "model", hidden, layers, inner, heads, vocabulary)
        sequences = prepare(folder / "ours", folder / "model", vocabulary, steps=4, budget=os.environ.get("BUDGET", 1024))
        prepare(folder / "narrow", folder / "model", vocabulary, steps=4, budget=os.environ.get("BUDGET", 1024), dtype="bf16")
        update, parameters = peer(folder / "model", sequences)
        tokens = int(sum(LENGTHS))
        padded = sum(4 * max(LENGTHS[i : i + 4]) for i in range(0, 32, 4))
        peaks, theirs, mine, narrow = [], [], [], []
        for _ in range(rounds):
            peaks.append(sgemm_peak())
            theirs.append(update())
            mine.append(statistics.median(step_seconds(binary, folder / "ours")))
            theirs.append(update())
            narrow.append(statistics.median(step_seconds(binary, folder / "narrow")))
        peak, t, m = max(peaks), statistics.median(theirs), statistics.median(mine)
        share = lambda seconds: 6 * parameters * tokens / seconds / peak
        print(f"{name}: {parameters / 1e6:.1f} M parameters, {tokens} useful tokens (the peer computes {padded}), sgemm peak "
              f"{peak / 1e9:.0f} GFLOP/s\n  peer {tokens / t:7.0f} tokens/s, {share(t):.2f} of the peak\n"
              f"  roll {tokens / m:7.0f} tokens/s, {share(m):.2f} of the peak (wanted {wanted_share})\n"
              f"  ratio {t / m:.2f} (wanted {wanted_ratio}); by round: {' '.join(f'{statistics.median(theirs[2 * i : 2 * i + 2]) / x:.2f}' for i, x in enumerate(mine))}\n"
              f"  bf16 {tokens / statistics.median(narrow):7.0f} tokens/s, {statistics.median(a / b for a, b in zip(mine, narrow)):.2f} times roll in fp32 "
              f"({' '.join(f'{a / b:.2f}' for a, b in zip(mine, narrow))})",
              flush=True)
PYTHON
