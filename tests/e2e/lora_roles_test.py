#!/usr/bin/env python3
"""Adapters under DPO and distillation, and over NF4, do not depend on how ranks share the work; a folder that bitsandbytes quantised is the
base that `quantise_base` makes of the plain one, to the bit, and is sampled from and exported as that; one base under five roles gives the
bits of a base for each, and never changes. Argument: the roll binary."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy
import one_dpo
import replay
from rollouts import rollout_lines
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish

BOUND = 1e-5  # B begins at 0, so all of it is learnt
NF4 = numpy.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
                   -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                   0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], dtype=numpy.float32)


def adapters(step, run):
    return load_file(run / f"checkpoints/step_{step:06}/actor/adapter_model.safetensors")


def check_dpo(folder):
    """The reference is the policy without its adapters."""
    config = one_dpo.prepare(replay.binary, folder, one_dpo.RECIPES["dpo"])
    flags = ["actor_train.model_args.lora_rank=4", "actor_train.model_args.use_dora=true", f"reference.model_args.model_name_or_path={folder / 'actor'}",
             "max_steps=2", "save_steps=2", "eval_steps=0", "actor_train.training_args.learning_rate=0.01"]
    size = lambda role, cp, tp: f"{role}.strategy_args.strategy_config={{context_parallel_size: {cp}, tensor_model_parallel_size: {tp}}}"
    small = ["actor_train.training_args.per_device_train_batch_size=1", "actor_train.training_args.train_batch_size=12"]
    run = lambda name, ranks, *more: (replay.roll("dpo", "--config", config, "-n", ranks, f"output_dir={folder / name}", *flags, *more), folder / name)[1]
    base = run("dpo", 1)
    for what, ranks, more in (("2 tensor ranks", 2, [size("actor_train", 1, 2), size("reference", 1, 2), *small]),
                              ("2 context x 2 data ranks", 4, [size("actor_train", 2, 1), size("reference", 1, 1), *small])):
        other = run(what.replace(" ", "_"), ranks, *more)
        mine, theirs = adapters(2, other), adapters(2, base)
        gap = max(numpy.linalg.norm(mine[name] - theirs[name]) / numpy.linalg.norm(theirs[name]) for name in theirs)
        losses = [[json.loads(line)["dpo/loss"] for line in open(r / "metrics.jsonl")] for r in (other, base)]
        expect(gap <= 5 * BOUND and numpy.allclose(*losses, rtol=BOUND) and losses[1][1] < losses[1][0], f"DPO on {what}: {gap:.1e}, {losses}")


def check_distillation(folder, rollouts):
    replay.make_model(folder, "deep", "qwen2", "--hidden", 64, "--layers", 3, "--seed", 9)
    flags = {"estimator": "reinforce", "use_opd": "true", "opd_kl_coef": 0.5, "use_kl_loss": "false", "add_token_level_kl": "false", "rows": 8,
             "rollout_replay": rollouts, "teacher": f"{{first: {{model_args: {{model_name_or_path: {folder / 'deep'}}}, device_mapping: [1]}}}}",
             "actor_train.model_args": json.dumps(dict(lora_rank=4))}
    places = lambda ranks: {f"{role}.device_mapping": ranks for role in ("actor_train", "actor_infer")}
    base = replay.train(folder, "distilled", 2, accumulation=2, **flags, **places("[0]"))
    run = replay.train(folder, "distilled_tp", 2, accumulation=2, tp=2, **flags, **places("[0, 1]"))
    replay.compare(run, base, "distillation to adapters on 2 tensor ranks", only=("actor/", "teacher_kl"), bound=BOUND)


def quantise(folder, out):
    """As transformers and bitsandbytes write a model that was loaded in 4 bits, the scales as they are."""
    tensors = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        if "proj.weight" not in name:
            tensors[name] = tensor
            continue
        blocks = tensor.reshape(-1, 64)
        scales = abs(blocks).max(1)
        codes = numpy.searchsorted((NF4[:15] + NF4[1:]) / 2, (blocks * (1 / scales)[:, None]).clip(-1, 1)).astype(numpy.uint8).reshape(-1, 2)
        state = dict(quant_type="nf4", blocksize=64, dtype="float32", shape=tensor.shape)
        tensors |= {name: (codes[:, :1] << 4) | codes[:, 1:], f"{name}.absmax": scales, f"{name}.quant_map": NF4,
                    f"{name}.quant_state.bitsandbytes__nf4": numpy.frombuffer(json.dumps(state).encode(), dtype=numpy.uint8)}
    out.mkdir()
    for file in folder.iterdir():
        (out / file.name).write_bytes(file.read_bytes())
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = dict(quant_method="bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_quant_storage="uint8")
    (out / "config.json").write_text(json.dumps(config))


def check_nf4(folder, rollouts):
    replay.make_model(folder, "wide", "qwen2", "--hidden", 128, "--intermediate", 128, "--layers", 1)  # two blocks in each row
    quantise(folder / "wide", folder / "quantised")
    train = lambda name, model, ranks=1, tp=1, cp=1, **keys: replay.train(
        folder, name, ranks, estimator="grpo", rows=8 * tp * cp // ranks, accumulation=1, tp=tp, cp=cp, model=model, rollout_replay=rollouts,
        **{"actor_train.model_args": json.dumps(dict(lora_rank=4, use_dora=True) | keys)})
    base = train("nf4", "wide", quantise_base="nf4")
    for what, run in (("2 tensor ranks", train("nf4_tp", "quantised", 2, tp=2)), ("2 context ranks", train("nf4_cp", "wide", 2, cp=2, quantise_base="nf4"))):
        replay.compare(run, base, f"NF4 on {what}", only=("actor/",), bound=BOUND)
    run = train("folder", "quantised")
    expect((run / "checkpoints/step_000003/actor/adapter_model.safetensors").read_bytes() ==
           (base / "checkpoints/step_000003/actor/adapter_model.safetensors").read_bytes(), "a quantised folder is what quantise_base makes, to the bit")
    refused = subprocess.run([replay.binary, "validate-config", "--config", folder / "folder.yaml"], capture_output=True, text=True, timeout=60)
    expect(refused.returncode == 2 and "its weights are quantised (quantization_config), so only adapters can be trained" in refused.stderr,
           f"all weights of such a folder cannot be trained: {refused.stderr}")
    replay.roll("export", "--model", folder / "quantised", "--out", folder / "plain")
    expect("quantization_config" not in json.loads((folder / "plain/config.json").read_text()), "what is exported is not quantised")
    texts = [replay.roll("generate", "--model", folder / model, "--prompt", "1+1=", "--max-new-tokens", 8, "--temperature", 0) for model in ("quantised", "plain")]
    expect(texts[0] == texts[1], "a quantised folder writes what its plain copy does")


def check_one_base(folder, rollouts):
    """Policy, critic, reference, reward model and judge beside the same folder, against copies of it for the last three."""
    lora = {f"{role}.model_args": json.dumps(dict(lora_rank=4)) for role in ("actor_train", "critic")}
    scorer = replay.train(folder, "scorer", rows=8, accumulation=1, rollout_replay=rollouts, **lora) / "checkpoints/step_000003/critic"
    shutil.copytree(folder / "model", folder / "copy")
    shutil.copytree(scorer, folder / "scorer_of_copy")
    adapters_of = folder / "scorer_of_copy/adapter_config.json"
    adapters_of.write_text(json.dumps(json.loads(adapters_of.read_text()) | dict(base_model_name_or_path=str(folder / "copy"))))
    for file in ("tokenizer.json", "tokenizer_config.json"):  # as PEFT saves them, without one: it is the base's
        (scorer / file).unlink()
    rows = [dict(id=str(i), prompt=f"{i}+1=", ground_truth=str(i + 1), tag=("sum", "judged")[i % 2]) for i in range(40)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = dict(type="llm_judge", judge_model_type="inference", judge_score_pattern="([0-9])", judge_score_max=9, on_reward_error="zero", tag_included=["judged"],
                 data_args=dict(template="chatml"), generating_args=dict(max_new_tokens=8, temperature=0))

    def run(name, base, reward_model):
        named = lambda model: dict(model_args=dict(model_name_or_path=str(model)), data_args=dict(template="chatml"))
        return replay.train(folder, name, rows=8, accumulation=1, max_len_mask="false", **lora, **{
            "actor_train.data_args.domain_interleave_probs": "{math_rule: 0.5, judged: 0.5}", "reference.model_args.model_name_or_path": base,
            "rewards.math_rule": json.dumps(dict(type="reward_model", tag_included=["sum"]) | named(reward_model)), "rewards.judged": json.dumps(judge | named(base))})

    lines = [[line for step in (1, 2, 3) for line in rollout_lines(r, step)] for r in
             (run("one_base", folder / "model", scorer), run("copies", folder / "copy", folder / "scorer_of_copy"))]
    told = [[(line["response_ids"], line["score"], line["weights_sum"]) for line in of_run] for of_run in lines]
    expect(told[0] == told[1], "five roles on one base sample and score what they do on copies, to the bit")
    expect(len({line["weights_sum"].split(":")[0] for line in lines[0]}) == 1, "and the base never changed")
    expect(len({line["weights_sum"].split(":")[1] for line in lines[0]}) == 3, "while the adapters did")
    expect(len({line["score"] for line in lines[0] if line["domain"] == "math_rule"}) > 8, "the reward model's scores differ")
    replay.compare(folder / "one_base", folder / "copies", "one base for five roles", bound=0)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    rollouts = replay.record(folder)
    check_dpo(folder)
    check_distillation(folder, rollouts)
    check_nf4(folder, rollouts)
    check_one_base(folder, rollouts)
finish("adapters of other roles")
