"""Ways in which a model writes an answer: (category, text for the box) pairs that mean the same as a ground truth.

forms(gold) are what models and people write; odd_forms(gold) are correct too but made to trip a checker, and counted apart.
"""
import re

from answer_algebra import SAME
from answer_text import choice_of, decimal, is_expression, is_interval, terminates, tuple_parts, value, word_of

UNITS = [r"\text{ cm}", r" \text{ units}", r"\text{ cm}^2", r" \, \text{kg}", r"\ \text{meters}", r" \text{ dollars}", r"\text{ m}^3"]
NAMES = ["x", "n", "k", "AB", "f(2)", "a + b", r"\theta", "P(A)", "S_{10}", r"\text{Area}", r"\lim_{x \to 0} f(x)",
         r"\int_0^1 f(x) \, dx", r"\sum_{k=1}^n a_k"]


def whole_number(n):
    if 0 <= n < 100:
        yield "leading_zeros", f"{n:03d}"  # as AIME wants them
    if abs(n) >= 1000:
        groups = f"{n:,}"
        for form in (groups, groups.replace(",", r",\!"), groups.replace(",", "{,}"), groups.replace(",", r"\,"), r"\$" + groups):
            yield "thousands", form
    digits = str(abs(n)).rstrip("0")
    if abs(n) >= 10**5 and len(digits) <= 5:
        mantissa = (f"-{digits[0]}" if n < 0 else digits[0]) + (f".{digits[1:]}" if digits[1:] else "")
        yield "scientific", rf"{mantissa} \times 10^{{{len(str(abs(n))) - 1}}}"
        yield "scientific", rf"{mantissa} \cdot 10^{{{len(str(abs(n))) - 1}}}"
    yield "decimal", f"{n}.0"
    yield "unsimplified", rf"\frac{{{2 * n}}}{{2}}"
    yield "chain", f"{n - 7} + 7 = {n}"
    yield "chain", rf"\frac{{{3 * n}}}{{3}} = {n}"
    if n > 3:
        for a in (2, 3, 5, 7):
            if n % a == 0 and n > a:
                yield "unsimplified", rf"{a} \cdot {n // a}"
                yield "unsimplified", rf"{n // a} \times {a}"
        for base in (2, 3, 5, 10):
            power = next((p for p in range(2, 20) if base**p == n), None)
            if power:
                yield "unsimplified", f"{base}^{{{power}}}" if power > 9 else f"{base}^{power}"
        if n in (6, 24, 120, 720, 5040, 40320):
            yield "unsimplified", f"{[6, 24, 120, 720, 5040, 40320].index(n) + 3}!"
        if n < 40:
            yield "roots", rf"\sqrt{{{n * n}}}"
    if 0 < n < 360:
        for form in (r"^\circ", r"^{\circ}"):
            yield "degrees", f"{n}{form}"


def broken_number(x):
    sign, n, d = ("-" if x < 0 else ""), abs(x.numerator), x.denominator
    for form in (rf"{sign}\frac{{{n}}}{{{d}}}", rf"{sign}\dfrac{{{n}}}{{{d}}}", rf"{sign}\tfrac{{{n}}}{{{d}}}", f"{sign}{n}/{d}",
                 rf"\frac{{{sign}{n}}}{{{d}}}", rf"{sign} \frac{{{n}}}{{{d}}}"):
        yield "fraction", form
    yield "unsimplified", rf"{sign}\frac{{{2 * n}}}{{{2 * d}}}"
    yield "unsimplified", rf"{sign}\dfrac{{{10 * n}}}{{{10 * d}}}"
    if n < 10 and d < 10:
        yield "fraction", rf"{sign}\frac{n}{d}"
        yield "fraction", rf"{sign}\frac {n}{d}"
    if n > d and not sign:
        yield "mixed_number", rf"{n // d}\frac{{{n % d}}}{{{d}}}"
        yield "mixed_number", rf"{n // d} \frac{{{n % d}}}{{{d}}}"
    if terminates(x):
        yield "decimal", decimal(x, 8)
        yield "decimal", decimal(x, 8) + "0"
        yield "chain", rf"{sign}\frac{{{n}}}{{{d}}} = {decimal(x, 8)}"
        if 0 < x < 1:
            yield "percent", rf"{decimal(x * 100, 8)}\%"
            yield "percent", f"{decimal(x * 100, 8)}%"
    if 0 < x < 1e-3 and terminates(x * 1000):
        mantissa, exponent = f"{float(x):.10e}".split("e")
        yield "scientific", rf"{mantissa.rstrip('0')} \times 10^{{{int(exponent)}}}"


def numbers(gold):
    x = value(gold)
    if x is None:
        return
    yield from whole_number(x.numerator) if x.denominator == 1 else broken_number(x)
    for unit in UNITS:
        yield "units", gold.rstrip(".") + unit


def looks(gold):
    """Other LaTeX for the same symbols."""
    text = gold.rstrip(".")
    if not re.search(r"\d,\S*\d{3}", text):
        yield "spaces", re.sub(r"\s*(?<![a-z\\])([=<>,+])\s*", r" \1 ", text).strip()
    yield "spaces", re.sub(r"(?<![a-zA-Z\\])\s*([-+=,<>])\s*(?![-+])", r"\1", text)
    yield "spaces", f" {text} "
    yield "dollars", f"${text}$"
    yield "style", rf"\displaystyle {text}"
    if r"\left" not in text and "(" in text:
        yield "left_right", text.replace("(", r"\left(").replace(")", r"\right)")
        yield "left_right", text.replace("(", r"\left( ").replace(")", r" \right)")
    for a, b in ((r"\dfrac", r"\frac"), (r"\frac", r"\dfrac"), (r"\frac", r"\tfrac")):
        if a in text:
            yield "fraction", text.replace(a, b)
    simple = r"\\[dt]?frac\{((?:\\?\w)+)\}\{((?:\\?\w)+)\}$"
    if re.search(simple, text):
        yield "fraction", re.sub(simple, r"\1/\2", text)
    yield from symbols(text)


def symbols(text):
    number = r"\\sqrt\{(\d)\}"
    if re.search(number, text):
        yield "roots", re.sub(number, r"\\sqrt\1", text)
        yield "roots", re.sub(number, r"\\sqrt \1", text)
    if re.search(r"\d ?\\(sqrt|pi)", text):
        yield "product", re.sub(r"(\d) ?\\(sqrt|pi)", r"\1 \\cdot \\\2", text)
        yield "product", re.sub(r"(\d) ?\\(sqrt|pi)", r"\1\\,\\\2", text)
    halves = re.fullmatch(r"(-?)\\[dt]?frac\{(\d*)(\\pi|\\sqrt\{\d+\})\}\{(\d+)\}", text)
    if halves:
        sign, above, symbol, below = halves.groups()
        yield "product", rf"{sign}\frac{{{above or 1}}}{{{below}}}{symbol}"
        yield "product", rf"{sign}\frac{{{above or 1}}}{{{below}}} \cdot {symbol}"
        yield "product", rf"{sign}{above}{symbol}/{below}"
    surd = re.fullmatch(r"(\d+) ?\\sqrt\{(\d+)\}", text)
    if surd:
        yield "roots", rf"\sqrt{{{int(surd[1]) ** 2 * int(surd[2])}}}"
    if re.search(r"\\ln \w+$", text):
        yield "functions", re.sub(r"\\ln (\w+)$", r"\\ln(\1)", text)
        yield "functions", re.sub(r"\\ln (\w+)$", r"\\ln{\1}", text)
    if re.fullmatch(r"\d+\^\\circ", text):
        for form in ("", r"^{\circ}", r" \text{ degrees}", "°"):
            yield "degrees", text[:-6] + form
    if re.fullmatch(r"\d+\\%", text):
        for form in (text[:-2], text[:-2] + " \\%", text[:-2] + "%", decimal(int(text[:-2]) / 100, 6), rf"{text[:-2]} \text{{ percent}}"):
            yield "percent", form
    if re.fullmatch(r"\d+_\d", text):
        yield "base", f"{text[:-2]}_{{{text[-1]}}}"
    unit = re.fullmatch(r"(\d+) ?\\mbox\{ (\w+)\}(\^2)?", text)
    if unit:
        for form in (rf"{unit[1]} \text{{ {unit[2]}}}{unit[3] or ''}", unit[1], rf"{unit[1]}\,\text{{{unit[2]}}}", rf"{unit[1]} \text{{ square {unit[2]}}}"):
            yield "units", form
    if text.startswith(r"\$"):
        yield "units", text[2:]
        yield "thousands", text[2:].replace(r"\!", "")
        yield "thousands", text.replace(r",\!", "")
    if re.fullmatch(r"\d+,(\\!)?\d{3}", text):
        for comma in ("", ",", "{,}", r",\!"):
            yield "thousands", re.sub(r",(\\!)?", comma.replace("\\", r"\\"), text)
    if text in (r"\infty", r"\emptyset", r"\mathbb{R}"):
        yield "symbol", {r"\infty": r"+\infty", r"\emptyset": r"\varnothing", r"\mathbb{R}": r"(-\infty, \infty)"}[text]
    if r"\begin{pmatrix}" in text:
        yield "matrix", text.replace("pmatrix", "bmatrix")
        yield "matrix", re.sub(r"(-?)(\d+)/(\d+)", r"\1\\frac{\2}{\3}", text)
        yield "matrix", re.sub(r"(-?)(\d+)/(\d+)", r"\1\\dfrac{\2}{\3}", text).replace(r"\\ ", r"\\[4pt] ")
        yield "matrix", text.replace(r"\begin{pmatrix}", r"\left( \begin{array}{c}").replace(r"\end{pmatrix}", r"\end{array} \right)")


def words(gold):
    letter, word = choice_of(gold), word_of(gold)
    if letter:
        for form in (letter, rf"\text{{{letter}}}", f"({letter})", rf"\text{{({letter})}}", rf"\textbf{{({letter})}}", rf"\mathrm{{{letter}}}",
                     rf"\textbf{{{letter}}}"):
            yield "choice", form
    elif word:
        for form in (word, rf"\text{{{word}}}", rf"\text{{{word.lower()}}}", rf"\textbf{{{word}}}", rf"\mathrm{{{word}}}",
                     rf"\text{{ {word} }}", rf"\mathbf{{{word}}}", rf"\text{{{word.capitalize()}}}"):
            yield "words", form


def named(gold):
    """"x = 5" and the like, of anything that is one expression."""
    text = gold.rstrip(".")
    if not is_expression(gold):
        return
    for name in NAMES:
        yield "assignment", f"{name} = {text}"
    terms = re.fullmatch(r"([^-+()={},]+) ?\+ ?([^-+()={},]+)", text)
    if terms:
        yield "reordered", f"{terms[2].strip()} + {terms[1].strip()}"


def relations(gold):
    for op, other, op2 in (("=", "=", "="), ("<", ">", r"\lt"), (">", "<", r"\gt"), (r"\geq", r"\leq", r"\ge"), (r"\leq", r"\geq", r"\le")):
        sides = re.split(rf" ?(?<![<>!]){re.escape(op)} ?", gold)
        if len(sides) != 2 or "pmod" in gold or r"\mid" in gold:
            continue
        a, b = sides
        yield "relation", f"{b} {other} {a}"
        yield "relation", f"{a} {op2} {b}"
        if re.fullmatch(r"\w|f\(x\)", a) and op == "=":
            yield "relation", b
        if re.fullmatch("[a-z]", a) and op == ">":
            yield "interval", rf"({b}, \infty)"
            yield "interval", rf"{a} \in ({b}, \infty)"


def collections(gold):
    if r"\cup" in gold:
        parts = [p.strip() for p in gold.split(r"\cup")]
        yield "union", r" \cup ".join(reversed(parts))
        yield "union", rf"x \in {gold}"
        yield "union", gold.replace(",", ", ")
    found = tuple_parts(gold)
    if not found:
        return
    left, parts, right = found
    if left == r"\{":
        for form in (r"\{" + ", ".join(reversed(parts)) + r"\}", rf"\left\{{ {', '.join(parts)} \right\}}", rf"\{{{','.join(parts)}\}}"):
            yield "set", form
        if len(parts) > 1:
            for form in (", ".join(parts), ", ".join(reversed(parts)), r" \text{ and } ".join(parts), "x = " + ", ".join(parts),
                         r" \text{ or } ".join(f"x = {p}" for p in parts), rf"x \in \{{{', '.join(parts)}\}}"):
                yield "set", form
        return
    for form in (left + ", ".join(parts) + right, left + ",".join(parts) + right, rf"\left{left}" + r",\ ".join(parts) + rf"\right{right}",
                 rf"\left{left} {', '.join(parts)} \right{right}", rf"\bigl{left}{', '.join(parts)}\bigr{right}"):
        yield "tuple", form
    if is_interval(gold):
        yield from intervals(left, parts, right)
    elif left == "(" and right == ")" and all(value(p) is not None for p in parts):
        yield "tuple", f"({', '.join('xyzw'[:len(parts)])}) = ({', '.join(parts)})"
        yield "tuple", "(" + ", ".join(f"{value(p).numerator}.0" if value(p).denominator == 1 else decimal(value(p), 6) for p in parts) + ")"


def intervals(left, parts, right):
    yield "interval", rf"x \in {left}{', '.join(parts)}{right}"
    low, high = parts
    if high == r"\infty":
        yield "interval", rf"{left}{low}, +\infty{right}"
        if low != r"-\infty":
            yield "interval", f"x > {low}" if left == "(" else rf"x \geq {low}"
    elif low == r"-\infty":
        yield "interval", f"x < {high}" if right == ")" else rf"x \leq {high}"
    else:
        below, above = ("<" if bracket in "()" else r"\leq" for bracket in (left, right))
        yield "interval", f"{low} {below} x {above} {high}"


def plus_minus(gold):
    if r"\pm " not in gold:
        return
    plus, minus = gold.replace(r"\pm", "+"), gold.replace(r"\pm", "-")
    for form in (f"{plus}, {minus}", f"{minus}, {plus}", f"x = {gold}", rf"\{{{plus}, {minus}\}}", rf"{plus} \text{{ and }} {minus}",
                 rf"x = {plus} \text{{ or }} x = {minus}"):
        yield "plus_minus", form


def distinct(pairs):
    seen = set()
    return [(c, a) for c, a in pairs if not (a in seen or seen.add(a))]


def forms(gold):
    makers = (numbers, looks, words, named, relations, collections, plus_minus)
    found = [("own", gold)] + [pair for make in makers for pair in make(gold)]
    return distinct(found + [("algebra", form) for form in SAME.get(gold.rstrip("."), [])])


def odd_forms(gold):
    """The same meaning, written as hardly anybody does."""
    text, word = gold.rstrip("."), word_of(gold)
    found = [("odd_period_inside", f"{text}."), ("odd_spacing", rf"\, {text} \;"), ("odd_delimiters", rf"\({text}\)")]
    if is_expression(gold):
        found += [("odd_neutral_terms", f"{text} + 5 - 5"), ("odd_neutral_terms", rf"({text}) \cdot 1"), ("odd_neutral_terms", rf"\frac{{2({text})}}{{2}}")]
    if r"\pi" in text:
        found.append(("odd_unicode", text.replace(r"\pi", "π")))
    if re.search(r"\\sqrt\{\d\}", text):
        found += [("odd_power_root", re.sub(r"\\sqrt\{(\d)\}", power, text)) for power in (r"(\1^{1/2})", r"(\1)^{0.5}")]
    if re.fullmatch(r"\\ln \w+", text):
        found.append(("odd_log_e", re.sub(r"\\ln", r"\\log_e", text)))
    if word:
        found += [("odd_bare_case", word.upper()), ("odd_bare_case", word.lower())]
    if re.fullmatch(r"\d+\^\\circ", text):
        found.append(("odd_degree_command", text[:-6] + r"\degree"))
    sides = text.split(" = ")
    if len(sides) == 2 and "(" not in sides[0]:
        found += [("odd_equation", f"2({sides[0]}) = 2({sides[1]})"), ("odd_equation", f"{sides[0]} - ({sides[1]}) = 0")]
    x = value(gold)
    if x is not None and x.denominator == 1 and abs(x) >= 10:
        digits = str(abs(x.numerator))
        found.append(("odd_scientific", rf"{'-' if x < 0 else ''}{digits[0]}.{digits[1:]} \times 10^{{{len(digits) - 1}}}"))
    if x is not None and x.denominator == 1 and x >= 0:
        found.append(("odd_leading_zeros", f"0000{x}"))
    return distinct(found)
