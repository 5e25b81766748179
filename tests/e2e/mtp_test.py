#!/usr/bin/env python3
"""A multi-token-prediction head learns from the policy's own tokens, whatever the layout, and leaves the policy as it is; its run goes on under
another layout; SFT trains it, too; what cannot be trained is refused. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import replay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish

KEY = "actor_train.strategy_args.strategy_config.mtp_loss_coef"
TRAINED = {KEY: 0.3}
EXPERTS = ("--experts", 4, "--experts-per-token", 2, "--expert-intermediate", 24)
# Architecture, whether the head is numbered as a layer, and layouts: dp, cp, tp, ep, pp, chunks.
MODELS = {"glm4_moe": (EXPERTS + ("--no-tie", True), True, [(2, 1, 2, 2, 1, 1), (1, 2, 1, 2, 1, 1), (2, 1, 1, 2, 2, 1)]),
          "qwen3_5_text": (("--layers", 4), False, [(1, 2, 2, 1, 1, 1), (1, 1, 1, 1, 2, 2), (4, 1, 1, 1, 1, 1)]),
          "deepseek_v3": (EXPERTS + ("--no-tie", True), True, [(4, 1, 1, 4, 1, 1), (1, 1, 2, 1, 2, 1)])}
BOUNDS = {"qwen3_5_text": 1e-5}  # its norms' weights begin at 0
GATHERED = "actor_train.strategy_args.strategy_config.reshard_after_forward"


def steps(run):
    return [json.loads(line) for line in open(run / "metrics.jsonl")]


def is_head(name, is_behind):
    return name.startswith("actor.model.layers.2.") if is_behind else name.startswith("actor.mtp.")


def check_layouts(folder, arch, rollouts):
    options, is_behind, layouts = MODELS[arch]
    replay.make_model(folder, arch, arch, "--mtp", True, *options)
    flags = dict(rollout_replay=rollouts, model=arch, accumulation=1, estimator="grpo")
    base = replay.train(folder, f"{arch}_base", rows=8, **flags, **TRAINED)
    for dp, cp, tp, ep, pp, chunks in layouts:
        packing = replay.PACKED.format("load_balance", 90) if dp == 4 else ""  # ranks without a micro-batch take part all the same
        run = replay.train(folder, f"{arch}_{dp}{cp}{tp}{ep}{pp}", dp * cp * tp * pp, rows=8 // dp, packing=packing, tp=tp, cp=cp, ep=ep, pp=pp, chunks=chunks,
                           **flags, **TRAINED)
        replay.compare(run, base, f"{arch} dp {dp} cp {cp} tp {tp} ep {ep} pp {pp}", bound=BOUNDS.get(arch, 1e-6))
    return base, flags


def check_alone(folder, base, flags):
    """Weights of the policy are those of a run without the head's training, to the bit; whole prompts make the same update."""
    whole = {"actor_train.share_prompts": "false"}
    with_head = replay.train(folder, "whole", rows=8, **flags, **TRAINED, **whole)
    expect(replay.shared_of(base) > 0 and replay.shared_of(with_head) == 0, "prompts are shared by default")
    replay.compare(with_head, base, "whole prompts")
    without = replay.train(folder, "without", rows=8, **flags, **whole)
    mine, theirs = replay.weights(with_head), replay.weights(without)
    expect(mine.keys() == theirs.keys(), "both save the head")
    changed = {name for name, tensor in theirs.items() if (mine[name] != tensor).any()}
    heads = {name for name in theirs if is_head(name, True)}
    expect(changed <= heads, f"the policy is as without the head: {sorted(changed - heads)}")
    expect(len(changed) > 0.6 * len(heads), f"the head is trained, but for experts without tokens: {sorted(heads - changed)}")
    for a, b in zip(steps(with_head), steps(without)):
        expect(all(a[key] == b[key] for key in ("actor/grad_norm", "actor/pg_loss", "actor/grad_clip_coef") if key in b), "the policy's own norm is clipped")
        expect(not any(key.startswith("actor/mtp/") for key in b), "no head, no metrics of it")
    found = [(step["actor/mtp/loss"], step["actor/mtp/probability"], step["actor/mtp/grad_norm"]) for step in steps(with_head)]
    expect(all(4 < loss < 7 and 0 < probability < 0.1 and norm > 0 for loss, probability, norm in found), f"of random tokens: {found}")
    for ranks, keys in ((2, dict(rows=4)), (1, dict(rows=8, accumulation=2))):
        run = replay.train(folder, f"gathered_{ranks}", ranks, **flags | keys, **TRAINED, **{GATHERED: "true"}) if ranks == 2 else \
            replay.train(folder, "accumulated", **flags | dict(rows=4, accumulation=2), **TRAINED)
        replay.compare(run, base, "gathered layers" if ranks == 2 else "accumulated")


def check_resumed(folder, base, flags):
    replay.train(folder, "resumed", 2, rows=4, tp=1, ep=2, max_steps=2, **flags, **TRAINED)
    run = replay.train(folder, "resumed", 2, rows=8, tp=2, resume_from_checkpoint="true", **flags, **TRAINED)
    replay.compare(run, base, "two data ranks go on as two tensor ranks")
    replay.train(folder, "same", rows=8, max_steps=2, **flags, **TRAINED)
    run = replay.train(folder, "same", rows=8, resume_from_checkpoint="true", **flags, **TRAINED)
    replay.compare(run, base, "one rank goes on as it was", bound=0)


def check_changed(folder, flags):
    """A head that begins to be trained in the middle of a run would have no moments."""
    replay.train(folder, "changed", rows=8, max_steps=1, **flags)
    said = []
    replay.train(folder, "changed", rows=8, launch=lambda *given: said.append(subprocess.run([replay.binary, *map(str, given)], capture_output=True, text=True)),
                 resume_from_checkpoint="true", **flags, **TRAINED)
    expect(said[0].returncode == 2 and "mtp_loss_coef" in said[0].stderr, f"the key must stay: {said[0].returncode} {said[0].stderr[-500:]}")


def check_sft(folder):
    rows = [dict(prompt=f"{i} is ", response=f"{i} as {i} is") for i in range(16)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = folder / "sft.yaml"
    config.write_text(f"""
exp_name: sft
output_dir: {folder / "sft"}
pretrain: {folder / "glm4_moe"}
sequence_length: 64
num_train_epochs: 4
save_steps: 0
track_with: [jsonl]
sft_train:
  data_args: {{file_name: {folder / "pairs.jsonl"}, prompt: prompt, response: response}}
  training_args: {{learning_rate: 2.0e-3, per_device_train_batch_size: 8, gradient_accumulation_steps: 1, lr_scheduler_type: constant}}
  strategy_args: {{strategy_config: {{mtp_loss_coef: 1}}}}
""")
    replay.roll("sft", "--config", config, "--device", "cpu")
    losses = [step["sft/mtp/loss"] for step in steps(folder / "sft")]
    expect(len(losses) == 8 and losses[-1] < 0.9 * losses[0], f"SFT trains the head: {losses}")


def refused(folder, name, words, **flags):
    config = folder / f"{name}.yaml"
    config.write_text(replay.config_text(out=folder / name, model=folder / flags.pop("model"), data=folder / "rows.jsonl", mode="seq-mean-token-mean", estimator="gae",
                                         rows=8, accumulation=1, packing="", extra="", adam=replay.SHARP))
    done = subprocess.run([replay.binary, "validate-config", "--config", str(config), *[f"{k}={v}" for k, v in flags.items()]], capture_output=True, text=True)
    expect(done.returncode == 2 and all(word in done.stderr for word in words), f"{name}: {done.returncode} {done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rollouts = replay.record(folder, "qwen2")
        for arch in ("qwen3_5_text", "deepseek_v3", "glm4_moe"):
            base, flags = check_layouts(folder, arch, rollouts)
        check_alone(folder, base, flags)
        check_resumed(folder, base, flags)
        check_changed(folder, flags)
        check_sft(folder)
        refused(folder, "no_head", ["strategy_config.mtp_loss_coef: ", "models of type qwen2 have none"], model="model", **TRAINED)
        refused(folder, "adapters", ["mtp_loss_coef = 0.3", "frozen base model"], model="glm4_moe", **TRAINED, **{"actor_train.model_args": "{lora_rank: 4}"})
        refused(folder, "of_reference", ["reference.strategy_args.strategy_config.mtp_loss_coef = 0.3", "only the trained policy's"], model="glm4_moe",
                **{"reference.strategy_args.strategy_config.mtp_loss_coef": 0.3})
        refused(folder, "of_critic", ["critic.strategy_args.strategy_config.mtp_loss_coef = 0.3", "only the trained policy's"], model="glm4_moe",
                **{"critic.strategy_args.strategy_config.mtp_loss_coef": 0.3})
    finish("multi-token prediction")


main()
