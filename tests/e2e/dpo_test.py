#!/usr/bin/env python3
"""`roll dpo`: an update has the metrics and the weights that an independent float64 computation gives, and TRL's loss
(tests/golden/train/dpo.json, by tests/oracles/make_golden_dpo.py); ranks, context and tensor parts, packing and micro-batches change nothing;
a run that goes on ends with the same bits; what is wrong with pairs is told. Argument: the roll binary."""
import json
import pathlib
import tempfile

import golden_update
import one_dpo
import one_step
from expecting import expect, finish
from golden_update import binary, compare, lines_of, near, roll

golden = golden_update.golden("dpo")
STRATEGY = "{}.strategy_args.strategy_config.{}={}".format


def updates(folder):
    for recipe, keys in one_dpo.RECIPES.items():
        config = one_dpo.prepare(binary, folder, keys)
        roll("dpo", "--config", config, f"output_dir={folder / recipe}")
        compare(recipe, folder / "actor", folder / recipe, golden[recipe])
    ours = lines_of(folder / "dpo")[0]
    for name, value in golden["trl"].items():
        near(f"TRL's {name}", ours[name], value, 1e-5)


def layouts(folder):
    config = one_dpo.prepare(binary, folder, one_dpo.RECIPES["cdpo"])
    packed = "{algorithm: load_balance, max_packed_sequence_length_train: 130, max_packed_sequence_length_forward: 130}"
    packing = [f"{role}.{key}={value}" for role in ("actor_train", "reference") for key, value in (("use_sequence_packing", "true"), ("sequence_packing_args", packed))]
    small = ["actor_train.training_args.per_device_train_batch_size=1", "actor_train.training_args.train_batch_size=12"]
    shared = ["actor_train.share_prompts=true", "reference.share_prompts=true"]
    sizes = lambda role, cp, tp: [STRATEGY(role, "context_parallel_size", cp), STRATEGY(role, "tensor_model_parallel_size", tp)]
    for name, ranks, flags in (("pairs one by one", 1, small), ("packed", 1, packing), ("2 data ranks, packed", 2, packing + small),
                               ("packed, shared prompts", 1, packing + shared),
                               ("2 context ranks", 2, sizes("actor_train", 2, 1) + small), ("2 tensor ranks, packed", 2, sizes("reference", 1, 2) + packing + small),
                               ("2 x 2, shared prompts", 4, sizes("actor_train", 1, 2) + sizes("reference", 2, 1) + small + shared)):
        run = folder / name.replace(" ", "_")
        roll("dpo", "--config", config, "-n", ranks, f"output_dir={run}", *flags)
        compare(name, folder / "actor", run, golden["cdpo"])


def goes_on(folder):
    config = one_dpo.prepare(binary, folder, one_dpo.RECIPES["dpo"])
    flags = ["max_steps=4", "actor_train.training_args.per_device_train_batch_size=5", "eval_steps=0"]
    roll("dpo", "--config", config, f"output_dir={folder / 'whole'}", *flags)
    roll("dpo", "--config", config, f"output_dir={folder / 'halves'}", *flags, "max_steps=2")
    roll("dpo", "--config", config, f"output_dir={folder / 'halves'}", *flags, "--resume")
    mine, theirs = (one_step.model_weights(folder / run / "checkpoints/step_000004/actor") for run in ("halves", "whole"))
    expect(all((mine[name] == theirs[name]).all() for name in theirs), "a run that goes on ends with the same bits")
    losses = [line["dpo/loss"] for line in lines_of(folder / "whole")]
    expect(lines_of(folder / "halves")[-1]["dpo/loss"] == losses[-1] and losses[-1] < losses[0], f"the loss falls: {losses}")


def ultra_feedback(prompt, question):
    """A row as UltraFeedback has it."""
    chat = lambda answer: [dict(role="user", content=question), dict(role="assistant", content=answer)]
    return dict(prompt=prompt, chosen=chat("6"), rejected=chat("7"), messages=chat("6"))


def says(folder):
    config = one_dpo.prepare(binary, folder, one_dpo.RECIPES["dpo"])
    said = roll("validate-config", "--config", config)
    for text in ("actor_train: 1 update; 12 pairs an update", "dpo loss: DPO: the mean over the pairs of a 12-pair update", "training rows: 12 pairs; tokens of chosen"):
        expect(text in said, f"validate-config says {text}: {said}")
    chats = [dict(messages=[dict(role="user", content="1+1=")], chosen=[dict(role="user", content="1+1="), dict(role="assistant", content="2")], rejected="3"),
             dict(instruction="2+2=", chosen="4", rejected="5"), ultra_feedback("3+3=", "3+3="), dict(chosen="4+4=8", rejected="4+4=9")]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in chats))
    roll("dpo", "--config", config, f"output_dir={folder / 'chats'}", "actor_train.training_args.per_device_train_batch_size=4", "global_template=chatml")
    for row, flags, text in (({"prompt": "a", "chosen": "b"}, [], "rows.jsonl:1: the row has no column 'rejected'"),
                             ({"prompt": "a", "chosen": "", "rejected": "c"}, [], "rows.jsonl:1: chosen: is empty"),
                             ({"prompt": "a", "chosen": 3, "rejected": "c"}, [], "rows.jsonl:1: chosen = 3: must be a text or a list of messages"),
                             ({"prompt": "a", "chosen": [{"role": "user", "content": "b"}], "rejected": "c"}, [], "its last message has the role 'user'"),
                             (ultra_feedback("2+2=", "3+3="), [], "rows.jsonl:1: prompt: chosen begins with a different prompt, so one of the two"),
                             ({"prompt": "a", "chosen": "b", "rejected": "c" * 99}, [], "sequence_length = 64: all 1 pairs are longer"),
                             ({"prompt": "a", "chosen": "b", "rejected": "c"}, ["ipo=true", "label_smoothing=0.1"], "label_smoothing = 0.1: belongs to DPO's loss, but ipo = true"),
                             ({"prompt": "a", "chosen": "b", "rejected": "c"}, ["reference.device_mapping=[1]", "actor_train.device_mapping=[0]"], "must be the same as for actor_train"),
                             ({"prompt": "a", "chosen": "b", "rejected": "c"}, ["actor_train.loss_func={library: a.so, name: b}"], "roll dpo has a built-in loss"),
                             ({"prompt": "a", "chosen": "b", "rejected": "c"}, ["beta=0"], "beta = 0"),
                             ({"prompt": "a", "chosen": "b", "rejected": "c"}, [], "fewer than the 12 rows of one update")):
        (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
        flags = flags or (["max_steps=null"] if "fewer" in text else [])
        said = roll("dpo", "--config", config, f"output_dir={folder / 'wrong'}", *flags, code=2)
        expect(text in said, f"{row} {flags}: {said}, not {text}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    updates(folder)
    layouts(folder)
    goes_on(folder)
    says(folder)
finish("dpo")
