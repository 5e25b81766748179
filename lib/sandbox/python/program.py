"""The tests' end of the channel. It answers only for what it has handed over, and no `except` of a test hides that the program
ended or talks nonsense.
"""
import contextlib
import os
import sys
import types
import unittest
import unittest.mock
import warnings


class ProgramFault(BaseException):
    """The program ended, lies or talks nonsense. No Exception, so that pytest.raises(Exception) does not take it for one."""


class Stopped(RuntimeError):
    """The program raised StopIteration where that would quietly end a loop of the tests."""


HIDDEN = (types.FrameType, types.CodeType, types.TracebackType, types.ModuleType, unittest.TestCase)
RUNNING = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
NO_NUMBER = "an object of a class of its own stands where the tests want a number"
MAY_STOP = {"send", "throw", "__next__"}


class Program(Peer):
    def __init__(self, channel):
        super().__init__(channel, "tests", 0)
        self.fault = None
        self.place = (dict(os.environ._data), os.getcwd())  # as the program's
        self.is_touched = False  # an object of the program has come here, beside plain data and functions
        self.has_doubted = False  # it was asked about other data too (trust.py), which it may have seen through by luck
        self.is_of_library = False  # and one of a library that the tests have imported too
        self.raised_there, self.stoppable, self.derived, self.unproven, self.questions = set(), {}, {}, {}, {}
        self.names, self.exported, self.patches, self.sent_patches = {}, {}, lambda: [], {}
        self.pretended = {}  # results of answers that stand for a number
        self.subjects = set()  # names of classes that the tests are about
        self.fixed = set()  # names that the tests themselves give a value
        self.glimpsed = set()  # classes of the tests that the program only knows by their objects

    def fail(self, why):
        self.fault = self.fault or why
        raise ProgramFault(self.fault)

    def load(self):
        """(name, value) of what the program defines, and (name, module, attribute or None) of what it imports."""
        kind, *answer = self.receive()
        if kind == "unloaded":
            self.fail(": ".join(str(part) for part in answer[:2]))
        if kind != "loaded" or len(answer) != 2:
            self.fail("the program sent data that cannot be read")
        self.exported = {name: value for name, value in answer[0] if is_program_name(name)}
        return answer[1]

    def receive(self):
        try:
            return super().receive()
        except (ProgramFault, Limit):
            raise
        except (BadFrame, OSError) as error:
            self.fail(f"the program {error}")
        except Exception:
            self.fail("the program sent data that cannot be read")

    def send(self, kind, *values):
        try:
            super().send(kind, *values)
        except OSError:
            self.fail("the program ended before it answered")

    def ask(self, action, *content):
        if self.fault:
            raise ProgramFault(self.fault)
        place = (dict(os.environ._data), os.getcwd())
        if place != self.place:
            self.place = place
            super().ask("environment", dict(os.environ), place[1])
        if action in ("call", "special"):
            self.glimpsed -= {id(value) for value in content[1 if action == "call" else 3]}
        if action == "call" and id(content[0]) in self.questions and len(content[1]) == 1 and not is_remote(content[1][0]):
            self.has_doubted, asked = True, super().ask
            return self.believed(Doubt(lambda value: asked("call", content[0], (value,), content[2])).membership(content[1][0]))
        try:
            result = super().ask(action, *content)
        except Stopped as error:
            if action in ("call", "special") and (content[1] == "__next__" or id(content[0]) in self.stoppable):
                raise error.args[0] from None
            raise
        if action == "get" and content[1] in MAY_STOP:
            self.stoppable[id(result)] = result
        if action == "get" and content[1] in QUESTIONS:
            self.questions[id(result)] = result
        return result

    def raised(self, error):
        if not isinstance(error, BaseException) or isinstance(error, (ProgramFault, unittest.SkipTest)):
            self.fail("the program raised what is no exception")
        if isinstance(error, StopIteration):
            error = Stopped(error)
        self.raised_there.add(id(error))
        self.objects.setdefault(f"raised {id(error)}", error)
        return error

    def encode_class(self, kind):
        if id(kind) not in self.numbers:
            self.glimpsed.add(id(kind))
        return super().encode_class(kind)

    def read_object(self, content):
        self.is_touched = True
        value = super().read_object(content)
        self.is_of_library |= is_library(type(value).__module__)
        return value

    readers = {**Peer.readers, "o": read_object}

    def take_more(self, more):
        out, err, changed, warned = more
        for warning in [self.decode(warning) for warning in warned]:
            with contextlib.suppress(Warning):  # where the tests make errors of them
                warnings.warn(warning)
        sys.stdout.write(out.encode("utf-8", "replace").decode())
        sys.stderr.write(err.encode("utf-8", "replace").decode())
        for name, value in changed:
            if not is_program_name(name):
                self.fail("the program sent a name that it may not have")
            before = self.exported.get(name, self)
            value = self.exported[name] = self.decode(value)
            if name not in self.fixed and (self.names[name] is before if name in self.names else not name.startswith("_")):
                self.names[name] = value

    def more(self):
        """What the tests have put into modules of the standard library, where that has changed."""
        changed = []
        for module, name, value, is_original in self.patches():
            if self.sent_patches.get((module, name)) is not (None if is_original else value):
                self.sent_patches[(module, name)] = None if is_original else value
                changed.append([module, name, None if is_original else self.encode(value)])
        return changed

    def permit(self, action, content):
        """A program may do with the tests' objects what it was given them for, and not look behind them."""
        subject = content[1] if action == "apply" else content[2] if action in ("bind", "special") else content[0]
        if action in ("subclass", "method", "environment", "seed") or id(subject) not in self.numbers:
            raise AttributeError(action)
        if action in ("bind", "special") and not any(content[0] is level for level in type(subject).__mro__) or action == "special" and content[1] not in SPECIAL:
            raise AttributeError(action)
        if action in ("set", "del") and id(subject) in self.glimpsed:
            raise AttributeError("a class of the tests")
        if action in ("get", "set", "del", "bind"):
            value, name = (content[0], content[1]) if action != "bind" else (content[2], content[1])
            if not isinstance(name, str) or isinstance(value, HIDDEN) or not may_see(value, name):
                raise AttributeError(name)
        if action == "apply" and content[0] == "vars" and type(content[1]).__module__ != "tests":
            raise AttributeError("__dict__")

    def subclass(self, kind, space, words):
        """A class of the tests under one of the program's: the program gets its own, whose methods are those of the tests."""
        given = {}
        for name, value in space.items():
            if isinstance(value, (staticmethod, classmethod, property)):
                parts = [value.fget, value.fset, value.fdel] if isinstance(value, property) else [value.__func__]
                given[name] = self.ask("method", type(value).__name__, *parts)
            elif name not in UNTOLD and not name.startswith("_roll") and name != "__classcell__":
                given[name] = value
        bases = tuple(base for base in kind.__bases__ if base is not Mirror)
        there = super().ask("subclass", None, kind.__name__, bases, given)
        self.forget_mirror(there, kind)

    def forget_mirror(self, mirror, kind):
        """`kind` stands for what `mirror` was a mirror of."""
        number = self.numbers.pop(id(mirror))
        self.put(number, kind)

    def special(self, kind, name, value, args, kwargs):
        def ask(*operands):
            return self.ask("special", kind, name, value, operands, kwargs)
        other = args[0] if len(args) == 1 else self
        if name in ("__exit__", "__aexit__"):
            return self.leave(kind, name, value, args)
        number = self.under(value)
        if number is not value and tells_number(name, args):
            result = getattr(type(number), name, unanswered)(number, *args)
            return self.looked_at(value, result) if name == "__bool__" else result
        is_little = asks_little(name, args) and not (name in OPPOSITES and id(value) in self.derived) and not self.is_subject(type(value))
        if is_little or id(value) in self.pretended and name != "__hash__" and (not args or takes_number(args)):
            return self.without_number(value, self.under(ask(*args)))
        if name in ("__bool__", "__len__") and id(value) in self.unproven:
            result = ask()
            self.looked_at(value, bool(result))
            return result
        if other is self or is_remote(other):
            return self.from_derived(ask, value, name) if id(value) in self.derived and not args else ask(*args)
        self.has_doubted, doubt = True, Doubt(ask)
        if name in ("__eq__", "__ne__"):
            return self.believed(doubt.equality(other, name == "__eq__"), self.again(value, name, other))
        if name in OPPOSITES and is_of_numbers(other):
            answer = doubt.order(other)
            opposite = OPPOSITES[name]
            if answer is True and opposite in dir_of(kind) and self.ask("special", kind, opposite, value, (other,), {}) is True:
                answer = Lie
            return self.believed(answer, self.again(value, name, other))
        if name == "__contains__":
            return self.believed(doubt.membership(other))
        if name in STEPS and is_of_numbers(other):
            result = self.believed(Doubt(lambda *operands: self.under(ask(*operands))).varies(other, "truediv" not in name))
            if is_remote(result):
                self.derived[id(result)] = (result, ask, other)
            return result
        return ask(*args)

    def is_subject(self, kind):
        """Whether the tests are about this class, or one above it; any other one's objects are answers."""
        meant = {id(self.exported.get(name)) for name in self.subjects if self.names.get(name) is self.exported.get(name, self)}
        return any(id(level) in meant for level in kind.__mro__)

    def under(self, value):
        """The number under an answer, whatever its class says; any other value itself."""
        base = immutable_base(type(value))
        return underneath(base, value) if base in NUMBERS and is_remote(value) and not self.is_subject(type(value)) else value

    def without_number(self, value, result):
        """What an answer that is no number gives in the place of one: it may be an expression, of which nobody asks whether it is true."""
        of_library = is_library(type(value).__module__)
        if isinstance(result, str):
            return self.unbelieved_text(result, lambda _: self.fail(NO_NUMBER))
        if is_remote(result) and not of_library:
            self.pretended[id(result)] = result
        elif of_library and not is_remote(result) and result is not NotImplemented:
            raise Limit("an object of a library stands where the tests want a number")
        elif not of_library and result is not NotImplemented:
            self.fail(NO_NUMBER)
        return result

    def believed(self, answer, *further):
        if isinstance(answer, Doubtful):
            return self.doubted(answer)
        if answer is Lie or any(answer is True and doubt() is Lie for doubt in further):
            self.fail("an object of the program answers to anything what pleases")
        return answer

    def unbelieved_text(self, text, look):
        text = DoubtfulText(text)
        text.look = look
        return text

    def doubted(self, doubtful):
        def look(truth):
            if doubtful.claim in (None, truth) and doubtful.is_lie():
                self.believed(Lie)
        if not is_remote(doubtful.answer):
            return self.unbelieved_text(doubtful.answer, look)
        self.unproven[id(doubtful.answer)] = doubtful.answer, look
        return doubtful.answer

    def truth(self, value):
        if id(value) in self.pretended:
            self.fail(NO_NUMBER)
        return self.looked_at(value, True)

    def looked_at(self, value, truth):
        _, look = self.unproven.get(id(value), (None, None))
        if look:
            look(truth)
        return truth

    def again(self, value, name, other):
        """The comparison of a result, where one of its operands was plain data, repeated with other operands."""
        if id(value) not in self.derived:
            return lambda: None
        _, make, operand = self.derived[id(value)]

        def ask(operand):
            made = make(operand)
            return self.ask("special", type(made), name, made, (other,), {})
        return lambda: Doubt(lambda operand: 1 if ask(operand) is True else 0).varies(operand)

    def from_derived(self, ask, value, name):
        _, make, operand = self.derived[id(value)]

        def again(operand):
            made = make(operand)
            return self.ask("special", type(made), name, made, (), {})
        if name in ("__abs__", "__neg__", "__pos__", "__float__", "__int__", "__index__", "__round__"):
            result = self.believed(Doubt(again).varies(operand, True))
            if is_remote(result):
                self.derived[id(result)] = (result, again, operand)
            return result
        return ask()

    def leave(self, kind, name, value, args):
        """The end of `with`: it may swallow an error, but not a failed assertion."""
        error = args[1] if len(args) > 1 else None
        if isinstance(error, ProgramFault):
            return False
        given = (*args[:2], None) if isinstance(error, Exception) else (None, None, None)
        result = self.ask("special", kind, name, value, given, {})
        if error is None or isinstance(error, Exception) and not isinstance(error, AssertionError):
            return result
        return False if name == "__exit__" else swallowing_nothing(result)


def unanswered(*_):
    return NotImplemented


async def swallowing_nothing(leaving):
    await leaving


def is_library(module):
    """Not Python's own, and no claim: the tests have it."""
    first = module.partition(".")[0] if isinstance(module, str) else ""
    return first in sys.modules and first not in STANDARD | UNSHARED


def dir_of(kind):
    return {name for level in kind.__mro__ for name in vars(level)}


def is_program_name(name):
    return isinstance(name, str) and name.isidentifier() and not name.startswith("__")


def may_see(value, name):
    if isinstance(value, FUNCTIONS):
        return name in OF_FUNCTIONS - {"__dict__", "__defaults__", "__kwdefaults__"}
    kind = value if isinstance(value, type) else type(value)
    if issubclass(kind, unittest.mock.NonCallableMock):  # how often it was called is no affair of the program's
        return not name.startswith(("_", "assert")) and not hasattr(unittest.mock.Mock, name) and name != "method_calls"
    if isinstance(value, RUNNING):
        return name in ("send", "throw", "close", "asend", "athrow", "aclose", "__anext__")
    if name.startswith("__"):
        return name in SPECIAL or name in ("__name__", "__doc__", "__qualname__")
    return not name.startswith("_") or kind.__module__ == "tests" and name not in vars(HIDDEN[-1])
