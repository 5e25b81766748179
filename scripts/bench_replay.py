"""What the training benchmarks share: sequences as rollouts, with a configuration that replays them with one update a step; and
the configuration of a GRPO step."""
import json
import shutil
import subprocess
import sys

import numpy

LENGTHS = numpy.clip(numpy.random.default_rng(0).lognormal(4.6, 0.8, 32).astype(int), 8, 512)  # long-tailed
HEAD = """
exp_name: bench
output_dir: {folder}/run
pretrain: {model}
track_with: [jsonl]
max_steps: {steps}
save_steps: 0
eval_steps: 0
profiler_timeline: {timeline}
"""
TAIL = """
actor_infer: {{generating_args: {{temperature: 1.0, top_p: 1.0, top_k: 0}}}}
rewards: {{d: {{type: math_rule, tag_included: [d]}}}}
"""
CONFIG = HEAD + """
rollout_batch_size: {sequences}
num_return_sequences_in_group: 1
prompt_length: 4
response_length: 512
adv_estimator: reinforce
init_kl_coef: 0
loss_agg_mode: token-mean
rollout_replay: {folder}/rollouts
actor_train:
  model_args: {{disable_gradient_checkpointing: {keeps_all}, dtype: {dtype}}}
  training_args: {{learning_rate: 1.0e-5, per_device_train_batch_size: 32, gradient_accumulation_steps: 1, lr_scheduler_type: constant}}
  data_args: {{file_name: {folder}/rows.jsonl, prompt: prompt}}
  use_sequence_packing: true
  sequence_packing_args: {{algorithm: load_balance, max_packed_sequence_length_train: {budget}, max_packed_sequence_length_forward: 4096}}
""" + TAIL
# A KL loss to the reference, one update a step.
STEP_CONFIG = HEAD + """
rollout_batch_size: {prompts}
num_return_sequences_in_group: {responses}
prompt_length: {prompt_length}
response_length: {tokens}
adv_estimator: grpo
use_kl_loss: true
kl_loss_coef: 0.04
loss_agg_mode: token-mean
actor_train:
  model_args: &model {{disable_gradient_checkpointing: true, dtype: {dtype}}}
  training_args: {{learning_rate: 1.0e-6, per_device_train_batch_size: {sequences}, gradient_accumulation_steps: 1, lr_scheduler_type: constant}}
  data_args: {{file_name: {folder}/rows.jsonl, prompt: prompt}}
  use_sequence_packing: true
  sequence_packing_args: &packing {{algorithm: load_balance, max_packed_sequence_length_train: {budget}, max_packed_sequence_length_forward: {forward_budget}}}
  share_prompts: {share}
reference: {{model_args: *model, use_sequence_packing: true, sequence_packing_args: *packing, share_prompts: {share}}}
""" + TAIL


def make_model(binary, folder, hidden, layers, inner, heads, vocabulary):
    subprocess.run([binary, "init-model", "--arch", "qwen2", "--hidden", str(hidden), "--intermediate", str(inner), "--layers", str(layers),
                    "--heads", str(heads), "--vocab", str(vocabulary), "--tie", "--out", folder], check=True, capture_output=True)


def never_ends(model, vocabulary):
    """Makes responses of the model in that folder as long as they may be: its end token is drawn never."""
    for file in ("config.json", "generation_config.json"):
        config = json.loads((model / file).read_text())
        (model / file).write_text(json.dumps(config | {"eos_token_id": vocabulary + 1}))
    config = json.loads((model / "tokenizer_config.json").read_text())
    del config["eos_token"]
    (model / "tokenizer_config.json").write_text(json.dumps(config))


def prepare(folder, model, vocabulary, steps, processes=1, budget=1024, dtype="fp32", lengths=LENGTHS, keeps_all="true", timeline="false"):
    """run.yaml and what it reads, in a new folder; 32 lengths for each process. Returns the sequences."""
    rng = numpy.random.default_rng(1)
    (folder / "rollouts").mkdir(parents=True)
    sequences = [rng.integers(10, min(vocabulary, 500), n).tolist() for _ in range(processes) for n in lengths]
    for step in range(1, steps + 1):
        lines = [dict(step=step, domain="d", prompt_id=str(i), group_index=i, sample_index=0, prompt="", response="", prompt_ids=s[:1],
                      response_ids=s[1:], log_probs=[-1.0] * (len(s) - 1), finish_reason="stop", reward=i % 2, ground_truth="",
                      tag="d") for i, s in enumerate(sequences)]
        (folder / f"rollouts/step_{step:06}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "rows.jsonl").write_text('{"id": "1", "prompt": "a", "ground_truth": "1", "tag": "d"}\n')
    (folder / "run.yaml").write_text(CONFIG.format(folder=folder, model=model, steps=steps, sequences=len(sequences), budget=budget, dtype=dtype,
                                                    keeps_all=keeps_all, timeline=timeline))
    return sequences


def prepare_step(folder, model, texts, responses, tokens, steps, dtype, budget=2048, forward_budget=4096, prompt_length=64, share="false", timeline="false"):
    """run.yaml of steps on `texts`, and its rows."""
    folder.mkdir(exist_ok=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(dict(id=str(i), prompt=text, ground_truth="1", tag="d")) + "\n"
                                               for i, text in enumerate(texts)))
    (folder / "run.yaml").write_text(STEP_CONFIG.format(folder=folder, model=model, steps=steps, prompts=len(texts), responses=responses, tokens=tokens,
                                                        sequences=len(texts) * responses, dtype=dtype, budget=budget, forward_budget=forward_budget, prompt_length=prompt_length, share=share,
                                                        timeline=timeline))


def step_seconds(binary, folder, processes=1):
    """Seconds that each step trained; the first, which warms up, is left out."""
    shutil.rmtree(folder / "run", ignore_errors=True)  # of the round before
    out = subprocess.run([binary, "train", "--config", folder / "run.yaml", "-n", str(processes), "--device", "cpu"], capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stdout + out.stderr)
    return [json.loads(line)["time/step_train"] for line in open(folder / "run/metrics.jsonl")][1:]
