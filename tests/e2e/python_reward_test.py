#!/usr/bin/env python3
"""Rewards that are Python functions, from outside: those of four trainers in `roll score` and in a training, and functions that fail. Argument:
the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import replay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish

BINARY = pathlib.Path(sys.argv[1]).resolve()
FUNCTIONS = """
import helper  # beside this file
print("what is printed is no answer")

def ours(response, ground_truth, difficulty=0.0, **others):
    print(sorted(others))
    return {"reward": float(ground_truth in response) + difficulty, "length": helper.length(response)}

def verl(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": len(solution_str) + (ground_truth == 42) + 10 * (data_source == "gsm") + 100 * extra_info["index"], "acc": True}

def verl_without_source(solution_str, ground_truth, method="strict", score=1.0):
    return score if str(ground_truth) in solution_str and method == "strict" else 0

def trl(completions, **columns):
    return [len(completion) + 100 * sum(columns["difficulty"]) for completion in completions]

async def trl_chat(prompts, completions, ground_truth, **_):
    return [float(completion[-1]["content"].endswith(truth) and prompt[-1]["role"] == "user") for prompt, completion, truth in zip(prompts, completions, ground_truth)]

class Tensor:
    def tolist(self): return [0.25]

def openrlhf(queries, prompts, labels, **kwargs):
    assert queries[0].startswith(prompts[0])
    return {"rewards": Tensor(), "extra_logs": {"label": Tensor()}}

def two(completions, **_): return [1.0, 2.0]
def nothing(response): return None
def words(response): return "good"
def strange(response, galaxy): return 1.0
def raises(response): return 1 / ("divide" not in response)
def ends(response): raise SystemExit(3)
value = 7
"""
ROW = dict(prompt="6*7=", response="it is 42", ground_truth="42", difficulty=0.5)


def score(folder, function, *rows, more=(), code=0):
    text = "".join(json.dumps(row) + "\n" for row in rows or (ROW,))
    done = subprocess.run([BINARY, "score", "--type", "python", "--python", f"{folder}/own.py:{function}", "--interpreter", sys.executable, *more],
                          input=text, capture_output=True, text=True, timeout=120)
    expect(done.returncode == code, f"{function}: exit {done.returncode}, wanted {code}: {done.stderr[-1500:]}")
    return [json.loads(line) for line in done.stdout.splitlines()] if code == 0 else done.stderr


def check_conventions(folder):
    of_verl = dict(response="it is 42", ground_truth="other", data_source="gsm", extra_info={"index": 2}, reward_model={"style": "rule", "ground_truth": 42})
    asked = [{"role": "system", "content": "s"}, {"role": "user", "content": "6*7="}]
    for function, row, reward in (("ours", ROW, 1.5), ("verl", of_verl, 219), ("verl_without_source", ROW, 1), ("trl", ROW, 58),
                                  ("trl_chat", dict(messages=asked, response="it is 42", ground_truth="42"), 1), ("openrlhf", ROW, 0.25)):
        answer = score(folder, function, row)[0]
        expect(answer["reward"] == reward, f"{function}: {answer}, wanted {reward}")
    expect(score(folder, "ours")[0]["detail"] == {"reward": 1.5, "length": 8}, "what else a function gives is the detail")
    many = [ROW | dict(response="x" * (i % 50)) for i in range(500)]
    expect([a["reward"] for a in score(folder, "trl", *many, more=("--world-size", "3"))] == [i % 50 + 50 for i in range(500)], "answers in the order of rows")


def check_faults(folder):
    for function, said in (("absent", "own.py has no function absent; it has ours, verl"), ("value", "has no function value"),
                           ("two", "it gave 2 rewards for one response"), ("nothing", "it gave no reward"), ("words", "could not convert string to float"),
                           ("strange", "its parameter galaxy is nothing that a response has, nor a column of its row; there are"), ("ends", "exit status 3")):
        text = score(folder, function, code=2)
        expect(said in text and f"python = {folder}/own.py:{function}" in text, f"{function}: {text}")
    later = score(folder, "raises", ROW, ROW | dict(response="divide"), ROW)
    expect([a["reward"] for a in later] == [1, None, 1] and "ZeroDivisionError" in later[1]["detail"]["error"] and later[1]["detail"]["failure"] == "unjudged", later)
    for name, text, said in (("broken.py", "def f(:", "SyntaxError"), ("absent.py", None, "is not there")):
        if text:
            (folder / name).write_text(text)
        done = subprocess.run([BINARY, "score", "--type", "python", "--python", f"{folder / name}:f"], input=json.dumps(ROW), capture_output=True, text=True)
        expect(done.returncode == 2 and said in done.stderr, f"{name}: {done.returncode} {done.stderr}")
    for wrong in ("own.py", ":f", "own.py:"):
        done = subprocess.run([BINARY, "score", "--type", "python", "--python", wrong], input=json.dumps(ROW), capture_output=True, text=True)
        expect(done.returncode == 2 and "must be FILE:FUNCTION" in done.stderr, f"{wrong}: {done.stderr}")


def check_training(folder):
    replay.make_model(folder, "model", "qwen2")
    rows = [dict(id=str(i), prompt=f"{i}+{i}=", ground_truth=str(2 * i), tag="t", difficulty=i / 8) for i in range(8)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = dict(exp_name="python", output_dir=str(folder / "run"), max_steps=1, save_steps=0, rollout_batch_size=4, num_return_sequences_in_group=2, prompt_length=24,
                  response_length=6, adv_estimator="reinforce", pretrain=str(folder / "model"), track_with=["jsonl"],
                  actor_train=dict(training_args=dict(learning_rate=1e-4), data_args=dict(file_name=str(folder / "rows.jsonl"), prompt="prompt")),
                  actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)),
                  rewards=dict(own=dict(type="python", python=str(folder / "own.py:trl"), interpreter=sys.executable, tag_included=["t"])))
    (folder / "run.yaml").write_text(json.dumps(config))
    replay.roll("train", "--config", folder / "run.yaml", "--device", "cpu")
    samples = [json.loads(line) for line in open(folder / "run/rollouts/step_000001.jsonl")]
    difficulty = {row["prompt"]: row["difficulty"] for row in rows}
    wrong = [s for s in samples if s["reward"] != len(s["response"]) + 100 * difficulty[s["prompt"]]]
    expect(len(samples) == 8 and not wrong, f"a training has the function's rewards: {wrong[:1]}")
    config["rewards"]["own"]["python"] = str(folder / "own.py:absent")
    (folder / "run.yaml").write_text(json.dumps(config | dict(output_dir=str(folder / "other"))))
    done = subprocess.run([BINARY, "train", "--config", folder / "run.yaml", "--device", "cpu"], capture_output=True, text=True, timeout=120)
    expect(done.returncode == 2 and "has no function absent" in done.stderr and not (folder / "other/rollouts").exists(), f"before anything is sampled: {done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "own.py").write_text(FUNCTIONS)
        (folder / "helper.py").write_text("def length(text): return len(text)\n")
        check_conventions(folder)
        check_faults(folder)
        check_training(folder)
    finish("rewards that are Python functions")


main()
