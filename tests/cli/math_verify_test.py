"""Compares `roll score --reward math_rule` with the math-verify package.

    $ROLL_PYTHON tests/cli/math_verify_test.py BINARY [DATA.jsonl ...]

Ground truths come from the data files (rows with "ground_truth"), else from tests/golden/reward/answers.txt; for these,
math_verify.json beside them holds math-verify's verdicts, so that the package is not needed. Each is
scored against itself, rewritten forms and wrong answers (answer_cases.py). Ends 0 when the verdicts agree on at least
97 % of all of them, of the ground truths, of the rewritten and of the wrong ones: no case is left out of these shares.

Every pair of tests/golden/reward/judged.txt must have the verdict that people gave it.

The odd_* categories (answer_forms.odd_forms) are correct answers in forms that hardly anybody writes and that
math-verify mostly misreads; the form alone decides, not the verdicts. They are counted apart, and our verdict must be
"same" in at least 97 % of them.
"""
import hashlib
import importlib.util
import json
import logging
import pathlib
import subprocess
import sys
import time

import answer_cases

HERE = pathlib.Path(__file__).resolve().parent
def is_odd(category):
    return category.startswith("odd_")


def golds_of(files):
    if not files:
        return (HERE.parent / "golden/reward/answers.txt").read_text().splitlines()
    return [json.loads(line)["ground_truth"] for file in files for line in open(file)]


def score(binary, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    start = time.time()
    run = subprocess.run([binary, "score", "--reward", "math_rule"], input=text, capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        sys.exit(f"roll score ended with {run.returncode}: {run.stderr}")
    seconds = time.time() - start
    return [json.loads(line) for line in run.stdout.splitlines()], len(rows) / seconds


def oracle(rows):
    """math-verify 0.9.0's verdict per row."""
    from math_verify import parse, verify
    logging.disable(logging.CRITICAL)
    golds, verdicts = {}, []
    for row in rows:
        gold = row["ground_truth"]
        if gold not in golds:
            golds[gold] = parse(f"\\boxed{{{gold}}}", parsing_timeout=60)
        verdicts.append(bool(verify(golds[gold], parse(row["response"], parsing_timeout=60), timeout_seconds=60)))
    return verdicts


def digest(rows):
    return hashlib.sha256(json.dumps([(row["ground_truth"], row["response"]) for row in rows]).encode()).hexdigest()


def stored_oracle(rows):
    """The same, from what make_golden_reward.py wrote."""
    verdicts = json.loads((HERE.parent / "golden/reward/math_verify.json").read_text())["verdicts"].get(digest(rows))
    if verdicts:
        return [verdict == "1" for verdict in verdicts]
    sys.exit("tests/golden/reward/math_verify.json was made for other answers: run tests/oracles/make_golden_reward.py")


def report(rows, ours, theirs):
    """Prints the table; returns the shares that must reach 97 %."""
    table, shown = {}, 0
    for row, a, b in zip(rows, ours, theirs):
        line = table.setdefault(row["category"], [0, 0, 0, 0, 0, row["same"]])
        line[0] += 1
        line[1] += a == b
        line[2] += a == row["same"]
        line[3] += a != b and a == row["same"]
        line[4] += a != b and b == row["same"]
        if a != b and not is_odd(row["category"]) and shown < 40:
            shown += 1
            print(f"  differs: {row['category']}: {row['ground_truth']}  <-  {row['response']!r}: roll {a}, math-verify {b}")
    print(f"  {'category':22s}  cases  agreement  roll as built  differ: roll right  math-verify right")
    for name, (n, agree, built, we, they, _) in sorted(table.items(), key=lambda item: (is_odd(item[0]), item[0])):
        print(f"  {name:22s} {n:6d} {agree / n:10.2%} {built / n:14.2%} {we:19d} {they:18d}")

    def share(column, wanted):
        lines = [line for name, line in table.items() if wanted(name, line)]
        return sum(line[column] for line in lines) / max(1, sum(line[0] for line in lines))
    print(f"  agreement with the odd forms included: {share(1, lambda name, line: True):.2%}")
    return {
        "agreement": share(1, lambda name, line: not is_odd(name)),
        "agreement on the ground truths themselves": share(1, lambda name, line: name == "own"),
        "agreement on rewritten forms": share(1, lambda name, line: line[5] and name != "own" and not is_odd(name)),
        "agreement on wrong answers": share(1, lambda name, line: not line[5]),
        "roll as built": share(2, lambda name, line: not is_odd(name)),
        "roll as built on the odd forms": share(2, lambda name, line: is_odd(name)),
    }


def judged_rows():
    """Pairs that were judged by hand (judged.txt)."""
    category = ""
    for line in (HERE.parent / "golden/reward/judged.txt").read_text().splitlines():
        if line.startswith("#"):
            category = line[2:]
            continue
        truth, answer = line[2:].split("\t")
        yield {"ground_truth": truth, "response": f"\\boxed{{{answer}}}", "category": category, "same": line[0] == "="}


def compare_on_judged(binary, verdicts_of):
    """Every judged pair as people judged it; the table says what math-verify makes of them."""
    rows = list(judged_rows())
    ours, theirs = [r["reward"] == 1 for r in score(binary, rows)[0]], verdicts_of(rows)
    table = {}
    for row, a, b in zip(rows, ours, theirs):
        line = table.setdefault(row["category"], [0, 0, 0, 0, 0])
        for i, count in enumerate((True, a == row["same"], b == row["same"], a and not row["same"], b and not row["same"])):
            line[i] += count
        if a != row["same"]:
            print(f"  wrong: {row['ground_truth']}  <-  {row['response']}: roll {a}")
    print(f"  {'judged by hand':40s}  pairs  roll right  math-verify right  wrongly accepted: roll  math-verify")
    for name, (n, a, b, c, d) in [*table.items(), ("all", [sum(line[i] for line in table.values()) for i in range(5)])]:
        print(f"  {name:40s} {n:6d} {a:11d} {b:18d} {c:23d} {d:12d}")
    return sum(line[0] - line[1] for line in table.values())


def main(binary, files):
    missing = [f for f in files if not pathlib.Path(f).is_file()]
    if missing:
        print(f"SKIPPED these data files, which are absent: {' '.join(missing)}; own answers instead")
        files = [f for f in files if f not in missing]
    if files and not importlib.util.find_spec("math_verify"):
        print("SKIPPED: the Python package math-verify is not installed: pip install math-verify==0.9.0 antlr4-python3-runtime==4.13.2")
        return 77
    verdicts_of = oracle if files else stored_oracle
    rows = answer_cases.cases(golds_of(files), seed=1)
    results, rate = score(binary, rows)
    if len(results) != len(rows):
        sys.exit(f"{len(rows)} rows in, {len(results)} out")
    groups = report(rows, [r["reward"] == 1 for r in results], verdicts_of(rows))
    for name, agreement in groups.items():
        print(f"  {name}: {agreement:.2%} (at least 97% is needed)")
    print(f"  {len(rows)} answers, {rate:.0f} answers/s")
    wrong = compare_on_judged(binary, verdicts_of)
    return 0 if wrong == 0 and all(agreement >= 0.97 for agreement in groups.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
