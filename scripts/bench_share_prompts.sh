#!/usr/bin/env bash
# What share_prompts saves, against the same step without it: scripts/bench_share_prompts.sh [build/roll] [rounds] [P] [R] [G]
# A group of G (8) responses of R (512) tokens to a prompt of P (512), replayed: reference, old log-probs and one update of
# a 29.9M model in float32, whole and shared in turn. The time of each phase as a share of the whole step's, median over the rounds,
# with the share of the tokens that are computed beside it; CPU seconds likewise, for a machine that others use (with THREADS=1: threads that wait spin): of
# the forwards, by runs whose responses are all masked and so not trained on, and of training, which is the rest, against the bound of 1.1 times the share;
# and what the process holds at its peak above one of short sequences, which is its activations. THREADS: 2. Needs numpy (BENCH_PYTHON).
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=${THREADS:-2}
exec "${BENCH_PYTHON:-.deps/venv/bin/python}" - "${1:-build/roll}" "${@:2}" <<'PYTHON'
import json, os, pathlib, shutil, statistics, subprocess, sys, tempfile

import numpy

sys.path.insert(0, "scripts")
from bench_replay import HEAD, TAIL, make_model

binary = pathlib.Path(sys.argv[1]).resolve()
rounds, P, R, G = (int(given) if given else usual for given, usual in zip(sys.argv[2:6] + [""] * 4, (3, 512, 512, 8)))
STEPS = 2  # the first warms up
PHASES = ["time/step_train", "time/ref_log_probs", "time/old_log_probs"]
CONFIG = HEAD + """
rollout_batch_size: 1
num_return_sequences_in_group: {group}
prompt_length: {prompt}
response_length: {response}
adv_estimator: grpo
use_kl_loss: true
kl_loss_coef: 0.04
loss_agg_mode: token-mean
max_len_mask: true
enable_old_logprobs_recompute: true
rollout_replay: {folder}/rollouts
actor_train:
  model_args: &model {{disable_gradient_checkpointing: true, dtype: fp32}}
  training_args: {{learning_rate: 1.0e-5, per_device_train_batch_size: {group}, gradient_accumulation_steps: 1, lr_scheduler_type: constant}}
  data_args: {{file_name: {folder}/rows.jsonl, prompt: prompt}}
  use_sequence_packing: true
  sequence_packing_args: &packing {{max_packed_sequence_length_train: {budget}, max_packed_sequence_length_forward: {budget}}}
  share_prompts: {share}
reference: {{model_args: *model, use_sequence_packing: true, sequence_packing_args: *packing, share_prompts: {share}}}
""" + TAIL


def prepare(folder, model, prompt, response, share, trains=True):
    rng = numpy.random.default_rng(1)
    (folder / "rollouts").mkdir(parents=True)
    ids = rng.integers(10, 500, prompt).tolist()
    for step in range(1, STEPS + 1):
        lines = [dict(step=step, domain="d", prompt_id="0", group_index=0, sample_index=i, prompt="", response="", prompt_ids=ids,
                      response_ids=rng.integers(10, 500, response).tolist(), log_probs=[-6.0] * response, finish_reason="stop" if trains else "length", reward=i % 2,
                      score=i % 2, ground_truth="", tag="d") for i in range(G)]
        (folder / f"rollouts/step_{step:06}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "rows.jsonl").write_text('{"id": "1", "prompt": "a", "ground_truth": "1", "tag": "d"}\n')
    (folder / "run.yaml").write_text(CONFIG.format(folder=folder, model=model, steps=STEPS, group=G, prompt=prompt, response=response,
                                                   budget=G * (prompt + response), share=share))
    return folder


def run(folder):
    """The last step's metrics, the most bytes that the process held, and its CPU seconds."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    with open(folder / "said", "w") as said:
        process = subprocess.Popen([binary, "train", "--config", folder / "run.yaml", "-n", "1", "--device", "cpu"], stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit((folder / "said").read_text())
    return json.loads((folder / "run/metrics.jsonl").read_text().splitlines()[-1]), usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


with tempfile.TemporaryDirectory() as name:
    place = pathlib.Path(name)
    make_model(binary, place / "model", 512, 8, 1408, 8, 8192)
    whole, shared = (prepare(place / share, place / "model", P, R, share) for share in ("false", "true"))
    whole_forwards, shared_forwards = (prepare(place / f"forwards_{share}", place / "model", P, R, share, trains=False) for share in ("false", "true"))
    _, base, base_cpu = run(prepare(place / "short", place / "model", 2, 2, "false"))
    ratios, memories, cpu = {phase: [] for phase in PHASES}, [], {"forwards": [], "training": []}
    for _ in range(rounds):
        (a, bytes_a, cpu_a), (b, bytes_b, cpu_b) = run(whole), run(shared)
        forwards_a, forwards_b = run(whole_forwards)[2], run(shared_forwards)[2]
        cpu["forwards"].append((forwards_b - base_cpu) / (forwards_a - base_cpu))
        cpu["training"].append((cpu_b - forwards_b) / (cpu_a - forwards_a))
        for phase in PHASES:
            ratios[phase].append(b[phase] / a[phase])
        memories.append(((bytes_b - base) / (bytes_a - base), bytes_a - base, bytes_b - base))
        print(" ".join(f"{phase[5:]} {a[phase]:.2f} -> {b[phase]:.2f} s" for phase in PHASES) + f" CPU {cpu_a:.1f} -> {cpu_b:.1f} s, of it forwards {forwards_a - base_cpu:.1f} -> {forwards_b - base_cpu:.1f} s", flush=True)
    computed = (P + G * R) / (G * (P + R))
    print(f"P {P} R {R} G {G}: {computed:.3f} of the tokens")
    for phase in PHASES:
        middle = statistics.median(ratios[phase])
        print(f"{phase[5:]}: {middle:.3f} of the time, {middle / computed:.2f} times the share of the tokens ({min(ratios[phase]):.3f} .. {max(ratios[phase]):.3f})")
    for part, found in cpu.items():
        middle = statistics.median(found)
        print(f"{part}: {middle:.3f} of the CPU seconds, {middle / computed:.2f} times the share of the tokens, at most 1.10 wanted ({min(found):.3f} .. {max(found):.3f})")
    ratio, a, b = sorted(memories)[len(memories) // 2]
    print(f"activations at the peak: {a / 1e6:.0f} -> {b / 1e6:.0f} MB, {ratio:.3f}")
PYTHON
