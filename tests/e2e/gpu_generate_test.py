#!/usr/bin/env python3
"""On a GPU `roll generate` answers as on the CPU: in float32 the same tokens with the same log-probs, under penalties, biases, filters,
evictions and shared prompts. Argument: the roll binary."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

binary = pathlib.Path(sys.argv[1]).resolve()
SAMPLINGS = [{}, {"top_p": 0.8}, {"top_k": 9, "min_p": 0.05}, {"repetition_penalty": 1.3, "frequency_penalty": 0.2},
             {"logit_bias": {"5": 2.0, "40": -3.0}, "temperature": 0.7}, {"temperature": 0}]


def generate(folder, device, *options):
    done = subprocess.run([binary, "generate", "--model", folder / "model", "--input", folder / "prompts.jsonl", "--dtype", "fp32", "--device", device,
                           "--samples", "4", "--max-new-tokens", "40", "--ignore-eos", "--processed-log-probs", *options], capture_output=True, text=True)
    assert done.returncode == 0, f"{device} {options}: exit code {done.returncode}\n{done.stderr[-3000:]}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(found, expected, what):
    assert len(found) == len(expected)
    same = [(a, b) for a, b in zip(found, expected) if a["ids"] == b["ids"]]
    assert len(same) >= 0.95 * len(expected), f"{what}: {len(same)} of {len(expected)} responses are the same"
    for key in ("log_probs", "processed_log_probs"):
        worst = max(abs(x - y) for a, b in same for x, y in zip(a[key], b[key]))
        assert worst < 1e-3, f"{what}: {key} differ by {worst}"


def main():
    if not shutil.which("nvidia-smi") or subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode:
        print("skipped: nvidia-smi finds no GPU on this machine")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([binary, "init-model", "--arch", "qwen2", "--hidden", "128", "--intermediate", "256", "--layers", "2", "--heads", "4",
                        "--kv-heads", "2", "--vocab", "512", "--out", folder / "model"], check=True, capture_output=True)
        lines = [dict(ids=[10 + i] * (1 + 13 * i), sampling=SAMPLINGS[i % len(SAMPLINGS)]) for i in range(18)]
        (folder / "prompts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        expected = generate(folder, "cpu")
        compare(generate(folder, "cuda"), expected, "all at once")
        compare(generate(folder, "cuda", "--max-running-requests", "7", "--no-prefix-caching"), expected, "seven at a time")
        compare(generate(folder, "cuda", "--kv-cache-mib", "1", "--block-size", "8"), expected, "a tiny cache")


main()
