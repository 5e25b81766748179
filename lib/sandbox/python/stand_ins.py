"""What the tests see of the program's classes, objects and functions; harness.py says what they may be asked."""


class StandInClass(type):
    """A class of the program: calling it makes an object there."""

    def __call__(cls, *args, **kwargs):
        return cls._roll_program.call(cls, args, kwargs)

    def __getattr__(cls, name):
        if name.startswith("_roll"):
            raise AttributeError(name)
        return cls._roll_program.get(cls, name)

    def __instancecheck__(cls, value):
        return isinstance(value, StandIn) and cls._roll_number in value._roll_classes

    def __iter__(cls):
        return iter(cls._roll_program.apply("iter", cls))


class StandIn:
    """An object or function of the program."""

    def __init__(self, program, number, classes):
        object.__setattr__(self, "_roll_program", program)
        object.__setattr__(self, "_roll_number", number)
        object.__setattr__(self, "_roll_classes", classes)

    def __call__(self, *args, **kwargs):
        return self._roll_program.call(self, args, kwargs)

    def __getattr__(self, name):
        return self._roll_program.get(self, name)

    def __setattr__(self, name, value):
        self._roll_program.decode(self._roll_program.ask("set", self._roll_program.encode(self), name, self._roll_program.encode(value)))

    def __eq__(self, other):
        if not isinstance(other, StandIn):
            return False
        return self._roll_number == other._roll_number or self._roll_program.apply("eq", self, other) is True

    def __hash__(self):
        return hash(self._roll_number)

    def __bool__(self):
        return self._roll_program.apply("bool", self) is True

    def __enter__(self):
        return self._roll_program.call(self._roll_program.get(self, "__enter__"), (), {})

    def __exit__(self, *error):
        return self._roll_program.call(self._roll_program.get(self, "__exit__"), (None, None, None), {}) is True and error[0] is None


def add_operators():
    """One operand: the program's own answer, of the type that Python wants. Two: only between the program's objects."""
    def unary(function, wanted):
        def operate(self):
            result = self._roll_program.apply(function, self)
            if wanted and type(result) is not wanted:
                raise TypeError(f"{function} of the program's object gives no {wanted.__name__}")
            return result
        return operate

    def binary(function):
        def operate(self, other):
            return self._roll_program.apply(function, self, other) if isinstance(other, StandIn) else NotImplemented
        return operate

    for function, wanted in dict(len=int, str=str, repr=str, int=int, float=float, index=int, iter=None, next=None, neg=None,
                                 abs=None, invert=None, reversed=None).items():
        setattr(StandIn, f"__{function}__", unary(function, wanted))
    for function in "lt le gt ge add sub mul truediv floordiv mod pow matmul and xor or lshift rshift".split():
        setattr(StandIn, f"__{function}__", binary({"and": "and_", "or": "or_"}.get(function, function)))
    for function in ("getitem", "setitem", "delitem"):
        setattr(StandIn, f"__{function}__", lambda self, *args, function=function: self._roll_program.apply(function, self, *args))


add_operators()
