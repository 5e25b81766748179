#!/usr/bin/env python3
"""Every kind of run goes on from its checkpoint on every layout that it supports: to the bit where the layout stays, and else within the bound
that this layout has without a break. Folders of adapters are trained on any layout, too. Arguments: the roll binary; then `all` for the whole
table instead of CI's sample, and words that names of cases must have."""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

import numpy
import replay
from resumed import lines_of
from rollouts import rollout_text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish

STEPS = 3  # the last of which is done again
# Ranks, sizes of the trained roles' meshes, and their other keys. The order is a ring: the sample goes from a layout to the next one.
SIZES = dict(tp="tensor_model_parallel_size", cp="context_parallel_size", pp="pipeline_model_parallel_size",
             chunks="virtual_pipeline_model_parallel_size", ep="expert_model_parallel_size")
PLAIN = {
    "one": (1, {}, {}),
    "pp2": (2, dict(pp=2), {}),
    "dp2": (2, {}, {}),
    "tp2": (2, dict(tp=2), {}),
    "pp2 interleaved": (2, dict(pp=2, chunks=2), {}),
    "cp2": (2, dict(cp=2), {}),
    "zero 3": (2, {}, dict(reshard_after_forward=True)),
    "dp2 pp2": (4, dict(pp=2), {}),
    "zero 0": (2, {}, dict(use_distributed_optimizer=False)),
    "tp2 pp2": (4, dict(tp=2, pp=2), {}),
}
OF_EXPERTS = {"one": PLAIN["one"], "ep2": (2, dict(ep=2), {}), "pp2": PLAIN["pp2"], "ep2 pp2 interleaved": (4, dict(ep=2, pp=2, chunks=2), {}),
              "ep2 tp2": (4, dict(ep=2, tp=2), {}), "ep2 cp2": (2, dict(ep=2, cp=2), {}), "dp2": PLAIN["dp2"], "ep2 zero 0": (2, dict(ep=2), PLAIN["zero 0"][2])}
FULL, OF_ADAPTERS, OF_HALVES = 1e-6, 1e-5, 5e-3  # bounds: adapters begin at 0, so all of B is learnt; 16 bits round
PACKED = dict(use_sequence_packing=True, sequence_packing_args=dict(algorithm="load_balance", max_packed_sequence_length_train=300,
                                                                    max_packed_sequence_length_forward=300))


def trained(batch, **model_args):
    return PACKED | dict(model_args=model_args, training_args=dict(learning_rate=1e-3, adam_epsilon=1e-4, train_batch_size=batch, weight_decay=0.01,
                                                                   lr_scheduler_type="cosine", warmup_steps=2))


def rlvr(folder, model="dense", dtype="fp32", **model_args):
    """With all that a run may carry from a step to the next: a critic, running moments of rewards, an adaptive KL."""
    args = dict(dtype=dtype) | model_args
    return dict(rollout_batch_size=8, num_return_sequences_in_group=2, prompt_length=24, response_length=6, adv_estimator="gae", loss_agg_mode="token-mean",
                add_token_level_kl=True, init_kl_coef=0.1, target_kl=0.05, kl_horizon=50, norm_mean_type="running", norm_std_type="running",
                pretrain=str(folder / model), actor_train=trained(8, **args) | dict(data_args=dict(file_name=str(folder / "rows.jsonl"), prompt="prompt")),
                critic=trained(8, **args), reference=dict(model_args=dict(dtype=dtype)),
                actor_infer=dict(model_args=dict(dtype=dtype), generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)),
                rewards=dict(math_rule=dict(type="math_rule", tag_included=["t"], format_pattern="[a-z]", format_reward=1)))


def with_muon(config, *roles):
    return config | {role: config[role] | dict(training_args=config[role]["training_args"] | dict(optimizer="muon")) for role in roles}


def agentic(folder, **model_args):
    """Turns with prompts of their own."""
    lake = dict(env_manager_cls="StepConcatEnvManager", env_type="frozen_lake", max_steps=4, max_tokens_per_step=4, history_length=1,
                agent_template="{history}|{current_observation}",
                env_config=dict(env_instruction="", action_pattern="([a-m])", action_lookup={0: "a", 1: "b", 2: "c", 3: "d"}, is_slippery=False, size=2))
    return dict(rollout_batch_size=8, prompt_length=100, response_length=160, adv_estimator="gigpo", entropy_loss_coef=0.1, episode_statistics="trajectories", pretrain=str(folder / "dense"),
                custom_envs=dict(Lake=lake), train_env_manager=dict(tags=["Lake"], num_env_groups=1, group_size=4, num_levels=16),
                actor_train=trained(4, **model_args) | {"sequence_packing_args": PACKED["sequence_packing_args"] | dict.fromkeys(
                    ("max_packed_sequence_length_train", "max_packed_sequence_length_forward"), 1040)},
                actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)))


def sft(folder, **model_args):
    data = dict(data_args=dict(file_name=str(folder / "rows.jsonl"), prompt="prompt", response="ground_truth"))
    return dict(pretrain=str(folder / "dense"), sequence_length=32, sft_train=trained(8, **model_args) | data)


def dpo(folder, **model_args):
    return dict(pretrain=str(folder / "dense"), sequence_length=64, actor_train=trained(8, **model_args) | dict(data_args=dict(file_name=str(folder / "pairs.jsonl"))),
                reference=PACKED)


def distill(folder, **model_args):
    data = dict(data_args=dict(file_name=str(folder / "rows.jsonl"), prompt="prompt"))
    return dict(student_pretrain=str(folder / "dense"), teacher_pretrain=str(folder / "teacher"), answer_key="ground_truth", sequence_length=32,
                logits_topk=5, student=trained(8, **model_args) | data, teacher=PACKED)


def opd(folder, **model_args):
    others = ("critic", "reference", "add_token_level_kl", "init_kl_coef", "target_kl", "kl_horizon", "norm_mean_type", "norm_std_type")
    config = {key: value for key, value in rlvr(folder, **model_args).items() if key not in others}
    return config | dict(adv_estimator="grpo", use_opd=True, opd_kl_coef=0.5,
                         teacher=dict(model_args=dict(model_name_or_path=str(folder / "teacher"))))


LORA = dict(lora_rank=4, lora_dropout=0.2, lora_target="q_proj,down_proj")
COSTS = {"moe_aux_loss_coeff": 0.1, "moe_z_loss_coeff": 0.01}
# Name -> command, roles that train, roles that compute beside them, what makes the configuration, layouts, bound, keys of the actor's strategy.
KINDS = {
    "rlvr": ("train", ("actor_train", "critic"), ("reference",), rlvr, PLAIN, FULL, {}),
    "rlvr adapters": ("train", ("actor_train", "critic"), ("reference",), lambda folder: rlvr(folder, **LORA), PLAIN, OF_ADAPTERS, {}),
    "rlvr dora over int8": ("train", ("actor_train", "critic"), ("reference",), lambda folder: rlvr(folder, use_dora=True, quantise_base="int8", lora_rank=4), PLAIN, OF_ADAPTERS, {}),
    "rlvr adapters over nf4": ("train", ("actor_train", "critic"), ("reference",), lambda folder: rlvr(folder, "wide", quantise_base="nf4", lora_rank=4, lora_target="all-linear"), PLAIN, OF_ADAPTERS, {}),
    "rlvr bf16": ("train", ("actor_train", "critic"), ("reference",), lambda folder: rlvr(folder, dtype="bf16"), PLAIN, OF_HALVES, {}),
    "rlvr experts": ("train", ("actor_train", "critic"), ("reference",), lambda folder: rlvr(folder, "biased"), OF_EXPERTS, FULL, COSTS | dict(moe_router_bias_update_rate=0.01)),
    "rlvr adapters of experts": ("train", ("actor_train", "critic"), ("reference",), lambda folder: rlvr(folder, "experts", lora_rank=4, lora_target="all-linear"), OF_EXPERTS, OF_ADAPTERS, COSTS),
    "agentic": ("train", ("actor_train",), (), agentic, PLAIN, FULL, {}),
    "agentic adapters": ("train", ("actor_train",), (), lambda folder: agentic(folder, **LORA), PLAIN, OF_ADAPTERS, {}),
    "on-policy distillation": ("train", ("actor_train",), ("teacher",), opd, PLAIN, FULL, {}),
    "sft": ("sft", ("sft_train",), (), sft, PLAIN, FULL, {}),
    "sft adapters": ("sft", ("sft_train",), (), lambda folder: sft(folder, **LORA), PLAIN, OF_ADAPTERS, {}),
    "dpo": ("dpo", ("actor_train",), ("reference",), dpo, PLAIN, FULL, {}),
    "dpo adapters": ("dpo", ("actor_train",), ("reference",), lambda folder: dpo(folder, **LORA), PLAIN, 5 * OF_ADAPTERS, {}),
    "distill": ("distill", ("student",), ("teacher",), distill, PLAIN, FULL, {}),
    "distill adapters": ("distill", ("student",), ("teacher",), lambda folder: distill(folder, **LORA), PLAIN, OF_ADAPTERS, {}),
    "rlvr muon": ("train", ("actor_train", "critic"), ("reference",), lambda folder: with_muon(rlvr(folder), "actor_train", "critic"), PLAIN, FULL, {}),
    "rlvr muon bf16": ("train", ("actor_train", "critic"), ("reference",), lambda folder: with_muon(rlvr(folder, dtype="bf16"), "actor_train", "critic"), PLAIN, OF_HALVES, {}),
    "rlvr muon experts": ("train", ("actor_train", "critic"), ("reference",), lambda folder: with_muon(rlvr(folder, "biased"), "actor_train", "critic"), OF_EXPERTS, FULL, COSTS),
    "sft muon": ("sft", ("sft_train",), (), lambda folder: with_muon(sft(folder), "sft_train"), PLAIN, FULL, {}),
}


def prepare(folder):
    replay.make_model(folder, "dense", "qwen2", "--layers", 4)
    replay.make_model(folder, "teacher", "qwen2", "--layers", 4, "--seed", 9)
    replay.make_model(folder, "wide", "qwen2", "--hidden", 128, "--intermediate", 128, "--layers", 4)  # a block of NF4 for each tensor rank
    replay.make_model(folder, "experts", "qwen2_moe", "--layers", 4, "--experts", 4, "--experts-per-token", 2, "--expert-intermediate", 24)
    replay.make_model(folder, "biased", "glm4_moe", "--layers", 4, "--no-tie", True, "--experts", 8, "--experts-per-token", 2, "--expert-intermediate", 24)
    rows = [dict(id=str(i), prompt=f"{i}+{i % 7}=", ground_truth=str(i + i % 7) + "." * (i % 5), tag="t") for i in range(21)]  # steps cross the ends of epochs
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pairs = [dict(id=row["id"], prompt=row["prompt"], chosen=row["ground_truth"], rejected="no" + "!" * (i % 4)) for i, row in enumerate(rows)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs))


def run(folder, kind, layout, out, *more, **changes):
    command, own, beside, make, layouts, _, of_actor = KINDS[kind]
    ranks, sizes, keys = layouts[layout]
    config = dict(exp_name="kinds", seed=5, track_with=["jsonl"], max_steps=STEPS, save_steps=STEPS - 1, eval_steps=0, max_ckpt_to_keep=STEPS) | make(folder) | changes
    mesh = {SIZES[name]: size for name, size in sizes.items()}
    for role in own:
        extra = of_actor if role != "critic" else {}
        config[role] = config[role] | dict(strategy_args=dict(strategy_name="megatron_train", strategy_config=mesh | keys | extra))
    for role in beside:
        config[role] = config[role] | dict(strategy_args=dict(strategy_config={key: size for key, size in mesh.items() if key != SIZES["chunks"]}))
    if "actor_infer" in config and "tp" in sizes:
        config["actor_infer"] = config["actor_infer"] | dict(strategy_args=dict(strategy_config=dict(tensor_model_parallel_size=sizes["tp"])))
    file = out.with_suffix(".yaml")
    file.write_text(json.dumps(config))
    replay.roll(command, "--config", file, "-n", ranks, "--device", "cpu", f"output_dir={out}", *more)
    return out


def before_last(base, name):
    """A copy of the run as it was before its last step."""
    out = base.with_name(name)
    shutil.copytree(base, out, symlinks=True)
    shutil.rmtree(out / f"checkpoints/step_{STEPS:06}")
    (out / "checkpoints/latest").unlink()
    (out / "checkpoints/latest").symlink_to(f"step_{STEPS - 1:06}")
    for file in out.glob(f"rollouts/step_{STEPS:06}*"):
        file.unlink()
    return out


def weights(run, step=STEPS):
    return {f"{file.parent.name}.{name}": replay.numbers(tensor) for file in sorted((run / f"checkpoints/step_{step:06}").glob("*/*model.safetensors"))
            for name, tensor in replay.deserialize(file.read_bytes())}


def gap_of(mine, theirs):
    return max(numpy.linalg.norm(mine[name] - tensor) / max(numpy.linalg.norm(tensor), 1e-3) for name, tensor in theirs.items())


def tensors_of(run):
    """Bytes of all that the last checkpoint holds of tensors: weights, masters, moments, and other state."""
    checkpoint = run / f"checkpoints/step_{STEPS:06}"
    return {str(file.relative_to(checkpoint)): file.read_bytes() for file in checkpoint.rglob("*.safetensors")}


def check_same(resumed, base, what):
    mine, theirs = tensors_of(resumed), tensors_of(base)
    other = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
    expect(not other, f"{what}: to the bit: {other}")
    told = [lines_of(r) for r in (resumed, base)]
    wrong = {key for a, b in zip(*told) for key in a.keys() | b.keys() if a.get(key) != b.get(key)}
    expect(len(told[0]) == len(told[1]) == STEPS and not wrong, f"{what}: the same metrics: {sorted(wrong)}")
    if (base / "rollouts").exists():
        expect(rollout_text(resumed, STEPS) == rollout_text(base, STEPS), f"{what}: the same responses")
    return 0


def check_case(folder, bases, kind, before, after):
    what = f"{kind}: {before} -> {after}"
    if (kind, before) not in bases:
        bases[kind, before] = run(folder, kind, before, folder / f"{kind} {before}".replace(" ", "_"))
        base = bases[kind, before]
        moved = gap_of(weights(base), weights(base, STEPS - 1))
        expect(moved > 100 * KINDS[kind][5] or KINDS[kind][5] == OF_HALVES, f"{what}: the last step moves the weights: {moved:.1e}")
    base = bases[kind, before]
    out = before_last(base, f"{base.name}_to_{after.replace(' ', '_')}")
    # Rounding of another layout might draw another token, so that layout gets the responses.
    replayed = dict(rollout_replay=str(base / "rollouts")) if before != after and (base / "rollouts").exists() else {}
    run(folder, kind, after, out, "--resume", *(["--allow-config-change"] if replayed else []), **replayed)
    if before == after:
        gap = check_same(out, base, what)
    else:
        gap = gap_of(weights(out), weights(base))
        expect(gap <= KINDS[kind][5], f"{what}: {gap:.1e} from the run without a break")
    shutil.rmtree(out)
    print(f"{what:60s} {gap:.1e}", flush=True)


def check_folder(folder, bases, kind, layouts):
    """A folder of adapters as the model of a new run."""
    models = dict(pretrain=str(bases[kind, "one"] / f"checkpoints/step_{STEPS:06}/actor"), reward_pretrain=KINDS[kind][3](folder)["pretrain"])
    one = run(folder, kind, "one", folder / "folder", max_steps=1, **models)
    kl = lines_of(one)[0]["kl"]
    expect(abs(kl) < 1e-5, f"{kind}: the folder is the reference, too: {kl:.1e}")
    for layout in layouts:
        other = run(folder, kind, layout, folder / f"folder_{layout}", max_steps=1, **models, rollout_replay=str(one / "rollouts"))
        gap = gap_of(weights(other, 1), weights(one, 1))
        expect(gap <= KINDS[kind][5], f"{kind}: a folder of adapters is trained on {layout}: {gap:.1e}")
        print(f"{kind + ': a folder of adapters on ' + layout:60s} {gap:.1e}", flush=True)
        shutil.rmtree(other)
    shutil.rmtree(one)


# These cases are always in CI's sample: a rank has a part of the adapters, or a reference of its own beside a quantised base.
ALWAYS = [("rlvr adapters over nf4", "tp2", "pp2 interleaved"),
          ("rlvr adapters", "one", "pp2"), ("rlvr adapters", "pp2", "pp2"), ("rlvr adapters of experts", "one", "ep2"), ("rlvr adapters of experts", "ep2", "ep2")]


def table(whole):
    cases = list(ALWAYS)
    for number, (kind, described) in enumerate(KINDS.items()):
        ring = list(described[4])
        for place in range(len(ring)) if whole else [number % len(ring)]:
            before, after = ring[place], ring[(place + 1) % len(ring)]
            cases += [(kind, before, before), (kind, before, after)]
            if whole:
                cases += [(kind, "one", before), (kind, before, "one")]
    return list(dict.fromkeys(cases))


def main():
    words = sys.argv[2:]
    cases = [case for case in table("all" in words) if all(word in ": ".join(case) for word in words if word != "all")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        bases = {}
        began = time.monotonic()
        for case in sorted(cases, key=lambda case: list(KINDS).index(case[0])):
            try:
                check_case(folder, bases, *case)
            except SystemExit as failure:  # of the program: the other cases are still run
                expect(False, f"{': '.join(case)}: {failure}")
        for kind, layouts in (("rlvr adapters", ("pp2", "tp2")), ("rlvr adapters of experts", ("ep2",)), ("rlvr adapters over nf4", ("pp2 interleaved", "tp2"))):
            if (kind, "one") in bases:
                check_folder(folder, bases, kind, layouts)
        print(f"{len(cases)} cases from {len(bases)} runs in {time.monotonic() - began:.0f} s, {sum(os.times()[2:4]):.0f} s of processor time")
    finish("kinds of runs that go on")


main()
