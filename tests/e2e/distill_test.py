#!/usr/bin/env python3
"""`roll distill`: an update has the metrics and the weights that an independent float64 computation gives
(tests/golden/train/distill.json, by tests/oracles/make_golden_distill.py), for every objective; ranks of either role, stages, packing and
micro-batches change nothing; a run that goes on ends with the same bits; ROLL's recipe of it runs, and what is wrong is told. Argument: the
roll binary."""
import json
import pathlib
import subprocess
import tempfile

import golden_update
import one_distill
import one_step
from expecting import expect, finish
from golden_update import binary, compare, lines_of, near, roll

golden = golden_update.golden("distill")
STRATEGY = "{}.strategy_args.strategy_config.{}={}".format
ROLES = ("student", "teacher")


def updates(folder):
    for recipe, keys in one_distill.RECIPES.items():
        config = one_distill.prepare(binary, folder, keys)
        run = folder / recipe.replace(" ", "_")
        roll("distill", "--config", config, f"output_dir={run}")
        compare(recipe, folder / "student", run, golden[recipe])


def layouts(folder):
    config = one_distill.prepare(binary, folder, one_distill.RECIPES["adaptive"])
    packed = "{algorithm: load_balance, max_packed_sequence_length_train: 100, max_packed_sequence_length_forward: 130}"
    packing = [f"{role}.{key}={value}" for role in ROLES for key, value in (("use_sequence_packing", "true"), ("sequence_packing_args", packed))]
    small = ["student.training_args.per_device_train_batch_size=2", "student.training_args.train_batch_size=12", "teacher.infer_batch_size=3"]
    sizes = lambda role, cp=1, tp=1, pp=1: [STRATEGY(role, f"{name}_parallel_size", n)
                                            for name, n in (("context", cp), ("tensor_model", tp), ("pipeline_model", pp))]
    for name, ranks, flags in (("two by two", 1, small), ("packed", 1, packing),
                               ("2 data ranks, packed", 2, packing + small),
                               ("2 context ranks, a teacher of 2 tensor ranks", 2, sizes("student", cp=2) + sizes("teacher", tp=2) + small),
                               ("2 tensor ranks, a teacher of 2 context ranks, packed", 2, sizes("student", tp=2) + sizes("teacher", cp=2) + packing + small),
                               ("2 x 2 stages, a teacher of 2 stages and 2 tensor ranks", 4, sizes("student", pp=2) + sizes("teacher", pp=2, tp=2) + small)):
        run = folder / name.replace(" ", "_")
        roll("distill", "--config", config, "-n", ranks, f"output_dir={run}", *flags)
        compare(name, folder / "student", run, golden["adaptive"])


def goes_on(folder):
    config = one_distill.prepare(binary, folder, one_distill.RECIPES["forward"])
    flags = ["max_steps=6", "student.training_args.per_device_train_batch_size=5", "eval_steps=0"]
    roll("distill", "--config", config, f"output_dir={folder / 'whole'}", *flags)
    roll("distill", "--config", config, f"output_dir={folder / 'halves'}", *flags, "max_steps=3")
    roll("distill", "--config", config, f"output_dir={folder / 'halves'}", *flags, "--resume")
    mine, theirs = (one_step.model_weights(folder / run / "checkpoints/step_000006/actor") for run in ("halves", "whole"))
    expect(all((mine[name] == theirs[name]).all() for name in theirs), "a run that goes on ends with the same bits")
    losses = [line["distill/distill_loss"] for line in lines_of(folder / "whole")]
    expect(losses[-1] < 0.9 * losses[0], f"the student gets nearer to its teacher: {losses}")


RECIPE = """
exp_name: distil
seed: 42
logging_dir: {folder}/recipe/logs
output_dir: {folder}/recipe
save_steps: 100
eval_steps: 50
student_pretrain: {folder}/student
teacher_pretrain: {folder}/teacher
logits_topk: 8
distill_loss_weight: 0.85
kd_objective: forward_kl
distill_on_prompt: False
logits_transfer_backend: "nccl-only"
sequence_length: 64
question_key: question
answer_key: answer
global_template: chatml
validation: {{data_args: {{file_name: ["{folder}/questions.jsonl"], template: chatml}}}}
student:
  model_args: {{attn_implementation: fa2, disable_gradient_checkpointing: false, dtype: bf16, model_type: ~}}
  training_args: {{learning_rate: 2.0e-5, lr_scheduler_type: constant, per_device_train_batch_size: 2, gradient_accumulation_steps: 2, num_train_epochs: 1}}
  data_args: {{template: chatml, file_name: ["{folder}/questions.jsonl"], preprocessing_num_workers: 16}}
  strategy_args: {{strategy_name: megatron_train, strategy_config: {{tensor_model_parallel_size: 2, sequence_parallel: True, pipeline_model_parallel_size: 2, recompute_granularity: full}}}}
  use_sequence_packing: True
  device_mapping: list(range(0,4))
  infer_batch_size: 2
teacher:
  model_args: {{attn_implementation: fa2, disable_gradient_checkpointing: true, dtype: bf16}}
  data_args: {{template: chatml}}
  training_args: {{per_device_train_batch_size: 8}}
  strategy_args: {{strategy_name: megatron_infer, strategy_config: {{tensor_model_parallel_size: 2, pipeline_model_parallel_size: 2, bf16: true}}}}
  use_sequence_packing: True
  device_mapping: list(range(0,4))
system_envs: {{RAY_PROFILING: "0"}}
"""


def reads_recipes(folder):
    """Keys as ROLL's example has them."""
    (folder / "questions.jsonl").write_text("".join(json.dumps(dict(question=f"{i}+1=", answer=str(i + 1))) + "\n" for i in range(8)))
    file = folder / "recipe.yaml"
    file.write_text(RECIPE.format(folder=folder))
    said = roll("validate-config", "--config", file)
    expect("student: 1 pass over the data; 4 sequences an update" in said and "2 updates of 4 rows" in said, said)
    roll("distill", "--config", file, "--device", "cpu")
    lines = lines_of(folder / "recipe")
    expect(len(lines) == 2 and "val/loss" in lines[-1], "a pass over the rows, and its validation")
    loss = lines[0]["distill/loss"]
    near("the weighted loss", loss, 0.85 * lines[0]["distill/distill_loss"] + 0.15 * lines[0]["distill/student_loss"], 1e-6)


def says(folder):
    config = one_distill.prepare(binary, folder, one_distill.RECIPES["forward"])
    said = roll("validate-config", "--config", config)
    for text in ("student: 1 update; 12 sequences an update", "distill loss: 0.85 x forward_kl to the teacher over its 5 likeliest tokens",
                 "training rows: 12 rows"):
        expect(text in said, f"validate-config says {text}: {said}")
    padded = folder / "padded"
    subprocess.run([binary, "init-model", "--arch", "qwen2", "--hidden", "32", "--layers", "1", "--heads", "4", "--kv-heads", "2", "--vocab", "400",
                    "--seed", "1", "--out", padded], check=True, capture_output=True)
    for flags, text in ((["logits_topk=9999"], "logits_topk = 9999: is more than the"),
                        (["kd_objective=both"], "kd_objective = both: must be one of forward_kl"),
                        (["kd_temperature=0"], "kd_temperature = 0"),
                        (["distill_loss_weight=1.5"], "distill_loss_weight = 1.5"),
                        (["teacher_pretrain=null"], "teacher_pretrain = null: set it to the teacher's folder or Hub name"),
                        (["student.pretrain=x"], "student.pretrain: unknown key"),
                        (["answer_key=reply"], "rows.jsonl:1: the row has no column 'reply'"),
                        (["student.device_mapping=[0]", "teacher.device_mapping=[1]"], "must be the same as for student"),
                        (["student.loss_func={library: a.so, name: b}"], "roll distill has a built-in loss"),
                        (["teacher.model_args.lora_rank=4"], "this role is not trained"),
                        ([f"teacher_pretrain={folder}/absent"], "teacher_pretrain = "), ([f"student_pretrain={folder}/absent"], "student_pretrain = "),
                        ([f"student_pretrain={padded}"], "a teacher must know all tokens that the student may write"),
                        (["system_key=s"], "system_key = s: write the system prompt of a row as a message")):
        said = roll("distill", "--config", config, f"output_dir={folder / 'wrong'}", *flags, code=2)
        expect(text in said, f"{flags}: {said}, not {text}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    updates(folder)
    layouts(folder)
    goes_on(folder)
    reads_recipes(folder)
    says(folder)
finish("distillation from written answers")
