#!/usr/bin/env python3
"""Writes small programming problems (ROLL's JSON-lines columns for type code_sandbox), with tests of every case_type.

Each problem asks for a function, or for a program from standard input to standard output. Its ground_truth is a right
program, which no judge looks at. All depends on --seed alone, on every machine.
"""
import argparse
import json
import pathlib
import random

import data_rows

# name, what f(x) is, its program, an argument of it
PROBLEMS = [
    ("add", "x plus {k}", "def f(x):\n    return x + {k}\n", lambda r: r.randint(-50, 50)),
    ("multiply", "{k} times x", "def f(x):\n    return {k} * x\n", lambda r: r.randint(-50, 50)),
    ("rest", "what is left of x when it is divided by {k}", "def f(x):\n    return x % {k}\n", lambda r: r.randint(0, 500)),
    ("larger", "the list of those numbers in the list x that are larger than {k}, in their order",
     "def f(x):\n    return [y for y in x if y > {k}]\n", lambda r: [r.randint(0, 15) for _ in range(r.randint(0, 6))]),
    ("total", "the sum of the numbers in the list x, plus {k}", "def f(x):\n    return sum(x) + {k}\n",
     lambda r: [r.randint(-9, 9) for _ in range(r.randint(0, 6))]),
    ("repeat", "the text x, {k} times", "def f(x):\n    return x * {k}\n", lambda r: "".join(r.choice("abc") for _ in range(r.randint(0, 4)))),
    ("letters", "how many letters the text x has that stand before the {k}th letter of the alphabet",
     "def f(x):\n    return sum(ord(c) - 96 < {k} for c in x)\n", lambda r: "".join(r.choice("abcdefghijkl") for _ in range(r.randint(0, 8)))),
]
CASE_TYPES = ("input", "calls", "assert", "pytest", "check_based", "text")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the file of rows")
    parser.add_argument("--rows", type=int, default=60, help="how many (default %(default)s)")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--case-types", nargs="+", default=CASE_TYPES, choices=CASE_TYPES)
    return parser.parse_args()


def cases_of(case_type, program, function, arguments):
    """(test_cases, test_case_function, the program that is asked for, what else the prompt says)"""
    pairs = [(x, function(x)) for x in arguments]
    asserts = [f"assert f({x!r}) == {y!r}" for x, y in pairs]
    if case_type == "input":
        whole = f"import json\n\n{program}\nprint(json.dumps(f(json.loads(input()))))\n"
        cases = [{"stdin": json.dumps(x) + "\n", "expected_stdout": json.dumps(y) + "\n"} for x, y in pairs]
        return cases, None, whole, "Write a Python program that reads x as JSON from standard input and prints f(x) as JSON."
    if case_type == "calls":
        return [{"stdin": json.dumps(x), "expected_stdout": json.dumps(y)} for x, y in pairs], "f", program, "Write the Python function f(x)."
    if case_type == "assert":
        return [{"assert_code": line} for line in asserts], None, program, "Write the Python function f(x)."
    if case_type == "pytest":
        tests = "".join(f"def test_{number}():\n    {line}\n\n" for number, line in enumerate(asserts))
        return [{"assert_code": f"from solution import f\n\n{tests}"}], None, program, "Write the Python function f(x)."
    if case_type == "check_based":
        lines = "".join(f"    assert candidate({x!r}) == {y!r}\n" for x, y in pairs)
        case = {"assert_code": f"def check(candidate):\n{lines}", "entry_point": "f", "import_prefix": "from typing import *\n"}
        return [case], None, program, "Write the Python function f(x)."
    x, y = pairs[0]
    return [f"assert {{response}}.strip() == {str(y)!r}"], None, str(y), f"Do not write code. What is f({x!r})? Answer with the value alone."


def row(number, case_type, rng):
    name, meaning, program, argument = rng.choice(PROBLEMS)
    k = rng.randint(2, 9)
    program = program.format(k=k)
    names = {}
    exec(program, names)  # our own, above
    cases, function, whole, how = cases_of(case_type, program, names["f"], [argument(rng) for _ in range(5)])
    prompt = f"f(x) is {meaning.format(k=k)}. {how}"
    made = data_rows.row(f"code-{number}", f"generated {name}", prompt, whole, "generated_code", "code_sandbox")
    return made | {"case_type": "input" if case_type == "calls" else case_type, "test_case_function": function, "test_cases": json.dumps(cases)}


def main():
    arguments = parse_arguments()
    rng = random.Random(arguments.seed)
    rows = [row(number, arguments.case_types[number % len(arguments.case_types)], rng) for number in range(arguments.rows)]
    arguments.out.write_text("".join(json.dumps(one) + "\n" for one in rows))


if __name__ == "__main__":
    main()
