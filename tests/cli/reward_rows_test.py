#!/usr/bin/env python3
"""scripts/make_instructions.py and make_multiple_choice.py: a seed fixes every byte, held-out prompts are never trained on,
and `roll score` gives the right responses of their warm-up rows 1 and the others 0. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

from expecting import expect, finish

BINARY = sys.argv[1]
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
COLUMNS = ["id", "source", "difficulty", "prompt", "messages", "ground_truth", "case_type", "test_case_function", "test_cases", "tag"]


def make(script, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, SCRIPTS / script, "--out", folder, *arguments], check=True, stdout=subprocess.DEVNULL)
        return {name: [json.loads(line) for line in (pathlib.Path(folder) / name).read_text().splitlines()]
                for name in ("train.jsonl", "heldout.jsonl", "sft.jsonl")}


def scores(rows, type_):
    run = subprocess.run([BINARY, "score", "--reward", type_], input="".join(json.dumps(r) + "\n" for r in rows), capture_output=True,
                         text=True, timeout=60)
    expect(run.returncode == 0 and not run.stderr, f"{type_}: exit {run.returncode}, {run.stderr}")
    return [json.loads(line)["reward"] for line in run.stdout.splitlines()]


for script, type_, others in (("make_instructions.py", "ifeval", ["--format", "ifeval"]), ("make_multiple_choice.py", "multiple_choice", [])):
    files = make(script)
    expect(files == make(script), f"{script}: two runs with one seed differ")
    expect(files["train.jsonl"] != make(script, "--seed", "43")["train.jsonl"], f"{script}: the seed changes nothing")
    prompts = {name: {row["prompt"] for row in rows} for name, rows in files.items()}
    expect(not prompts["heldout.jsonl"] & (prompts["train.jsonl"] | prompts["sft.jsonl"]), f"{script}: a held-out prompt is trained on")
    expect(prompts["sft.jsonl"] <= prompts["train.jsonl"], f"{script}: sft.jsonl has prompts of its own")
    expect(all(list(row) == COLUMNS for row in files["train.jsonl"]), f"{script}: ROLL's columns")
    for rows in [files["sft.jsonl"]] + [make(script, *others)["sft.jsonl"]] * bool(others):
        wanted = [float(row["id"].endswith("-0")) for row in rows]
        given = scores(rows, type_)
        wrong = [f"{row['prompt']!r} {row['response']!r}: {seen}" for row, seen, want in zip(rows, given, wanted) if seen != want]
        expect(not wrong, f"{script}: {len(wrong)} of {len(rows)} rewards are others than meant: {wrong[:5]}")
letters = [row["ground_truth"] for row in files["train.jsonl"]]
expect(all(letters.count(letter) > len(letters) / 5 for letter in "ABCD"), "the right choices are spread over the letters")
finish("reward_rows")
