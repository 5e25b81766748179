"""Mirrors: classes and objects of the other side. A mirror's class has the special methods that the original's has, so that Python
itself decides what can be done with it, and each does what the original's does there.
"""
import types

SPECIAL = {f"__{name}__" for name in (
    "call len getitem setitem delitem iter next contains reversed missing eq ne lt le gt ge hash bool str repr format bytes int float "
    "complex index round trunc floor ceil abs neg pos invert enter exit await aiter anext aenter aexit get set delete init length_hint "
    "fspath copy deepcopy dir divmod rdivmod").split()} | {
    f"__{prefix}{name}__" for prefix in ("", "r", "i")
    for name in "add sub mul matmul truediv floordiv mod pow lshift rshift and xor or".split()}
COMPARISONS = {f"__{name}__" for name in "eq ne lt le gt ge".split()}
UNTOLD = {f"__{name}__" for name in (
    "new getattribute getattr setattr delattr class dict weakref module doc init_subclass subclasshook slots annotations del reduce "
    "reduce_ex getstate setstate getnewargs getnewargs_ex instancecheck subclasscheck qualname name mro_entries abstractmethods prepare "
    "set_name bases mro sizeof static_attributes firstlineno annotate annotate_func annotations_cache").split()} | {"_abc_impl"}
OF_FUNCTIONS = {"__doc__", "__module__", "__name__", "__qualname__", "__annotations__", "__dict__", "__defaults__", "__kwdefaults__"}
NATIVE_OF_EXCEPTIONS = {"__traceback__", "__cause__", "__context__", "__suppress_context__", "args", "__notes__"}


class RemoteAttribute:
    """An attribute of a class of the other side."""

    def __init__(self, name, kind=None):
        self.name, self.kind = name, kind

    def __get__(self, value, owner):
        peer = self.kind._roll_peer
        return peer.ask("get", owner, self.name) if value is None else peer.ask("bind", self.kind, self.name, value)


class MirrorClass(type):
    def __new__(mcs, name, bases, space, **words):
        description = space.pop("_roll_description", None)
        kind = super().__new__(mcs, name, bases, {"_roll_is_mirror": False, **space} if description is None else space)
        if description is None:
            kind._roll_peer.subclass(kind, space, words)
        return kind

    def __init__(cls, name, bases, space, **_):
        super().__init__(name, bases, space)

    def __call__(cls, *args, **kwargs):
        return cls._roll_peer.ask("call", cls, args, kwargs)

    def __getattr__(cls, name):
        if name.startswith("_roll") or name in ("__abstractmethods__", "__set_name__") or PROTOCOLS.fullmatch(name):
            raise AttributeError(name)
        return cls._roll_peer.ask("get", cls, name)

    def __setattr__(cls, name, value):
        if not cls._roll_is_mirror:
            type.__setattr__(cls, name, value)
        if not name.startswith("_roll") and name not in UNTOLD:
            cls._roll_peer.ask("set", cls, name, value)

    def __instancecheck__(cls, value):
        if type.__instancecheck__(cls, value):
            return True
        return cls._roll_has_meta and isinstance(type(value), MirrorClass) and cls._roll_peer.ask("apply", "isinstance", value, cls) is True


class Mirror(metaclass=MirrorClass):
    _roll_description, _roll_peer, _roll_is_mirror, _roll_has_meta = {}, None, True, False
    __slots__ = ()

    def __getattribute__(self, name):
        kind = type(self)
        if PROTOCOLS.fullmatch(name):
            raise AttributeError(name)
        if name != "__dict__":
            for level in kind.__mro__:
                space = type.__getattribute__(level, "__dict__")
                if name in space:
                    if not space.get("_roll_is_mirror") or level is Mirror or name in SPECIAL or name in UNTOLD:
                        return object.__getattribute__(self, name)
                    break
            return kind._roll_peer.ask("get", self, name)
        return kind._roll_peer.ask("apply", "vars", self)

    def __setattr__(self, name, value):
        if name in NATIVE_OF_EXCEPTIONS and isinstance(self, BaseException):
            return object.__setattr__(self, name, value)
        type(self)._roll_peer.ask("set", self, name, value)

    def __delattr__(self, name):
        type(self)._roll_peer.ask("del", self, name)

    def __copy__(self):
        return type(self)._roll_peer.ask("apply", "copy", self)

    def __deepcopy__(self, memo):
        return type(self)._roll_peer.ask("apply", "deepcopy", self)

    def __reduce_ex__(self, protocol):
        raise Limit("an object of the program cannot be pickled")

    def __dir__(self):
        return type(self)._roll_peer.ask("apply", "dir", self)


def forwarder(peer, kind, name):
    def forward(self, *args, **kwargs):
        return peer.special(kind[0], name, self, args, kwargs)
    forward.__name__ = forward.__qualname__ = name
    return forward


def build_class(peer, number, description):
    bases = tuple(peer.decode(base) for base in description["bases"])
    real = shared_thing(*description["real"]) if description["real"] else None
    meta = MirrorClass
    if description["meta"]:
        meta = metaclass_of(peer, peer.decode(description["meta"]))
    kind = []
    space = {"__slots__": (), "__module__": description["module"], "__qualname__": description["qualname"], "__doc__": description["doc"],
             "_roll_description": description, "_roll_peer": peer, "_roll_is_mirror": True, "_roll_has_meta": description["meta"] is not None}
    for name in description["other"]:
        if not PROTOCOLS.fullmatch(str(name)):
            space[str(name)] = RemoteAttribute(str(name))
    for name in set(description["special"]) & SPECIAL:
        space[name] = awaiting if name == "__await__" else forwarder(peer, kind, name)
    for name in set(description["none"]) & SPECIAL:
        space[name] = None
    if "__eq__" in space and "__hash__" not in space:
        space["__hash__"] = object.__hash__
    if not {"__bool__", "__len__"} & set(space):
        space["__bool__"] = lambda self: peer.truth(self)
    if real:
        space["__class__"] = property(lambda self: real)
    if not any(isinstance(base, MirrorClass) for base in bases):
        bases = (Mirror, *bases)
    made = meta(str(description["name"]), bases, space)
    kind.append(made)
    for value in space.values():
        if isinstance(value, RemoteAttribute):
            value.kind = made
    peer.put(number, made)
    return made


def metaclass_of(peer, description):
    """A class of classes: what it makes classes do (iterate, be asked for a name) its mirror does too."""
    if description in peer.metas:
        return peer.metas[description]
    space = {name: value for name, value in vars(description).items() if name in SPECIAL and name not in ("__call__", "__init__", "__eq__", "__hash__", "__dir__", "__repr__", "__str__")}
    peer.metas[description] = type(description.__name__, (MirrorClass,), space)
    return peer.metas[description]


def awaiting(self):
    return awaited(type(self)._roll_peer, self).__await__()


def function_mirror(peer):
    """The classes of a function's mirrors: what is no function is not bound to objects."""
    def call(self, *args, **kwargs):
        return peer.ask("call", self, args, kwargs)

    def get(self, name):
        if name in OF_FUNCTIONS or not (name in SPECIAL or name in UNTOLD or name.startswith("_roll")):
            return peer.ask("get", self, name)
        return object.__getattribute__(self, name)

    def truth(self):
        return peer.truth(self)

    def bind(self, value, owner=None):
        return self if value is None else types.MethodType(self, value)

    def made(name, real, **more):
        return MirrorClass(name, (Mirror,), {"__slots__": (), "__call__": call, "__getattribute__": get, "__bool__": truth, "_roll_description": {}, "_roll_peer": peer,
                                             "_roll_is_mirror": True, "__class__": property(lambda self: real), **more})
    return made("builtin_function_or_method", types.BuiltinFunctionType), made("function", types.FunctionType, __get__=bind)
