#!/usr/bin/env python3
"""A judge in the run: what it says is what `roll generate` says to the same question, on any layout, alone or shared by domains,
and a filter that needs its verdicts gets them. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import replay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

TEMPLATE = "Q {question} R {response} T {reference}"
# A random model says digits now and then.
JUDGE = {"rewards.math_rule.type": "llm_judge", "rewards.math_rule.judge_score_pattern": "'([0-9])'", "rewards.math_rule.judge_score_max": 9,
         "rewards.math_rule.on_reward_error": "zero", "max_steps": 2}


def lines_of(run, step):
    return rollout_lines(run, step)


def said(lines):
    return [(line["response_ids"], line["reward_detail"].get("judge", line["reward_detail"].get("error")), line["score"]) for line in lines]


def generated(folder, lines):
    """The judge's greedy words, through `roll generate`."""
    rows = [{"messages": [{"role": "user", "content": TEMPLATE.format(question=line["prompt"], response=line["response"], reference=line["ground_truth"])}]}
            for line in lines]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    replay.roll("generate", "--model", folder / "judge", "--input", folder / "questions.jsonl", "--out", folder / "words.jsonl", "--max-new-tokens", 40,
                "--temperature", 0, "--template", "chatml")
    return [json.loads(line)["text"] for line in open(folder / "words.jsonl")]


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    replay.make_model(folder)
    replay.make_model(folder, "judge", "qwen2", "--hidden", 48)
    (folder / "rows.jsonl").write_text("".join(json.dumps(dict(id=str(i), prompt=f"{i}+1=", ground_truth=str(i + 1), tag="sum")) + "\n" for i in range(40)))
    (folder / "template.txt").write_text(TEMPLATE)
    own = JUDGE | {"rewards.math_rule.judge_model_type": "inference", "rewards.math_rule.judge_prompt_file": folder / "template.txt",
                   "rewards.math_rule.model_args": f"{{model_name_or_path: {folder / 'judge'}}}", "rewards.math_rule.data_args": "{template: chatml}",
                   "rewards.math_rule.generating_args": "{max_new_tokens: 40, temperature: 0}"}
    one = replay.train(folder, "one", estimator="grpo", **own)
    lines = lines_of(one, 1)
    words = generated(folder, lines)
    for line, answer in zip(lines, words):
        detail = line["reward_detail"]
        told = detail.get("judge", detail.get("error", "")[len('the judge answered "'):])
        expect(told[:10] in (answer[:10], json.dumps(answer)[1:11]), f"the judge said {told!r}, generate {answer!r}")
    (folder / "score.yaml").write_text(json.dumps(dict(rewards=dict(judged=dict(
        type="llm_judge", judge_model_type="inference", judge_prompt_file=str(folder / "template.txt"), judge_score_pattern="'([0-9])'", judge_score_max=9,
        on_reward_error="zero", model_args=dict(model_name_or_path=str(folder / "judge")), data_args=dict(template="chatml"),
        generating_args=dict(max_new_tokens=40, temperature=0))))))
    (folder / "answers.jsonl").write_text("".join(json.dumps({key: line[key] for key in ("prompt", "response", "ground_truth")}) + "\n" for line in lines))
    replay.roll("score", "--config", folder / "score.yaml", "--input", folder / "answers.jsonl", "--out", folder / "scored.jsonl")
    scored = [json.loads(line) for line in open(folder / "scored.jsonl")]
    expect([(line["reward"], line["detail"]) for line in scored] == [(line["reward"], line["reward_detail"]) for line in lines], "`roll score` judges as the run")
    # Sampled words too are the same on any layout.
    sampled = own | {"rewards.math_rule.generating_args": "{max_new_tokens: 40, temperature: 1.0}"}
    base = said(lines_of(replay.train(folder, "sampled", estimator="grpo", **sampled), 2))
    expect(sum(score > 0 for _, _, score in base) > 2, f"some verdicts can be read: {base}")
    for name, layout in {"dp": dict(ranks=2, accumulation=2), "tp": dict(ranks=2, tp=2)}.items():
        tp = layout.get("tp", 1)
        run = replay.train(folder, name, estimator="grpo", **sampled, **layout,
                           **{"rewards.math_rule.strategy_args": f"{{strategy_config: {{tensor_parallel_size: {tp}}}}}"})
        expect(said(lines_of(run, 2)) == base, f"{name}: the judge says what it says to one rank")
    shared = {key: value for key, value in own.items() if "model_args" not in key and "data_args" not in key and "generating_args" not in key}
    shared |= {"rewards.math_rule.judge_model_type": "cluster", "reward_model.model_args.model_name_or_path": folder / "judge",
               "reward_model.data_args.template": "chatml", "reward_model.generating_args": "{max_new_tokens: 40, temperature: 0}"}
    expect(said(lines_of(replay.train(folder, "shared", estimator="grpo", **shared), 1)) == said(lines), "a shared judge says the same")
    filtered = replay.train(folder, "filtered", estimator="grpo", **sampled, **{
        "rewards.math_rule.query_filter_config": "{type: std_filter, filter_args: {std_threshold: 0.01}}"})
    groups = [[line["score"] for line in lines_of(filtered, 1) if line["group_index"] == g] for g in range(4)]
    expect(all(len(group) == 4 and len(set(group)) > 1 for group in groups), f"the filter keeps groups that differ: {groups}")
finish("judge_model")
