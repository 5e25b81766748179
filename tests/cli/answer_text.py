"""What kind of answer a LaTeX text is, and its parts. Pure text work plus fractions: no checker of answers is asked."""
import re
from fractions import Fraction

NUMBER = re.compile(r"-?(\d+\.?|\d*\.\d+)$")
FRACTION = re.compile(r"(-?)\\[dt]?frac\{?(-?\d+)\}?\{(-?\d+)\}$|(-?)\\frac\s?(\d)(\d)$")
NOT_ONE_EXPRESSION = re.compile(r"[=<>,;|]|\\\{|\\\$|\\(text|mbox|le|ge|pm|cup|equiv|mathbb|begin|in|emptyset|oplus|Theta|infty|circ|%|chi|"
                                r"max|min|gcd)")


def value(gold):
    """The rational that `gold` plainly writes, or None."""
    if NUMBER.match(gold):
        return Fraction(gold.rstrip("."))
    found = FRACTION.match(gold)
    if not found:
        return None
    sign, above, below = (found[1], found[2], found[3]) if found[2] else (found[4], found[5], found[6])
    return Fraction(int(above), int(below)) * (-1 if sign else 1)


def is_expression(gold):
    """One expression: no list, relation, word or group's name."""
    text = gold.rstrip(".")
    return not NOT_ONE_EXPRESSION.search(text) and not re.fullmatch(r"[A-Z]|[A-Za-z]{2,}|.*[A-Z].*|\d+_\d+|.*\\%", text)


def split_list(inside):
    parts, depth, last = [], 0, 0
    for i, c in enumerate(inside):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(inside[last:i].strip())
            last = i + 1
    return parts + [inside[last:].strip()]


def tuple_parts(gold):
    """(bracket, elements, bracket) of a tuple, an interval or a set, else None."""
    text = gold.replace(r"\left", "").replace(r"\right", "").strip()
    if len(text) > 2 and text[0] in "([" and text[-1] in ")]" and r"\cup" not in text:
        parts = split_list(text[1:-1])
        return (text[0], parts, text[-1]) if len(parts) > 1 else None
    if text.startswith(r"\{") and text.endswith(r"\}") and r"\mid" not in text:
        return r"\{", split_list(text[2:-2]), r"\}"
    return None


def is_interval(gold):
    """Surely an interval or a union of some, where (1, 2) may be a point."""
    found = tuple_parts(gold)
    return r"\cup" in gold or bool(found and len(found[1]) == 2 and (r"\infty" in gold or found[0] == "[" or found[2] == "]"))


def decimal(x, digits):
    text = f"{float(x):.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def terminates(x):
    return 10**6 % x.denominator == 0


def word_of(gold):
    """The word that the whole answer is, or None."""
    word = re.sub(r"^\\text\{(.*)\}$", r"\1", gold.rstrip("."))
    return word if re.fullmatch(r"[A-Za-z]{2,}", word) and word not in ("xy", "nM") else None


def choice_of(gold):
    """The letter of a multiple choice, or None."""
    found = re.fullmatch(r"(?:\\text\{)?\(?([A-E])\)?\}?", gold.rstrip("."))
    return found[1] if found else None
