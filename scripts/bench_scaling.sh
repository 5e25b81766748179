#!/usr/bin/env bash
# Weak scaling on this machine: training one process against two with the same work each, in turn, one thread a process:
#   scripts/bench_scaling.sh [build/roll] [rounds]
# 32 sequences of lognormal length (mu 4.6, sigma 0.8, at most 512) a process, replayed as rollouts; one update a step, its
# gradients reduced and its optimizer's state shared. Efficiency: seconds of a step alone / seconds of a step of two.
# Needs python3 with numpy (.deps/venv has it).
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=1
exec "${ROLL_PYTHON:-.deps/venv/bin/python}" - "${1:-build/roll}" "${2:-5}" <<'PYTHON'
import json, pathlib, statistics, subprocess, sys, tempfile

import numpy

binary, rounds = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
LENGTHS = numpy.clip(numpy.random.default_rng(0).lognormal(4.6, 0.8, 32).astype(int), 8, 512)
STEPS = 3  # of one run; the first warms up
CONFIG = """
exp_name: scaling
output_dir: {out}
pretrain: {model}
track_with: [jsonl]
max_steps: {steps}
save_steps: 0
eval_steps: 0
rollout_batch_size: {sequences}
num_return_sequences_in_group: 1
prompt_length: 4
response_length: 512
adv_estimator: reinforce
init_kl_coef: 0
loss_agg_mode: token-mean
rollout_replay: {rollouts}
actor_train:
  model_args: {{disable_gradient_checkpointing: true}}
  training_args: {{learning_rate: 1.0e-5, per_device_train_batch_size: 32, gradient_accumulation_steps: 1, lr_scheduler_type: constant}}
  data_args: {{file_name: {rows}, prompt: prompt}}
  use_sequence_packing: true
  sequence_packing_args: {{algorithm: load_balance, max_packed_sequence_length_train: 1024, max_packed_sequence_length_forward: 4096}}
actor_infer: {{generating_args: {{temperature: 1.0, top_p: 1.0, top_k: 0}}}}
rewards: {{d: {{type: math_rule, tag_included: [d]}}}}
"""


def write_rollouts(folder, processes):
    """The same lengths for every process."""
    rng = numpy.random.default_rng(1)
    folder.mkdir(parents=True)
    sequences = [rng.integers(10, 500, n).tolist() for _ in range(processes) for n in LENGTHS]
    for step in range(1, STEPS + 1):
        lines = [dict(step=step, domain="d", prompt_id=str(i), group_index=i, sample_index=0, prompt="", response="", prompt_ids=s[:1],
                      response_ids=s[1:], log_probs=[-1.0] * (len(s) - 1), finish_reason="stop", reward=i % 2, ground_truth="",
                      tag="d") for i, s in enumerate(sequences)]
        (folder / f"step_{step:06}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def seconds(folder, processes):
    out = subprocess.run([binary, "train", "--config", folder / f"{processes}.yaml", "-n", str(processes), "--device", "cpu"], capture_output=True,
                         text=True)
    if out.returncode:
        sys.exit(out.stdout + out.stderr)
    return [json.loads(line)["time/step_train"] for line in open(folder / f"run_{processes}/metrics.jsonl")][1:]


with tempfile.TemporaryDirectory() as work:
    folder = pathlib.Path(work)
    subprocess.run([binary, "init-model", "--arch", "qwen2", "--hidden", "256", "--intermediate", "704", "--layers", "4", "--heads", "4", "--vocab", "512",
                    "--tie", "--out", folder / "model"], check=True, capture_output=True)
    (folder / "rows.jsonl").write_text('{"id": "1", "prompt": "a", "ground_truth": "1", "tag": "d"}\n')
    for processes in (1, 2):
        write_rollouts(folder / f"rollouts_{processes}", processes)
        (folder / f"{processes}.yaml").write_text(CONFIG.format(out=folder / f"run_{processes}", model=folder / "model", steps=STEPS, rows=folder / "rows.jsonl",
                                                                sequences=32 * processes, rollouts=folder / f"rollouts_{processes}"))
    times = {1: [], 2: []}
    for _ in range(rounds):
        for processes in times:
            times[processes].append(statistics.median(seconds(folder, processes)))
    one, two = (statistics.median(times[n]) for n in times)
    print(f"{sum(LENGTHS)} tokens a process: {one:.2f} s a step alone, {two:.2f} s a step of two; efficiency {one / two:.2f} (wanted 0.85); by round: "
          + " ".join(f"{a / b:.2f}" for a, b in zip(times[1], times[2])))
PYTHON
