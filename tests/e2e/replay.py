"""Replays one set of rollouts through `roll train` and compares weights and metrics: what the layout, packing and plug-in
tests share. `roll` is the binary, the test's first argument."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
try:
    import ml_dtypes  # noqa: F401  numpy's bfloat16, for which newer safetensors ask by name
except ImportError:
    pass
from safetensors import deserialize
from safetensors.numpy import load_file, save_file

from metric_words import unknown_metrics

binary = pathlib.Path(sys.argv[1]).resolve()

# Two settings. SHARP moves the weights by several per cent in three steps, so that a wrong factor anywhere shows. With
# Adam's own epsilon such a learning rate would also move weights whose gradient is zero but for rounding (the low
# frequencies of the key bias) by several per cent in a random direction; so its epsilon is larger.
# DEFAULTS is what recipes use.
SHARP = "learning_rate: 1.0e-3, adam_epsilon: 1.0e-4"
DEFAULTS = "learning_rate: 1.0e-5"

# Metrics are compared relative to at least this: they are means, or extremes, of terms of size 1 (log-probs of 5 nats,
# whitened advantages), and where those cancel nothing but the terms' rounding is left.
METRIC_FLOOR = 1.0

CONFIG = """
exp_name: layout
seed: 5
output_dir: {out}
pretrain: {model}
track_with: [jsonl]
num_gpus_per_node: 1
max_steps: 3
save_steps: 0
eval_steps: 0
rollout_batch_size: 4
num_return_sequences_in_group: 4
prompt_length: 48
response_length: 24
adv_estimator: {estimator}
whiten_advantages: true
add_token_level_kl: true
init_kl_coef: 0.1
max_len_mask: true
use_kl_loss: true
kl_loss_coef: 0.01
entropy_loss_coef: 0.001
value_clip: 0.5
loss_agg_mode: {mode}
{extra}
actor_train: &train
  training_args: {{{adam}, per_device_train_batch_size: {rows}, gradient_accumulation_steps: {accumulation}, lr_scheduler_type: constant}}
  data_args: {{file_name: {data}, prompt: prompt}}
  {packing}
  {layout}
critic:
  training_args: {{{adam}, per_device_train_batch_size: {rows}, gradient_accumulation_steps: {accumulation}, lr_scheduler_type: constant}}
  {packing}
  {layout}
reference:
  infer_batch_size: 3
  {layout}
actor_infer:
  {sampler_layout}
  generating_args: {{temperature: 0.9, top_p: 1.0, top_k: 0}}
rewards:
  math_rule: {{type: math_rule, tag_included: [sum]}}
"""
PACKED = """use_sequence_packing: true
  sequence_packing_args: {{algorithm: {0}, max_packed_sequence_length_train: {1}, max_packed_sequence_length_forward: {1}}}"""


def roll(*arguments):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"roll {' '.join(map(str, arguments))}\nexit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def make_model(folder, name="model", arch="qwen2", *options):
    """`options`: flags of init-model with their values, True for a flag without one."""
    has_latents = arch.startswith("deepseek")
    sizes = {"--seed": 3, "--hidden": 32, "--intermediate": 64, "--layers": 2} | ({} if has_latents else {"--kv-heads": 2})
    sizes |= dict(zip(options[::2], options[1::2]))
    roll("init-model", "--arch", arch, "--heads", 4, "--tokenizer", "builtin", "--out", folder / name,
         *[word for size in sizes.items() for word in size if word is not True])
    file = folder / name / "model.safetensors"
    rng = numpy.random.default_rng(1)  # init-model's biases are 0, those of real models aren't
    # Gemma 4's scores are not divided by anything, and random ones would choose a token each: rounding would tell.
    scale = lambda name: 0.25 if arch == "gemma4_text" and name.endswith("q_norm.weight") else 1
    save_file({n: t + 0.1 * rng.standard_normal(t.shape).astype(t.dtype) if n.endswith("bias") else t * t.dtype.type(scale(n))
               for n, t in load_file(file).items()}, file, metadata={"format": "pt"})


def record(folder, *model, **flags):
    """A tiny random model (`model`: as make_model() has it), rows, and three steps of rollouts; the folder of the rollouts."""
    make_model(folder, "model", *model)
    rows = [dict(id=str(i), prompt=f"{i}+{i * 3 % 7}=" + " " * (i % 11), ground_truth=str(i + i * 3 % 7), tag="sum") for i in range(40)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    recorded = train(folder, "recorded", max_steps=3, **flags) / "rollouts"
    give_rewards(recorded)
    return recorded


def give_rewards(rollouts):
    """A random model's rewards are all 0 and its responses rarely end: some of its own, so that advantages and masks differ, and what is
    trained on is more than the rounding of the KL."""
    for file in rollouts.glob("step_*.jsonl"):
        lines = [json.loads(line) for line in open(file)]
        for i, line in enumerate(lines):
            line["score"] = line["reward"] = (i * 7 % 5) / 4
            line["finish_reason"] = "length" if i % 4 == 0 else "stop"  # max_len_mask takes some out, not all
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def config_text(tp=1, cp=1, sampler_tp=None, ep=1, pp=1, chunks=1, **values):
    """The configuration; `values` fill CONFIG. All roles lie on pp stages (of so many chunks) x tp tensor x cp context ranks, the sampler on sampler_tp (tp); ep ranks
    share experts."""
    strategy = "strategy_args: {{strategy_config: {{tensor_model_parallel_size: {}, context_parallel_size: {}{}}}}}"
    sizes = {"expert": ep, "pipeline": pp, "virtual_pipeline": chunks}
    others = "".join(f", {name}_model_parallel_size: {size}" for name, size in sizes.items() if size > 1)
    return CONFIG.format(layout=strategy.format(tp, cp, others), sampler_layout=strategy.format(tp if sampler_tp is None else sampler_tp, 1, ""),
                         **values)


def train(folder, name, ranks=1, mode="seq-mean-token-mean", estimator="gae", rows=4, accumulation=4, packing="", extra="", adam=SHARP, tp=1, cp=1,
          sampler_tp=None, ep=1, pp=1, chunks=1, model="model", launch=roll, device="cpu", **flags):
    out = folder / name
    config = folder / f"{name}.yaml"
    config.write_text(config_text(tp, cp, sampler_tp, ep, pp, chunks, out=out, model=folder / model, data=folder / "rows.jsonl", mode=mode, estimator=estimator,
                                  rows=rows, accumulation=accumulation, packing=packing, extra=extra, adam=adam))
    launch("train", "--config", config, "-n", ranks, "--device", device, *[f"{k}={v}" for k, v in flags.items()])
    lines = (out / "metrics.jsonl").read_text().splitlines() if (out / "metrics.jsonl").exists() else []
    unknown = [key for key in unknown_metrics(binary, json.loads(lines[-1])) if "/my_" not in key] if lines else []  # but of plug-ins
    assert not unknown, f"{name}: roll metrics does not know {unknown}"
    return out


def numbers(tensor):
    """In float64; numpy has no bfloat16, which is the upper half of a float32."""
    if tensor["dtype"] == "BF16":
        return (numpy.frombuffer(tensor["data"], "<u2").astype("<u4") << 16).view("<f4").astype(numpy.float64)
    return numpy.frombuffer(tensor["data"], {"F32": "<f4", "F16": "<f2"}[tensor["dtype"]]).astype(numpy.float64)


def weights(run):
    found = {}
    for file in (run / "checkpoints/step_000003").glob("*/*model.safetensors"):  # of all weights, or of adapters
        found.update({f"{file.parent.name}.{name}": numbers(tensor).reshape(tensor["shape"]) for name, tensor in deserialize(file.read_bytes())})
    return found


def shared_of(run):
    """Mean share of the tokens of a step that its training left out, as others stand for them."""
    return numpy.mean([json.loads(line).get("packing/shared", 0) for line in open(run / "metrics.jsonl")])


OF_STEP = ("score/", "rewards/", "advantages/", "returns/", "kl", "critic/")  # what is computed before the policy's updates


def compare(run, base, what, only=("actor/", *OF_STEP), terms=1, bound=1e-6, metric_bound=None):
    """Weights, and the metrics whose names start with one of `only`, of two runs of three steps.
    `terms`: how many terms of size 1 a loss sums up."""
    worst, worst_name = 0.0, ""
    mine, theirs = weights(run), weights(base)
    assert theirs and mine.keys() == theirs.keys(), what
    for name, tensor in theirs.items():
        norm = max(numpy.linalg.norm(tensor), 1e-3)
        gap = numpy.linalg.norm(mine[name] - tensor) / norm
        if gap > worst:
            worst, worst_name = gap, name
    metric_worst, metric_name = 0.0, ""
    lines = [[json.loads(line) for line in open(r / "metrics.jsonl")] for r in (run, base)]
    for a, b in zip(*lines):
        for key, value in b.items():
            if key.startswith(only) and value is not None:
                gap = abs(a[key] - value) / max(abs(value), METRIC_FLOOR * terms)
                if gap > metric_worst:
                    metric_worst, metric_name = gap, key
    print(f"{what:60s} weights {worst:.1e} ({worst_name})  metrics {metric_worst:.1e} ({metric_name})", flush=True)
    assert len(lines[0]) == len(lines[1]) == 3
    assert worst <= bound, f"{what}: {worst_name} differs by {worst:.3e}"
    assert metric_worst <= (metric_bound or bound), f"{what}: {metric_name} differs by {metric_worst:.3e}"


