"""What the tests' side does not believe. An object of the program that is compared with plain data is asked about other data
as well, in an order that nobody can foresee: one that equals whatever it is asked, or is less and more than all, lies. Order and
remainders tell too little for that, so there an answer must be a number, and its class does not say what follows.
"""
import numbers
import random
import string
import sys

CHANCE = random.SystemRandom()
NUM_DECOYS = 40
NUMBERS = (bool, int, float, complex)
OPPOSITES = {"__lt__": "__ge__", "__ge__": "__lt__", "__gt__": "__le__", "__le__": "__gt__"}
STEPS = {f"__{prefix}{name}__" for prefix in ("", "r") for name in ("add", "sub", "truediv", "xor")}
REDUCING = {f"__{prefix}{name}__" for prefix in ("", "r", "i") for name in ("mod", "floordiv", "divmod", "and", "or", "rshift")} | {"__pow__"}
QUESTIONS = {"startswith", "endswith", "issubset", "issuperset"}  # methods whose argument may be any
FAR = 10 ** 18


def is_remote(value):
    return isinstance(type(value), MirrorClass)


def is_number(value):
    """numpy's are numbers too."""
    return isinstance(value, numbers.Number) and not isinstance(value, bool) and not is_remote(value)


def is_of_numbers(value):
    return is_number(value) or is_array(type(value))


def takes_number(operands):
    return len(operands) > 0 and (is_of_numbers(operands[0]) or type(operands[0]) is bool)


def asks_little(name, operands):
    """Whether many numbers answer alike: order, remainders, bits. pow() does with a modulus."""
    is_such = name in OPPOSITES or name in REDUCING and (name != "__pow__" or len(operands) == 2)
    return is_such and takes_number(operands)


def tells_number(name, operands):
    """Whether the number under an answer answers for it."""
    return name == "__bool__" or (name in COMPARISONS or name in REDUCING) and len(operands) > 0 and not is_remote(operands[0])


def same(a, b):
    if is_array(type(a)):
        return is_array(type(b)) and a.shape == b.shape and a.tolist() == b.tolist()
    return type(a) is type(b) and a == b


def unshared(value):
    """The program does not get the tests' own lists where it is only asked what it thinks of them."""
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(unshared(item) for item in value)
    if type(value) is dict:
        return {unshared(key): unshared(item) for key, item in value.items()}
    return value.copy() if is_array(type(value)) else value


def near(value):
    """Something else of its kind, and not much else. Less than seven from each other: numbers of a clock or a calendar are none the same."""
    if isinstance(value, bool):
        return not value
    if is_array(type(value)) and value.dtype.kind in "iufcmMbSU":
        return near_array(value, CHANCE)
    if numpy_value(value) and numpy_value(value)[0] == "scalar":
        return near_array(sys.modules["numpy"].asarray(value), CHANCE)[()]
    if is_number(value):
        return value + CHANCE.choice((-3, -2, -1, 1, 2, 3))
    if isinstance(value, str) and value:
        at = CHANCE.randrange(len(value))
        like = next((letters for letters in (string.digits, string.ascii_uppercase) if value[at] in letters), string.ascii_lowercase)
        return value[:at] + CHANCE.choice([c for c in like if c.lower() != value[at].lower()]) + value[at + 1:]
    if type(value) in (list, tuple) and value:
        at = CHANCE.randrange(len(value) + 1)
        return value[:-1] if at == len(value) else value[:at] + type(value)([near(value[at])]) + value[at + 1:]
    if type(value) is dict and value:
        key = CHANCE.choice(list(value))
        return {**value, key: near(value[key])}
    return far()


def neighbours(value, number):
    """Up to so many others, each as like the rest as `value` is: who sees them all cannot tell which one it was."""
    middle = near(value)
    found = {repr(other): other for other in [middle, *(near(middle) for _ in range(number))]}
    found.pop(repr(value), None)
    return list(found.values())


def far(like=None):
    if is_number(like) and not numpy_value(like):
        return like + CHANCE.randrange(1000, 1000000) * CHANCE.choice((-1, 1))
    return CHANCE.choice((CHANCE.randrange(10 ** 9), "".join(CHANCE.choices("abcdefghij", k=9)), CHANCE.random(), (CHANCE.randrange(10 ** 9), 7)))


def is_close(a, b):
    return is_number(a) and is_number(b) and abs(a - b) < 0.1


def truth(value):
    """As `if` finds it."""
    try:
        return bool(value)
    except Exception:
        return False


class Doubt:
    """The questions; `ask(value)` is what the program answers to a value."""

    def __init__(self, ask):
        self.ask = ask

    def answers(self, real, decoys):
        """(its answer to the real one, those to the decoys), asked in any order; what it raises at a decoy is the answer None."""
        asked, found = [*decoys, real], {}
        for index in CHANCE.sample(range(len(asked)), len(asked)):
            try:
                found[index] = plain_truth(self.ask(unshared(asked[index])))
            except Exception:
                if index == len(decoys):
                    raise
                found[index] = None
            if index == len(decoys) and found[index] is NotImplemented:
                return NotImplemented, []
        return found[len(decoys)], [found[index] for index in range(len(decoys))]

    def equality(self, real, claim):
        """`claim`: the truth of what says "equal"."""
        close = neighbours(real, NUM_DECOYS // 2)
        answer, others = self.answers(real, close + [far(real) for _ in range(NUM_DECOYS // 2)])
        if is_array(type(answer)):
            claims = answer.all() if claim else not answer.any()
            return self.unless_alike(answer, others[:len(close)]) if claims else answer

        def is_lie():
            of_near = sum(truth(other) is claim for other, value in zip(others, close) if value is not real)
            of_far = sum(truth(other) is claim for other in others[len(close):])
            return of_near > 0 or of_far > NUM_DECOYS // 8
        return self.settled(answer, claim, is_lie)

    def order(self, real):
        answer, others = self.answers(real, extremes(real) if numpy_value(real) or is_array(type(real)) else [real - FAR, real + FAR])
        if is_array(type(answer)):
            return Lie if all(same(other, answer) for other in others) else answer
        return self.settled(answer, None, lambda: all(truth(other) is truth(answer) for other in others))

    def membership(self, real):
        """An object that holds whatever it is asked for, or whatever looks like it, lies; but numbers may well be neighbours."""
        close = [] if is_number(real) else neighbours(real, 8)
        answer, others = self.answers(real, [*close, *(far() for _ in range(8))])
        found = list(map(truth, others))
        return Lie if truth(answer) and (all(found[len(close):]) or close and all(found[:len(close)])) else answer

    def settled(self, answer, claim, is_lie):
        """What is no plain truth is doubted when somebody takes it for one. `claim`: the truth that is doubted; None: both."""
        if answer is NotImplemented:
            return answer
        if is_remote(answer) or isinstance(answer, str):
            return Doubtful(answer, claim, is_lie)
        return Lie if claim in (None, truth(answer)) and is_lie() else answer

    def varies(self, real, is_step=False):
        """Another operand gives another result; `is_step`: by about as much."""
        answer, others = self.answers(real, [near(real) for _ in range(NUM_DECOYS)])
        return self.unless_alike(answer, others, is_step)

    def unless_alike(self, answer, others, is_step=False):
        return Lie if is_plain_answer(answer) and sum(same(other, answer) or is_step and is_close(other, answer) for other in others) > len(others) // 8 else answer


def is_plain_answer(value):
    return is_of_numbers(value) or isinstance(value, bool) or (numpy_value(value) or [""])[0] == "scalar"


class Doubtful:
    def __init__(self, answer, claim, is_lie):
        self.answer, self.claim, self.is_lie = answer, claim, is_lie


class DoubtfulText(str):
    """A comparison's result that is text, as those of expressions are."""

    def __bool__(self):
        self.look(len(self) > 0)
        return len(self) > 0


class Lie:
    pass
