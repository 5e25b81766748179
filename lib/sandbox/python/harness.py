"""The trusted side of tests: runs them in a process of its own, where names of the program under test are stand-ins.

A stand-in asks the program for one thing at a time. What must hold between a result and what is expected is computed
here, on plain data: a stand-in never equals plain data, has no order with it and nothing is added to it, whatever the
program's object claims; between two of the program's objects its own operators decide. A program that ends, or answers
what cannot be read, fails the test that is running and all later ones; no `except` of a test hides that.
"""
import ast
import builtins
import contextlib
import io
import json
import sys
import types
import unittest


class ProgramFault(BaseException):
    """The program ended or talks nonsense. No Exception, so that pytest.raises(Exception) does not take it for one."""


class BrokenTest(Exception):
    """The tests themselves cannot run."""


class Program:
    """The program's side of the channel, and the stand-ins for its objects."""

    def __init__(self, channel):
        self.channel = channel
        self.fault = None
        self.callbacks, self.classes, self.exceptions = [], {}, {}

    def fail(self, why):
        self.fault = self.fault or why
        raise ProgramFault(why)

    def receive(self):
        try:
            answer = receive_frame(self.channel)
        except (BadFrame, OSError) as error:
            self.fail(f"the program {error}")
        if not isinstance(answer, list) or not answer or not isinstance(answer[0], str):
            self.fail("the program sent data that cannot be read")
        return answer

    def load(self):
        answer = self.receive()
        if answer[0] != "loaded" or len(answer) != 2 or not isinstance(answer[1], list):
            self.fail(": ".join(str(part) for part in answer[1:3]) or "the program did not load")
        names = {}
        for item in answer[1]:
            if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str):
                self.fail("the program sent data that cannot be read")
            names[item[0]] = self.decode(item[1])
        return names

    def ask(self, *request):
        if self.fault:
            raise ProgramFault(self.fault)
        try:
            send_frame(self.channel, list(request))
        except OSError:
            self.fail("the program ended before it answered")
        while True:
            answer = self.receive()
            if answer[0] != "callback" or len(answer) != 4:
                return self.result_of(answer)
            self.run_callback(answer)

    def result_of(self, answer):
        kind = answer[0]
        if len(answer) < 3 or not isinstance(answer[-1], str):
            self.fail("the program sent data that cannot be read")
        sys.stdout.write(answer[-1].encode("utf-8", "replace").decode())
        if kind == "value":
            return answer[1]
        if kind == "missing":
            raise AttributeError(str(answer[1]))
        if kind != "raise" or len(answer) != 4 or not isinstance(answer[1], list):
            self.fail("the program sent data that cannot be read")
        args = self.decode(answer[2])
        for name in answer[1]:
            raised = self.exceptions.get(str(name)) or EXCEPTIONS.get(str(name))
            if raised:
                raise self.exception(raised, args if isinstance(args, list) else [])
        self.fail("the program raised what is no exception")

    @staticmethod
    def exception(raised, args):
        try:
            return raised(*args)
        except Exception:
            error = raised.__new__(raised)
            error.args = tuple(args)
            return error

    def run_callback(self, answer):
        number, args, kwargs = answer[1], self.decode(answer[2]), self.decode(answer[3])
        if type(number) is not int or not 0 <= number < len(self.callbacks) or not isinstance(args, list) or not isinstance(kwargs, dict):
            self.fail("the program sent data that cannot be read")
        try:
            result = ["returned", self.encode(self.callbacks[number](*args, **kwargs))]
        except Exception as error:
            name = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in EXCEPTIONS), "Exception")
            result = ["raised", name, self.encode([str(error)])]
        try:
            send_frame(self.channel, result)
        except OSError:
            self.fail("the program ended before it answered")

    def keep(self, value):
        if isinstance(value, (StandIn, StandInClass)):
            return ["h", value._roll_number]
        if shared_name(value):
            return ["g", shared_name(value)]
        if callable(value):
            self.callbacks.append(value)
            return ["p", len(self.callbacks) - 1]
        raise TypeError(f"a {type(value).__name__} of the tests cannot be given to the program")

    def encode(self, value):
        return encode(value, self.keep)

    def decode(self, value):
        try:
            return decode(value, self.found)
        except (BadFrame, AttributeError, IndexError, KeyError) as error:
            self.fail(f"the program {error}")

    def found(self, tag, content):
        if tag == "g" and content[0] == "builtins" and isinstance(getattr(builtins, content[1]), type):
            return getattr(builtins, content[1])
        if tag == "h":
            number, classes, _ = content
            return StandIn(self, int(number), {int(kind) for kind in classes})
        if tag == "k":
            return self.found_class(*content)
        if tag == "w":
            return self.awaited(int(content))
        raise BadFrame("sent an unknown kind of value")

    async def awaited(self, number):
        return self.decode(self.ask("await", number))

    def found_class(self, number, name, bases, parents):
        if number not in self.classes:
            base = next((EXCEPTIONS[base] for base in bases if base in EXCEPTIONS), None)
            if base:
                mine = [kind for kind in (self.classes.get(parent) for parent in parents) if isinstance(kind, type) and issubclass(kind, base)]
                self.classes[number] = self.exceptions[str(name)] = type(str(name), (mine[0] if mine else base,), {})
            else:
                self.classes[number] = StandInClass(str(name), (), {"_roll_program": self, "_roll_number": int(number)})
        return self.classes[number]

    def call(self, target, args, kwargs):
        try:
            answer = self.ask("call", self.encode(target), self.encode(list(args)), self.encode(kwargs))
        except StopIteration:  # which would quietly end a loop of the tests
            raise RuntimeError("the program raised StopIteration") from None
        if not isinstance(answer, list) or len(answer) != 2:
            self.fail("the program sent data that cannot be read")
        result, after = self.decode(answer[0]), self.decode(answer[1])
        if isinstance(after, list) and len(after) == len(args):
            for mine, changed in zip(args, after):
                update_in_place(mine, changed)
        return result

    def get(self, target, name):
        return self.decode(self.ask("get", self.encode(target), name))

    def apply(self, function, *args):
        return self.decode(self.ask("apply", function, self.encode(list(args))))


def update_in_place(mine, changed):
    """A function may work on the very list, dict or set that it was given."""
    if type(mine) is not type(changed) or not isinstance(mine, (list, dict, set, bytearray)):
        return
    if isinstance(mine, list) and len(mine) == len(changed):
        for index, (old, new) in enumerate(zip(mine, changed)):
            if type(old) is type(new) and isinstance(old, (list, dict, set)):
                update_in_place(old, new)
            else:
                mine[index] = new
    elif isinstance(mine, (list, bytearray)):
        mine[:] = changed
    else:
        mine.clear()
        mine.update(changed)


def names_of_tests(prelude, exported, code):
    """What the tests' own names mean. A program may be asked for a function called `sum`; but one that has another function
    which the tests name does not get to say what their `abs`, `Counter` or `pytest` is.
    """
    own = {**vars(builtins), **prelude, "pytest": sys.modules["pytest"], "unittest": unittest, "solution": None}
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    if any(name in used and name not in own for name in exported):
        exported = {name: value for name, value in exported.items() if name not in own}
    return {**prelude, "pytest": sys.modules["pytest"], "unittest": unittest, **exported}


class Tests:
    """Runs the tests of one row; counts."""

    def __init__(self, program, names):
        self.program, self.names = program, names
        self.passed = self.total = 0
        self.error = None

    def run(self, case):
        self.total += 1
        try:
            case()
            passed = self.program is None or self.program.fault is None
        except BrokenTest:
            raise
        except BaseException as error:
            passed = False
            self.error = self.error or f"{type(error).__name__}: {str(error)[:300]}"
        self.passed += passed

    @contextlib.contextmanager
    def case(self):
        self.total += 1
        try:
            yield
            self.passed += 1
        except Exception as error:
            self.error = self.error or f"{type(error).__name__}: {str(error)[:300]}"

    def verdict(self):
        return {"passed": self.passed, "total": self.total, "error": self.error}

    def load(self, code, wrap=None):
        try:
            tree = ast.parse(code, "tests.py")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise BrokenTest(f"the tests do not compile: {error}") from error
        if wrap:
            tree = ast.fix_missing_locations(wrap.visit(tree))
        try:
            exec(compile(tree, "tests.py", "exec"), self.names)
        except ModuleNotFoundError as error:
            if error.name != "solution":
                raise BrokenTest(f"the tests need a module that is not here: {error.name}") from error
            raise

    def run_asserts(self, code):
        before = dict(self.names)
        loaded = Tests(self.program, self.names)
        loaded.run(lambda: self.load(code))
        found = [(name, value) for name, value in self.names.items() if before.get(name) is not value]
        cases = test_cases_of(found) if loaded.passed else []
        for case in cases:
            self.run(case)
        if not cases:
            self.passed, self.total, self.error = loaded.passed, loaded.total, loaded.error

    def run_check(self, code, entry_point):
        self.names["_roll_case"] = self.case
        self.load(code, AssertsAsCases())
        before = self.passed, self.total

        def check():
            self.names["check"](eval(entry_point, self.names))
        whole = Tests(self.program, self.names)
        whole.run(check)
        if not whole.passed or (self.passed, self.total) == before:
            self.passed, self.total = self.passed + whole.passed, self.total + 1
        self.error = self.error or whole.error

    def run_calls(self, exported, function, cases):
        try:
            is_method = function not in exported and isinstance(exported.get("Solution"), StandInClass)
            target = getattr(exported["Solution"](), function) if is_method else exported[function]
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
    """The last line on standard output is {"passed", "total", "error"} or {"broken"}."""
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        verdict = verdict_of(channel, spec, prelude)
    except (BrokenTest, SyntaxError) as error:
        verdict = {"broken": str(error)[:500]}
    except BaseException as error:
        verdict = {"passed": 0, "total": len(spec.get("cases", [0])), "error": f"{type(error).__name__}: {str(error)[:300]}"}
    out.write("\n" + json.dumps(verdict))
    out.flush()


def verdict_of(channel, spec, prelude):
    install_pytest()
    code = spec.get("code", "")
    ast.parse(code)  # broken tests are not the program's fault, so they come first
    if channel is None:
        tests = Tests(None, {**prelude, "response": spec["response"]})
        tests.run_asserts(code)
        return tests.verdict()
    program = Program(channel)
    exported = program.load()
    sys.modules["solution"] = solution_module(program, exported, prelude)
    tests = Tests(program, {**names_of_tests(prelude, exported, code), "__name__": "tests"})
    if spec["kind"] == "calls":
        tests.run_calls(exported, spec["function"], spec["cases"])
    elif spec["kind"] == "check":
        tests.names.update({name: value for name, value in exported.items() if name == spec["entry_point"].partition("(")[0]})
        tests.run_check(code, spec["entry_point"])
    else:
        tests.run_asserts(code)
    return tests.verdict()


def solution_module(program, exported, prelude):
    module = types.ModuleType("solution")
    module.__dict__.update({name: value for name, value in exported.items() if isinstance(value, (StandIn, StandInClass, type))})
    module.__dict__["__getattr__"] = lambda name: program.decode(program.ask("global", name))
    module.__dict__["__all__"] = [name for name in exported if not name.startswith("_") and name not in prelude and not hasattr(builtins, name)]
    return module
