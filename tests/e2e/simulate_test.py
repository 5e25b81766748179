#!/usr/bin/env python3
"""What `validate-config --simulate` forecasts of a step is what real runs of 2, 4 and 8 ranks count that they send, byte by byte: all
that the first rank sends but texts (metrics, states, news of sampling), whose length depends on digits. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import replay
from placements import PLACEMENTS, ROLES, settings

STEP = 2
PACKED = replay.PACKED.format("load_balance", 100)
BOTH = ("actor_train", "critic")
RECOMPUTED = {f"{role}.strategy_args.strategy_config.recompute_granularity": "full" for role in BOTH}
WHOLE_OPTIMIZER = {f"{role}.strategy_args.strategy_config.use_distributed_optimizer": "false" for role in BOTH}
GATHERED = {f"{role}.strategy_args.strategy_config.zero_optimization": "{stage: 3}" for role in BOTH}
FIRST_LAYERS = {f"{role}.strategy_args.strategy_config.{key}": value for role in BOTH
                for key, value in (("recompute_granularity", "full"), ("recompute_method", "block"), ("recompute_num_layers", 3))}
BF16 = {f"{role}.model_args": "{dtype: bf16}" for role in ROLES if role != "actor_infer"}
SHARED = {f"{role}.share_prompts": "true" for role in (*BOTH, "reference")}
DEEP = dict(model="deep", packing=PACKED)
MUON = dict(adam=replay.SHARP + ", optimizer: muon")
ADAPTERS = {f"{role}.model_args": "{lora_rank: 2}" for role in BOTH}
MTP = {"actor_train.strategy_args.strategy_config.mtp_loss_coef": 0.1}
# Name -> data, context and tensor ranks, and what else the run is given, stages among it.
BIAS_RATE = "actor_train.strategy_args.strategy_config.moe_router_bias_update_rate"
LAYOUTS = {
    "2 data ranks": (2, 1, 1, {}),
    "2 data ranks, packed, larger": (2, 1, 1, DEEP),
    "2 data ranks, bf16": (2, 1, 1, BF16),
    "2 data ranks, whole optimizers": (2, 1, 1, DEEP | WHOLE_OPTIMIZER),
    "2 data ranks, 2 epochs": (2, 1, 1, dict(ppo_epochs=2)),
    "2 data ranks, grpo": (2, 1, 1, dict(estimator="grpo")),
    "2 data ranks, gpg": (2, 1, 1, dict(estimator="gpg", statistics_per_domain="false", add_token_level_kl="false")),
    "2 data ranks, weights of samples": (2, 1, 1, dict(length_loss_weight="true")),
    "2 data ranks, gathered": (2, 1, 1, DEEP | GATHERED | FIRST_LAYERS),
    "2 data x 2 tensor ranks, gathered, bf16": (2, 1, 2, GATHERED | RECOMPUTED | BF16 | dict(rows=2, accumulation=2)),
    "2 tensor ranks": (1, 1, 2, {}),
    "2 tensor ranks, recomputed": (1, 1, 2, DEEP | RECOMPUTED),
    "2 context ranks": (1, 2, 1, DEEP),
    "2 context ranks, recomputed": (1, 2, 1, RECOMPUTED),
    "2 context ranks, shared prompts": (1, 2, 1, DEEP | SHARED),
    "2 stages, recomputed": (1, 1, 1, DEEP | RECOMPUTED | dict(pp=2)),
    "2 data ranks x 2 stages of 2 chunks": (2, 1, 1, DEEP | dict(pp=2, chunks=2)),
    "2 tensor ranks x 2 stages of 2 chunks, shared keys": (1, 1, 2, RECOMPUTED | dict(model="keys", pp=2, chunks=2)),
    "2 context ranks x 4 stages, shared keys": (1, 2, 1, dict(model="keys", pp=4)),
    "4 data ranks": (4, 1, 1, DEEP),
    "4 tensor ranks, 2 heads of keys": (1, 1, 4, DEEP),
    "2 data x 2 tensor ranks": (2, 1, 2, DEEP),
    "2 context x 2 tensor ranks": (1, 2, 2, DEEP),
    "8 data ranks": (8, 1, 1, DEEP),
    "2 data x 2 context x 2 tensor ranks": (2, 2, 2, {}),
    "2 context x 2 tensor ranks, gated delta nets": (1, 2, 2, dict(model="delta")),
    "2 data x 2 tensor ranks that share experts": (2, 1, 2, dict(model="mixture", ep=2)),
    "2 data ranks that share experts, whose routers have biases": (2, 1, 1, dict(model="biased", ep=2) | {BIAS_RATE: 0.01}),
    "2 data x 2 tensor ranks, Muon": (2, 1, 2, DEEP | MUON),
    "2 data ranks, Muon, whole optimizers": (2, 1, 1, MUON | WHOLE_OPTIMIZER),
    "2 data x 2 tensor ranks, Muon, gathered": (2, 1, 2, MUON | GATHERED | RECOMPUTED),
    "2 data ranks, adapters": (2, 1, 1, DEEP | ADAPTERS),
    "2 data x 2 tensor ranks, MTP head": (2, 1, 2, dict(model="head", ep=2) | MTP),
    "2 context ranks x 2 stages, MTP head": (1, 2, 1, dict(model="head", pp=2) | MTP),
    "2 data x 2 tensor ranks that share experts, Muon": (2, 1, 2, dict(model="mixture", ep=2) | MUON),
}
failures = []


def is_text(key):
    return key.endswith("gather_bytes") and not key.startswith("rollouts/")


def counted(run):
    line = [json.loads(text) for text in open(run / "metrics.jsonl")][STEP - 1]
    sent = {key[len("comm/"):-len("_bytes")]: int(value) for key, value in line.items() if key.startswith("comm/") and key.endswith("_bytes")}
    # That all could read the rollouts is said once a step, in 8 bytes.
    return {key: value for key, value in sent.items() if not is_text(key) and not key.endswith("world/all_gather")}


def forecast(folder, name, ranks, *options, **flags):
    """What the first rank sends."""
    command = [replay.binary, "validate-config", "--config", folder / f"{name}.yaml", "-n", ranks, "--simulate", ranks, "--step", STEP, "--device", "cpu",
               "--json", *options, *[f"{k}={v}" for k, v in flags.items()]]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    phases = json.loads(done.stdout)["phases"]
    moved = {f"{phase['phase']}/{key}": (sent, phase["received"][key]) for phase in phases for key, sent in phase["sent"].items()}
    # On the CPU every byte that one sends another gets.
    failures.extend(f"{name}: {key}: {sent['mean']} sent, {got['mean']} received" for key, (sent, got) in moved.items() if sent["mean"] != got["mean"])
    sent = {key: sent["first_rank"] for key, (sent, _) in moved.items()}
    return {key: value for key, value in sent.items() if value > 0 and not is_text(key)}


def drop_rows(expected, found):
    """Rows of experts go where routers send them, and the forecast's routers choose all alike."""
    for key in [key for key in found if key.endswith("/ep/all_to_all")]:
        if not 0.75 < expected.get(key, 0) / found[key] < 1.25:
            failures.append(f"{key}: forecast {expected.get(key)}, counted {found[key]}")
        expected[key] = found[key]


def compare(name, expected, found):
    drop_rows(expected, found)
    wrong = {key: (expected.get(key), found.get(key)) for key in expected.keys() | found.keys() if expected.get(key) != found.get(key)}
    print(f"{'FAILED' if wrong else 'ok    '} {name}: {len(found)} counters, {sum(found.values()):,} bytes", flush=True)
    for key, (forecast_bytes, bytes_sent) in sorted(wrong.items()):
        print(f"       {key}: forecast {forecast_bytes}, counted {bytes_sent}")
    failures.extend(f"{name}: {key}" for key in wrong)


def layouts(folder, rollouts):
    arguments = replay.train.__code__.co_varnames
    for name, (dp, cp, tp, given) in LAYOUTS.items():
        flags = dict(rollout_replay=rollouts, max_steps=STEP) | {key: value for key, value in given.items() if key not in arguments}
        ranks = dp * cp * tp * given.get("pp", 1)
        run = replay.train(folder, name, ranks, tp=tp, cp=cp,
                           **dict(rows=8 // dp, accumulation=1) | {key: value for key, value in given.items() if key in arguments}, **flags)
        compare(name, forecast(folder, name, ranks, **flags), counted(run))


def placements(folder, rollouts):
    for name, placement in PLACEMENTS.items():
        ranks = len({device for role in ROLES for device in placement[role]})
        flags = dict(max_steps=STEP) | settings(placement)
        run = replay.train(folder, name, ranks, rows=2, rollout_replay=rollouts, **flags)
        compare(name, forecast(folder, name, ranks, rollout_replay=rollouts, **flags), counted(run))


def distilled(folder, rollouts):
    """Teachers apart from the policy, and of another shape."""
    teachers = (f"{{first: {{model_args: {{model_name_or_path: {folder / 'deep'}}}, device_mapping: [2], tag_included: [sum]}}, "
                f"second: {{model_args: {{model_name_or_path: {folder / 'model'}}}, device_mapping: [1, 2], "
                "strategy_args: {strategy_config: {tensor_model_parallel_size: 2}}}}")
    flags = {"rollout_replay": rollouts, "max_steps": STEP, "use_opd": "true", "teacher": teachers, "use_kl_loss": "false", "add_token_level_kl": "false",
             "actor_train.device_mapping": "[0, 1]", "actor_infer.device_mapping": "[0, 1]"}
    run = replay.train(folder, "teachers", 3, rows=4, accumulation=1, estimator="grpo", **flags)
    compare("teachers", forecast(folder, "teachers", 3, **flags), counted(run))


def sampled(folder):
    """Runs that sample: who samples what is decided while they do, so that the ways of sequences from there differ; and tensor ranks tell
    each other drawn tokens step by step."""
    by_plan = lambda sent: {key: value for key, value in sent.items() if not key.startswith(("rollouts/", "generate/tp/broadcast"))}
    run = replay.train(folder, "tensor ranks that sample", 2, rows=8, accumulation=1, tp=2, max_steps=STEP)
    compare("2 tensor ranks, sampled", by_plan(forecast(folder, "tensor ranks that sample", 2, "--rollouts", run, max_steps=STEP)), by_plan(counted(run)))
    for name in ("shared", "sampler on fewer", "partly shared", "apart", "apart, tensor ranks", "apart, tensor ranks that sample", "shifted tensor groups"):
        placement = PLACEMENTS[name]
        ranks = len({device for role in ROLES for device in placement[role]})
        flags = dict(max_steps=STEP) | settings(placement)
        run = replay.train(folder, f"{name}, sampled", ranks, rows=2, **flags)
        compare(f"{name}, sampled", by_plan(forecast(folder, f"{name}, sampled", ranks, "--rollouts", run, **flags)), by_plan(counted(run)))


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    rollouts = replay.record(folder)
    replay.make_model(folder, "deep", "qwen2", "--hidden", 128, "--layers", 4)
    replay.make_model(folder, "delta", "qwen3_5_text", "--layers", 4)
    replay.make_model(folder, "keys", "gemma4_text", "--layers", 4, "--layer-input", 6, "--keyless-layers", 2)
    replay.make_model(folder, "mixture", "qwen3_moe", "--layers", 3, "--experts", 8, "--experts-per-token", 4, "--expert-intermediate", 24)
    replay.make_model(folder, "biased", "glm4_moe", "--layers", 3, "--experts", 8, "--experts-per-token", 4, "--expert-intermediate", 24)
    replay.make_model(folder, "head", "glm4_moe", "--mtp", True, "--no-tie", True, "--experts", 8, "--experts-per-token", 4, "--expert-intermediate", 24)
    layouts(folder, rollouts)
    placements(folder, rollouts)
    distilled(folder, rollouts)
    sampled(folder)
sys.exit(f"{len(failures)} forecasts are wrong" if failures else 0)
