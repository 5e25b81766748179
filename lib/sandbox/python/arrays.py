"""Arrays of numpy are real on both sides, as lists are, and plain numbers in them cross as bytes; its scalars, dtypes and errors are
values. Arrays of records, subclasses, and what is very large are objects like others. Nothing here needs numpy until one is met.
"""
import re
import sys

LARGEST_ARRAY = 4 << 20  # bytes
PLAIN_DTYPE = re.compile(r"[<>|=]?(?:\?|[biufcSU]\d{1,8}|[mM]8(?:\[\w{1,16}\])?)")
# By these a program's object would take numpy's work over, or name memory: the tests' numpy does not see them.
PROTOCOLS = re.compile(r"__(array_\w+|buffer|release_buffer|dlpack\w*|cuda_array_interface)__")


def is_plain_dtype(dtype):
    return PLAIN_DTYPE.fullmatch(dtype.str) is not None


def is_array(kind):
    numpy = sys.modules.get("numpy")
    return numpy is not None and kind is getattr(numpy, "ndarray", None)


def is_sendable_array(value):
    return is_array(type(value)) and (value.dtype.str == "|O" or is_plain_dtype(value.dtype)) and value.nbytes <= LARGEST_ARRAY


def numpy_value(value):
    """[what, ...] of a scalar, a dtype, or a class of scalars, arrays or errors; None of anything else."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, type):
        name = [value.__module__, value.__name__]
        return ["class", *name] if numpy_class(*name) is value else None
    if not type(value).__module__.startswith("numpy"):
        return None
    if isinstance(value, numpy.generic) and is_plain_dtype(value.dtype):
        return ["scalar", value.dtype.str, value.tobytes().hex()]
    return ["dtype", value.str] if isinstance(value, numpy.dtype) and is_plain_dtype(value) else None


def numpy_class(module, name):
    import numpy
    found = getattr(sys.modules.get(module), name, None) if re.fullmatch(r"numpy(\.\w+)*", module) else None
    return found if isinstance(found, type) and issubclass(found, (numpy.generic, numpy.ndarray, Exception)) else None


def read_numpy_value(what, *content):
    import numpy
    if what == "class":
        kind = numpy_class(*content)
        if kind is None:
            raise BadFrame("sent a name that nobody knows")
        return kind
    dtype = plain_dtype(content[0])
    return dtype if what == "dtype" else numpy.frombuffer(bytes.fromhex(content[1]), dtype)[0]


def plain_dtype(text):
    import numpy
    if text != "|O" and not PLAIN_DTYPE.fullmatch(text):
        raise BadFrame("sent numbers of no kind")
    return numpy.dtype(text)


def empty_array(dtype, shape):
    import numpy
    return numpy.empty(shape, plain_dtype(dtype))


def array_items(value):
    """[shape, numbers]: bytes, or the list of objects."""
    return [value.shape, list(value.flat) if value.dtype.str == "|O" else value.tobytes()]


def array_has_changed(before, now):
    if isinstance(now[1], bytes):
        return now != before
    return now[0] != before[0] or any(a is not b for a, b in zip(now[1], before[1]))


def fill_array(value, items):
    import numpy
    shape, data = items
    if value.shape != shape:
        value.resize(shape, refcheck=False)
    if value.dtype.str != "|O":
        value[...] = numpy.frombuffer(data, value.dtype).reshape(shape)
        return
    for index, item in enumerate(data):
        value.flat[index] = item


def plain_truth(value):
    """numpy's True and False, which are not Python's."""
    return bool(value) if (numpy_value(value) or [""])[:2] == ["scalar", "|b1"] else value


def extremes(value):
    """The least and the most that numbers of its dtype can be."""
    import numpy
    limits = numpy.iinfo(value.dtype) if value.dtype.kind in "iu" else numpy.finfo(value.dtype)
    return [numpy.full_like(value, limit)[()] for limit in (limits.min, limits.max)]


def near_array(value, chance):
    """Of its shape and dtype, and with one number that differs a little."""
    import numpy
    changed = value.copy()
    if not changed.size:
        return numpy.zeros(1, value.dtype)
    at, step = chance.randrange(changed.size), chance.choice((1, 2, 3, 4, 5))
    old = changed.flat[at]
    if value.dtype.kind in "iu":
        changed.flat[at] = int(old) + (step if int(old) + step <= numpy.iinfo(value.dtype).max else -step)
    elif value.dtype.kind in "fcmM":
        changed.flat[at] = old + numpy.array(step).astype("m8" if value.dtype.kind in "mM" else value.dtype)
    elif value.dtype.kind == "b":
        changed.flat[at] = not old
    else:
        changed.flat[at] = old[:-1] if old else "x"
    return changed
