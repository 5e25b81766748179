"""What tests use of pytest: raises, approx, mark.parametrize, fixtures, capsys, fail, skip; functions test_* and classes Test*."""
import functools
import inspect
import io
import itertools
import math
import re
import sys
import types
import unittest


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


def fail(reason="", pytrace=True):
    raise AssertionError(reason)


def skip(reason="", **_):
    raise Skipped(reason)


def fixture(function=None, **_):
    if function is None:
        return lambda given: fixture(given)
    function._roll_fixture = True
    return function


def parametrize(names, values, **_):
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def mark(function):
        rows = []
        for value in values:
            value = value.values if isinstance(value, Param) else value
            rows.append(dict(zip(names, value if len(names) > 1 else (value[0] if isinstance(value, ParamValues) else value,))))
        function._roll_rows = [rows, *getattr(function, "_roll_rows", [])]
        return function
    return mark


class ParamValues(tuple):
    pass


class Param:
    def __init__(self, *values, **_):
        self.values = ParamValues(values)


def skip_all(function=None, **_):
    """No row: no case."""
    return parametrize("", [])(function) if callable(function) else skip_all


class Marks:
    parametrize = staticmethod(parametrize)
    skip = staticmethod(skip_all)

    @staticmethod
    def skipif(condition, **_):
        return skip_all if condition else lambda function: function

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
    import pathlib
    import tempfile
    return pathlib.Path(tempfile.mkdtemp())


FIXTURES = {"capsys": capsys, "tmp_path": tmp_path}


def install_pytest():
    module = types.ModuleType("pytest")
    module.__dict__.update(raises=raises, approx=Approx, fail=fail, skip=skip, fixture=fixture, mark=Marks(), param=Param,
                           main=lambda *_, **__: 0, importorskip=__import__)
    sys.modules["pytest"] = module


def with_fixtures(function, fixtures, given):
    """Calls it with what its arguments name."""
    args = dict(given)
    ends = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in args or parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) or parameter.default is not parameter.empty:
            continue
        if name not in fixtures:
            raise BrokenTest(f"{function.__name__} wants the fixture {name}, which is not here")
        value = with_fixtures(fixtures[name], fixtures, {})
        if inspect.isgenerator(value):
            ends.append(value)
            value = next(value)
        args[name] = value
    try:
        return function(**args)
    finally:
        for end in ends:
            next(end, None)


def run_one(function, fixtures, given, before=()):
    try:
        for prepare in before:
            with_fixtures(prepare, fixtures, {})
        with_fixtures(function, fixtures, given)
    except Skipped:
        pass


def cases_of_class(kind, fixtures):
    for name in [name for name in vars(kind) if name.startswith("test")]:
        for rows in itertools.product(*getattr(getattr(kind, name), "_roll_rows", [])):
            def case(name=name, rows=rows):
                instance = kind(name) if issubclass(kind, unittest.TestCase) else kind()
                before = [getattr(instance, set_up) for set_up in ("setup_method", "setUp") if hasattr(instance, set_up)]
                own = {key: getattr(instance, key) for key, value in vars(kind).items() if getattr(value, "_roll_fixture", False)}
                given = {key: value for row in rows for key, value in row.items()}
                if before and "method" in inspect.signature(before[0]).parameters:
                    before[0] = functools.partial(before[0], None)
                run_one(getattr(instance, name), {**fixtures, **own}, given, before)
            yield case


def test_cases_of(found):
    """A callable for each test among (name, value)."""
    fixtures = {**FIXTURES, **{name: value for name, value in found if getattr(value, "__dict__", {}).get("_roll_fixture")}}
    cases = []
    for name, value in found:
        if name.startswith("test_") and isinstance(value, types.FunctionType):
            for rows in itertools.product(*getattr(value, "_roll_rows", [])):
                given = {key: item for row in rows for key, item in row.items()}
                cases.append(functools.partial(run_one, value, fixtures, given))
        elif isinstance(value, type) and not isinstance(value, StandInClass) and (
                name.startswith("Test") and value.__module__ == "tests" or issubclass(value, unittest.TestCase) and value is not unittest.TestCase):
            cases.extend(cases_of_class(value, fixtures))
    return cases
