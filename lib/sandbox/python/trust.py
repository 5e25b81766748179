"""What the tests' side does not believe. An object of the program that is compared with plain data is asked about other data
as well, in an order that nobody can foresee: one that equals whatever it is asked, or is less and more than all, lies.
"""
import random

CHANCE = random.SystemRandom()
NUM_DECOYS = 40
OPPOSITES = {"__lt__": "__ge__", "__ge__": "__lt__", "__gt__": "__le__", "__le__": "__gt__"}
STEPS = {f"__{prefix}{name}__" for prefix in ("", "r") for name in ("add", "sub")}
FAR = 10 ** 18


def is_remote(value):
    return isinstance(type(value), MirrorClass)


def is_number(value):
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool) and not is_remote(value)


def unshared(value):
    """The program does not get the tests' own lists where it is only asked what it thinks of them."""
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(unshared(item) for item in value)
    if type(value) is dict:
        return {unshared(key): unshared(item) for key, item in value.items()}
    return value


def near(value):
    """Something else of its kind, and not much else. Less than six away: numbers of a clock or a calendar are none the same."""
    if isinstance(value, bool):
        return not value
    if is_number(value):
        return value + CHANCE.choice((-5, -4, -3, -2, -1, 1, 2, 3, 4, 5))
    if isinstance(value, str) and value:
        at = CHANCE.randrange(len(value))
        return value[:at] + CHANCE.choice([c for c in "abcdefghijkmnopqrstuvwxyz0123456789" if c != value[at].lower()]) + value[at + 1:]
    if type(value) in (list, tuple) and value:
        at = CHANCE.randrange(len(value) + 1)
        return value[:-1] if at == len(value) else value[:at] + type(value)([near(value[at])]) + value[at + 1:]
    if type(value) is dict and value:
        key = CHANCE.choice(list(value))
        return {**value, key: near(value[key])}
    return far()


def far(like=None):
    if is_number(like):
        return like + CHANCE.randrange(1000, 1000000) * CHANCE.choice((-1, 1))
    return CHANCE.choice((CHANCE.randrange(10 ** 9), "".join(CHANCE.choices("abcdefghij", k=9)), CHANCE.random(), (CHANCE.randrange(10 ** 9), 7)))


class Doubt:
    """The questions; `ask(value)` is what the program answers to a value."""

    def __init__(self, ask):
        self.ask = ask

    def answers(self, real, decoys):
        """(its answer to the real one, those to the decoys); what it raises at a decoy is the answer None."""
        where = CHANCE.randrange(len(decoys) + 1)
        asked = [*decoys[:where], real, *decoys[where:]]
        found = []
        for index, value in enumerate(asked):
            try:
                found.append(self.ask(unshared(value)))
            except Exception:
                if index == where:
                    raise
                found.append(None)
            if index == where and found[-1] is NotImplemented:
                return NotImplemented, []
        return found.pop(where), found

    def equality(self, real, claim):
        """`claim`: what says "equal", True or False."""
        close = [near(real) for _ in range(NUM_DECOYS // 2)]
        answer, others = self.answers(real, close + [far(real) for _ in range(NUM_DECOYS // 2)])
        if answer is not claim:
            return answer
        of_near = sum(other is claim for other, value in zip(others, close) if value is not real)
        of_far = sum(other is claim for other in others[len(close):])
        return Lie if of_near > 0 or of_far > NUM_DECOYS // 8 else answer

    def order(self, real):
        answer, others = self.answers(real, [real - FAR, real + FAR])
        return Lie if answer in (True, False) and all(other is answer for other in others) else answer

    def membership(self, real):
        answer, others = self.answers(real, [far() for _ in range(8)])
        return Lie if answer is True and all(other is True for other in others) else answer

    def varies(self, real):
        """Another operand gives another result."""
        answer, others = self.answers(real, [near(real) for _ in range(NUM_DECOYS)])
        is_plain_answer = is_number(answer) or isinstance(answer, bool)
        return Lie if is_plain_answer and sum(type(other) is type(answer) and other == answer for other in others) > NUM_DECOYS // 8 else answer


class Lie:
    pass
