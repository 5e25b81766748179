"""One end of the channel between the tests and the program under test; both run this code.

What is no plain data stays where it is and crosses as a number; the other side has a mirror of it (mirrors.py). Lists, dicts,
sets, deques and bytearrays are real on both sides: one side runs at a time, and whoever hands over reports what has changed in them.
An object that comes back is the object that went.
"""
import asyncio
import collections
import copy
import inspect
import operator
import re
import sys
import threading
import types

MANY_SHARED = 256  # from here on those that nobody needs any more are forgotten
LONGEST_WAIT_S = 5
SLICE_S = 0.005
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


class Limit(Exception):
    """What a mirror cannot do: no fault of the program's."""


class Shared:
    """A mutable container that both sides have."""

    def __init__(self, base, value):
        self.base, self.value = base, value
        self.look()

    def look(self):
        self.snapshot = raw_items(self.base, self.value)

    def has_changed(self):
        now = raw_items(self.base, self.value)
        if is_array(self.base):
            return array_has_changed(self.snapshot, now)
        return len(now) != len(self.snapshot) or not all(map(operator.is_, now, self.snapshot))


class Foreign:
    """A class of which only objects cross."""

    def __init__(self, kind):
        self.kind = kind


class Peer:
    def __init__(self, channel, module, first_number):
        self.channel, self.module, self.next_number = channel, module, first_number
        self.objects, self.numbers, self.shared, self.foreign, self.metas = {}, {}, {}, {}, {}
        self.fresh, self.dropped = [], []
        self.many = MANY_SHARED
        self.lock, self.loop = threading.RLock(), None
        self.function_class = function_mirror(self)
        self.actions = {name[3:]: getattr(self, name) for name in dir(self) if name.startswith("do_")}

    # --- Numbers ---

    def register(self, value):
        number = self.next_number
        self.next_number += 2
        self.put(number, value)
        self.fresh.append(number)
        return number

    def put(self, number, value):
        self.objects[number] = value
        self.numbers[id(value)] = number

    def share(self, number, base, value):
        self.shared[number] = Shared(base, value)

    def forget(self, number):
        self.shared.pop(number, None)
        value = self.objects.pop(number, self)
        if self.numbers.get(id(value)) == number:
            del self.numbers[id(value)]

    def sweep(self):
        """Forgets the containers that only this table holds."""
        held = collections.Counter(id(item) for shared in self.shared.values() for item in shared.snapshot if type(item) in MUTABLE_TAGS)
        for number in sorted(self.shared):
            shared = self.shared[number]
            if type(shared.value) is shared.base and sys.getrefcount(shared.value) - held[id(shared.value)] <= 3:
                held.subtract(id(item) for item in shared.snapshot if type(item) in MUTABLE_TAGS)
                self.forget(number)
                self.dropped.append(number)
            del shared
        self.many = max(MANY_SHARED, 2 * len(self.shared))

    # --- Values ---

    def encode(self, value):
        if is_plain(value):
            return value
        kind = type(value)
        number = self.numbers.get(id(value))
        if number is not None:
            return ["@", number]
        if kind in MUTABLE_TAGS or FURTHER.get(kind.__name__) is kind:
            return self.encode_shared(mutable_base(kind), kind, value)
        if is_sendable_array(value):
            number = self.register(value)
            self.share(number, kind, value)
            return ["A", [number, value.dtype.str, self.encode_items(self.shared[number].snapshot)]]
        of_numpy = numpy_value(value)
        if of_numpy:
            return ["N", of_numpy]
        if kind is int:
            return ["i", format(value, "x")]
        if kind is tuple or kind is frozenset:
            return ["t" if kind is tuple else "z", self.encode_items(value)]
        if kind is bytes:
            return ["b", value.hex()]
        if kind is complex:
            return ["c", [value.real, value.imag]]
        if kind in (range, slice):
            return ["r" if kind is range else "s", self.encode_items([value.start, value.stop, value.step])]
        if is_value(kind):
            return ["v", [kind.__name__, self.encode_items(value.__reduce__()[1])]]
        if kind is re.Pattern:
            return ["p", [self.encode(value.pattern), value.flags]]
        for name, constant in CONSTANTS.items():
            if value is constant:
                return ["n", name]
        return self.encode_object(kind, value)

    def encode_items(self, items):
        items = list(items)
        kinds = set(map(type, items))
        if kinds <= PLAIN or kinds == {int} and -SMALL < min(items) and max(items) < SMALL:
            return items
        return [self.encode(item) for item in items]

    def encode_shared(self, base, kind, value):
        number = self.register(value)
        items = raw_items(base, value)
        self.share(number, base, value)
        further = [kind.__name__, self.encode(value.default_factory) if kind is collections.defaultdict else None] if kind is not base else None
        if kind is collections.deque and value.maxlen is not None:
            further = ["deque", value.maxlen]
        return ["S", [number, MUTABLE_TAGS[base], self.encode_items(items), further]]

    def encode_object(self, kind, value):
        if shared_name(value):
            return ["g", shared_name(value)]
        if kind is types.ModuleType and is_standard(value.__name__):
            return ["m", value.__name__]
        if inspect.iscoroutine(value) or isinstance(value, types.AsyncGeneratorType):
            return ["w" if inspect.iscoroutine(value) else "y", self.register(value)]
        if kind in FUNCTIONS:
            return ["f", [self.register(value), kind is types.FunctionType]]
        if isinstance(value, type):
            number = self.register(value)
            return ["k", [number, self.describe(value, False)]]
        if isinstance(value, BaseException):
            return self.encode_exception(kind, value)
        number = self.register(value)
        return ["o", [number, self.encode_class(kind), self.encode_state(number, kind, value)]]

    def encode_state(self, number, kind, value):
        base = mutable_base(kind)
        if base:
            self.share(number, base, value)
            return [MUTABLE_TAGS[base], self.encode_items(raw_items(base, value))]
        base = immutable_base(kind)
        return ["=", self.encode(underneath(base, value))] if base else None

    def encode_exception(self, kind, value):
        number = self.register(value)
        is_own = not shared_name(kind)
        try:
            args = self.encode_items(value.args)
            more = None if is_own else [[name, self.encode(item)] for name, item in vars(value).items() if isinstance(name, str)]
            cause = self.encode(value.__cause__)
        except Exception:
            args, more, cause = [], None, None
        return ["e", [number, self.encode_class(kind) if is_own else ["g", shared_name(kind)], args, more, cause]]

    def encode_class(self, kind):
        if id(kind) in self.numbers:
            return ["@", self.numbers[id(kind)]]
        if not is_standard(kind.__module__) and (not numpy_value(kind) or issubclass(kind, BaseException)):
            return self.encode(kind)
        if kind not in self.foreign:
            self.foreign[kind] = Foreign(kind)
        foreign = self.foreign[kind]
        if id(foreign) in self.numbers:
            return ["@", self.numbers[id(foreign)]]
        number = self.register(foreign)
        return ["k", [number, self.describe(kind, True)]]

    def describe(self, kind, is_foreign):
        bases, covered, names = [], [], {}
        for level in kind.__mro__:
            is_plain_class = level in MUTABLE_TAGS or level in IMMUTABLE or FURTHER.get(level.__name__) is level or (
                issubclass(level, BaseException) and is_standard(level.__module__)) or level in (object, type)
            is_other = level is not kind and not is_foreign and not is_standard(level.__module__)
            if not is_plain_class and not is_other:
                for name, value in vars(level).items():
                    names.setdefault(name, value)
            is_base = is_plain_class and level not in (object, type) and not any(issubclass(base, level) for base in covered) or is_other and level in kind.__bases__
            if level is not kind and is_base:
                bases.append(["g", shared_name(level)] if is_plain_class else self.encode_class(level))
                covered.append(level)
        meta = type(kind) if type(kind) is not type and not issubclass(kind, type) else None
        doc = kind.__doc__ if isinstance(kind.__doc__, str) else None
        return {"name": kind.__name__, "qualname": kind.__qualname__, "module": str(kind.__module__), "doc": doc, "bases": bases,
                "meta": self.encode_class(meta) if meta else None, "real": shared_name(kind) if is_foreign else None,
                "special": [name for name, value in names.items() if name in SPECIAL and value is not None],
                "none": [name for name, value in names.items() if name in SPECIAL and value is None],
                "other": [name for name in names if name not in SPECIAL and name not in UNTOLD]}

    def decode(self, value):
        if type(value) in PLAIN or type(value) is int:
            return value
        tag, content = value
        return self.readers[tag](self, content)

    def decode_items(self, items):
        if set(map(type, items)) <= PLAIN | {int}:
            return list(items)
        return [self.decode(item) for item in items]

    def read_shared(self, content):
        number, tag, items, further = content
        base = MUTABLE[tag]
        factory = [self.decode(further[1])] if further and further[0] == "defaultdict" else []
        value = FURTHER[further[0]](*factory) if further and further[0] in FURTHER else base((), int(further[1])) if further else base()
        self.put(self.checked_number(number), value)
        raw_fill(base, value, self.decode_items(items))
        self.share(number, base, value)
        return value

    def read_array(self, content):
        number, dtype, items = content
        items = self.decode_items(items)
        value = empty_array(dtype, items[0])
        self.put(self.checked_number(number), value)
        fill_array(value, items)
        self.share(number, type(value), value)
        return value

    def read_known(self, number):
        value = self.objects[number]
        return value.kind if isinstance(value, Foreign) else value

    def checked_number(self, number):
        """Of a thing of the other side's."""
        if type(number) is not int or number % 2 == self.next_number % 2 or number in self.objects:
            raise BadFrame("sent a number that it may not give")
        return number

    def read_class(self, content):
        number, description = content
        return build_class(self, self.checked_number(number), description)

    def read_object(self, content):
        number, kind, state = content
        kind = self.decode(kind)
        if not isinstance(kind, MirrorClass):
            raise BadFrame("sent an object of no class")
        base = mutable_base(kind) or immutable_base(kind)
        if state and base in IMMUTABLE:
            value = base.__new__(kind, self.decode(state[1]))
        else:
            value = (base or object).__new__(kind)
        self.put(self.checked_number(number), value)
        if base in MUTABLE_TAGS:
            raw_fill(base, value, self.decode_items(state[1]))
            self.share(number, base, value)
        return value

    def read_exception(self, content):
        number, kind, args, more, cause = content
        kind, args = self.decode(kind), self.decode_items(args)
        if not isinstance(kind, type) or not issubclass(kind, BaseException):
            raise BadFrame("raised what is no exception")
        try:
            error = BaseException.__new__(kind) if more is None else kind(*args)
        except Exception:
            error = BaseException.__new__(kind)
        BaseException.args.__set__(error, tuple(args))
        self.put(self.checked_number(number), error)
        for name, item in more or []:
            object.__setattr__(error, name, self.decode(item))
        if isinstance(cause, list):
            BaseException.__cause__.__set__(error, self.decode(cause))
        return error

    def read_function(self, content):
        number, is_function = content
        value = object.__new__(self.function_class[bool(is_function)])
        self.put(self.checked_number(number), value)
        return value

    def read_awaited(self, number):
        value = awaited(self, Handle(number))
        self.put(self.checked_number(number), value)
        return value

    def read_generator(self, number):
        value = async_items(self, Handle(number))
        self.put(self.checked_number(number), value)
        return value

    readers = {
        "@": read_known, "S": read_shared, "A": read_array, "k": read_class, "o": read_object, "e": read_exception, "f": read_function,
        "w": read_awaited, "y": read_generator,
        "N": lambda self, content: read_numpy_value(*content),
        "i": lambda self, content: int(content, 16),
        "t": lambda self, content: tuple(self.decode_items(content)),
        "z": lambda self, content: frozenset(self.decode_items(content)),
        "b": lambda self, content: bytes.fromhex(content),
        "c": lambda self, content: complex(float(content[0]), float(content[1])),
        "r": lambda self, content: range(*self.decode_items(content)),
        "s": lambda self, content: slice(*self.decode_items(content)),
        "v": lambda self, content: BY_VALUE[content[0]](*self.decode_items(content[1])),
        "p": lambda self, content: re.compile(self.decode(content[0]), int(content[1])),
        "n": lambda self, content: CONSTANTS[content],
        "g": lambda self, content: shared_thing(*content),
        "m": lambda self, content: __import__(content, fromlist=["_"]) if is_standard(content) else None,
        "h": lambda self, content: self.read_known(content),
    }

    # --- Frames: [kind, values, changed containers, forgotten containers, more] ---

    def send(self, kind, *values):
        self.fresh = []
        try:
            encoded = [value.encoded if isinstance(value, Handle) else self.encode(value) for value in values]
            changes = []
            for number, shared in list(self.shared.items()):
                if shared.has_changed():
                    shared.look()
                    changes.append([number, self.encode_items(shared.snapshot)])
            more = self.more()
        except BaseException:
            for number in self.fresh:
                self.forget(number)
            raise
        if len(self.shared) > self.many:
            self.sweep()
        dropped, self.dropped = self.dropped, []
        send_frame(self.channel, [kind, encoded, changes, dropped, more])

    def receive(self):
        kind, values, changes, dropped, more = receive_frame(self.channel)
        decoded = [self.decode(value) for value in values]
        for number, items in changes:
            shared = self.shared.get(number)
            if shared:
                raw_fill(shared.base, shared.value, self.decode_items(items))
                shared.look()
        for number in dropped:
            if number in self.shared and type(self.shared[number].value) is self.shared[number].base:
                self.forget(number)
        self.take_more(more)
        return [kind, *decoded]

    def more(self):
        return None

    def take_more(self, more):
        pass

    def ask(self, action, *content):
        if not self.lock.acquire(timeout=LONGEST_WAIT_S):
            raise Limit("two threads wait for the program at once")
        try:
            self.send(action, *content)
            while True:
                kind, *values = self.receive()
                if kind == "value":
                    return values[0]
                if kind == "raise":
                    raise self.raised(values[0])
                self.answer(kind, values)
        finally:
            self.lock.release()

    def raised(self, error):
        return error

    def truth(self, value):
        """Of a mirror whose class does not say."""
        return True

    def answer(self, action, content):
        try:
            if action not in self.actions:
                raise BadFrame("an unknown request")
            self.permit(action, content)
            result = ["value", self.actions[action](*content)]
        except (ProgramFault, BadFrame):
            raise
        except BaseException as error:
            result = ["raise", error]
        try:
            self.send(*result)
        except (RecursionError, MemoryError) as error:
            self.send("raise", type(error)("a value is too deep or too large"))

    # --- What one side may ask of the other ---

    def permit(self, action, content):
        pass

    def do_call(self, target, args, kwargs):
        return target(*args, **kwargs)

    def do_get(self, value, name):
        return getattr(value, name)

    def do_set(self, value, name, item):
        setattr(value, name, item)

    def do_del(self, value, name):
        delattr(value, name)

    def do_special(self, kind, name, value, args, kwargs):
        return inside(kind, name).__get__(value, type(value))(*args, **kwargs)

    def do_bind(self, kind, name, value):
        found = inside(kind, name)
        return found.__get__(value, type(value)) if hasattr(type(found), "__get__") else found

    def do_apply(self, name, *args):
        return {"copy": copy.copy, "deepcopy": copy.deepcopy, "vars": vars, "dir": dir, "isinstance": isinstance}[name](*args)

    def do_start(self, value):
        running = asyncio._get_running_loop()
        if not running and not self.loop:
            self.loop = asyncio.new_event_loop()
        return asyncio.ensure_future(value, loop=running or self.loop)

    def do_run(self, task):
        """Whether it is done."""
        async def a_while():
            await asyncio.wait([task], timeout=SLICE_S)
        if not task.done() and not asyncio._get_running_loop():
            self.loop.run_until_complete(a_while())
        return task.done()

    def do_result(self, task):
        return task.result()

    def do_cancel(self, task):
        task.cancel()


class Handle:
    """The other side's thing of this number."""

    def __init__(self, number):
        self.encoded = ["h", number]


def inside(kind, name):
    for level in kind.__mro__:
        if name in vars(level):
            return vars(level)[name]
    raise AttributeError(name)


async def awaited(peer, value):
    """Something of the other side's, awaited: its loop runs a little at a time, so that this side's others run as well."""
    task = peer.ask("start", value)
    await asyncio.sleep(0)
    try:
        while not peer.ask("run", task):
            await asyncio.sleep(0)
    except asyncio.CancelledError:
        peer.ask("cancel", task)
        raise
    return peer.ask("result", task)


async def async_items(peer, value):
    following = peer.ask("get", value, "__anext__")
    while True:
        try:
            item = await following()
        except StopAsyncIteration:
            return
        yield item
