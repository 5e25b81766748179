"""The side of the program under test: loads it and does what the tests ask, one frame at a time.

All here runs in the program's own process, where the program may change or forge whatever it likes. That wins it nothing:
it is asked for results, and never told what they should be.
"""
import asyncio
import builtins
import inspect
import io
import operator
import sys
import types


class Callback:
    """A function of the tests, given to the program."""

    def __init__(self, served, number):
        self.served, self.number = served, number

    def __call__(self, *args, **kwargs):
        return self.served.call_back(self.number, args, kwargs)


class Served:
    """The program's objects, by number."""

    def __init__(self, channel, names):
        self.channel, self.names = channel, names
        self.objects, self.numbers = [], {}

    def number_of(self, value):
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return number

    def keep(self, value):
        if isinstance(value, type) and shared_name(value):
            return ["g", shared_name(value)]
        if inspect.iscoroutine(value):
            return ["w", self.number_of(value)]
        classes = [self.number_of(kind) for kind in type(value).__mro__ if kind.__module__ == self.names["__name__"]]
        if isinstance(value, type):
            bases = [kind.__name__ for kind in value.__mro__ if kind in EXCEPTIONS.values()]
            own = [self.number_of(kind) for kind in value.__mro__[1:] if kind.__module__ == self.names["__name__"]]
            return ["k", [self.number_of(value), value.__name__, bases, own]]
        return ["h", [self.number_of(value), classes, callable(value)]]

    def found(self, tag, content):
        if tag == "h":
            return self.objects[content]
        if tag == "g":
            return getattr(__import__(content[0]), content[1])
        if tag == "p":
            return Callback(self, content)
        raise BadFrame("an unknown kind of value")

    def encode(self, value):
        return encode(value, self.keep)

    def decode(self, value):
        return decode(value, self.found)

    def call_back(self, number, args, kwargs):
        send_frame(self.channel, ["callback", number, self.encode(list(args)), self.encode(kwargs)])
        return self.serve()

    def is_foreign(self, name, value):
        """An import, and no other name for what was imported."""
        if isinstance(value, types.ModuleType):
            return True
        is_code = isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType))
        return is_code and value.__module__ != self.names["__name__"] and value.__name__ == name

    def exported(self):
        found = []
        for name, value in list(self.names.items()):
            if not name.startswith("__") and name not in self.given and not self.is_foreign(name, value):
                found.append([name, self.encode(value)])
        return found

    def do(self, action, *content):
        if action == "call":
            target, args, kwargs = (self.decode(x) for x in content)
            result = target(*args, **kwargs)
            return [self.encode(result), self.encode(args)]
        if action == "await":
            return self.encode(asyncio.run(self.objects[content[0]]))
        if action == "get":
            return self.encode(getattr(self.decode(content[0]), content[1]))
        if action == "set":
            return self.encode(setattr(self.decode(content[0]), content[1], self.decode(content[2])))
        if action == "global":
            return self.encode(self.names[content[0]])
        if action == "apply":
            function = getattr(builtins, content[0], None) or getattr(operator, content[0])
            return self.encode(function(*self.decode(content[1])))
        raise BadFrame("an unknown request")

    def answer_of(self, request):
        before, printed = sys.stdout, io.StringIO()
        sys.stdout = printed
        try:
            answer = ["value", self.do(*request)]
        except KeyError if request[0] == "global" else () as error:
            answer = ["missing", str(error)]
        except BaseException as error:
            names = [kind.__name__ for kind in type(error).__mro__]
            try:
                args = self.encode(list(error.args))
            except BaseException:
                args = self.encode([])
            answer = ["raise", names, args]
        sys.stdout = before
        return [*answer, printed.getvalue()]

    def serve(self):
        """Answers requests; what a callback of the tests gave, once one is on its way."""
        while True:
            request = receive_frame(self.channel)
            if request[0] == "returned":
                return self.decode(request[1])
            if request[0] == "raised":
                raise EXCEPTIONS.get(request[1], RuntimeError)(*self.decode(request[2]))
            send_frame(self.channel, self.answer_of(request))


def serve_solution(channel, source, prelude):
    """Loads the program; then serves until the tests are done."""
    module = types.ModuleType("solution")
    names = module.__dict__
    names.update(prelude)
    names["__name__"] = "solution"
    sys.modules["solution"] = module
    served = Served(channel, names)
    sys.stdout = io.StringIO()
    try:
        exec(compile(source, "solution.py", "exec"), names)
    except BaseException as error:
        send_frame(channel, ["unloaded", type(error).__name__, str(error)[:500]])
        return
    served.given = {name for name, value in prelude.items() if names.get(name) is value}
    send_frame(channel, ["loaded", served.exported()])
    served.serve()
