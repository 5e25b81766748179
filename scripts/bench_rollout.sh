#!/usr/bin/env bash
# Sampling against Hugging Face `generate` (cache, no_grad), same model, prompts, tokens and threads, in turn:
#   scripts/bench_rollout.sh [build/roll] [rounds] [case...]
# Random Qwen2 models of `roll init-model`; 32 tokens in, 128 out, end tokens ignored, sampled at temperature 1. Ratios are
# medians over the rounds of response tokens a second; loading is not counted on either side. `tail`: 256 responses of
# lognormal length (16..512) over 64 slots against padded batches of 64, useful tokens a second. One row is also given as a
# share of what reading the weights once a token allows, by the memory's bandwidth measured in the same round. For a machine that others use (with THREADS=1:
# threads that wait spin) the ratio of CPU seconds stands beside, of both without what loading and the first token take.
# Needs a Python with torch and transformers (BENCH_PYTHON). THREADS: 2.
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=${THREADS:-2} TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
exec "${BENCH_PYTHON:-python3}" - "${1:-build/roll}" "${2:-5}" "${@:3}" <<'PYTHON'
import json, math, os, pathlib, random, re, resource, statistics, subprocess, sys, tempfile, time

import torch, transformers

transformers.logging.set_verbosity_error()
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
binary, rounds, wanted = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]), sys.argv[3:]
MODELS = {"small": dict(hidden=256, layers=4, heads=4, kv=2, intermediate=704, vocab=512),
          "large": dict(hidden=512, layers=8, heads=8, kv=2, intermediate=1408, vocab=8192)}
# model, responses, our dtype, the peers: HF in a dtype, or ourselves in fp32
CASES = {"small_32": ("small", 32, "fp32", ["float32"]), "small_1": ("small", 1, "fp32", ["float32"]),
         "large_32": ("large", 32, "fp32", ["float32"]), "large_1": ("large", 1, "fp32", ["float32"]),
         "large_32_bf16": ("large", 32, "bf16", ["float32", "bfloat16"]), "large_1_bf16": ("large", 1, "bf16", ["roll fp32"]),
         "large_1_int8": ("large", 1, "int8", ["roll fp32"]),
         "tail": ("small", 256, "fp32", ["float32"]), "tail_large": ("large", 256, "fp32", ["float32"])}


def make_model(folder, hidden, layers, heads, kv, intermediate, vocab):
    subprocess.run([binary, "init-model", "--out", folder, "--hidden", str(hidden), "--layers", str(layers), "--heads", str(heads),
                    "--kv-heads", str(kv), "--intermediate", str(intermediate), "--vocab", str(vocab)], check=True, capture_output=True)


def lengths_of(case, count):
    if not case.startswith("tail"):
        return [128] * count
    rng = random.Random(5)
    return [min(512, max(16, round(rng.lognormvariate(4.2, 0.9)))) for _ in range(count)]


def ours(folder, prompts, lengths, dtype, slots):
    """Response tokens a second, and CPU seconds of those after the first."""
    rate, cpu = run_ours(folder, prompts, lengths, dtype, slots)
    return rate, cpu - run_ours(folder, prompts, [1] * len(prompts), dtype, slots)[1]


def run_ours(folder, prompts, lengths, dtype, slots):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for ids, length in zip(prompts, lengths):
            file.write(json.dumps({"ids": ids, "sampling": {"max_new_tokens": length}}) + "\n")
        file.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([binary, "generate", "--model", folder, "--input", file.name, "--out", "/dev/null", "--ignore-eos",
                               "--dtype", dtype, "--max-running-requests", str(slots)], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(re.search(r"([0-9.]+) response tokens/s", done.stderr).group(1)), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peer(model, prompts, lengths, slots):
    """As ours()."""
    seconds, cpu = run_peer(model, prompts, lengths, slots)
    return sum(lengths) / seconds, cpu - run_peer(model, prompts, [1] * len(prompts), slots)[1]


def run_peer(model, prompts, lengths, slots):
    seconds = cpu = 0
    with torch.no_grad():
        for begin in range(0, len(prompts), slots):
            ids, longest = torch.tensor(prompts[begin : begin + slots]), max(lengths[begin : begin + slots])
            start, start_cpu = time.perf_counter(), time.process_time()
            model.generate(ids, attention_mask=torch.ones_like(ids), min_new_tokens=longest, max_new_tokens=longest, do_sample=True,
                           top_k=0, top_p=1.0, temperature=1.0, use_cache=True, pad_token_id=0)
            seconds, cpu = seconds + time.perf_counter() - start, cpu + time.process_time() - start_cpu
    return seconds, cpu


def bandwidth(numel):
    """Bytes a second of reading so many floats, the best of some."""
    x, best = torch.ones(numel), 0
    for _ in range(20):
        start = time.perf_counter()
        x.sum()
        best = max(best, 4 * numel / (time.perf_counter() - start))
    return best


with tempfile.TemporaryDirectory() as place:
    folders, peers = {}, {}
    for case, (name, count, dtype, rivals) in CASES.items():
        if wanted and case not in wanted:
            continue
        if name not in folders:
            folders[name] = pathlib.Path(place) / name
            make_model(folders[name], **MODELS[name])
        for rival in rivals:
            if rival != "roll fp32" and (name, rival) not in peers:
                peers[name, rival] = transformers.AutoModelForCausalLM.from_pretrained(folders[name], dtype=getattr(torch, rival)).eval()
        rng, lengths = random.Random(1), lengths_of(case, count)
        prompts = [[rng.randrange(300, MODELS[name]["vocab"]) for _ in range(32)] for _ in range(count)]
        slots = min(count, 64)
        weights = (folders[name] / "model.safetensors").stat().st_size / 4
        results = {"roll": [], "share": []} | {rival: [] for rival in rivals}
        for turn in range(rounds + 1):
            rate = ours(folders[name], prompts, lengths, dtype, slots)
            found = {rival: ours(folders[name], prompts, lengths, "fp32", slots) if rival == "roll fp32" else
                     peer(peers[name, rival], prompts, lengths, slots) for rival in rivals}
            share = rate[0] * weights * 4 / bandwidth(int(weights)) if count == 1 and dtype == "fp32" else math.nan
            if turn == 0:
                continue  # warms up
            results["roll"].append(rate), results["share"].append(share)
            for rival in rivals:
                results[rival].append(found[rival])
        rate_of = lambda who: statistics.median(rate for rate, _ in results[who])
        text = f"{case}: roll {rate_of('roll'):.0f} tokens/s"
        for rival in rivals:
            pairs = list(zip(results["roll"], results[rival]))
            ratios, cpu = [a[0] / b[0] for a, b in pairs], [b[1] / a[1] for a, b in pairs]
            text += f"; {statistics.median(ratios):.2f} times {rival if rival == 'roll fp32' else 'HF ' + rival} ({min(ratios):.2f} .. {max(ratios):.2f}; {rate_of(rival):.0f})"
            text += f", {statistics.median(cpu):.2f} by CPU seconds ({min(cpu):.2f} .. {max(cpu):.2f})"
        if not math.isnan(statistics.median(results["share"])):
            text += f"; {statistics.median(results['share']):.2f} of the weights' bandwidth"
        print(text, flush=True)
PYTHON
