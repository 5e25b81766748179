"""Compares `roll score --type math_rule` with the math-verify package.

    $ROLL_PYTHON tests/cli/math_verify_test.py BINARY [DATA.jsonl ...]

Ground truths come from the data files (rows with "ground_truth"), else from tests/golden/reward/answers.txt. Each is
scored against itself, rewritten forms and wrong answers (answer_forms.py). Ends 0 when the verdicts agree on at least
97 % of the cases, and on at least 97 % of the rewritten and of the wrong ones alone.

Forms that math-verify is known to misread (FAULTS) are set apart, whatever the verdicts, and not counted in these
shares; of them our verdict must be the one by which the case was built, in as many cases.
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
    ("a ground truth with a base and a period", re.compile(r"\d_\d\.$")),
]


def fault(row):
    """The kind of form that math-verify misreads, or None."""
    return next((name for name, pattern in FAULTS for text in (row["response"], row["ground_truth"]) if pattern.search(text)), None)


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
            golds[gold] = parse(f"\\boxed{{{gold}}}", parsing_timeout=60)
        verdicts.append(bool(verify(golds[gold], parse(row["response"], parsing_timeout=60), timeout_seconds=60)))
    return verdicts


def report(rows, ours, theirs):
    """Prints the tables; returns the shares that must reach 97 %."""
    table, apart, shown = {}, {}, 0
    for row, a, b in zip(rows, ours, theirs):
        kind = fault(row)
        line = (apart if kind else table).setdefault(kind or row["category"], [0, 0, 0, 0, row["same"]])
        line[0] += 1
        line[1] += a == b
        line[2] += a == row["same"]
        line[3] += b == row["same"]
        if a != b and not kind and shown < 40:
            shown += 1
            print(f"  differs: {row['category']}: {row['ground_truth']}  <-  {row['response']!r}: roll {a}, math-verify {b}")
    for title, lines in (("category", table), ("form that math-verify misreads", apart)):
        print(f"  {title:44s}  cases  agreement  roll as built  math-verify as built")
        for name, (n, agree, we, they, _) in sorted(lines.items()):
            print(f"  {name:44s} {n:6d} {agree / n:10.2%} {we / n:14.2%} {they / n:20.2%}")

    def share(lines, column):
        return sum(line[column] for line in lines) / max(1, sum(line[0] for line in lines))
    lines = list(table.items())
    everything = list(table.values()) + list(apart.values())
    print(f"  agreement over everything, the misread forms included: {share(everything, 1):.2%}")
    return {
        "agreement": share(table.values(), 1),
        "agreement on the ground truths themselves": share([line for name, line in lines if name == "own"], 1),
        "agreement on rewritten forms": share([line for name, line in lines if line[4] and name != "own"], 1),
        "agreement on wrong answers": share([line for _, line in lines if not line[4]], 1),
        "roll as built on the misread forms": share(apart.values(), 2),
    }


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
