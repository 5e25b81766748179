"""A start script of verl, converted, trains on rows as verl has them: a Parquet file of chats, with the right answer within
`reward_model` and the source as the tag; and one of OpenRLHF on questions. So do a fine-tuning, a preference optimisation and a distillation; passes
over the rows become steps. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import arrow_program  # noqa: F401  before pyarrow: it skips where that is missing
import pyarrow as pa
import pyarrow.parquet as pq

import replay
from expecting import expect, finish
from rollouts import rollout_lines

VERL = """set -x
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_files=$DATA/train.parquet data.val_files=$DATA/train.parquet \\
    data.train_batch_size=2 data.max_prompt_length=256 data.max_response_length=8 actor_rollout_ref.model.path=$DATA/model \\
    actor_rollout_ref.actor.ppo_mini_batch_size=2 actor_rollout_ref.rollout.n=2 actor_rollout_ref.rollout.tensor_model_parallel_size=1 \\
    trainer.n_gpus_per_node=1 trainer.nnodes=1 trainer.total_training_steps=1 trainer.test_freq=1 "$@"
"""
OPENRLHF = """python3 -m openrlhf.cli.train_ppo_ray --actor.num_gpus_per_node 1 --actor.model_name_or_path $DATA/model \\
    --data.prompt_dataset $DATA/questions.jsonl --data.input_key question --data.label_key answer --data.apply_chat_template \\
    --rollout.batch_size 2 --rollout.n_samples_per_prompt 2 --train.batch_size 4 --data.max_len 264 --rollout.max_new_tokens 8 \\
    --algo.advantage.estimator group_norm --algo.kl.init_coef 0
"""
VERL_SFT = """torchrun --nnodes=1 --nproc_per_node=1 -m verl.trainer.sft_trainer data.train_files=$DATA/chats.parquet model.path=$DATA/model \\
    data.train_batch_size=2 data.micro_batch_size_per_gpu=2 data.max_length=128 optim.lr=1e-3 trainer.total_epochs=2
"""
TRL_DPO = """python3 trl/scripts/dpo.py --model_name_or_path $DATA/model --dataset_name $DATA/pairs.jsonl --beta 0.2 --learning_rate 1e-3 \\
    --per_device_train_batch_size 2 --gradient_accumulation_steps 1 --max_length 128 --max_steps 1
"""
DISTILL = VERL.replace(' "$@"', " distillation.enabled=True distillation.teacher_models.teacher_model.model_path=$DATA/model "
                       "distillation.distillation_loss.loss_mode=k1 distillation.distillation_loss.use_policy_gradient=True "
                       "distillation.distillation_loss.use_task_rewards=False")


def train(folder, name, text, *words, command="train", convert=()):
    script = folder / f"{name}.sh"
    script.write_text(text)
    replay.roll("convert-config", script, f"DATA={folder}", "--out", folder / f"{name}.yaml", *convert)
    replay.roll(command, "--config", folder / f"{name}.yaml", "-n", 1, "--device", "cpu", f"output_dir={folder / name}", "track_with=[jsonl]", "global_template=qwen2_5",
                *words)
    return [json.loads(line) for line in open(folder / name / "metrics.jsonl")]


def check_others(folder):
    """Each trains, and its loss and its number of updates say what on."""
    chats = [dict(messages=[dict(role="user", content=f"{i}+1?"), dict(role="assistant", content=str(i + 1))]) for i in range(4)]
    pq.write_table(pa.Table.from_pylist(chats), folder / "chats.parquet")
    pairs = [dict(prompt=f"{i}+1?", chosen=str(i + 1), rejected="no") for i in range(4)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs))
    told = train(folder, "verl_sft", VERL_SFT, command="sft")
    losses = [line["sft/loss"] for line in told if "sft/loss" in line]
    expect(len(losses) == 4 and losses[-1] < losses[0], f"two passes over four rows, two an update, and it learns: {losses}")
    told = train(folder, "trl_dpo", TRL_DPO, command="dpo", convert=("-n", 1))
    first = [line["dpo/loss"] for line in told if "dpo/loss" in line]
    expect(len(first) == 1 and abs(first[0] - 0.6931) < 1e-3, f"one update, whose policy is the reference: log 2: {first}")
    told = train(folder, "distill", DISTILL)
    expect(len(told) >= 1 and "teacher_kl" in told[-1], f"a distillation: {sorted(told[-1])}")


def check_passes(folder):
    """num_train_epochs, of the converted OpenRLHF script: a pass over four rows is two steps of two."""
    common = ("--config", folder / "openrlhf.yaml", "-n", 1, "--device", "cpu", "global_template=qwen2_5", "track_with=[jsonl]")
    plan = subprocess.run([replay.binary, "validate-config", *common[:2], "global_template=qwen2_5",
                           *(f"{role}.device_mapping=null" for role in ("actor_train", "actor_infer", "reference"))], capture_output=True, text=True).stdout
    expect("1 pass over the rows" in plan and "for 2 steps" in plan, f"the plan counts: {plan}")
    for name, *words, steps in (("openrlhf", "--resume", "num_train_epochs=2", 4), ("sampled", "rollout_only=true", "num_train_epochs=2", 4),
                                ("typed", "max_steps=null", "num_train_epochs=1", 2), ("both", "max_steps=1", 1)):
        replay.roll("train", *common, f"output_dir={folder / name}", *words)
        made = last_step(json.loads(line) for line in open(folder / name / "metrics.jsonl"))
        expect(made == steps, f"{name} {words}: {steps} steps: {made}")
    words = map(str, ("train", *common, f"output_dir={folder / 'few'}", "rollout_batch_size=8", "actor_train.training_args.train_batch_size=16"))
    few = subprocess.run([replay.binary, *words], capture_output=True, text=True)
    expect(few.returncode == 2 and "num_train_epochs = 1: 4 rows x 1 are fewer than a step of 8" in few.stderr, f"no step at all: {few}")


def last_step(metrics):
    return max(line["step"] for line in metrics)


def main():
    with tempfile.TemporaryDirectory() as base:
        folder = pathlib.Path(base)
        replay.make_model(folder)
        rows = [dict(data_source="openai/gsm8k", prompt=[dict(role="user", content=f"{i}+1?")], ability="math",
                     reward_model=dict(style="rule", ground_truth=str(i + 1)), extra_info=dict(index=i)) for i in range(4)]
        pq.write_table(pa.Table.from_pylist(rows), folder / "train.parquet")
        (folder / "questions.jsonl").write_text("".join(json.dumps(dict(question=f"{i}+2?", answer=str(i + 2))) + "\n" for i in range(4)))
        check_others(folder)
        for name, text, added, steps in (("verl", VERL, 1, 1), ("openrlhf", OPENRLHF, 2, 2)):
            made = last_step(train(folder, name, text))
            expect(made == steps, f"{name}: {steps} steps of two of four rows: {made}")
            lines = rollout_lines(folder / name, 1)
            expect(len(lines) == 4, f"{name}: two responses to each of two prompts: {len(lines)}")
            for line in lines:
                question = next(i for i in range(4) if f"{i}+{added}?" in line["prompt"])
                expect(line["ground_truth"] == str(question + added), f"{name}: the row's own answer: {line}")
                expect("<|im_start|>user" in line["prompt"], f"{name}: a chat goes through the template: {line['prompt']}")
        check_passes(folder)
    finish("converted scripts train on the rows of their trainers")


main()
