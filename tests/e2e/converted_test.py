"""A start script of verl, converted, trains on rows as verl has them: a Parquet file of chats, with the right answer within
`reward_model` and the source as the tag; and one of OpenRLHF on questions. Argument: the roll binary."""
import json
import pathlib
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


def train(folder, script, *words):
    name = script.stem
    replay.roll("convert-config", script, f"DATA={folder}", "--out", folder / f"{name}.yaml", *words)
    replay.roll("train", "--config", folder / f"{name}.yaml", "-n", 1, "--device", "cpu", "max_steps=1", f"output_dir={folder / name}",
                "track_with=[jsonl]", "global_template=qwen2_5")
    return rollout_lines(folder / name, 1)


def main():
    with tempfile.TemporaryDirectory() as base:
        folder = pathlib.Path(base)
        replay.make_model(folder)
        rows = [dict(data_source="openai/gsm8k", prompt=[dict(role="user", content=f"{i}+1?")], ability="math",
                     reward_model=dict(style="rule", ground_truth=str(i + 1)), extra_info=dict(index=i)) for i in range(4)]
        pq.write_table(pa.Table.from_pylist(rows), folder / "train.parquet")
        (folder / "questions.jsonl").write_text("".join(json.dumps(dict(question=f"{i}+2?", answer=str(i + 2))) + "\n" for i in range(4)))
        for name, text, added in (("verl", VERL, 1), ("openrlhf", OPENRLHF, 2)):
            script = folder / f"{name}.sh"
            script.write_text(text)
            lines = train(folder, script)
            expect(len(lines) == 4, f"{name}: two responses to each of two prompts: {len(lines)}")
            for line in lines:
                question = next(i for i in range(4) if f"{i}+{added}?" in line["prompt"])
                expect(line["ground_truth"] == str(question + added), f"{name}: the row's own answer: {line}")
                expect("<|im_start|>user" in line["prompt"], f"{name}: a chat goes through the template: {line['prompt']}")
    finish("converted scripts train on the rows of their trainers")


main()
