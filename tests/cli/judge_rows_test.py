#!/usr/bin/env python3
"""scripts/make_judge.py writes the same rows each time, all different, and `roll` takes them. judge_rows_test.py BINARY"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

BINARY = sys.argv[1]
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/make_judge.py"
CONFIG = """
pretrain: none
rollout_batch_size: 8
num_return_sequences_in_group: 4
prompt_length: 64
response_length: 64
adv_estimator: grpo
actor_train:
  training_args: {{per_device_train_batch_size: 4, gradient_accumulation_steps: 8}}
  data_args: {{file_name: [{0}/train.jsonl], messages: messages}}
validation:
  data_args: {{file_name: [{0}/heldout.jsonl]}}
rewards:
  llm_judge:
    worker_cls: roll.pipeline.rlvr.rewards.llm_judge_reward_worker.LLMJudgeRewardWorker
    tag_included: [RLVR]
    judge_api_url: http://127.0.0.1:1/v1
    judge_model_name: m
"""


def make(folder, *flags):
    subprocess.run([sys.executable, SCRIPT, "--out", folder, *flags], check=True, capture_output=True)
    return [json.loads(line) for name in ("train", "heldout") for line in (folder / f"{name}.jsonl").read_text().splitlines()]


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    rows = make(folder / "a")
    assert rows == make(folder / "b") and rows != make(folder / "c", "--seed", "7")
    assert len(rows) == 900 and len({row["prompt"] for row in rows}) == 900 and all(row["ground_truth"] and row["tag"] == "RLVR" for row in rows)
    assert all(json.loads(row["messages"]) == [{"role": "user", "content": row["prompt"]}] for row in rows)
    clock = [row for row in rows if row["prompt"] == "It is 15 minutes past four. A meeting begins in five hours. Write in one sentence when it begins."]
    assert clock and clock[0]["ground_truth"] == "It begins at 15 minutes past nine."
    assert len(collections.Counter(row["prompt"].split()[0] for row in rows)) > 10
    (folder / "run.yaml").write_text(CONFIG.format(folder / "a"))
    done = subprocess.run([BINARY, "validate-config", "--offline", "--config", folder / "run.yaml"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
print("the judge's rows are as they should be")
