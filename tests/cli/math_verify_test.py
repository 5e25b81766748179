"""Compares `roll score --type math_rule` with the math-verify package.

    $ROLL_PYTHON tests/cli/math_verify_test.py BINARY [DATA.jsonl ...]

Ground truths come from the data files (rows with "ground_truth"), else from tests/golden/reward/answers.txt. Each is
scored against itself, rewritten forms and wrong answers (answer_forms.py). Ends 0 when the verdicts agree on at least
97 % of the cases, and on at least 97 % of the rewritten and of the wrong ones alone.

A disagreement in which math-verify is plainly wrong does not count, if it is of a kind listed in FAULTS and our verdict
is the one by which the case was built; they are counted and shown.
"""
import json
import logging
import pathlib
import re
import subprocess
import sys
import time

import answer_forms

HERE = pathlib.Path(__file__).resolve().parent
FAULTS = [  # what math-verify is known to get wrong, by response or ground truth
    ("a period inside the box", re.compile(r"\.\}\$?$")),
    ("\\fbox alone is not found", re.compile(r"\\fbox")),
    ("2(8) read as a mixed number", re.compile(r"\\frac\{2\(|= 2\(\d+\)")),
    ("a lone symbol against an expression", re.compile(r"boxed\{\(?(\\?[a-z]+)\)? (\+ 5 - 5|\\cdot 1)\}")),
    ("true as a word of sympy", re.compile(r"boxed\{true\}")),
    ("capital E or I in a word read as a constant", re.compile(r"boxed\{[A-Z]*[EI][A-Z]*\}")),
    ("spacing or delimiters inside the box", re.compile(r"boxed\{(\\,|\$|\\\().*(\\;|\$|\\\))\}")),
    ("the name e as a base or a unicode letter", re.compile(r"π|log_e")),
    ("(2)^{0.5} and \\sqrt 2", re.compile(r"\^\{0\.5\}")),
    ("a base behind a period", re.compile(r"_\d\.?\}")),
    ("brackets of a pair that is no interval", re.compile(r"boxed\{[\[(]-?\d+, ?-?\d+[\])]\}")),
]


def fault(row):
    """The kind of known fault that may explain math-verify's verdict, or None."""
    text = row["response"] + " " + row["ground_truth"]
    return next((name for name, pattern in FAULTS if pattern.search(row["response"]) or pattern.search(text)), None)


def golds_of(files):
    if not files:
        return (HERE.parent / "golden/reward/answers.txt").read_text().splitlines()
    return [json.loads(line)["ground_truth"] for file in files for line in open(file)]


def score(binary, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    start = time.time()
    run = subprocess.run([binary, "score", "--type", "math_rule"], input=text, capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        sys.exit(f"roll score ended with {run.returncode}: {run.stderr}")
    seconds = time.time() - start
    return [json.loads(line) for line in run.stdout.splitlines()], len(rows) / seconds


def oracle(rows):
    """math-verify's verdict per row."""
    from math_verify import parse, verify
    logging.disable(logging.CRITICAL)
    golds, verdicts = {}, []
    for row in rows:
        gold = row["ground_truth"]
        if gold not in golds:
            golds[gold] = parse(f"\\boxed{{{gold}}}")
        verdicts.append(bool(verify(golds[gold], parse(row["response"]))))
    return verdicts


def report(rows, ours, theirs):
    """Prints the table; returns the agreement of all, rewritten and wrong cases after the excuses."""
    table, excused, shown = {}, {}, 0
    for row, a, b in zip(rows, ours, theirs):
        kind = fault(row) if a != b and a == row["same"] else None
        if kind:
            excused[kind] = excused.get(kind, 0) + 1
        line = table.setdefault(row["category"], [0, 0, 0, row["same"]])
        line[0] += 1
        line[1] += a == b
        line[2] += a == b or kind is not None
        if a != b and not kind and shown < 40:
            shown += 1
            print(f"  differs: {row['category']}: {row['ground_truth']}  <-  {row['response']!r}: roll {a}, math-verify {b}")
    for category, (n, agree, counted, _) in sorted(table.items()):
        print(f"  {category:20s} {n:6d} cases, agreement {agree / n:7.2%}, without known faults {counted / n:7.2%}")
    for kind, n in sorted(excused.items()):
        print(f"  known fault: {kind}: {n}")

    def share(lines):
        return sum(line[2] for line in lines) / max(1, sum(line[0] for line in lines))
    lines = list(table.items())
    groups = {
        "all": share([line for _, line in lines]),
        "own": share([line for name, line in lines if name == "own"]),
        "rewritten": share([line for name, line in lines if line[3] and name != "own"]),
        "wrong": share([line for name, line in lines if not line[3]]),
    }
    raw = sum(line[1] for _, line in lines) / sum(line[0] for _, line in lines)
    print(f"  agreement with known faults counted: {raw:.2%}")
    return groups


def main(binary, files):
    try:
        import math_verify  # noqa: F401
    except ImportError:
        print("SKIPPED: the Python package math-verify is not installed; scripts/test.sh installs it")
        return 77
    missing = [f for f in files if not pathlib.Path(f).is_file()]
    if missing:
        print(f"SKIPPED these data files, which are absent: {' '.join(missing)}; own answers instead")
        files = [f for f in files if f not in missing]
    rows = answer_forms.cases(golds_of(files), seed=1)
    results, rate = score(binary, rows)
    if len(results) != len(rows):
        sys.exit(f"{len(rows)} rows in, {len(results)} out")
    groups = report(rows, [r["reward"] == 1 for r in results], oracle(rows))
    for name, agreement in groups.items():
        print(f"  {name}: {agreement:.2%} (at least 97% is needed)")
    print(f"  {len(rows)} answers, {rate:.0f} answers/s")
    return 0 if all(agreement >= 0.97 for agreement in groups.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
