"""What tests use of pytest: raises, warns, approx, marks (parametrize, skip, skipif, xfail), fixtures, fail, skip, xfail; functions
test*, classes Test* and unittest's.
"""
import ast
import contextlib
import functools
import importlib
import inspect
import io
import itertools
import math
import os
import pathlib
import re
import sys
import tempfile
import types
import unittest
import warnings


class Raises:
    def __init__(self, expected, match=None):
        self.expected, self.match, self.value, self.type = expected, match, None, None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        assert error is not None, f"did not raise {self.expected}"
        if isinstance(error, ProgramFault) or not isinstance(error, self.expected):
            return False
        self.value, self.type = error, type(error)
        assert self.match is None or re.search(self.match, str(error)), f"{str(error)!r} does not match {self.match!r}"
        return True


def raises(expected, *call, match=None, **kwargs):
    context = Raises(expected, match)
    if not call:
        return context
    with context:
        call[0](*call[1:], **kwargs)
    return context


@contextlib.contextmanager
def warned(expected, match):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found
    assert any(issubclass(one.category, expected) and (match is None or re.search(match, str(one.message))) for one in found), f"no {expected} was given"


def warns(expected=Warning, *call, match=None, **kwargs):
    if not call:
        return warned(expected, match)
    with warned(expected, match):
        return call[0](*call[1:], **kwargs)


class Approx:
    def __init__(self, expected, rel=None, abs=None, nan_ok=False):
        self.expected, self.rel, self.abs, self.nan_ok = expected, rel, abs, nan_ok

    def __eq__(self, actual):
        return self.near(self.expected, actual)

    def near(self, expected, actual):
        if isinstance(expected, dict):
            return isinstance(actual, dict) and expected.keys() == actual.keys() and all(self.near(expected[key], actual[key]) for key in expected)
        if isinstance(expected, (list, tuple)):
            return isinstance(actual, (list, tuple)) and len(expected) == len(actual) and all(map(self.near, expected, actual))
        if isinstance(expected, bool) or not isinstance(expected, (int, float, complex)) or not isinstance(actual, (int, float, complex)):
            return expected == actual
        if expected != expected:
            return self.nan_ok and actual != actual
        if expected == actual:
            return True
        tolerance = max(1e-12 if self.abs is None else self.abs, (0 if self.rel is None and self.abs is not None else 1e-6 if self.rel is None else self.rel) * abs(expected))
        return not math.isinf(abs(expected)) and abs(expected - actual) <= tolerance


class Skipped(BaseException):
    pass


class ExpectedFailure(BaseException):
    pass


def fail(reason="", pytrace=True):
    raise AssertionError(reason)


def skip(reason="", **_):
    raise Skipped(reason)


def xfail(reason="", **_):
    raise ExpectedFailure(reason)


def fixture(function=None, name=None, params=None, autouse=False, **_):
    if function is None:
        return lambda given: fixture(given, name, params, autouse)
    function._roll_fixture, function._roll_params, function._roll_always = name or function.__name__, params, autouse
    return function


def parametrize(names, values, **_):
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def mark(function):
        rows = []
        for value in values:
            marks = value.marks if isinstance(value, Param) else []
            value = value.values if isinstance(value, Param) else value
            rows.append((dict(zip(names, value if len(names) > 1 else (value[0] if isinstance(value, ParamValues) else value,))), marks))
        function._roll_rows = [rows, *getattr(function, "_roll_rows", [])]
        return function
    return mark


class ParamValues(tuple):
    pass


class Param:
    def __init__(self, *values, marks=(), **_):
        marks = list(marks) if isinstance(marks, (list, tuple)) else [marks]
        self.values, self.marks = ParamValues(values), [Skip(xfail=(BaseException, False)) if mark == Marks.xfail else mark for mark in marks]


class Skip:
    """@pytest.mark.skip, skipif(...) and xfail(...): put on a function or class, or given in a param's marks."""

    def __init__(self, applies=True, xfail=None):
        self.applies, self.xfail = applies, xfail

    def __call__(self, *target, reason="", **_):
        if not target or not callable(target[0]):
            return self
        if self.applies:
            setattr(target[0], "_roll_marks", [*vars(target[0]).get("_roll_marks", []), self])
        return target[0]


class Marks:
    parametrize = staticmethod(parametrize)
    skip = Skip()

    @staticmethod
    def skipif(*conditions, **_):
        return Skip(any(bool(condition) for condition in conditions if not isinstance(condition, str)))

    @staticmethod
    def xfail(*conditions, raises=BaseException, strict=False, run=True, **_):
        if len(conditions) == 1 and isinstance(conditions[0], types.FunctionType):
            return Skip(xfail=(BaseException, False))(conditions[0])
        return Skip(all(conditions), xfail=(raises, strict) if run else None)

    def __getattr__(self, name):
        def mark(*args, **_):
            return args[0] if len(args) == 1 and callable(args[0]) else lambda function: function
        return mark


class Captured:
    """The fixture capsys."""

    def __init__(self):
        self.out = self.err = ""

    def readouterr(self):
        texts = []
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            texts.append(stream.getvalue() if isinstance(stream, io.StringIO) else "")
            setattr(sys, name, io.StringIO())
        return types.SimpleNamespace(out=texts[0], err=texts[1])


def capsys():
    captured = Captured()
    captured.readouterr()
    return captured


def tmp_path():
    return pathlib.Path(tempfile.mkdtemp())


class MonkeyPatch:
    def __init__(self):
        self.ends = contextlib.ExitStack()

    def setattr(self, target, name, value=Skipped, raising=True):
        if value is Skipped:
            target, name, value = *self.place_of(target), name
        before = getattr(target, name, Skipped)
        if before is Skipped and raising:
            raise AttributeError(f"{target!r} has no attribute {name!r}")
        before = vars(target)[name] if isinstance(target, type) and name in vars(target) else before
        self.ends.callback(lambda: delattr(target, name) if before is Skipped else setattr(target, name, before))
        setattr(target, name, value)

    def delattr(self, target, name=Skipped, raising=True):
        if name is Skipped:
            target, name = self.place_of(target)
        if raising or hasattr(target, name):
            self.ends.callback(setattr, target, name, getattr(target, name))
            delattr(target, name)

    @staticmethod
    def place_of(text):
        holder, _, name = text.rpartition(".")
        module, parts = holder, []
        while True:
            try:
                found = importlib.import_module(module)
                break
            except ImportError:
                module, _, part = module.rpartition(".")
                parts.insert(0, part)
        return functools.reduce(getattr, parts, found), name

    def setitem(self, mapping, name, value):
        before = mapping.get(name, Skipped)
        self.ends.callback(lambda: mapping.pop(name, None) if before is Skipped else mapping.__setitem__(name, before))
        mapping[name] = value

    def delitem(self, mapping, name, raising=True):
        if raising or name in mapping:
            self.ends.callback(mapping.__setitem__, name, mapping.pop(name))

    def setenv(self, name, value, prepend=None):
        self.setitem(os.environ, name, str(value) + (prepend + os.environ[name] if prepend and name in os.environ else ""))

    def delenv(self, name, raising=True):
        self.delitem(os.environ, name, raising)

    def chdir(self, path):
        self.ends.callback(os.chdir, os.getcwd())
        os.chdir(path)

    def syspath_prepend(self, path):
        sys.path.insert(0, str(path))

    def undo(self):
        self.ends.close()

    @classmethod
    @contextlib.contextmanager
    def context(cls):
        patch = cls()
        try:
            yield patch
        finally:
            patch.undo()


def monkeypatch():
    with MonkeyPatch.context() as patch:
        yield patch


def recwarn():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


FIXTURES = {"capsys": capsys, "capfd": capsys, "tmp_path": tmp_path, "tmpdir": tmp_path, "monkeypatch": monkeypatch, "recwarn": recwarn}


def install_pytest():
    module = types.ModuleType("pytest")
    module.__dict__.update(raises=raises, warns=warns, approx=Approx, fail=fail, skip=skip, xfail=xfail, fixture=fixture, mark=Marks(), param=Param,
                           MonkeyPatch=MonkeyPatch, main=lambda *_, **__: 0, importorskip=importlib.import_module,
                           deprecated_call=lambda *call, **words: warns((DeprecationWarning, PendingDeprecationWarning), *call, **words))
    sys.modules["pytest"] = module


class Scope:
    """The fixtures of one test: each is made once, and ended after it, the last one first."""

    def __init__(self, fixtures, given):
        self.fixtures, self.made, self.ends = fixtures, dict(given), contextlib.ExitStack()

    def value(self, name, of):
        if name == "request":
            return types.SimpleNamespace(param=self.made.get(f"param {of}"), getfixturevalue=lambda wanted: self.value(wanted, ""))
        if name not in self.made:
            if name not in self.fixtures:
                raise BrokenTest(f"{of} wants the fixture {name}, which is not here")
            value = self.call(self.fixtures[name], name)
            if isinstance(value, types.GeneratorType):
                self.ends.callback(next, value, None)
                value = next(value)
            self.made[name] = value
        return self.made[name]

    def call(self, function, of=""):
        wanted = [name for name, parameter in inspect.signature(function).parameters.items()
                  if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) and parameter.default is parameter.empty]
        return function(**{name: self.value(name, of or function.__name__) for name in wanted})


def run_one(function, fixtures, given, marks=(), before=(), after=()):
    """Skipped: nothing ran. An expected failure is none, and with strict an unexpected success is one."""
    if any(mark.xfail is None for mark in marks):
        raise Skipped
    expected = next((mark.xfail for mark in marks), None)
    scope = Scope(fixtures, given)
    try:
        with scope.ends:
            for name, made in fixtures.items():
                if getattr(made, "_roll_always", False):
                    scope.value(name, "a test")
            for prepare in before:
                scope.call(prepare)
            scope.ends.callback(lambda: [scope.call(end) for end in after])
            result = scope.call(function)
            if inspect.iscoroutine(result):
                import asyncio
                asyncio.run(result)
    except ExpectedFailure:
        return
    except (ProgramFault, BrokenTest, Skipped, unittest.SkipTest):
        raise
    except BaseException as error:
        if not expected or not isinstance(error, expected[0]):
            raise
        return
    assert not expected or not expected[1], "a test that should fail passed"


def rows_of(function, fixtures):
    """(arguments, marks) of each time that it runs."""
    wanted = inspect.signature(function).parameters
    rows = list(getattr(function, "_roll_rows", []))
    for name, made in fixtures.items():
        if getattr(made, "_roll_params", None) is not None and (name in wanted or made._roll_always):
            rows.append([({f"param {name}": value}, []) for value in made._roll_params])
    for row in itertools.product(*rows):
        yield {key: value for given, _ in row for key, value in given.items()}, [mark for _, marks in row for mark in marks if isinstance(mark, Skip) and mark.applies]


def own_marks(value):
    return list(getattr(value, "_roll_marks", []))


def cases_of_class(kind, fixtures):
    is_unittest = issubclass(kind, unittest.TestCase)
    begun = []
    for name in unittest.TestLoader().getTestCaseNames(kind) if is_unittest else [name for name in names_in(kind) if name.startswith("test")]:
        function = getattr(kind, name)
        if is_unittest:
            yield functools.partial(run_unittest, kind, name, begun)
            continue
        for given, marks in rows_of(function, fixtures):
            def case(name=name, given=given, marks=marks):
                instance = kind()
                own = {key: getattr(instance, key) for key in names_in(kind) if getattr(getattr(kind, key), "_roll_fixture", False)}
                if not begun and hasattr(instance, "setup_class"):
                    instance.setup_class()
                begun.append(1)
                before = [without_method(getattr(instance, word)) for word in ("setup_method", "setup") if hasattr(instance, word)]
                after = [without_method(getattr(instance, word)) for word in ("teardown_method", "teardown") if hasattr(instance, word)]
                run_one(getattr(instance, name), {**fixtures, **own}, given, own_marks(kind) + own_marks(getattr(kind, name)) + marks, before, after)
            yield case


def names_in(kind):
    return list(dict.fromkeys(name for level in reversed(kind.__mro__[:-1]) for name in vars(level)))


def without_method(function):
    return functools.partial(function, None) if "method" in inspect.signature(function).parameters else function


def run_unittest(kind, name, begun):
    """One method of a unittest.TestCase, as unittest runs it."""
    if not begun:
        kind.setUpClass()
    begun.append(1)
    result = OneResult()
    kind(name).run(result)
    if result.errors_found and not isinstance(result.errors_found[0], unittest.SkipTest):
        raise result.errors_found[0]
    if result.was_skipped:
        raise Skipped
    assert not result.unexpectedSuccesses, "a test that should fail passed"


class OneResult(unittest.TestResult):
    """Keeps the errors themselves."""

    def __init__(self):
        super().__init__()
        self.errors_found, self.was_skipped = [], False

    def addError(self, test, error):
        self.errors_found.append(error[1])

    def addFailure(self, test, error):
        self.errors_found.append(error[1])

    def addSubTest(self, test, subtest, error):
        if error:
            self.errors_found.append(error[1])

    def addSkip(self, test, reason):
        self.was_skipped = True


def is_collected(name, value):
    if isinstance(value, types.FunctionType):
        return name.startswith("test") and not hasattr(value, "_roll_fixture")
    return isinstance(value, type) and not is_mirror_class(value) and value.__module__ == "tests" and (
        name.startswith("Test") and "__init__" not in vars(value) or issubclass(value, unittest.TestCase))


def is_mirror_class(value):
    return isinstance(value, MirrorClass) and value._roll_is_mirror


def collected_names(tree):
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and
            (node.name.startswith("test") or any("fixture" in ast.dump(decorator) for decorator in node.decorator_list))]


def test_cases_of(found):
    """A callable for each test among (name, value)."""
    fixtures = {**FIXTURES, **{value._roll_fixture: value for _, value in found if isinstance(value, types.FunctionType) and hasattr(value, "_roll_fixture")}}
    cases = []
    for name, value in found:
        if not is_collected(name, value):
            continue
        if isinstance(value, type):
            cases.extend(cases_of_class(value, fixtures))
        else:
            for given, marks in rows_of(value, fixtures):
                cases.append(functools.partial(run_one, value, fixtures, given, own_marks(value) + marks))
    return cases
