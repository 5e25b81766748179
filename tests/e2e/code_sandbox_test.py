#!/usr/bin/env python3
"""Programs through `roll score --reward code_sandbox`: right ones of each kind of test are right, wrong ones wrong, and what cannot
be judged is neither. The expected verdicts come from running the program here, in Python, without a sandbox: all programs
of this file are ours. Argument: the roll binary.

Where programs cannot be isolated, the same runs with unsafe_no_sandbox, and says so."""
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import cheats
import right_programs
import tampering

BINARY = sys.argv[1]
SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
failures = []
extra = []


os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"  # the sandbox's Python is this one, which has numpy


def score(rows, *flags):
    text = "".join(json.dumps({"ground_truth": "", **row}) + "\n" for row in rows)
    done = subprocess.run([BINARY, "score", "--reward", "code_sandbox", *extra, *flags], input=text, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def fenced(code, mark="python"):
    return f"Here it is:\n```{mark}\n{code}\n```\n"


def streams(response, *pairs, **columns):
    return {"response": response, "case_type": "input", "test_cases": [{"stdin": a, "expected_stdout": b} for a, b in pairs], **columns}


def asserts(code, *tests, **columns):
    return {"response": fenced(code), "case_type": "assert", "test_cases": [{"assert_code": test} for test in tests], **columns}


def check_all(table, *flags):
    """table: (name, row, the reward or None)"""
    for (name, _, wanted), got in zip(table, score([row for _, row, _ in table], *flags)):
        expect(got["reward"] == wanted, f"{name}: {wanted} wanted, {got}")


ECHO = "print(input())"
STREAMS = [
    ("echo", streams(fenced(ECHO), ("a\n", "a\n"), ("b\n", "b")), 1),
    ("one of two", streams(fenced("print('a')"), ("a\n", "a\n"), ("b\n", "b")), 0),
    ("spaces and blank lines around", streams(fenced("print('\\n 1  2 \\n3\\n\\n')"), ("", "1 2\n3")), 1),
    ("a line less", streams(fenced("print('1 2')"), ("", "1\n2")), 0),
    ("a word more", streams(fenced("print('1 2 3')"), ("", "1 2")), 0),
    ("decimals", streams(fenced("print('1.50 -0 2e3 x')"), ("", "1.5 0 2000 x")), 1),
    ("near is not the same", streams(fenced("print(0.1 + 0.2)"), ("", "0.3")), 0),
    ("nothing expected, nothing printed", streams(fenced("pass"), ("", "")), 1),
    ("nothing expected, something printed", streams(fenced("print(1)"), ("", "")), 0),
    ("raises behind the output", streams(fenced("print(1)\n1 / 0"), ("", "1")), 0),
    ("exits behind the output", streams(fenced("import sys\nprint(1)\nsys.exit(0)\nprint(2)"), ("", "1")), 1),
    ("exits with quit()", streams(fenced("print(1)\nquit()"), ("", "1")), 1),
    ("main guard", streams(fenced("def main():\n    print(int(input()) + 1)\nif __name__ == '__main__':\n    main()"), ("41", "42")), 1),
    ("a thread prints", streams(fenced("import threading\nthreading.Thread(target=lambda: print(1)).start()"), ("", "1")), 1),
    ("common imports are there", streams(fenced("print(gcd(4, 6), deque([1])[0], List[int] is not None)"), ("", "2 1 True")), 1),
    ("deep recursion", streams(fenced("def f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(50000))"), ("", "50000")), 1),
    ("reads all input", streams(fenced("import sys\nprint(sum(int(x) for x in sys.stdin.read().split()))"), ("1 2\n3\n" * 20000, "120000")), 1),
    ("reads bytes", streams(fenced("import sys\nprint(len(sys.stdin.buffer.read()))"), ("äö", "4")), 1),
    ("/dev/stdin and /dev/stdout", streams(fenced("open('/dev/stdout', 'w').write(open('/dev/stdin').read() + open('/proc/self/fd/0').read())"), ("x", "xx")), 1),
    ("a pool of processes", streams(fenced("from multiprocessing import Pool\ndef f(x): return x + 1\nif __name__ == '__main__':\n    with Pool(2) as pool: print(*pool.map(f, [1, 2]))"), ("", "2 3")), 1),
    ("open(0)", streams(fenced("print(open(0).read())"), ("x", "x")), 1),
    ("prints much", streams(fenced("for i in range(200000): print(i)"), ("", "\n".join(map(str, range(200000))))), 1),
    ("writes and reads a file", streams(fenced("open('a', 'w').write('7')\nprint(open('a').read())"), ("", "7")), 1),
    ("a child process", streams(fenced("import subprocess\nprint(subprocess.run(['echo', '5'], capture_output=True, text=True).stdout)"), ("", "5")), 1),
    ("random numbers differ", streams(fenced("import random\nprint(random.random() != 0.5)"), ("", "True")), 1),
    ("input and output as keys", {"response": fenced(ECHO), "case_type": "input", "test_cases": [{"input": "a", "output": "a"}]}, 1),
]
BLOCKS = [
    ("the last block counts", streams(fenced("print(1)") + fenced("print(2)"), ("", "2")), 1),
    ("python3", streams(fenced("print(1)", "python3"), ("", "1")), 1),
    ("no mark", streams(fenced("print(1)", ""), ("", "1")), 1),
    ("a marked block before one without", streams(fenced("print(1)") + fenced("the output is 1", ""), ("", "1")), 1),
    ("no fence", streams("print(1)", ("", "1")), 1),
    ("no fence and too long", streams("print(1)" + "\n" * 4001 + "#", ("", "1")), 0),
    ("behind </think>", streams(fenced("print(1)") + "</think>\n" + "print(2)", ("", "2")), 1),
    ("before </think> only", streams("<think>" + fenced("print(1)") + "</think> I cannot.", ("", "1")), 0),
    ("behind <|begin_of_solution|>", streams(fenced("print(1)") + "<|begin_of_solution|>" + fenced("print(2)"), ("", "2")), 1),
    ("a block that does not end", streams("```python\nprint(1)", ("", "1")), 0),
    ("nothing", streams("", ("", "")), 0),
    ("an empty block", streams(fenced(""), ("", "")), 1),
    ("a language that nothing runs", streams(fenced("puts 1", "ruby"), ("", "1")), 0),
]
CLASS = "class Stack:\n    kind = 'stack'\n    def __init__(self): self.items = []\n    def push(self, x): self.items.append(x)\n    def pop(self): return self.items.pop()\n" \
        "    def __len__(self): return len(self.items)\n    def __repr__(self): return f'Stack({self.items})'\n    def __eq__(self, other): return self.items == other.items\n" \
        "    def __add__(self, other):\n        both = Stack()\n        both.items = self.items + other.items\n        return both\n" \
        "    def __enter__(self): return self\n    def __exit__(self, *error): self.items.clear()\n    @property\n    def top(self): return self.items[-1]\n    @staticmethod\n    def of(*items):\n        made = Stack()\n        made.items = list(items)\n        return made\n" \
        "class Empty(IndexError): pass\ndef first(stack):\n    if not len(stack): raise Empty('nothing in it')\n    return stack.items[0]\n"
TESTS = [
    ("asserts", asserts("def f(x): return x * 2", "assert f(2) == 4", "assert f('a') == 'aa'\nassert f([1]) == [1, 1]"), 1),
    ("one assert fails", asserts("def f(x): return x * 2", "assert f(2) == 4", "assert f(2) == 5"), 0),
    ("tests as text", {"response": fenced("def f(x): return x"), "case_type": "assert", "test_cases": json.dumps(["assert f(1) == 1"])}, 1),
    ("no such function", asserts("def g(x): return x", "assert f(1) == 1"), 0),
    ("syntax error in the program", asserts("def f(x: return x", "assert f(1) == 1"), 0),
    ("the program fails as it loads", asserts("def f(x): return x\n1 / 0", "assert f(1) == 1"), 0),
    ("data of every kind", asserts("def f(x): return x", "x = {1: [2, (3.5, None)], 'a': {4, 5}, b'b': frozenset({6}), 10**40: 1j, True: -0.0, (1, 2): 'ü\\ud800'}\n"
     "y = f(x)\nassert x == y and repr(x) == repr(y)\nimport datetime, fractions, decimal, collections\n"
     "for z in (range(3), collections.deque([1]), fractions.Fraction(1, 3), decimal.Decimal('1.10'), datetime.date(2020, 1, 2), datetime.timedelta(1), float('inf'), bytearray(b'x')):\n    assert f(z) == z"), 1),
    ("classes", asserts(CLASS, "s = Stack()\ns.push(3)\nassert s.pop() == 3 and len(s) == 0 and not s\nassert isinstance(s, Stack) and Stack.kind == 'stack'",
     "s = Stack.of(1, 2)\nassert str(s) == 'Stack([1, 2])' and s == Stack.of(1, 2) and s != Stack() and (s + s).items == [1, 2, 1, 2] and s.top == 2\n"
     "s.items = [7]\nassert first(s) == 7\nwith s as t: assert t.top == 7\nassert s.items == []",
     "try:\n    first(Stack())\n    assert False\nexcept Empty as e:\n    assert str(e) == 'nothing in it' and isinstance(e, IndexError)"), 1),
    ("a list that is changed in place", asserts("def f(x): x.sort(); x[0][0] = 9", "x = [[2], [1]]\ny = x[1]\nf(x)\nassert x == [[9], [2]]"), 1),
    ("functions as arguments", asserts("def f(g, x): return [g(y) for y in x]", "assert f(lambda y: y + 1, [1]) == [2] and f(len, ['ab']) == [2] and f(str, [1]) == ['1']",
     "def g(y): raise KeyError(y)\ntry:\n    f(g, [1])\n    assert False\nexcept KeyError: pass"), 1),
    ("functions as results", asserts("def f(n): return lambda x: x + n", "assert f(2)(3) == 5"), 1),
    ("generators", asserts("def f(n):\n    yield from range(n)", "assert list(f(3)) == [0, 1, 2] and sum(f(4)) == 6 and next(f(1)) == 0 and (0, 1) == tuple(f(2))"), 1),
    ("coroutines", asserts("async def f(x): return x + 1", "import asyncio\nassert asyncio.run(f(1)) == 2"), 1),
    ("globals", asserts("LIMIT = 5\nTABLE = {1: 2}\ndef f(): return LIMIT", "assert LIMIT == f() == 5 and TABLE[1] == 2"), 1),
    ("what it prints", asserts("def f(): print('hi')", "import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out): f()\nassert out.getvalue() == 'hi\\n'"), 1),
    ("enums", asserts("import enum\nclass Color(enum.Enum):\n    RED = 1\ndef f(): return Color.RED", "assert f() == Color.RED and f().name == 'RED' and f().value == 1 and Color(1) == Color.RED"), 1),
    ("dataclasses", asserts("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 0", "assert P(1) == P(1, 0) and P(1).x == 1 and P(1) != P(2) and repr(P(1)) == 'P(x=1, y=0)'"), 1),
    ("named tuples and defaultdicts", asserts("P = namedtuple('P', 'x y')\ndef f():\n    d = defaultdict(list)\n    d[1].append(P(1, 2))\n    return d", "assert f() == {1: [(1, 2)]}"), 1),
    ("a function called as one that is built in", asserts("def sum(a, b): return a + b", "assert sum(1, 2) == 3"), 1),
    ("a main guard is not run", asserts("def f(): return 1\nif __name__ == '__main__':\n    raise SystemExit(1)", "assert f() == 1"), 1),
    ("unittest", {"response": fenced("def f(x): return x"), "case_type": "pytest",
     "test_cases": ["import unittest\nclass TestF(unittest.TestCase):\n    def setUp(self): self.x = 3\n    def test_f(self): self.assertEqual(f(self.x), 3)\n    def test_g(self):\n        with self.assertRaises(TypeError): f()"]}, 1),
    ("C++ for tests in Python", {"response": fenced("int main() {}", "cpp"), "case_type": "assert", "test_cases": ["assert f(1) == 1"]}, 0),
]
PYTEST = """
import pytest
from solution import f, Bad
import solution

@pytest.fixture
def three():
    return 3

@pytest.fixture
def items(three):
    yield [three]

def test_plain(three, items):
    assert f(three) == 6 and items == [3] and solution.f(1) == 2

@pytest.mark.parametrize("a, b", [(1, 2), (2, 4), pytest.param(3, 6)])
@pytest.mark.parametrize("c", [0, 1])
def test_rows(a, b, c):
    assert f(a) == b

def test_raises(capsys):
    with pytest.raises(Bad, match="neg"):
        f(-1)
    with pytest.raises(ValueError) as info:
        f(-1)
    assert "negative" in str(info.value)
    f(0)
    assert capsys.readouterr().out == "zero\\n"

@pytest.mark.skip(reason="none")
def test_near():
    assert f(0.1) == pytest.approx(0.2) and f(0.15) + 1e-9 == pytest.approx(0.3)

class TestAll:
    def setup_method(self):
        self.x = 2
    def test_it(self):
        assert f(self.x) == 4
"""
SOLUTION = "class Bad(ValueError): pass\ndef f(x):\n    if x < 0: raise Bad('negative')\n    if x == 0: print('zero')\n    return 2 * x"


def pytest_row(code, test):
    return {"response": fenced(code), "case_type": "pytest", "test_case_function": "None", "test_cases": json.dumps([{"assert_code": test}])}


PYTESTS = [
    ("pytest", pytest_row(SOLUTION, PYTEST), 1),
    ("pytest, another exception", pytest_row(SOLUTION.replace("ValueError", "KeyError"), PYTEST), 0),
    ("pytest, nothing raised", pytest_row(SOLUTION.replace("raise Bad('negative')", "return 0"), PYTEST), 0),
    ("pytest, another text", pytest_row(SOLUTION.replace("negative", "positive"), PYTEST), 0),
    ("pytest, another value", pytest_row(SOLUTION.replace("2 * x", "2 * x if x != 3 else 0"), PYTEST), 0),
    ("from solution import *", pytest_row(SOLUTION, "from solution import *\ndef test_f(): assert f(1) == 2"), 1),
]
CHECK = {"assert_code": "def check(candidate):\n    two = 2\n    assert candidate(two) == 4\n    assert candidate(0) == 0\n    for i in range(2):\n        assert candidate(i) == 2 * i\n", "entry_point": "f"}


def check_row(code, **changes):
    return {"response": fenced(code), "case_type": "check_based", "test_cases": [{**CHECK, **changes}]}


CHECKS = [
    ("check", check_row("def f(x): return x * 2"), 1),
    ("check, wrong", check_row("def f(x): return x + 2"), 0),
    ("check, prefix", check_row("def f(x): return x * TWO", import_prefix="TWO = 2"), 1),
    ("check, a method", check_row("class Solution:\n    def f(self, x): return x * 2", entry_point="Solution().f"), 1),
    ("check, no such function", check_row("def g(x): return x * 2"), 0),
]


def calls_row(code, function, *pairs):
    return {**streams(fenced(code), *pairs), "test_case_function": function}


MARKS = """
import os
import pytest
from solution import warn, get, f

def testWithoutUnderscore():
    assert f(1) == 2

def test_warns():
    with pytest.warns(UserWarning, match="careful"):
        warn()

@pytest.mark.xfail
def test_fails():
    assert f(1) == 3

@pytest.mark.xfail(raises=ValueError, strict=True)
def test_fails_so():
    raise ValueError

@pytest.mark.parametrize("x", [1, pytest.param(5, marks=pytest.mark.xfail), pytest.param(6, marks=[pytest.mark.skip(reason="no")])])
def test_param(x):
    assert f(x) == 2

def test_patches(monkeypatch, tmp_path):
    monkeypatch.setenv("NAME", "n")
    monkeypatch.setattr("time.time", lambda: 5)
    monkeypatch.chdir(tmp_path)
    assert get() == ("n", 5, str(tmp_path))

def test_is_as_before():
    assert get()[0] is None and get()[1] > 5
"""
MARKED = "import os, time, warnings\ndef warn(): warnings.warn('be careful')\ndef get(): return os.environ.get('NAME'), time.time(), os.getcwd()\ndef f(x): return x + 1"
NOT_RUN = [
    ("marks of pytest", pytest_row(MARKED, MARKS), 1),
    ("test*, wrong", pytest_row(MARKED, "from solution import f\ndef testA(): assert f(1) == 3"), 0),
    ("nothing is warned of", pytest_row(MARKED.replace("warnings.warn", "str"), MARKS), 0),
    ("xfail that is strict", pytest_row(MARKED, MARKS.replace("raise ValueError", "pass")), 0),
    ("an empty test", pytest_row("def f(x): return 0", ""), None),
    ("a case that asserts nothing", asserts("def f(x): return 0", "x = 1"), None),
    ("a test that asserts nothing", pytest_row("def f(x): return 0", "def test_f(): f(1)  # would assert"), None),
    ("a test that nobody calls", pytest_row("def f(x): return 0", "def try_f(): assert f(1) == 1"), None),
    ("a test that somebody calls", pytest_row("def f(x): return 1", "def try_f(): assert f(1) == 1\ntry_f()"), 1),
    ("only skipped tests", pytest_row("def f(x): return 0", "import pytest\n@pytest.mark.skip\ndef test_f(): assert f(1) == 1"), None),
    ("files of their own", asserts("import os\ndef f(): return os.path.basename(__file__)", "assert f() == 'solution.py' and __file__.endswith('.py')"), 1),
    ("what mirrors cannot do", asserts("class P:\n    def __init__(self): self.x = 1", "import pickle\nassert pickle.loads(pickle.dumps(P())).x == 1"), None),
    ("a class in a number's place that says it is numpy's", asserts("class A:\n    def __mod__(s, o): return 0\nA.__module__ = 'numpy'\ndef f(x): return A()", "import numpy\nassert f(3) % 7 == 0"), None),
    ("a class that a check is about", check_row("class Money:\n    def __init__(s, n): s.n = n\n    def __mod__(s, k): return s.n % k", assert_code="def check(candidate):\n    assert candidate(17) % 5 == 2", entry_point="Money"), 1),
    ("what mirrors cannot do, wrong", asserts("class P:\n    def __init__(self): self.x = 2", "import pickle\nassert pickle.loads(pickle.dumps(P())).x == 1"), 0),
]
CALLS = [
    ("calls", calls_row("def add(a, b): return a + b", "add", ("1\n2", "3"), ('"a"\n"b"', '"ab"')), 1),
    ("calls, wrong", calls_row("def add(a, b): return a - b", "add", ("1\n2", "3")), 0),
    ("calls, a method", calls_row("class Solution:\n    def add(self, a): return (a[0], [a[1]])", "add", ("[1, 2]", "[1, [2]]")), 1),
    ("calls, no such function", calls_row("def sub(a, b): return a - b", "add", ("1\n2", "3")), 0),
    ("calls, exactly", calls_row("def f(n): return n + 1", "f", ("12345678901234567890123", "12345678901234567890124")), 1),
    ("calls, text is no number", calls_row("def f(n): return str(n)", "f", ("1", "1")), 0),
]
TEXTS = [
    ("text", {"response": "<think>x</think> It's '''three''' \\ words", "case_type": "text", "test_cases": ["assert {response}.split()[-1] == 'words'", {"assert_code": "assert \"'''\" in response"}]}, 1),
    ("text, wrong", {"response": "two", "case_type": "text", "test_cases": ["assert {response} == 'three'"]}, 0),
    ("text that would be code", {"response": "'''+__import__('os').abort()+'''", "case_type": "text", "test_cases": ["assert {response}.startswith(\"'''\")"]}, 1),
]
UNJUDGED = [
    ("no test_cases", {"response": fenced("1"), "case_type": "input"}, None),
    ("test_cases that are no JSON", {"response": fenced("1"), "case_type": "input", "test_cases": "[{"}, None),
    ("no case", {"response": fenced("1"), "case_type": "input", "test_cases": []}, None),
    ("a case without stdin", {"response": fenced("1"), "case_type": "input", "test_cases": [{}]}, None),
    ("tests that do not compile", asserts("def f(): pass", "assert f( == 1"), None),
    ("tests that need what is not here", asserts("def f(): pass", "import no_such_module_anywhere\nassert f() is None"), None),
    ("a fixture that nobody has", {"response": fenced("def f(): pass"), "case_type": "pytest", "test_cases": ["def test_f(nobody_has_this): pass"]}, None),
    ("calls without JSON", calls_row("def f(x): return x", "f", ("x", "1")), None),
]
CPP = "#include <iostream>\nint main() { long a; std::cin >> a; std::cout << a * 2 << std::endl; }"
CPPS = [
    ("C++", streams(fenced(CPP, "cpp"), ("21", "42"), ("1", "2")), 1),
    ("C++, wrong", streams(fenced(CPP, "c++"), ("21", "43")), 0),
    ("C++ that does not compile", streams(fenced("int main() { return x; }", "cpp"), ("", "")), 0),
    ("C++ that aborts", streams(fenced("#include <cstdlib>\nint main() { std::abort(); }", "cpp"), ("", "")), 0),
]


PLAIN = """
import contextlib, json, os, sys, tempfile, types
@contextlib.contextmanager
def raises(kind, match=''):
    info = types.SimpleNamespace()
    try: yield info
    except kind as error:
        info.value = error
        assert match in str(error)
    else: raise AssertionError('nothing raised')
sys.modules['pytest'] = types.SimpleNamespace(raises=raises)
for name, program, tests in json.load(sys.stdin):
    with tempfile.TemporaryDirectory() as folder:
        if os.fork() == 0:
            os.chdir(folder)
            module = sys.modules['solution'] = types.ModuleType('solution')
            exec(program, vars(module))
            exec(tests, vars(module))
            os._exit(0)
        if os.wait()[1]: print(name)
"""


def check_right():
    """What plain Python finds right is right here; and no cheat earns anything or ends as unjudged."""
    right = right_programs.RIGHT + right_programs.NUMPY
    plain = subprocess.run([sys.executable, "-c", PLAIN], input=json.dumps(right), capture_output=True, text=True, timeout=120)
    assert plain.returncode == 0 and not plain.stdout, plain.stdout + plain.stderr[-2000:]
    check_all([(name, asserts(program, tests), 1) for name, program, tests in right], "--world-size", "2", "--timeout-s", "60")
    given = [*cheats.all_cheats(), *cheats.imitations()]
    assert len(given) > 200
    check_all([(name, row, 0) for name, row in given], "--world-size", "2", "--timeout-s", "20")
    lucky = [got["reward"] for got in score(tampering.guessers() * 20, "--world-size", "2")]
    expect(sum(lucky) < 6, f"guessing is worth it: {lucky}")  # each has less than one chance in 200; before, about one in two


def check_shares():
    rows = [
        ("streams", streams(fenced("print('a')"), ("", "a"), ("", "b"), ("", "a"), ("", "c")), 0.5),
        ("asserts", asserts("def f(x): return x", "assert f(1) == 1", "assert f(2) == 3"), 0.5),
        ("pytest", pytest_row("def f(x): return x", "def test_a(): assert f(1) == 1\ndef test_b(): assert f(1) == 2\ndef test_c(): assert f(3) == 3\ndef test_d(): assert f(4) == 4"), 0.75),
        ("check", check_row("def f(x): return 0"), 0.5),
        ("calls", calls_row("def f(x): return 1", "f", ("1", "1"), ("2", "2"), ("3", "1"), ("4", "4")), 0.5),
        ("an end in the middle", calls_row("import os\ndef f(x):\n    if x == 3: os._exit(0)\n    return x", "f", ("1", "1"), ("2", "2"), ("3", "3"), ("4", "4")), 0.5),
    ]
    check_all(rows, "--score", "share")


def check_generated(folder):
    """Every generated problem with its own program, and with that of another: judged as plain Python judges."""
    subprocess.run([sys.executable, SOURCE / "scripts/make_code.py", "--out", folder / "code.jsonl", "--rows", "48"], check=True)
    rows = [json.loads(line) for line in open(folder / "code.jsonl")]
    tried = []
    for row, other in zip(rows, itertools.chain(rows[6:], rows[:6])):
        tried += [(row, row["ground_truth"]), (row, other["ground_truth"])]
    given = [{**row, "response": program if row["case_type"] == "text" else fenced(program)} for row, program in tried]
    for (row, program), got in zip(tried, score(given, "--world-size", "2")):
        wanted = by_python(row, program)
        expect(got["reward"] == wanted, f"{row['id']} {row['case_type']}: {wanted} wanted, {got}")
    assert {by_python(*one) for one in tried} == {0, 1}


def by_python(row, program):
    """The verdict, derived anew: in this process, without sandbox, harness or comparison of ours."""
    for case in json.loads(row["test_cases"]):
        names = {"response": program, "__name__": "solution"}
        try:
            if row["case_type"] == "text":
                exec(case.replace("{response}", "response"), names)
            elif row["test_case_function"]:
                exec(program, names)
                assert names["f"](json.loads(case["stdin"])) == json.loads(case["expected_stdout"])
            elif row["case_type"] == "input":
                done = subprocess.run([sys.executable, "-c", program], input=case["stdin"], capture_output=True, text=True, check=True)
                assert done.stdout == case["expected_stdout"]
            else:
                exec(program, names)
                exec(case["assert_code"].replace("from solution import f", ""), names)
                for name in [name for name in names if name.startswith("test_")]:
                    names[name]()
                if "entry_point" in case:
                    names["check"](names[case["entry_point"]])
        except Exception:
            return 0
    return 1


def check_languages(folder):
    config = folder / "run.yaml"
    config.write_text("rewards:\n  code:\n    worker_cls: roll.pipeline.rlvr.rewards.code_sandbox_reward_worker.CodeSandboxRewardWorker\n    use_local: true\n"
                      f"    unsafe_no_sandbox: {'true' if extra else 'false'}\n    languages:\n      sh: {{file: run.sh, run: [sh, run.sh]}}\n")
    rows = [streams(fenced("read x; echo $((x + 1))", "sh"), ("41", "42")), streams(fenced("exit 3", "sh"), ("", ""))]
    text = "".join(json.dumps({"ground_truth": "", **row}) + "\n" for row in rows)
    done = subprocess.run([BINARY, "score", "--config", config], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    expect([json.loads(line)["reward"] for line in done.stdout.splitlines()] == [1, 0], f"a language of the user's: {done.stdout}")
    if shutil.which("g++"):
        check_all(CPPS, "--timeout-s", "60")


def check_broken(folder):
    def broken(keys, *said):
        config = folder / "broken.yaml"
        config.write_text(f"rewards:\n  code:\n    type: code_sandbox\n{keys}")
        done = subprocess.run([BINARY, "score", "--config", config], input="", capture_output=True, text=True, timeout=60)
        expect(done.returncode == 2 and all(word in done.stderr for word in said), f"{keys!r}: exit {done.returncode}, {done.stderr!r}")

    broken("    use_local: false\n", "use_local = false", "code_url")
    broken("    python: /no/such/python\n", "rewards.code.python = /no/such/python")
    broken("    python: 'true'\n", "not a Python 3 that starts")
    broken("    languages: {python: {file: a, run: [b]}}\n", "languages.python")
    broken("    languages: {sh: {file: a/b, run: [b]}}\n", "languages.sh.file = a/b")
    broken("    languages: {sh: {file: a}}\n", "languages.sh.run: missing")
    broken("    languages: {sh: {file: a, compile: [cc], run: [b]}}\n", "languages.sh.run = [b]", "./a.out")
    broken("    memory_mb: 1\n", "memory_mb = 1")
    broken("    score: half\n", "score = half", "all", "share")


def check_words(folder):
    """What validate-config says of where programs would run."""
    def said(keys):
        config = folder / "train.yaml"
        config.write_text(CONFIG + keys)
        done = subprocess.run([BINARY, "validate-config", "--offline", "--config", config], capture_output=True, text=True, timeout=60)
        expect(done.returncode == 0, f"validate-config: {done.stderr}")
        return [line for line in done.stdout.splitlines() if line.startswith("rewards.code: ")]

    for keys, words in (("", "cannot isolate" if extra else "in separate namespaces"), ("    unsafe_no_sandbox: true\n", "without isolation"),
                        ("    python: /no/such/python\n", "/no/such/python"), ("    use_local: false\n    code_url: http://h:1/run_code\n", "programs run on http://h:1/run_code")):
        expect(len(said(keys)) == 1 and words in said(keys)[0], f"{keys!r}: {said(keys)}")


CONFIG = """rollout_batch_size: 8
prompt_length: 32
response_length: 32
num_return_sequences_in_group: 4
max_steps: 1
adv_estimator: grpo
pretrain: none
actor_train:
  training_args: {learning_rate: 1.0e-6, per_device_train_batch_size: 1, gradient_accumulation_steps: 8}
  data_args: {template: qwen2_5, file_name: [rows.jsonl], domain_interleave_probs: {code: 1}}
rewards:
  math: {type: math_rule, use_local: true}
  code:
    worker_cls: roll.pipeline.rlvr.rewards.code_sandbox_reward_worker.CodeSandboxRewardWorker
    tag_included: [KodCode]
"""


def check_data(folder):
    """What cannot fail is named before a run."""
    (folder / "rows.jsonl").write_text(json.dumps({"ground_truth": "", "prompt": "f", "tag": "KodCode", "case_type": "assert", "test_cases": [{"assert_code": "x = 1"}]}) + "\n")
    done = subprocess.run([BINARY, "data", "check", "--reward", "code_sandbox", folder / "rows.jsonl"], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 2 and "rows.jsonl:1: test_cases = x = 1: a case asserts nothing" in done.stdout, f"data check: {done.stdout}{done.stderr}")


def check_machines():
    """Root alone in its user namespace, as in some containers; and a kernel that makes none."""
    row = json.dumps({"ground_truth": "", **streams(fenced(ECHO), ("a", "a"))}) + "\n"

    def inside(script, *flags):
        return subprocess.run(["unshare", "-Ur", "sh", "-c", script + ' && exec "$0" "$@"', BINARY, "score", "--reward", "code_sandbox", *flags],
                              input=row, capture_output=True, text=True, timeout=60)

    if extra:
        return
    done = inside("true")
    expect(done.returncode == 0 and json.loads(done.stdout)["reward"] == 1, f"alone: {done.stdout}{done.stderr}")
    none = "echo 0 > /proc/sys/user/max_user_namespaces"
    done = inside(none)
    expect(done.returncode == 2 and "cannot isolate programs: making namespaces" in done.stderr, f"refused: {done.stdout}{done.stderr}")
    done = inside(none, "--unsafe-no-sandbox")
    expect(done.returncode == 0 and json.loads(done.stdout)["reward"] == 1, f"unsafe: {done.stdout}{done.stderr}")


def check_bench():
    text = json.dumps({"ground_truth": "", **streams(fenced(ECHO), ("a", "a"))}) + "\n"
    done = subprocess.run([BINARY, "score", "--reward", "code_sandbox", *extra, "--bench"], input=text * 20, capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0 and "20 answers in " in done.stderr and "answers/s" in done.stderr, f"--bench: {done.stderr}")


def main():
    done = subprocess.run([BINARY, "score", "--reward", "code_sandbox"], input="", capture_output=True, text=True, timeout=60)
    if done.returncode == 2 and "unsafe_no_sandbox" in done.stderr:
        print(f"not isolated, as {done.stderr.strip()}")
        extra.append("--unsafe-no-sandbox")
    for table in (STREAMS, BLOCKS, TESTS, PYTESTS, CHECKS, NOT_RUN, CALLS, TEXTS, UNJUDGED):
        check_all(table, "--world-size", "2", "--timeout-s", "60")
    check_right()
    check_shares()
    check_bench()
    check_machines()
    with tempfile.TemporaryDirectory() as folder:
        check_generated(pathlib.Path(folder))
        check_languages(pathlib.Path(folder))
        check_broken(pathlib.Path(folder))
        check_words(pathlib.Path(folder))
        check_data(pathlib.Path(folder))
    print(f"{len(failures)} verdicts are wrong" if failures else "programs are judged as they should be")
    sys.exit(bool(failures))


main()
