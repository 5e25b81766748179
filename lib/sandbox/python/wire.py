"""What crosses between a program under test and the tests: plain data in frames of JSON, four bytes of length before each.

Values: null, true, false, strings and small whole numbers as in JSON; all else as [tag, content]. What is no plain data
stays where it is and crosses as a number (a handle). Nothing that is read here is ever called, imported or unpickled, and
a subclass of a plain type crosses as what it is underneath: no object's __eq__, __len__ or __bool__ comes along.
"""
import builtins
import collections
import datetime
import decimal
import fractions
import json
import struct
import types

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


SEQUENCES = {"l": list, "t": tuple, "s": set, "z": frozenset, "q": collections.deque}
NUMBERS = {"F": fractions.Fraction, "D": decimal.Decimal}


def encode_items(items, keep):
    return [encode(item, keep) for item in items]


def encode(value, keep):
    """keep(value): what stands for a value that is no plain data."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str.__str__(value) if type(value) is str else "".join(str.__iter__(value))
    if isinstance(value, int):
        number = int.__index__(value)
        return number if -SMALL < number < SMALL else ["i", format(number, "x")]
    if isinstance(value, float):
        return ["f", float.hex(float.__float__(value))]
    if isinstance(value, complex):
        return ["c", [float.hex(value.real), float.hex(value.imag)]]
    if isinstance(value, bytes):
        return ["b", bytes.hex(value)]
    if isinstance(value, bytearray):
        return ["a", bytearray.hex(value)]
    if isinstance(value, dict):
        return ["d", [[encode(key, keep), encode(item, keep)] for key, item in dict.items(value)]]
    for tag, kind in SEQUENCES.items():
        if isinstance(value, kind):
            return [tag, encode_items(kind.__iter__(value), keep)]
    if type(value) is range:
        return ["r", [value.start, value.stop, value.step]]
    for tag, kind in NUMBERS.items():
        if type(value) is kind:
            return [tag, str(value)]
    if type(value) in (datetime.date, datetime.datetime):
        return ["T" if type(value) is datetime.datetime else "Y", value.isoformat()]
    if type(value) is datetime.timedelta:
        return ["E", [value.days, value.seconds, value.microseconds]]
    if value is Ellipsis or value is NotImplemented:
        return ["n", "Ellipsis" if value is Ellipsis else "NotImplemented"]
    return keep(value)


def decode(value, found):
    """found(tag, content): what a handle stands for. BadFrame: no such data."""
    try:
        return decode_value(value, found)
    except (ValueError, TypeError, RecursionError, OverflowError, ArithmeticError, MemoryError) as error:
        raise BadFrame("sent data that cannot be read") from error


def decode_value(value, found):
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
        raise BadFrame("sent data that cannot be read")
    tag, content = value
    if tag in SEQUENCES:
        return SEQUENCES[tag]([decode_value(item, found) for item in content])
    if tag == "d":
        return {decode_value(key, found): decode_value(item, found) for key, item in content}
    if tag == "i":
        return int(content, 16)
    if tag == "f":
        return float.fromhex(content)
    if tag == "c":
        return complex(float.fromhex(content[0]), float.fromhex(content[1]))
    if tag == "b":
        return bytes.fromhex(content)
    if tag == "a":
        return bytearray.fromhex(content)
    if tag == "r":
        return range(*[int(x) for x in content])
    if tag in NUMBERS:
        return NUMBERS[tag](content)
    if tag == "T":
        return datetime.datetime.fromisoformat(content)
    if tag == "Y":
        return datetime.date.fromisoformat(content)
    if tag == "E":
        return datetime.timedelta(*[int(x) for x in content])
    if tag == "n":
        return Ellipsis if content == "Ellipsis" else NotImplemented
    return found(tag, content)


EXCEPTIONS = {name: kind for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)}
SHARED_MODULES = ("builtins", "operator", "math", "itertools", "functools", "statistics", "string", "re", "heapq", "bisect")


def shared_name(value):
    """["module", "name"] of a function or class of the standard library that both sides have; None for anything else."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, (types.BuiltinFunctionType, type)) and module in SHARED_MODULES and isinstance(name, str) and "." not in name:
        if getattr(__import__(module), name, None) is value:
            return [module, name]
    return None
