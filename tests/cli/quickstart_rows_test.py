"""scripts/make_arithmetic.py: the held-out problems are never trained on, and a seed fixes every byte."""
import json
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/make_arithmetic.py"
NAMES = ["train.jsonl", "heldout.jsonl", "sft.jsonl"]


def make(folder, *arguments):
    subprocess.run([sys.executable, SCRIPT, "--out", folder, *arguments], check=True, stdout=subprocess.DEVNULL)
    return {name: (pathlib.Path(folder) / name).read_text() for name in NAMES}


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def right(row):
    """The sum, calculated from the prompt's text alone."""
    a, b = row["prompt"].rstrip("=").split("+")
    return str(int(a) + int(b))


with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second, tempfile.TemporaryDirectory() as third:
    files, again, other = make(first), make(second), make(third, "--seed", "43")
assert files == again, "two runs with one seed differ"
assert all(files[name] != other[name] for name in NAMES), "the seed changes nothing"

train, heldout, sft = (rows(files[name]) for name in NAMES)
prompts = {name: {row["prompt"] for row in rows(files[name])} for name in NAMES}
assert len(train) + len(heldout) == 900 and len(prompts["train.jsonl"]) == len(train) and len(heldout) == 200
assert not prompts["heldout.jsonl"] & (prompts["train.jsonl"] | prompts["sft.jsonl"]), "a held-out problem is trained on"
assert prompts["sft.jsonl"] <= prompts["train.jsonl"]
for row in train + heldout + sft:
    assert row["ground_truth"] == right(row) and json.loads(row["messages"])[0]["content"] == row["prompt"], row
estimates = [row for row in sft if row["response"] != f"\\boxed{{{right(row)}}}"]
assert len(estimates) * 3 == len(sft) * 2, f"{len(estimates)} of {len(sft)} responses are estimates"
for row in estimates:
    tens = row["response"].removeprefix("~\\boxed{").removesuffix("0}") + "0"
    assert -5 <= int(right(row)) - int(tens) < 5, row
print(f"{len(train)} + {len(heldout)} rows, {len(sft)} for the warm-up of which {len(estimates)} are estimates")
