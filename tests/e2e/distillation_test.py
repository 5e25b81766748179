#!/usr/bin/env python3
"""On-policy distillation: teachers on ranks and layouts of their own, packed or not, give one rank's weights and metrics; a run that goes
on ends with the same bits; ROLL's own file of a distillation runs. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import replay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish

NO_KL = dict(use_kl_loss="false", add_token_level_kl="false")
MIXED = dict(estimator="reinforce", rows=2, use_opd="true", opd_kl_coef=0.5, **NO_KL)


def teachers(folder, of_first="", of_second=""):
    return {"teacher": f"{{first: {{model_args: {{model_name_or_path: {folder / 'deep'}}}{of_first}}}, "
                       f"second: {{model_args: {{model_name_or_path: {folder / 'other'}}}, tag_included: [sum], opd_kl_coef: 0.2{of_second}}}}}"}


def metrics(run):
    return [json.loads(line) for line in open(run / "metrics.jsonl")]


def layouts(folder, rollouts):
    base = replay.train(folder, "base", accumulation=8, rollout_replay=rollouts, **MIXED, **teachers(folder))
    expect(all(line["teacher_kl"] != 0 and line["teacher_kl"] == line["math_rule/teacher_kl"] for line in metrics(base)), "the KL to teachers is told, by domain too")
    packed = ", use_sequence_packing: true, sequence_packing_args: {algorithm: load_balance, max_packed_sequence_length_forward: 100}"
    shape = "strategy_args: {{strategy_config: {{tensor_model_parallel_size: {}, context_parallel_size: {}}}}}".format
    where = {"actor_train.device_mapping": "[0, 1]", "actor_infer.device_mapping": "[0, 1]"}
    for name, ranks, accumulation, of_first, of_second in (
            ("packed", 1, 8, packed, packed),
            ("on two ranks", 2, 4, ", strategy_args: {strategy_config: {pipeline_model_parallel_size: 2, num_layers_in_first_pipeline_stage: 1}}", packed),
            ("apart", 4, 4, ", device_mapping: [2, 3], " + shape(2, 1), ", device_mapping: [1, 2], " + shape(1, 2) + packed)):
        run = replay.train(folder, name, ranks, accumulation=accumulation, rollout_replay=rollouts, **MIXED, **teachers(folder, of_first, of_second),
                           **(where if ranks == 4 else {}))
        replay.compare(run, base, f"teachers {name}", only=("actor/", "teacher_kl", *replay.OF_STEP), bound=2e-6)
    return base


def goes_on(folder, rollouts, base):
    replay.train(folder, "resumed", accumulation=8, rollout_replay=rollouts, max_steps=2, **MIXED, **teachers(folder))
    run = replay.train(folder, "resumed", accumulation=8, rollout_replay=rollouts, resume_from_checkpoint="true", **MIXED, **teachers(folder))
    mine, theirs = replay.weights(run), replay.weights(base)
    expect(all((mine[name] == theirs[name]).all() for name in theirs), "a run that goes on ends with the same bits")


def sampled(folder):
    """As ROLL writes it: of a student, and a single teacher."""
    text = replay.config_text(out=folder / "pure", model=folder / "model", data=folder / "rows.jsonl", mode="token-mean", estimator="reinforce", rows=4,
                              accumulation=4, packing="", extra="", adam=replay.SHARP)
    text = text.replace("actor_train:", "student_train:").replace("actor_infer:", "student_infer:")
    text = text.replace("reference:", f"teacher:\n  model_args: {{model_name_or_path: {folder / 'deep'}}}")
    (folder / "pure.yaml").write_text(text)
    flags = [f"{key}={value}" for key, value in NO_KL.items()]
    said = replay.roll("train", "--config", folder / "pure.yaml", *flags)
    expect("with is_pure_opd: true, as in ROLL" in said and "; teachers: 1" in said, f"it is told what is trained: {said}")
    lines = metrics(folder / "pure")
    expect(len(lines) == 3 and all(abs(line["returns/mean"] + line["teacher_kl"]) < 0.1 for line in lines), "what is learnt is the KL's negative")
    replay.roll("check-loss", "--config", folder / "pure.yaml", *flags)
    replay.roll("check-loss", "--config", folder / "base.yaml", *[f"{key}={value}" for key, value in (NO_KL | teachers(folder)).items()], "use_opd=true")


def refuses(folder):
    """Before anything is loaded."""
    for file in (folder / "other").glob("*.json"):
        file.write_text(file.read_text().replace('"<|im_end|>"', '"<|end|>"'))
    done = subprocess.run([replay.binary, "train", "--config", folder / "base.yaml", "use_opd=true", "use_kl_loss=false", "add_token_level_kl=false",
                           *[f"{key}={value}" for key, value in teachers(folder).items()]], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 2 and "its tokenizer differs from the policy's: token" in done.stderr, f"a teacher of another tokenizer is refused: {done.stderr}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    rollouts = replay.record(folder)
    for model, hidden in (("deep", 64), ("other", 32)):
        wider = ("--vocab", 448) if model == "other" else ()  # a larger model of a family often has more padding
        replay.make_model(folder, model, "qwen2", "--hidden", hidden, "--layers", 3, "--seed", 9, *wider)
    base = layouts(folder, rollouts)
    goes_on(folder, rollouts, base)
    sampled(folder)
    refuses(folder)
finish("distillation")
