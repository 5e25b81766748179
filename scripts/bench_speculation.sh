#!/usr/bin/env bash
# What speculation saves: scripts/bench_speculation.sh MODEL [build/roll] [rounds]
# MODEL: folder or GGUF of a model with a chat template, such as SmolLM2-135M-Instruct. It learns the rows of make_repeating_rows.py
# (60 steps of `roll sft`, kept in output/speculation), then answers them at temperature 1, one response and 8 at a time, with
# --speculation none and auto in turn; and it writes stories at temperature 1.5, in which nothing repeats. Ratio of the times,
# median and range over the rounds (5). The responses must be equal to the byte. THREADS: 1. DTYPE: bf16.
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=${THREADS:-1}
exec "${BENCH_PYTHON:-.deps/venv/bin/python}" - "$1" "${2:-build/roll}" "${3:-5}" "${DTYPE:-bf16}" <<'PYTHON'
import json, pathlib, re, statistics, subprocess, sys

model, binary, rounds, dtype = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), int(sys.argv[3]), sys.argv[4]
folder = pathlib.Path("output/speculation")
folder.mkdir(parents=True, exist_ok=True)
subprocess.run(["scripts/make_repeating_rows.py", "--out", folder], check=True)
tuned = folder / "sft/checkpoints/latest/actor"
if not tuned.exists():
    (folder / "sft.yaml").write_text(json.dumps(dict(
        exp_name="repeating", seed=42, output_dir="./sft", pretrain=str(pathlib.Path(model).resolve()), max_steps=60, save_steps=60,
        sequence_length=512, sft_train=dict(
            model_args=dict(dtype="bf16", disable_gradient_checkpointing=True),
            data_args=dict(file_name="./train.jsonl", messages="messages"),
            training_args=dict(learning_rate=1e-4, train_batch_size=16, warmup_steps=3, lr_scheduler_type="constant_with_warmup"),
            use_sequence_packing=True, sequence_packing_args=dict(max_packed_sequence_length_train=4096)))))
    subprocess.run([binary, "sft", "--config", "sft.yaml", "--plain"], check=True, cwd=folder)
(folder / "stories.jsonl").write_text("".join(
    json.dumps(dict(id=topic, messages=[dict(role="user", content=f"Write a story about {topic}.")])) + "\n" for topic in ("rain", "a fox")))
rows = [json.loads(line) for line in open(folder / "test.jsonl")]
for kind in ("edit", "chain", "calls"):
    (folder / f"{kind}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows if row["tag"] == kind))


def sample(kind, speculation, running):
    """Seconds, response tokens, the share of right guesses, and the responses."""
    out = folder / f"{kind}.{speculation}.out"
    temperature = "1.5" if kind == "stories" else "1"
    done = subprocess.run(
        [binary, "generate", "--model", model if kind == "stories" else tuned, "--input", folder / f"{kind}.jsonl", "--samples", str(min(8, running)),
         "--max-running-requests", str(running), "--max-new-tokens", "256", "--temperature", temperature, "--top-p", "1", "--top-k", "0",
         "--dtype", dtype, "--speculation", speculation, "--out", out], capture_output=True, text=True, check=True)
    last = done.stderr.strip().split("\n")[-1]
    seconds, speed, right, guessed = re.search(r"([\d.]+) s: (\d+) response tokens/s.* (\d+) of (\d+) guessed tokens right", last).groups()
    return float(seconds), float(seconds) * int(speed), int(right), int(guessed), out.read_bytes()


for kind in ("edit", "chain", "calls", "stories"):
    for running in (1, 8):
        ratios = []
        for i in range(rounds):
            found = {name: sample(kind, name, running) for name in (("none", "auto") if i % 2 else ("auto", "none"))}
            assert found["none"][4] == found["auto"][4], f"{kind}: responses differ"
            ratios.append(found["none"][0] / found["auto"][0])
        _, tokens, right, guessed, _ = found["auto"]
        print(f"{kind:8} {running} at a time: {statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f}); "
              f"{tokens:.0f} tokens, {guessed} guessed, {right} right", flush=True)
PYTHON
