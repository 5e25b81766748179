#!/usr/bin/env python3
"""Writes the rows of the five-domain recipe, by the five scripts that make one domain's, and what its two tiny models are
warmed up on.

math.jsonl, code.jsonl, judge.jsonl, choices.jsonl, instructions.jsonl   problems to train on by reinforcement
heldout.jsonl      other problems of all five, for the validation
sft.jsonl          training problems with responses, some right and some not: the policy's warm-up
judge_sft.jsonl    questions to a judge with the right verdicts, YES or NO: the judge's warm-up

All depends on the seeds of those scripts alone, on every machine.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import data_rows

SCRIPTS = pathlib.Path(__file__).resolve().parent
JUDGE_PROMPT = SCRIPTS.parent / "configs/rlvr_five_domains_judge.txt"


def made(script, *arguments):
    subprocess.run([sys.executable, SCRIPTS / script, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def rows_of(path):
    return [json.loads(line) for line in open(path)]


def answered(rows, shape):
    """Each row twice: with its own ground_truth, and with that of another row of its kind, which is wrong."""
    done = []
    for i, row in enumerate(rows):
        others = [other["ground_truth"] for other in rows[i + 1:] + rows[:i]
                  if other["source"] == row["source"] and other["ground_truth"] != row["ground_truth"]]
        done += [row | {"response": shape(text)} for text in (row["ground_truth"], others[0])]
    return done


def verdicts(rows):
    """The judge's own conversations; `rows` come in pairs of a right and a wrong response."""
    template = JUDGE_PROMPT.read_text()
    for i, row in enumerate(rows):
        question = template.replace("{question}", row["prompt"]).replace("{reference}", row["ground_truth"]).replace("{response}", row["response"])
        yield {"id": f"judge-{i}", "messages": json.dumps([{"role": "user", "content": question}]), "response": ("YES", "NO")[i % 2]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the eight files")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        made("make_arithmetic.py", "--out", folder / "math")
        made("make_multiple_choice.py", "--out", folder / "choices")
        made("make_instructions.py", "--out", folder / "instructions")
        made("make_judge.py", "--out", folder / "judge")
        made("make_code.py", "--out", folder / "code.jsonl", "--rows", 440, "--case-types", "calls", "assert", "pytest", "check_based")
        train = {name: rows_of(folder / name / "train.jsonl") for name in ("math", "choices", "instructions", "judge")}
        heldout = [row for name in train for row in rows_of(folder / name / "heldout.jsonl")[:40]]
        warm_up = [row for name in ("math", "choices", "instructions") for row in rows_of(folder / name / "sft.jsonl")]
        code = rows_of(folder / "code.jsonl")
    train["code"], code_heldout = code[:400], code[400:]
    for name, rows in train.items():
        data_rows.write(out / f"{name}.jsonl", rows)
    data_rows.write(out / "heldout.jsonl", heldout + code_heldout)
    answers = answered(train["judge"], str)
    data_rows.write(out / "sft.jsonl", warm_up + answered(train["code"], "```python\n{}```".format) + answers)
    data_rows.write(out / "judge_sft.jsonl", list(verdicts(answers)))


if __name__ == "__main__":
    main()
