"""What crosses between a program under test and the tests: frames of JSON, four bytes of length before each.

None, booleans, texts, floats and small whole numbers are themselves; all else is [tag, content]. Immutable data crosses by
value. Nothing that is read here is ever called, imported or unpickled but what the tables below name.
"""
import builtins
import collections
import dataclasses
import datetime
import decimal
import fractions
import inspect
import json
import pathlib
import re
import struct
import sys
import types
import uuid

LONGEST_FRAME = 64 << 20
SMALL = 1 << 53


class BadFrame(Exception):
    """The other side sent what is no frame, or has ended."""


def send_frame(channel, value):
    text = json.dumps(value, separators=(",", ":")).encode("ascii")
    channel.sendall(struct.pack(">I", len(text)) + text)


def receive_exactly(channel, count):
    parts = []
    while count > 0:
        part = channel.recv(min(count, 1 << 20))
        if not part:
            raise BadFrame("ended before it answered")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def receive_frame(channel):
    (length,) = struct.unpack(">I", receive_exactly(channel, 4))
    if length > LONGEST_FRAME:
        raise BadFrame("sent more data than is read")
    try:
        return json.loads(receive_exactly(channel, length))
    except (ValueError, RecursionError) as error:
        raise BadFrame("sent data that cannot be read") from error


PLAIN = {type(None), bool, str, float}  # and small whole numbers


def is_plain(value):
    kind = type(value)
    return kind in PLAIN or kind is int and -SMALL < value < SMALL


# Immutable values of the standard library, made anew of what they reduce to.
BY_VALUE = {kind.__name__: kind for kind in (datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone,
                                             decimal.Decimal, fractions.Fraction, pathlib.PosixPath, pathlib.PurePosixPath)}


def is_value(kind):
    return BY_VALUE.get(kind.__name__) is kind


def raw_items(base, value):
    """What a list, dict, ... holds, whatever a subclass says that it holds."""
    if is_array(base):
        return array_items(value)
    if base is dict:
        items = collections.OrderedDict.items if isinstance(value, collections.OrderedDict) else dict.items
        return [part for item in items(value) for part in item]
    return list(base.__iter__(value))


def raw_fill(base, value, items):
    if is_array(base):
        fill_array(value, items)
    elif isinstance(value, collections.OrderedDict):
        collections.OrderedDict.clear(value)
        for key, item in zip(items[::2], items[1::2]):
            collections.OrderedDict.__setitem__(value, key, item)
    elif base is dict:
        dict.clear(value)
        dict.update(value, zip(items[::2], items[1::2]))
    elif base is set:
        set.clear(value)
        set.update(value, items)
    elif base is bytearray:
        bytearray.__setitem__(value, slice(None), bytes(items))
    elif base is list:
        list.__setitem__(value, slice(None), items)
    else:
        collections.deque.clear(value)
        collections.deque.extend(value, items)


MUTABLE = {"L": list, "D": dict, "M": set, "B": bytearray, "Q": collections.deque}
MUTABLE_TAGS = {kind: tag for tag, kind in MUTABLE.items()}
# Dictionaries that are more than one.
FURTHER = {"Counter": collections.Counter, "OrderedDict": collections.OrderedDict, "defaultdict": collections.defaultdict}
IMMUTABLE = (bool, int, str, float, complex, bytes, tuple, frozenset)


def mutable_base(kind):
    return next((base for base in kind.__mro__ if base in MUTABLE_TAGS), None)


def immutable_base(kind):
    return next((base for base in kind.__mro__ if base in IMMUTABLE), None)


def underneath(base, value):
    """The plain value under an object of a subclass."""
    if base is str:
        return "".join(str.__iter__(value))
    if base in (tuple, frozenset):
        return base(base.__iter__(value))
    if base is bytes:
        return bytes(bytes.__iter__(value))
    return {bool: bool, int: int.__index__, float: float.__float__, complex: lambda x: complex(x.real, x.imag)}[base](value)


SHARED_MODULES = ("builtins", "operator", "math", "itertools", "functools", "statistics", "string", "re", "heapq", "bisect")
NEVER_SHARED = {"exec", "eval", "compile", "open", "input", "breakpoint", "exit", "quit", "__import__", "globals", "locals", "vars",
                "setattr", "delattr", "attrgetter", "methodcaller"}
STANDARD = set(getattr(sys, "stdlib_module_names", ())) or set(sys.builtin_module_names) | set(SHARED_MODULES) | {
    "abc", "asyncio", "collections", "concurrent", "contextlib", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions",
    "io", "json", "numbers", "os", "pathlib", "queue", "random", "socket", "sqlite3", "threading", "types", "typing", "uuid"}
UNSHARED = {"unittest", "ctypes", "test", "idlelib", "_ctypes", "pytest", "solution", "tests", "__main__"}
CONSTANTS = {"_FIELD": dataclasses._FIELD, "_FIELD_CLASSVAR": dataclasses._FIELD_CLASSVAR, "MISSING": dataclasses.MISSING,
             "empty": inspect.Parameter.empty, "Ellipsis": Ellipsis, "NotImplemented": NotImplemented}


UNNAMED = {kind: name for name, kind in vars(types).items() if isinstance(kind, type) and kind.__module__ == "builtins" and not hasattr(builtins, kind.__name__)}


def is_standard(module):
    first = module.partition(".")[0] if isinstance(module, str) else ""
    return first in STANDARD and first not in UNSHARED


def named_in(module, name):
    found = __import__("typing" if module == "typing" else module, fromlist=["_"])
    for part in name.split("."):
        found = vars(found)[part]
    return found


def shared_name(value):
    """["module", "name"] of a class, or harmless function, of the standard library that both sides have; None otherwise."""
    is_class = isinstance(value, type)
    if is_class and value in UNNAMED:
        return ["types", UNNAMED[value]]
    if not is_class and not isinstance(value, (types.BuiltinFunctionType, types.FunctionType)):
        return None
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(name, str) or not is_standard(module) or not is_class and (module not in SHARED_MODULES or name in NEVER_SHARED):
        return None
    try:
        return [module, name] if named_in(module, name) is value else None
    except (KeyError, ImportError, TypeError, AttributeError):
        return None


def shared_thing(module, name):
    """BadFrame: no name that shared_name() gives."""
    try:
        value = named_in(module, name) if is_standard(module) else None
    except (KeyError, ImportError, TypeError, AttributeError) as error:
        raise BadFrame("sent a name that nobody knows") from error
    if shared_name(value) != [module, name]:
        raise BadFrame("sent a name that nobody knows")
    return value
