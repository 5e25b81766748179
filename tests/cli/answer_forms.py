"""Other ways to write an answer, and wrong answers near it: what a comparison of answers must tell apart.

forms(gold) gives (category, response) pairs that mean the same; wrong(gold, others) pairs that do not. Both are pure text
work plus fractions, so that they do not depend on the checker that judges them.
"""
import random
import re
from fractions import Fraction

NUMBER = re.compile(r"-?\d+(\.\d+)?\.?$")
FRACTION = re.compile(r"(-?)\\[dt]?frac\{(-?\d+)\}\{(-?\d+)\}$")
UNITS = [r"\text{ cm}", r"\text{ units}", r"\text{ m}^2", " apples", r"\,\text{kg}", r"\mbox{ inches}"]
PROSE = [
    "Let me think.\n\n<think>We get {0}, perhaps.\nThus \\boxed{{{0}}}.",
    "<think>first try \\boxed{{7777}}</think> Checking again, the result is $\\boxed{{{0}}}$. Done!",
    "Therefore\n\\[\n\\boxed{{{0}}}\n\\]\n",
    "The final answer is \\fbox{{{0}}}.",
]
PHRASES = ["The final answer is ${0}$. I hope it is correct.", "So, after all steps, the answer is ${0}$.",
           "**Answer:** ${0}$", "Hence we obtain \\({0}\\)"]


def value(gold):
    """The rational that `gold` plainly writes, or None."""
    if NUMBER.match(gold):
        return Fraction(gold.rstrip("."))
    found = FRACTION.match(gold)
    if found and int(found[3]):
        return Fraction(int(found[2]), int(found[3])) * (-1 if found[1] else 1)
    return None


def split_list(inside):
    parts, depth, last = [], 0, 0
    for i, c in enumerate(inside):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(inside[last:i].strip())
            last = i + 1
    return parts + [inside[last:].strip()]


def tuple_parts(gold):
    text = gold.replace(r"\left", "").replace(r"\right", "").strip()
    if len(text) > 2 and text[0] in "([" and text[-1] in ")]":
        return text[0], split_list(text[1:-1]), text[-1]
    if text.startswith(r"\{") and text.endswith(r"\}") and r"\mid" not in text:
        return r"\{", split_list(text[2:-2]), r"\}"
    return None


def decimal(x, digits):
    text = f"{float(x):.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def number_forms(gold, x):
    n, d = x.numerator, x.denominator
    if d == 1:
        yield "decimal", f"{n}.0"
        yield "unsimplified", f"{n - 3} + 3"
        yield "unsimplified", rf"\frac{{{6 * n}}}{{6}}"
        yield "unsimplified", rf"{n} \cdot 2 - {n}" if n >= 0 else rf"{n} \cdot 2 + {-n}"
        if n >= 0:
            yield "leading_zeros", f"00{n}"
        if abs(n) >= 1000:
            groups = f"{n:,}"
            yield "thousands", groups
            yield "thousands", groups.replace(",", r",\!")
            yield "thousands", groups.replace(",", "{,}")
            yield "thousands", r"\$" + groups
        if abs(n) >= 10:
            digits = str(abs(n))
            mantissa = f"{digits[0]}.{digits[1:]}".rstrip("0").rstrip(".")
            yield "scientific", rf"{'-' if n < 0 else ''}{mantissa} \times 10^{{{len(digits) - 1}}}"
    else:
        sign, n = ("-", -n) if n < 0 else ("", n)
        yield "fraction", rf"{sign}\dfrac{{{n}}}{{{d}}}"
        yield "fraction", rf"{sign}\tfrac{{{n}}}{{{d}}}"
        yield "fraction", f"{sign}{n}/{d}"
        yield "fraction", rf"\frac{{{sign}{n}}}{{{d}}}"
        yield "unsimplified", rf"{sign}\frac{{{2 * n}}}{{{2 * d}}}"
        yield "decimal", decimal(x, 8)
        if n < 10 and d < 10:
            yield "fraction", rf"{sign}\frac{n}{d}"
            yield "fraction", rf"{sign}\frac {n}{d}"
        if n > d and not sign:
            yield "mixed_number", rf"{n // d}\frac{{{n % d}}}{{{d}}}"
    for unit in UNITS:
        yield "units", gold.rstrip(".") + unit
    if 0 < x <= 1:
        yield "percent", rf"{decimal(x * 100, 8)}\%"
    if x.denominator == 1 and 0 < x < 360:
        yield "degrees", rf"{x}^\circ"


def shape_forms(gold):
    text = gold.rstrip(".")
    yield "own", gold
    if not re.search(r"\d,\S*\d{3}", text):
        yield "spaces", re.sub(r"([=+<>,])", r" \1 ", text)
    yield "spaces", r"\, " + text + r" \;"
    yield "spaces", re.sub(r"(?<![a-zA-Z\\])\s*([-+=,<>])\s*", r"\1", text)
    yield "punctuation", text + "."
    yield "dollars", f"${text}$"
    yield "dollars", rf"\({text}\)"
    if r"\left" not in text and "(" in text:
        yield "left_right", text.replace("(", r"\left(").replace(")", r"\right)")
    for a, b in ((r"\dfrac", r"\frac"), (r"\frac", r"\dfrac"), (r"\frac", r"\tfrac")):
        if a in text:
            yield "fraction", text.replace(a, b)
    if re.search(r"\\[dt]?frac\{[\w\\]+\}\{[\w\\]+\}$", text):
        yield "fraction", re.sub(r"\\[dt]?frac\{([\w\\]+)\}\{([\w\\]+)\}$", r"\1/\2", text)
    if re.search(r"\\sqrt\{\d\}", text):
        yield "roots", re.sub(r"\\sqrt\{(\d)\}", r"\\sqrt\1", text)
        yield "roots", re.sub(r"\\sqrt\{(\d)\}", r"(\1^{1/2})", text)
        yield "roots", re.sub(r"\\sqrt\{(\d)\}", r"(\1)^{0.5}", text)
    if r"\pi" in text:
        yield "constants", text.replace(r"\pi", "π")
    if r"\ln" in text:
        yield "functions", re.sub(r"\\ln (\w+)$", r"\\ln(\1)", text)
        yield "functions", re.sub(r"\\ln (\w+)$", r"\\log_e \1", text)
    if r"\pm " in text:
        yield "plus_minus", text.replace(r"\pm", "+") + ", " + text.replace(r"\pm", "-")
    if re.fullmatch(r"\d+\\%", text):
        yield "percent", text[:-2]
        yield "percent", decimal(Fraction(int(text[:-2]), 100), 6)


def word_forms(gold):
    text = gold.rstrip(".")
    word = re.sub(r"\\text\{(.*)\}", r"\1", text)
    if re.fullmatch(r"\(?[A-E]\)?", word):
        letter = word.strip("()")
        for form in (rf"\text{{{letter}}}", f"({letter})", rf"\textbf{{({letter})}}", rf"\mathrm{{{letter}}}"):
            yield "choice", form
    elif re.fullmatch(r"[A-Za-z]{2,}", word) and word not in ("xy", "nM"):
        for form in (rf"\text{{{word}}}", word.lower(), word.upper(), rf"\textbf{{{word}}}", rf"\mathrm{{{word}}}"):
            yield "words", form


def expression_forms(gold):
    """Of anything that is one expression (no list, relation or words)."""
    text = gold.rstrip(".")
    yield "unsimplified", f"{text} + 5 - 5"
    yield "unsimplified", rf"\frac{{2({text})}}{{2}}"
    yield "unsimplified", rf"({text}) \cdot 1"
    yield "assignment", f"x = {text}"
    yield "assignment", f"f(x) = {text}"
    yield "assignment", f"y = 3 + {text} - 3 = {text}"
    terms = re.fullmatch(r"([^-+()={},]+) ?\+ ?([^-+()={},]+)", text)
    if terms:
        yield "reordered", f"{terms[2].strip()} + {terms[1].strip()}"


def relation_forms(gold):
    for op, other in (("=", "="), ("<", ">"), (">", "<"), (r"\geq", r"\leq"), (r"\leq", r"\geq")):
        sides = re.split(rf" ?(?<![<>!]){re.escape(op)} ?", gold)
        if len(sides) != 2 or "pmod" in gold:
            continue
        a, b = sides
        yield "relation", f"{b} {other} {a}"
        if op == "=" and "(" not in a:
            yield "relation", rf"2({a}) = 2({b})"
            yield "relation", f"{a} - ({b}) = 0"
        if "geq" in op:
            yield "relation", rf"{a} \ge {b}"


def collection_forms(gold):
    if r"\cup" in gold:
        yield "union", r" \cup ".join(reversed([p.strip() for p in gold.split(r"\cup")]))
        return
    found = tuple_parts(gold)
    if not found:
        return
    left, parts, right = found
    if left == r"\{":
        yield "set", r"\{" + ", ".join(reversed(parts)) + r"\}"
        yield "set", ", ".join(parts)
        yield "set", " and ".join(f"{p}" for p in parts)
        yield "set", r" \text{ or } ".join(reversed(parts))
        return
    if len(parts) < 2:
        return
    yield "tuple", rf"\left{left}" + r",\ ".join(parts) + rf"\right{right}"
    yield "tuple", left + ",".join(p + " + 0" if re.fullmatch(r"-?\d+", p) else p for p in parts) + right
    if left == "(" and right == ")" and r"\infty" not in gold and len(parts) > 2:
        yield "tuple", ", ".join(parts)
    if r"\infty" in gold:
        yield "interval", left + ", ".join(p.replace(r"\infty", r"+\infty") if p == r"\infty" else p for p in parts) + right


def is_expression(gold):
    text = gold.rstrip(".")
    if re.search(r"[=<>,;|]|\\\{|\\(text|mbox|le|ge|pm|cup|equiv|mathbb|begin|in|emptyset|oplus|Theta|infty|circ|%|chi|max|min|gcd)", text):
        return False
    return not re.fullmatch(r"[A-Z]|[A-Za-z]{2,}|.*[A-Z].*|\d+_\d+|.*\\%", text)


def forms(gold):
    """(category, answer) pairs that mean the same as `gold`."""
    x = value(gold)
    out = list(shape_forms(gold)) + list(word_forms(gold))
    if x is not None:
        out += number_forms(gold, x)
    if is_expression(gold):
        out += expression_forms(gold)
    out += relation_forms(gold)
    out += collection_forms(gold)
    seen = set()
    return [(c, a) for c, a in out if not (a in seen or seen.add(a))]


def wrong(gold, others, rng):
    """(category, answer) pairs that do not mean `gold`; `others` are other rows' answers."""
    text, x, out = gold.rstrip("."), value(gold), []
    out += [("other_row", o) for o in rng.sample(others, min(3, len(others))) if o.rstrip(".") != text]
    if x is not None:
        n, d = x.numerator, x.denominator
        out.append(("off_by_one", str(n + 1) if d == 1 else rf"\frac{{{n + 1}}}{{{d}}}"))
        out.append(("off_by_one", str(n - 1) if d == 1 else rf"\frac{{{n}}}{{{d + 1}}}"))
        if x != 0:
            out.append(("sign", str(-x)))
        if d != 1 and n not in (1, -1):
            out.append(("inverse", rf"\frac{{{d}}}{{{n}}}"))
        if abs(n) >= 10 and d == 1 and len(set(str(abs(n)))) > 1:
            swapped = str(n)[:-2] + str(n)[-1] + str(n)[-2]
            if int(swapped) != n:
                out.append(("digits", swapped))
        out.append(("rounded", decimal(x, 2)) if d > 7 and float(decimal(x, 2)) != float(x) else ("off", decimal(x + Fraction(1, 100), 4)))
    elif is_expression(gold):
        out += [("sign", f"-({text})"), ("off_by_one", f"{text} + 1"), ("factor", rf"2({text})"), ("power", rf"({text})^2")]
        if re.search(r"\d", text):
            i = rng.choice([m.start() for m in re.finditer(r"\d", text)])
            out.append(("digits", text[:i] + str((int(text[i]) + 1) % 10) + text[i + 1:]))
    found = tuple_parts(gold)
    if found and r"\cup" not in gold:
        left, parts, right = found
        if left != r"\{" and len(parts) > 1 and parts[::-1] != parts:
            out.append(("swapped", left + ", ".join(parts[::-1]) + right))
        if len(parts) > 1:
            out.append(("dropped", left + ", ".join(parts[:-1]) + right))
        out.append(("extra", left + ", ".join(parts + ["11"]) + right))
        if left != r"\{" and len(parts) == 2 and r"\infty" not in parts[0]:
            out.append(("brackets", ("[" if left == "(" else "(") + ", ".join(parts) + right))
    if re.search(r"[<>]|\\[gl]eq", text):
        turn = {"<": ">", ">": "<", r"\geq": r"\leq", r"\leq": r"\geq"}
        out.append(("turned", re.sub(r"<|>|\\geq|\\leq", lambda m: turn[m[0]], text)))
    opposite = {"Yes": "No", "No": "Yes", "True": "False", "False": "True", "A": "B", "B": "C", "C": "D", "D": "A"}
    if text in opposite:
        out.append(("opposite", opposite[text]))
    return [(f"wrong_{c}", a) for c, a in out]


def cases(golds, seed, per_gold_forms=4, per_gold_wrong=3):
    """Rows {ground_truth, response, category, same}: the gold itself, sampled forms in several kinds of prose, wrong ones."""
    rng, rows = random.Random(seed), []
    for gold in golds:
        same = forms(gold)
        own, rest = same[0], same[1:]
        rows.append((gold, f"\\boxed{{{own[1]}}}", "own", True))
        for category, answer in rng.sample(rest, min(per_gold_forms, len(rest))):
            rows.append((gold, f"\\boxed{{{answer}}}", category, True))
        rows.append((gold, rng.choice(PROSE).format(gold), "prose", True))
        if "$" not in gold and is_expression(gold):
            rows.append((gold, rng.choice(PHRASES).format(gold.rstrip(".")), "phrase", True))
        bad = wrong(gold, golds, rng)
        for category, answer in rng.sample(bad, min(per_gold_wrong, len(bad))):
            rows.append((gold, f"\\boxed{{{answer}}}", category, False))
    names = ("ground_truth", "response", "category", "same")
    return [dict(zip(names, row)) for row in rows]
