#!/usr/bin/env python3
"""Rewards that are Python functions, from outside: those of five trainers in `roll score` and in a training, functions of lists and in a sandbox, and
functions that fail. Argument: the roll binary."""
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
import asyncio
import time
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
    return [len(completion) + 100 * difficulty + 1000 * (len(completions) == 8) for completion, difficulty in zip(completions, columns["difficulty"])]

trl_each = trl

def slow(completions):
    time.sleep(0.5)
    return [len(completions)] * len(completions)

def verl_batch(data_sources, solution_strs, ground_truths, extra_infos):
    return [{"score": len(solution_strs), "acc": source} for source in data_sources]

async def slime(args, sample, **kwargs):
    assert sample.status is sample.Status.TRUNCATED and sample.metadata == {"k": 1} and sample.tokens == [7, 8, 9] and sample.response_length == 2
    return float(sample.label in sample.response) + len(sample.prompt)

async def slime_group(args, samples, **kwargs):
    return [len(samples)] * len(samples)

def slime_args(args, sample): return args.rm_url

waiting = 0
async def together(response):
    global waiting
    waiting += 1
    while waiting < 3:
        await asyncio.sleep(0.001)
    return 1 / (response != "bad")

def trl_ids(completions, completion_ids, log_extra, log_metric, **_):
    log_extra("ids", completion_ids)
    log_metric("all", len(completions))
    return [None if len(ids) == 1 else float("nan") if len(ids) == 3 else len(ids) for ids in completion_ids]

def at_once(completions, **_):
    if "raise" in completions[0]: raise KeyError("no")
    if "exit" in completions[0]: raise SystemExit(4)
    if "short" in completions[0]: return [1.0]
    return [len(completions)] * len(completions)

async def trl_chat(prompts, completions, ground_truth, **_):
    return [float(completion[-1]["content"].endswith(truth) and prompt[-1]["role"] == "user") for prompt, completion, truth in zip(prompts, completions, ground_truth)]

class Tensor:
    def __init__(self, *values): self.values = values
    def tolist(self): return list(self.values)

def openrlhf(queries, prompts, labels, **kwargs):
    assert queries[0].startswith(prompts[0])
    return {"rewards": Tensor(*[0.25] * len(queries)), "extra_logs": {"label": Tensor(*range(len(labels)))}}

def two(completions, **_): return [1.0, 2.0]
def nothing(response): return None
def words(response): return "good"
def strange(response, galaxy): return 1.0
def raises(response): return 1 / ("divide" not in response)
def ends(response): raise SystemExit(3)
value = 7
"""
ROW = dict(prompt="6*7=", response="it is 42", ground_truth="42", difficulty=0.5)


def score(folder, function, *rows, more=(), code=0, file="own.py"):
    text = "".join(json.dumps(row) + "\n" for row in rows or (ROW,))
    done = subprocess.run([BINARY, "score", "--python", f"{folder}/{file}:{function}", "--interpreter", sys.executable, *more],
                          input=text, capture_output=True, text=True, timeout=120)
    if code is None:
        return done.stdout, done.stderr
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
    key = lambda name, function="ours", code=0: score(folder, function, more=("--result-key", name), code=code)
    expect([key("length")[0][part] for part in ("reward", "detail")] == [8, {"reward": 1.5, "length": 8}], "result_key names the reward")
    expect("it gave no depth, which result_key names; it gave reward, length" in key("depth", code=2), "a key that is not there")
    expect("it gave float in place of a dict with depth, which result_key names" in key("depth", "verl_without_source", code=2), "a number is no dict")
    many = [ROW | dict(response="x" * (i % 50)) for i in range(500)]
    expect([a["reward"] for a in score(folder, "trl_each", *many, more=("--world-size", "3"))] == [i % 50 + 50 for i in range(500)], "answers in the order of rows")


def check_many(folder):
    """Functions of lists are asked for all that wait, async ones await all of them."""
    rewards = lambda function, *rows, **keys: [a["reward"] for a in score(folder, function, *rows, **keys)]
    for function in ("verl_batch", "slime_group", "at_once"):
        expect(rewards(function, *[ROW] * 10) == [10] * 10, f"{function} sees all ten at once")
    expect(rewards("at_once", *[ROW] * 10, more=("--world-size", "3")) == [4] * 8 + [2] * 2, "three workers have equal shares")
    expect(rewards("at_once", *[ROW] * 1030) == [1024] * 1024 + [6] * 6, "and a call has a bound")
    sample = ROW | dict(prompt="abc", metadata={"k": 1}, finish_reason="length", prompt_ids=[7], response_ids=[8, 9])
    expect(rewards("slime", sample) == [4], "slime's sample")
    expect("args.rm_url: slime's command line is not there" in score(folder, "slime_args", code=2), "slime's args")
    answers = score(folder, "together", ROW, ROW, ROW | dict(response="bad"))
    expect([a["reward"] for a in answers] == [1, 1, None] and "ZeroDivisionError" in answers[2]["detail"]["error"], f"all are awaited at once: {answers}")
    answers = score(folder, "trl_ids", *[ROW | dict(response_ids=list(range(n))) for n in (2, 1, 3)])
    expect([a["reward"] for a in answers] == [2, None, None] and answers[0]["detail"] == {"ids": "[0, 1]", "all": 3}, f"token ids, and what is logged: {answers}")
    expect(len(answers) == 3 and ["it gave no reward" in answers[1]["detail"]["error"], "it gave nan" in answers[2]["detail"]["error"]] == [True, True], f"one without a reward fails alone: {answers}")
    expect([a["detail"] for a in score(folder, "openrlhf", ROW, ROW)] == [{"label": 0}, {"label": 1}], "OpenRLHF's logs")
    for word, failure, why in (("raise", "unjudged", "KeyError: 'no'"), ("exit", "crash", "exit status 4"), ("short", "unjudged", "it gave 1 rewards for 2 responses")):
        good, bad = [ROW] * 2, [ROW | dict(response=word)] * 2
        answers = score(folder, "at_once", *[ROW] * 1024, *bad)
        expect([a["reward"] for a in answers] == [1024] * 1024 + [None] * 2, f"{word}: the batch fails, and no other")
        expect(all(a["detail"]["failure"] == failure and why in a["detail"]["error"] for a in answers[-2:]), f"{word}: {answers[-2:]}")
    slow = score(folder, "slow", ROW, ROW, more=("--timeout-s", "0.4"))
    expect([a["reward"] for a in slow] == [2, 2], f"the time limit counts for each response of a call: {slow}")


def check_sandbox(folder):
    """A function in a sandbox sees its own file, and nothing beside it."""
    boxed = ("--sandbox",)
    (folder / "alone.py").write_text("def alone(response): return 1.0\ndef mine(completions): return [len(completions)] * len(completions)\n"
                                     "def beside(response): return float(len(open(__file__.replace('alone', 'helper')).read()) > 0)\n")
    if "sandbox = true" in (said := score(folder, "alone", more=boxed, file="alone.py", code=None)[1]):
        return print(f"skipped: no sandbox here: {said.strip()[:200]}")
    expect(score(folder, "mine", ROW, ROW, more=boxed, file="alone.py")[0]["reward"] == 2, "lists in a sandbox")
    expect("FileNotFoundError" in score(folder, "beside", more=boxed, file="alone.py", code=2), "a file beside it is not there")
    expect(score(folder, "beside", file="alone.py")[0]["reward"] == 1, "outside it is")


def check_documents(folder):
    """The example of configs/rewards.md, to the letter, and a module in place of a file."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "configs/rewards.md").read_text().split("### A Python function")[1].split("## Programs")[0]
    example, config, command = (block.split("\n", 1)[1] for block in text.split("```")[1:6:2])
    (folder / "my_rewards.py").write_text(example)
    shell = command.replace("roll score", f"'{BINARY}' score")
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, cwd=folder, timeout=60)
    expect(json.loads(done.stdout or "{}").get("reward") == 1, f"the documented command: {done.stdout} {done.stderr}")
    done = subprocess.run(["bash", "-c", shell.replace("my_rewards.py:reward", "my_rewards.shortest")], capture_output=True, text=True, cwd=folder, timeout=60)
    expect(json.loads(done.stdout or "{}").get("reward") == 1, f"a module: {done.stdout} {done.stderr}")
    (folder / "score.yaml").write_text(config)
    done = subprocess.run([BINARY, "score", "--config", "score.yaml"], input=json.dumps(ROW), capture_output=True, text=True, cwd=folder, timeout=60)
    expect(json.loads(done.stdout or "{}").get("reward") == 1, f"the documented configuration, which names no type: {done.stdout} {done.stderr}")


def check_faults(folder):
    for function, said in (("absent", "own.py has no function or class absent; it has ours, verl"), ("value", "has no function or class value"),
                           ("two", "it gave 2 rewards for 1 response"), ("nothing", "it gave no reward"), ("words", "could not convert string to float"),
                           ("strange", "its parameter galaxy is nothing that a response has, nor a column of its row; there are"), ("ends", "exit status 3")):
        text = score(folder, function, code=2)
        expect(said in text and f"python = {folder}/own.py:{function}" in text, f"{function}: {text}")
    later = score(folder, "raises", ROW, ROW | dict(response="divide"), ROW)
    expect([a["reward"] for a in later] == [1, None, 1] and "ZeroDivisionError" in later[1]["detail"]["error"] and later[1]["detail"]["failure"] == "unjudged", later)
    for name, text, said in (("broken.py", "def f(:", "SyntaxError"), ("absent.py", None, "does not exist")):
        if text:
            (folder / name).write_text(text)
        done = subprocess.run([BINARY, "score", "--reward", "python", "--python", f"{folder / name}:f"], input=json.dumps(ROW), capture_output=True, text=True)
        expect(done.returncode == 2 and said in done.stderr, f"{name}: {done.returncode} {done.stderr}")
    for wrong in ("own.py", ":f", "own.py:"):
        done = subprocess.run([BINARY, "score", "--reward", "python", "--python", wrong], input=json.dumps(ROW), capture_output=True, text=True)
        expect(done.returncode == 2 and "must be FILE.py:NAME or module.NAME" in done.stderr, f"{wrong}: {done.stderr}")


def check_training(folder):
    replay.make_model(folder, "model", "qwen2")
    rows = [dict(id=str(i), prompt=f"{i}+{i}=", ground_truth=str(2 * i), tag="t", difficulty=i / 8) for i in range(8)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = dict(exp_name="python", output_dir=str(folder / "run"), max_steps=1, save_steps=0, rollout_batch_size=4, num_return_sequences_in_group=2, prompt_length=24,
                  response_length=6, adv_estimator="reinforce", pretrain=str(folder / "model"), track_with=["jsonl"],
                  actor_train=dict(training_args=dict(learning_rate=1e-4), data_args=dict(file_name=str(folder / "rows.jsonl"), prompt="prompt")),
                  actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)),
                  rewards=dict(own=dict(python=str(folder / "own.py:trl"), interpreter=sys.executable, tag_included=["t"])))
    (folder / "run.yaml").write_text(json.dumps(config))
    replay.roll("train", "--config", folder / "run.yaml", "--device", "cpu")
    samples = [json.loads(line) for line in open(folder / "run/rollouts/step_000001.jsonl")]
    difficulty = {row["prompt"]: row["difficulty"] for row in rows}
    wrong = [s for s in samples if s["reward"] != len(s["response"]) + 100 * difficulty[s["prompt"]] + 1000]
    expect(len(samples) == 8 and not wrong, f"a training has the function's rewards, of all eight responses at once: {wrong[:1]}")
    config["rewards"]["own"]["python"] = str(folder / "own.py:absent")
    (folder / "run.yaml").write_text(json.dumps(config | dict(output_dir=str(folder / "other"))))
    done = subprocess.run([BINARY, "train", "--config", folder / "run.yaml", "--device", "cpu"], capture_output=True, text=True, timeout=120)
    expect(done.returncode == 2 and "has no function or class absent" in done.stderr and not (folder / "other/rollouts").exists(), f"before anything is sampled: {done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "own.py").write_text(FUNCTIONS)
        (folder / "helper.py").write_text("def length(text): return len(text)\n")
        check_conventions(folder)
        check_many(folder)
        check_sandbox(folder)
        check_documents(folder)
        check_faults(folder)
        check_training(folder)
    finish("rewards that are Python functions")


main()
