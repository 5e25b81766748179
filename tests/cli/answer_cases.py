"""Responses with a known verdict: ground truths as they are, rewritten (answer_forms.py) and wrong, in a model's prose.

cases(golds, seed) is deterministic and gives each (ground truth, response) pair once.
"""
import random
import re
from fractions import Fraction

from answer_forms import forms, odd_forms
from answer_text import choice_of, decimal, is_expression, tuple_parts, value

# @ is the answer, ! a wrong one.
BOXED = [
    r"\boxed{@}",
    r"$\boxed{@}$",
    r"The answer is $\boxed{@}$.",
    "Therefore\n\\[\n\\boxed{@}\n\\]\n",
    "### Final Answer\n\n$$\n\\boxed{@}\n$$",
    r"**Final Answer:** \(\boxed{@}\)",
    "Thus, the final result is:\n\n$$\\boxed{@}$$\n\nLet me know if you want more details (2 + 2 = 4).",
    "<think>We try $@$, perhaps.\nHmm, wait.</think>\n\nSo the value is $\\boxed{@}$.",
    "<think>first try \\boxed{!}</think> Checking again, the result is $\\boxed{@}$. Done!",
    "Case 1 gives $\\boxed{!}$.\nBut this breaks the condition.\nSo the correct answer is\n$$\\boxed{@}.$$",
    "1. First, $3 + 4 = 7$.\n2. Then we are done: $\\boxed{@}$.\n\n**Check.** With $t = 5$ both sides are 25.",
    "So it is \\boxed{@}.\n\n**Final Answer**\n\\boxed{@}",
    "**\\boxed{@}**",
    "Answer: $\\boxed{ @ }$",
]
BOXED_WRONG = BOXED + [
    "We find $@$, so \\boxed{@}.\nWait, I made a mistake. The correct answer is \\boxed{!}.",
    "I first thought of $@$, but no: \\boxed{!}",
    "Hence \\boxed{!}, although @ looked right at first.",
]
UNBOXED = ["The final answer is $@$. I hope it is correct.", "So, after all steps, the answer is $@$.", "**Answer:** $@$",
           "Therefore, the answer is \\(@\\).", "Final Answer: The final answer is $@$. I hope it is correct.", "Hence we obtain $$@$$"]
OPPOSITE = {"Yes": "No", "No": "Yes", "True": "False", "False": "True", "A": "B", "B": "C", "C": "D", "D": "A", r"\infty": r"-\infty",
            r"-\infty": r"\infty", r"\emptyset": r"\{0\}", r"\mathbb{R}": r"\mathbb{Z}", r"\mathbb{Z}": r"\mathbb{R}"}


def wrong_numbers(x):
    n, d = x.numerator, x.denominator
    whole = d == 1
    yield "off_by_one", str(n + 1) if whole else rf"\frac{{{n + 1}}}{{{d}}}"
    if d < 1000:
        yield "off_by_one", str(n - 1) if whole else rf"\frac{{{n}}}{{{d + 1}}}"
    if x != 0:
        yield "sign", str(-n) if whole else rf"{'' if x < 0 else '-'}\frac{{{abs(n)}}}{{{d}}}"
        yield "factor", str(2 * n) if whole else rf"\frac{{{2 * n}}}{{{d}}}"
        yield "factor", str(10 * n) if whole else decimal(10 * x, 8)
        yield "square", f"{n}^2" if whole and abs(n) > 1 else rf"\sqrt{{{2 + n * n}}}"
    if not whole and abs(n) != 1:
        yield "inverse", rf"\frac{{{d}}}{{{n}}}"
    if whole and abs(n) >= 10 and str(n)[-1] != str(n)[-2]:
        yield "digits", str(n)[:-2] + str(n)[-1] + str(n)[-2]
    if whole:
        yield "near", f"{n}.5"
        yield "near", rf"{n}\pi" if n else r"\pi"
        yield "near", rf"\frac{{{n}}}{{{3}}}" if n % 3 else rf"{n} + \frac{{1}}{{3}}"
        yield "near", rf"{n} + \sqrt{{2}}"
    if d > 7 and Fraction(decimal(x, 2)) != x:
        yield "rounded", decimal(x, 2)


def wrong_expressions(text, rng):
    yield "sign", text[1:] if text.startswith("-") and not re.search(r"[+-]", text[1:]) else f"-({text})"
    yield "off_by_one", f"{text} + 1"
    yield "factor", f"2({text})"
    yield "square", f"({text})^2"
    if re.search(r"\d", text):
        i = rng.choice([m.start() for m in re.finditer(r"\d", text)])
        yield "digits", text[:i] + str((int(text[i]) + 1) % 10) + text[i + 1:]
    surd = re.fullmatch(r"(-?\d+) ?\\(?:sqrt\{\d+\}|pi)", text)
    if surd:
        yield "dropped", surd[1]
    inner = re.sub(r" [+-] ", lambda m: " - " if m[0] == " + " else " + ", text, count=1)
    if inner != text:
        yield "sign", inner


def wrong_collections(gold):
    found = tuple_parts(gold)
    if found:
        left, parts, right = found
        ordered = left != r"\{"
        if ordered and parts[::-1] != parts:
            yield "swapped", left + ", ".join(parts[::-1]) + right
        if len(parts) > 1:
            yield "dropped", left + ", ".join(parts[:-1]) + right
            yield "dropped", parts[-1]
        yield "extra", left + ", ".join(parts + ["11"]) + right
        for i, part in enumerate(parts):
            if value(part) is not None:
                yield "element", left + ", ".join(parts[:i] + [str(value(part) + 1)] + parts[i + 1:]) + right
                yield "element", left + ", ".join(parts[:i] + [str(-value(part) - (value(part) == 0))] + parts[i + 1:]) + right
        if ordered and len(parts) == 2:
            if parts[0] != r"-\infty":
                yield "brackets", ("[" if left == "(" else "(") + ", ".join(parts) + right
            if parts[1] != r"\infty":
                yield "brackets", left + ", ".join(parts) + ("]" if right == ")" else ")")
    if r"\cup" in gold:
        pieces = gold.split(r"\cup")
        yield "dropped", pieces[0].strip()
        yield "brackets", gold.replace("(-", "[-") if r"-\infty" not in gold else re.sub(r"(\d)\)", r"\1]", gold)
    if r"\pm" in gold:
        yield "dropped", gold.replace(r"\pm", "+")
        yield "dropped", gold.replace(r"\pm", "-")
        yield "element", re.sub(r"^(\d+)", lambda m: str(int(m[1]) + 1), gold)
    if r"\begin{pmatrix}" in gold:
        yield "element", re.sub(r"(-?\d+)", lambda m: str(int(m[1]) + 1), gold, count=1)
        yield "swapped", re.sub(r"pmatrix\} (.*?) \\\\ (.*?)( \\\\| \\end)", r"pmatrix} \2 \\\\ \1\3", gold)


def wrong_relations(text):
    if re.search(r"[<>]|\\[gl]eq", text) and r"\mid" not in text:
        turn = {"<": ">", ">": "<", r"\geq": r"\leq", r"\leq": r"\geq"}
        strict = {"<": r"\leq", ">": r"\geq", r"\geq": ">", r"\leq": "<"}
        yield "turned", re.sub(r"<|>|\\geq|\\leq", lambda m: turn[m[0]], text)
        yield "turned", re.sub(r"<|>|\\geq|\\leq", lambda m: strict[m[0]], text)
    if re.search(r"=.*\d$", text):
        yield "element", re.sub(r"(\d)$", lambda m: str(int(m[1]) + 1), text)


def key(gold):
    """Equal for ground truths that may mean the same, so that one is not another's wrong answer."""
    if re.search(r"= 0$", gold):
        return "0.0"
    text = re.sub(r"\s|\\left|\\right|\\text|\\mbox.*|\^\\circ|\\%|_\d|[{}().\\]|^\w=|\\d?frac", "", gold)
    x = value(gold)
    return str(float(x)) if x is not None else str(float(text)) if re.fullmatch(r"\d+", text) else text.lower()


def wrong(gold, others, rng):
    """(category, answer) pairs that do not mean `gold`; `others` are other ground truths."""
    text, x = gold.rstrip("."), value(gold)
    drawn = [("other_row", o) for o in rng.sample(others, min(4, len(others))) if key(o) != key(gold)]
    if x is not None:
        drawn += wrong_numbers(x)
    elif is_expression(gold):
        drawn += wrong_expressions(text, rng)
    drawn += [*wrong_collections(gold), *wrong_relations(text)]
    letter = choice_of(gold)
    if letter:
        drawn += [("opposite", r"\text{(%s)}" % other) for other in "ABCDE" if other != letter]
    if text in OPPOSITE:
        drawn += [("opposite", OPPOSITE[text])] + ([("opposite", rf"\text{{{OPPOSITE[text]}}}")] if text.isalpha() else [])
    if re.fullmatch(r"\d+(\^\\circ|\\%)", text):
        drawn += [("element", str(int(re.match(r"\d+", text)[0]) + 10) + re.sub(r"^\d+", "", text))]
    drawn += [("empty", ""), ("empty", r"\text{unknown}")]
    return [(f"wrong_{c}", a) for c, a in drawn if a != text]


def in_prose(template, answer, other):
    return template.replace("!", "\0").replace("@", answer).replace("\0", other) if "Done!" not in template else \
        template.replace("{!}", "\0").replace("@", answer).replace("\0", "{" + other + "}")


def sampled(rng, pairs, count):
    """Up to `count` of the pairs, every category before a second one of the same."""
    groups = {}
    for category, answer in rng.sample(pairs, len(pairs)):
        groups.setdefault(category, []).append((category, answer))
    order = [group[i] for i in range(max(map(len, groups.values()), default=0)) for group in groups.values() if i < len(group)]
    return order[:count]


def of_one(gold, others, rng, num_forms, num_wrong, num_odd):
    """Cases of one ground truth."""
    yield gold, rng.choice(BOXED[:6]).replace("@", gold), "own", True
    bad = wrong(gold, others, rng)
    near = next((a for c, a in bad if c != "wrong_other_row"), "7777")
    for category, answer in sampled(rng, forms(gold)[1:], num_forms):
        yield gold, in_prose(rng.choice(BOXED[:4]), answer, near), category, True
    yield gold, in_prose(rng.choice(BOXED[4:]), gold.rstrip("."), near), "prose", True
    if "$" not in gold and is_expression(gold):
        yield gold, rng.choice(UNBOXED).replace("@", gold.rstrip(".")), "unboxed", True
    for category, answer in sampled(rng, bad, num_wrong):
        template = rng.choice(BOXED[:4] if category == "wrong_empty" else BOXED_WRONG)
        right = answer if template in BOXED else gold.rstrip(".")
        yield gold, in_prose(template, right, gold.rstrip(".") if template in BOXED else answer), category, False
    for category, answer in sampled(rng, odd_forms(gold), num_odd):
        yield gold, f"\\boxed{{{answer}}}", category, True
    if rng.random() < 0.2:
        yield gold, f"The final answer is \\fbox{{{gold}}}.", "odd_fbox", True


def cases(golds, seed, num_forms=6, num_wrong=5, num_odd=1):
    """Rows {ground_truth, response, category, same}; odd_* categories are those of odd_forms()."""
    rng, rows, seen = random.Random(seed), [], set()
    others = sorted(set(golds))
    for gold in golds:
        for row in of_one(gold, others, rng, num_forms, num_wrong, num_odd):
            if row[:2] not in seen:
                seen.add(row[:2])
                rows.append(dict(zip(("ground_truth", "response", "category", "same"), row)))
    return rows
