"""The side of the program under test: loads it and does what the tests ask, one frame at a time.

All here runs in the program's own process, where the program may change or forge whatever it likes. That wins it nothing:
it is asked for results, and never told what they should be.
"""
import builtins
import io
import os
import sys
import types
import warnings


class Printed(io.TextIOWrapper):
    """What a program prints, until it is sent."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", errors="surrogatepass", newline="", write_through=True)

    def take(self):
        text = self.buffer.getvalue().decode("utf-8", "surrogateescape")
        self.buffer.seek(0)
        self.buffer.truncate()
        return text


class Served(Peer):
    """The program's end."""

    def __init__(self, channel, names):
        super().__init__(channel, names["__name__"], 1)
        self.names, self.reported, self.out, self.err = names, {}, Printed(), Printed()
        self.patched, self.warnings = {}, []

    def special(self, kind, name, value, args, kwargs):
        return self.ask("special", kind, name, value, args, kwargs)

    def is_import(self, name, value):
        """And no other name for what was imported."""
        if isinstance(value, types.ModuleType):
            return True
        is_code = isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType))
        return is_code and value.__module__ != self.names["__name__"] and value.__name__ == name

    def look_at_names(self):
        """[own names and their values, imports]"""
        own, imports = [], []
        for name, value in list(self.names.items()):
            if name.startswith("__") or name in self.given:
                continue
            if not self.is_import(name, value):
                own.append((name, value))
                self.reported[name] = value
            else:
                is_module = isinstance(value, types.ModuleType)
                imports.append((name, value.__name__ if is_module else value.__module__, None if is_module else name))
        self.num_names = len(self.names)
        return tuple(own), tuple(imports)

    def new_names(self):
        if len(self.names) != self.num_names:
            self.reported.update({name: None for name in self.names if name not in self.reported and name not in self.given and not name.startswith("__")})
            self.num_names = len(self.names)
        changed = []
        for name, value in self.reported.items():
            now = self.names.get(name)
            if now is not value:
                self.reported[name] = now
                changed.append([name, self.encode(now)])
        return changed

    def more(self):
        """What it has printed, which of its names mean something else by now, and what it has warned of."""
        warned = [self.encode(warning) for warning in self.warnings]
        self.warnings.clear()
        return [Printed.take(self.out), Printed.take(self.err), self.new_names(), warned]

    def take_more(self, patches):
        """Names of the standard library that the tests have put something else in."""
        for module, name, value in patches or []:
            holder = __import__(module, fromlist=["_"])
            if value is None:
                setattr(holder, name, self.patched.pop((module, name)))
            else:
                self.patched.setdefault((module, name), getattr(holder, name))
                setattr(holder, name, self.decode(value))

    def do_global(self, name):
        return self.names[name]

    def do_set_global(self, name, value):
        self.names[name] = value
        if name in self.reported:
            self.reported[name] = value

    def do_subclass(self, meta, name, bases, space):
        return (meta or type(bases[0]))(name, tuple(bases), {**space, "__module__": "tests"})

    def do_method(self, kind, *functions):
        return {"staticmethod": staticmethod, "classmethod": classmethod, "property": property}[kind](*functions)

    def do_environment(self, values, folder):
        os.environ.clear()
        os.environ.update(values)
        os.chdir(folder)

    def do_seed(self, module, args, kwargs):
        if module.partition(".")[0] in sys.modules:  # numpy itself loads its parts when they are used
            __import__(module, fromlist=["_"]).seed(*args, **kwargs)

    def serve(self):
        while True:
            action, *content = self.receive()
            self.answer(action, content)


def without_builtins(prelude):
    """A name that only the builtins have can be patched there."""
    return {name: value for name, value in prelude.items() if getattr(builtins, name, None) is not value}


def serve_solution(channel, source, prelude):
    """Loads the program; then serves until the tests are done."""
    module = types.ModuleType("solution")
    names = module.__dict__
    names.update(without_builtins(prelude))
    names["__name__"], names["__file__"] = "solution", os.path.abspath("solution.py")
    sys.modules["solution"] = module
    served = Served(channel, names)
    sys.stdout, sys.stderr = served.out, served.err
    warnings.simplefilter("always")
    warnings.showwarning = lambda message, *_, **__: served.warnings.append(message)
    served.given = set(names)
    served.num_names = len(names)
    try:
        exec(compile(source, "solution.py", "exec"), names)
    except BaseException as error:
        served.given, served.num_names = set(names), len(names)
        served.send("unloaded", type(error).__name__, str(error)[:500])
        return
    served.given = {name for name, value in prelude.items() if names.get(name) is value}
    served.send("loaded", *served.look_at_names())
    served.serve()
