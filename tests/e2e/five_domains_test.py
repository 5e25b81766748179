#!/usr/bin/env python3
"""The five-domain recipe with random models, for three steps: every domain gets its share of the step, its score, failures and time;
with its judge behind a server that fails one request in ten and answers others late, nothing is lost, on one rank or two.
Argument: the roll binary."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import replay
from fake_judge import TEMPLATE, FakeJudge, rule

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from metric_words import unknown_metrics
from rollouts import rollout_lines, rollout_steps

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARES = {"math_rule": 16, "code_sandbox": 12, "llm_judge": 4, "crossthinkqa": 4, "ifeval": 4}  # prompts of a step of 40
FAULTS = ["500", "503", "close", "html", "cut", "429", "error", "null", "riddle"]
os.environ["NO_PROXY"] = "127.0.0.1"


def one_in_ten(number):
    return FAULTS[number // 10 % len(FAULTS)] if number % 10 == 0 else "late" if number % 4 == 0 else None


def train(folder, name, ranks=1, **settings):
    """Lines of metrics, and of rollouts by step."""
    files = ", ".join(str(folder / f"data/{part}.jsonl") for part in ("math", "code", "judge", "choices", "instructions"))
    values = dict(output_dir=folder / name, pretrain=folder / "model", **settings) | {
        "actor_train.data_args.file_name": f"[{files}]",
        "validation.data_args.file_name": folder / "data/heldout.jsonl", "num_return_sequences_in_group": 4, "eval_steps": 0,
        **{f"{role}.device_mapping": str(list(range(ranks))) for role in ("actor_train", "actor_infer", "reference")},
        "actor_train.training_args.train_batch_size": 80}
    command = ["train", "--config", ROOT / "configs/rlvr_five_domains_cpu.yaml", "-n", ranks, *[f"{key}={value}" for key, value in values.items()]]
    if UNSANDBOXED:
        command.append("rewards.code_sandbox.unsafe_no_sandbox=true")
    replay.roll(*command)
    lines_of = lambda file: [json.loads(line) for line in open(file)]
    return lines_of(folder / name / "metrics.jsonl"), [rollout_lines(folder / name, step) for step in rollout_steps(folder / name)]


def check_shares(name, metrics, steps):
    expect(len(steps) == 3 and len(metrics) == 3, f"{name}: three steps: {len(metrics)}")
    for values, lines in zip(metrics, steps):
        expect(not unknown_metrics(replay.binary, values), f"{name}: `roll metrics` does not know {unknown_metrics(replay.binary, values)}")
        counts = {domain: sum(line["domain"] == domain for line in lines) for domain in SHARES}
        expect(counts == {domain: 4 * prompts for domain, prompts in SHARES.items()}, f"{name}: each domain has its share: {counts}")
        for domain in SHARES:
            keys = [f"{domain}/{key}" for key in ("score/mean", "reward/errors", "reward/timeouts", "reward/seconds/mean")]
            if f"{domain}/reward/errors" in values and values[f"{domain}/reward/errors"] == counts[domain]:
                keys = keys[1:]  # nothing was judged
            expect(all(key in values for key in keys), f"{name}: {domain} reports {[key for key in keys if key not in values]} not")


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    probe = subprocess.run([replay.binary, "score", "--reward", "code_sandbox"], input="", capture_output=True, text=True)
    UNSANDBOXED = probe.returncode != 0 and "unsafe" in probe.stderr
    if UNSANDBOXED:
        print(f"SKIPPED the sandbox: {probe.stderr.strip()}")
    subprocess.run([sys.executable, ROOT / "scripts/make_five_domains.py", "--out", folder / "data"], check=True, capture_output=True)
    replay.make_model(folder)
    replay.make_model(folder, "judge", "qwen2", "--hidden", 48)
    # A random judge says a digit now and then; what it says otherwise is counted, and taught to nobody.
    own = {"rewards.llm_judge.model_args.model_name_or_path": folder / "judge", "rewards.llm_judge.generating_args": "{max_new_tokens: 40, temperature: 1.0}",
           "rewards.llm_judge.judge_score_pattern": "'([0-9])'", "rewards.llm_judge.judge_score_max": 9,
           "rewards.llm_judge.judge_prompt_file": ROOT / "configs/rlvr_five_domains_judge.txt"}
    metrics, steps = train(folder, "own", **own)
    check_shares("own judge", metrics, steps)
    for values, lines in zip(metrics, steps):
        judged = [line for line in lines if line["domain"] == "llm_judge"]
        failed = [line for line in judged if "error" in line["reward_detail"]]
        expect(values["llm_judge/reward/errors/unparsable"] == len(failed), f"failures are counted: {len(failed)}")
        expect(all((line["reward"] is None) == (line in failed) for line in judged), "what could not be judged has no reward")
        expect(values["llm_judge/reward/seconds/mean"] > 0, "the judge's time is its domain's")

    (folder / "judge.txt").write_text(TEMPLATE)
    served = {"rewards.llm_judge.judge_model_type": "api", "rewards.llm_judge.judge_model_name": "m", "rewards.llm_judge.judge_score_max": 10,
              "rewards.llm_judge.judge_prompt_file": folder / "judge.txt", "rewards.llm_judge.judge_score_pattern": "null",
              "rewards.llm_judge.world_size": 4}
    base = None
    for ranks in (1, 2):
        with FakeJudge(one_in_ten) as judge:
            metrics, steps = train(folder, f"served_{ranks}", ranks, **served, **{"rewards.llm_judge.judge_api_url": judge.url})
        check_shares(f"served, {ranks} ranks", metrics, steps)
        for values, lines in zip(metrics, steps):
            expect(values["reward/errors"] == 0 and values["reward/timeouts"] == 0, f"nothing fails for good: {values['reward/errors']}")
            expect(values["llm_judge/reward/retries"] > 0, "what fails is asked again")
            wrong = [line for line in lines if line["domain"] == "llm_judge" and line["score"] != rule(line["response"])]
            expect(not wrong, f"every verdict is the judge's: {[line['prompt_id'] for line in wrong]}")
        scores = [[line["score"] for line in lines] for lines in steps]
        expect(scores == (base or scores), "two ranks have the scores of one")
        base = scores
finish("five_domains")
