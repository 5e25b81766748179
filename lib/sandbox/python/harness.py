"""The trusted side of tests: runs them in a process of its own, where what is the program's are mirrors (mirrors.py).

What must hold between a result and what is expected is computed here on plain data. A program that ends, lies, or answers what
cannot be read fails the test that is running and all later ones. What this side cannot do is a limit: then the caller runs program and
tests in one process (together.py), which a program can lie to only in passing: if it fails there it is wrong, and else nobody knows.
"""
import ast
import builtins
import contextlib
import importlib
import io
import json
import os
import pickle
import random
import re
import sys
import types
import unittest


class BrokenTest(Exception):
    """The tests themselves cannot run, or test nothing."""


SAME_THERE = re.compile("unsupported operand|not supported between|not subscriptable|not iterable|not callable|has no len|item assignment|item deletion|"
                        "bad operand|unhashable|not an iterator|argument|unpack|unexpected keyword|context manager|must be str, not|concatenate")


class Tests:
    """Runs the tests of one row; counts."""

    def __init__(self, program, names):
        self.program, self.names = program, names
        self.passed = self.total = 0
        self.error = self.limit = None

    def run(self, case):
        self.total += 1
        try:
            case()
            passed = self.program is None or self.program.fault is None
        except BrokenTest:
            raise
        except (Skipped, unittest.SkipTest):
            self.total -= 1
            return
        except BaseException as error:
            passed = False
            self.note(error)
        self.passed += passed

    def note(self, error):
        self.error = self.error or f"{type(error).__name__}: {str(error)[:300]}"
        is_limit = self.program and not self.program.fault and (
            isinstance(error, Limit) or self.program.is_of_library or self.is_of_mirrors(error))
        if is_limit and not self.limit:
            self.limit = f"{type(error).__name__}: {str(error)[:200]}"

    def is_of_mirrors(self, error):
        """An error of this side's Python, where objects of the program are about, may come of what they are made of. What a class
        lacks it lacks on both sides, so that no program gets out of its 0 by handing over what nothing can be done with.
        """
        is_here = id(error) not in self.program.raised_there and isinstance(error, (TypeError, ValueError, NotImplementedError))
        return is_here and self.program.is_touched and not SAME_THERE.search(str(error))

    @contextlib.contextmanager
    def case(self):
        self.total += 1
        try:
            yield
            self.passed += 1
        except Exception as error:
            self.note(error)

    def verdict(self):
        return {"passed": self.passed, "total": self.total, "error": self.error, "limit": self.limit if self.passed < self.total else None,
                "doubted": bool(self.program and self.program.has_doubted)}

    def load(self, tree):
        try:
            exec(compile(tree, "tests.py", "exec"), self.names)
        except ModuleNotFoundError as error:
            if error.name != "solution" and (self.program is None or id(error) not in self.program.raised_there):
                raise BrokenTest(f"the tests need a module that is not here: {error.name}") from error
            raise

    def run_asserts(self, tree):
        before = dict(self.names)
        loaded = Tests(self.program, self.names)
        loaded.run(lambda: self.load(tree))
        found = [(name, value) for name, value in self.names.items() if before.get(name) is not value]
        cases = test_cases_of(found) if loaded.passed else []
        if loaded.passed and not asserts_anything(tree, collected_names(tree)):
            raise BrokenTest("a case asserts nothing")
        for case in cases:
            self.run(case)
        if cases and not self.total:
            raise BrokenTest("a case skips all its tests")
        if not cases:
            self.passed, self.total, self.error, self.limit = loaded.passed, loaded.total, loaded.error, loaded.limit

    def run_check(self, tree, entry_point):
        if not asserts_anything(tree, ["check"]):
            raise BrokenTest("a case asserts nothing")
        self.names["_roll_case"] = self.case
        self.load(ast.fix_missing_locations(AssertsAsCases().visit(tree)))
        before = self.passed, self.total
        whole = Tests(self.program, self.names)
        whole.run(lambda: self.names["check"](self.entry(entry_point)))
        if not whole.passed or (self.passed, self.total) == before:
            self.passed, self.total = self.passed + whole.passed, self.total + 1
        self.error, self.limit = self.error or whole.error, self.limit or whole.limit

    def entry(self, entry_point):
        exported = self.program.exported if self.program else vars(sys.modules["solution"])
        return exported[entry_point] if entry_point in exported else eval(entry_point, {**exported, **self.names})

    def run_calls(self, exported, function, cases):
        try:
            target = exported[function] if function in exported else getattr(exported["Solution"](), function)
        except (Exception, ProgramFault) as error:
            target, self.error = None, f"no function {function}: {error}"
        for case in cases:
            try:
                args = [json.loads(line) for line in case["stdin"].split("\n") if line.strip()]
                expected = json.loads(case["expected"])
            except ValueError as error:
                raise BrokenTest(f"arguments or result of a case are no JSON: {error}") from error

            def compare():
                result = as_json(target(*args))
                assert result == as_json(expected), "another result"
            self.run(compare)


def as_json(value):
    """Tuples are lists, and keys are text, as in the row."""
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {key if isinstance(key, str) else json.dumps(as_json(key), default=str): as_json(item) for key, item in value.items()}
    return value


class AssertsAsCases(ast.NodeTransformer):
    """Each assert of check(candidate) counts, and the next one runs although it fails."""

    def visit_Assert(self, node):
        call = ast.Call(ast.Name("_roll_case", ast.Load()), [], [])
        return ast.copy_location(ast.With([ast.withitem(call)], [node]), node)


def run_tests(channel, spec, prelude):
    """The last line on standard output is {"passed", "total", "error", "limit", "doubted"} or {"broken"}."""
    tell_verdict(lambda: verdict_of(channel, spec, prelude), spec)


def tell_verdict(judge, spec):
    out, sys.stdout, sys.stderr = sys.stdout, io.StringIO(), io.StringIO()
    mine = os.getpid()
    try:
        verdict = judge()
    except BrokenTest as error:
        verdict = {"broken": str(error)[:500]}
    except BaseException as error:
        verdict = {"passed": 0, "total": len(spec.get("cases", [0])), "error": f"{type(error).__name__}: {str(error)[:300]}"}
    if os.getpid() == mine:
        out.write("\n" + json.dumps(verdict))
        out.flush()


def parsed(code):
    try:
        return ast.parse(code, "tests.py")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BrokenTest(f"the tests do not compile: {error}") from error


def verdict_of(channel, spec, prelude):
    install_pytest()
    tree = parsed(spec.get("code", ""))  # broken tests are not the program's fault, so they come first
    further = {"pytest": sys.modules["pytest"], "unittest": unittest}
    if channel is None:
        tests = Tests(None, {**prelude, **further, "response": spec["response"], "__name__": "tests", "__file__": "tests.py"})
        tests.run_asserts(tree)
        return tests.verdict()
    program = Program(channel)
    imports = program.load()
    subjects = {spec["entry_point"]} if spec["kind"] == "check" else set()
    further["candidate"] = None
    names = names_for(tree, spec.get("code", ""), prelude, program.exported, imports, further, subjects)
    program.names, program.fixed, program.subjects = names, bound_names(spec.get("code", "")), class_names(tree, subjects)
    sys.modules["solution"] = solution_module(program, names)
    watch_patches(program, tree)
    share_seed(program, names, random)
    if "numpy" in spec.get("code", "") and "random.seed" in spec["code"]:
        with contextlib.suppress(ImportError):
            share_seed(program, names, importlib.import_module("numpy.random"))
    pickle.Unpickler = pickle._Unpickler = NoUnpickler
    pickle.load, pickle.loads = unpickled_file, lambda data, **_: unpickled_file(io.BytesIO(data))
    tests = Tests(program, names)
    names["__name__"], names["__file__"] = "tests", os.path.abspath("tests.py")
    run_kind(tests, spec, tree, program.exported)
    return tests.verdict()


def run_kind(tests, spec, tree, exported):
    if spec["kind"] == "calls":
        tests.run_calls(exported, spec["function"], spec["cases"])
    elif spec["kind"] == "check":
        tests.run_check(tree, spec["entry_point"])
    else:
        tests.run_asserts(tree)


class SolutionModule(types.ModuleType):
    """`import solution`: its names are the program's, asked each time."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self.__dict__["_roll_program"].ask("global", name)
        except KeyError:
            raise AttributeError(f"module 'solution' has no attribute '{name}'") from None

    def __setattr__(self, name, value):
        if name.startswith("__"):
            return super().__setattr__(name, value)
        self.__dict__["_roll_program"].ask("set_global", name, value)


def solution_module(program, names):
    module = SolutionModule("solution")
    module.__dict__["_roll_program"] = program
    module.__dict__["__all__"] = [name for name, value in program.exported.items() if not name.startswith("_") and names.get(name) is value and name not in program.fixed]
    return module


def watch_patches(program, tree):
    places = [(module, name, getattr(importlib.import_module(module), name)) for module, name in sorted(patched_places(tree))]

    def patches():
        for module, name, original in places:
            value = getattr(importlib.import_module(module), name, original)
            yield module, name, value, value is original
    if places:
        program.patches = patches


def share_seed(program, names, module):
    """Random numbers that the tests begin anew begin anew in the program."""
    mine = module.seed

    def seed(*args, **kwargs):
        mine(*args, **kwargs)
        program.ask("seed", module.__name__, args, kwargs)
    module.seed = seed
    names.update({name: seed for name, value in names.items() if value is mine})


class NoUnpickler(pickle.Unpickler):
    """A file that the program wrote makes nothing here but plain data."""

    def find_class(self, module, name):
        kind = shared_thing(module, name)
        if not isinstance(kind, type) or not (is_value(kind) or kind in MUTABLE_TAGS or kind in IMMUTABLE or FURTHER.get(name) is kind):
            raise Limit("tests cannot unpickle objects of the program")
        return kind


def unpickled_file(file, **_):
    return NoUnpickler(file).load()


def run_together(source, spec, prelude):
    """Program and tests in one process, as plain Python runs them."""
    def judge():
        install_pytest()
        tree = parsed(spec.get("code", ""))
        module = types.ModuleType("solution")
        names = module.__dict__
        names.update({**without_builtins(prelude), "__name__": "solution", "__file__": os.path.abspath("solution.py")})
        sys.modules["solution"] = module
        exec(compile(source, "solution.py", "exec"), names)
        tests = Tests(None, names if spec["kind"] != "calls" else {})
        names["pytest"], names["unittest"], names["__name__"] = sys.modules["pytest"], unittest, "tests"
        run_kind(tests, spec, tree, names)
        return tests.verdict()
    tell_verdict(judge, spec)
