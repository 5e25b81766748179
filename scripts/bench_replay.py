"""What the training benchmarks share: sequences of long-tailed length as rollouts, and a configuration that replays them with one
update a step."""
import json
import shutil
import subprocess
import sys

import numpy

LENGTHS = numpy.clip(numpy.random.default_rng(0).lognormal(4.6, 0.8, 32).astype(int), 8, 512)
CONFIG = """
exp_name: bench
output_dir: {folder}/run
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
rollout_replay: {folder}/rollouts
actor_train:
  model_args: {{disable_gradient_checkpointing: true, dtype: {dtype}}}
  training_args: {{learning_rate: 1.0e-5, per_device_train_batch_size: 32, gradient_accumulation_steps: 1, lr_scheduler_type: constant}}
  data_args: {{file_name: {folder}/rows.jsonl, prompt: prompt}}
  use_sequence_packing: true
  sequence_packing_args: {{algorithm: load_balance, max_packed_sequence_length_train: {budget}, max_packed_sequence_length_forward: 4096}}
actor_infer: {{generating_args: {{temperature: 1.0, top_p: 1.0, top_k: 0}}}}
rewards: {{d: {{type: math_rule, tag_included: [d]}}}}
"""


def make_model(binary, folder, hidden, layers, inner, heads, vocabulary):
    subprocess.run([binary, "init-model", "--arch", "qwen2", "--hidden", str(hidden), "--intermediate", str(inner), "--layers", str(layers),
                    "--heads", str(heads), "--vocab", str(vocabulary), "--tie", "--out", folder], check=True, capture_output=True)


def prepare(folder, model, vocabulary, steps, processes=1, budget=1024, dtype="fp32"):
    """run.yaml and what it reads, in a new folder; LENGTHS for each process. Returns the sequences."""
    rng = numpy.random.default_rng(1)
    (folder / "rollouts").mkdir(parents=True)
    sequences = [rng.integers(10, min(vocabulary, 500), n).tolist() for _ in range(processes) for n in LENGTHS]
    for step in range(1, steps + 1):
        lines = [dict(step=step, domain="d", prompt_id=str(i), group_index=i, sample_index=0, prompt="", response="", prompt_ids=s[:1],
                      response_ids=s[1:], log_probs=[-1.0] * (len(s) - 1), finish_reason="stop", reward=i % 2, ground_truth="",
                      tag="d") for i, s in enumerate(sequences)]
        (folder / f"rollouts/step_{step:06}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "rows.jsonl").write_text('{"id": "1", "prompt": "a", "ground_truth": "1", "tag": "d"}\n')
    (folder / "run.yaml").write_text(CONFIG.format(folder=folder, model=model, steps=steps, sequences=len(sequences), budget=budget, dtype=dtype))
    return sequences


def step_seconds(binary, folder, processes=1):
    """Seconds that each step trained; the first, which warms up, is left out."""
    shutil.rmtree(folder / "run", ignore_errors=True)  # of the round before
    out = subprocess.run([binary, "train", "--config", folder / "run.yaml", "-n", str(processes), "--device", "cpu"], capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stdout + out.stderr)
    return [json.loads(line)["time/step_train"] for line in open(folder / "run/metrics.jsonl")][1:]
