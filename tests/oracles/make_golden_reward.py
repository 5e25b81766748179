#!/usr/bin/env python3
"""Writes tests/golden/reward/verdicts.jsonl: answers with the verdict that a right comparison gives; and math_verify.json: math-verify's
verdicts of what tests/cli/math_verify_test.py compares.

Run by hand where math-verify 0.9.0 is installed (with antlr4-python3-runtime 4.13.2):  python3 tests/oracles/make_golden_reward.py
A case is kept when math-verify gives the verdict by which it was built, or when its form is odd
(answer_forms.odd_forms); of the rest nobody is sure.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
import answer_cases  # noqa: E402
import math_verify_test  # noqa: E402

golds = (ROOT / "tests/golden/reward/answers.txt").read_text().splitlines()
rows = answer_cases.cases(golds, seed=2)
verdicts = math_verify_test.oracle(rows)
kept = [{**row, "math_verify": v} for row, v in zip(rows, verdicts) if v == row["same"] or math_verify_test.is_odd(row["category"])]
for row, v in zip(rows, verdicts):
    if v != row["same"] and not math_verify_test.is_odd(row["category"]):
        print("left out:", row)
lines = [json.dumps({"made_by": "tests/oracles/make_golden_reward.py", "cases": len(kept)})]
lines += [json.dumps(row, ensure_ascii=False) for row in kept]
(ROOT / "tests/golden/reward/verdicts.jsonl").write_text("\n".join(lines) + "\n")
print(f"{len(kept)} of {len(rows)} cases kept")

sets = [answer_cases.cases(golds, seed=1), list(math_verify_test.judged_rows())]
made = {"made_by": "tests/oracles/make_golden_reward.py",
        "verdicts": {math_verify_test.digest(rows): "".join(str(int(v)) for v in math_verify_test.oracle(rows)) for rows in sets}}
(ROOT / "tests/golden/reward/math_verify.json").write_text(json.dumps(made, indent=1) + "\n")
