"""The instructions of the reward type ifeval, checked once more and on their own: from what IFEval's paper and its
published checks say (Zhou et al. 2023, arXiv 2311.07911), and for ROLL's functions from what their instructions say.

A check is a function (text, arguments) -> whether the text follows. LANGUAGE holds those that depend on a language
detector, SENTENCES those that depend on where a sentence ends.
"""
import json
import re

RELATIONS = {"less than": lambda n, wanted, _: n < wanted, "at least": lambda n, wanted, _: n >= wanted,
             "at most": lambda n, wanted, _: n <= wanted, "around": lambda n, wanted, off: abs(n - wanted) <= off}
ABBREVIATIONS = re.compile(r"(?<![\w'])(?:Mr|Mrs|Ms|Dr|St|Prof|vs|e\.g|i\.e|[A-Z])\.(?=\s)(?!\s*\n\s*\n)", re.IGNORECASE)


ELLIPSIS = re.compile(r"(?:\.\.+|…+)[\"')\]*]*(?=(\s+)[\"'(\[{*]*(\w*))")
BEGINS = {"i", "the", "an", "and", "they", "because", "yes", "who", "it", "is", "to", "no"}


def goes_on(ellipsis):
    """Behind an ellipsis a sentence begins with a capital of a word that is no name, or a new paragraph."""
    space, word = ellipsis.groups()
    begins = space.count("\n") > 1 or (word[:1].isupper() and word.lower() in BEGINS)
    return ellipsis[0] if begins else "<goes on>"


def sentences(text):
    text = ELLIPSIS.sub(goes_on, ABBREVIATIONS.sub("<abbreviation>", text.strip()))
    parts = re.split(r"[.?!…]+[\"')\]*]*(?=\s|$)", text)
    return sum(bool(re.search(r"\w", part)) for part in parts)


def whole_words(text, word):
    return len(re.findall(r"(?<!\w)" + re.escape(word) + r"(?!\w)", text, re.IGNORECASE))


def bullets(text):
    stars = re.findall(r"^\s*\*[^\*].*$", text, re.MULTILINE)
    return len(stars) + len(re.findall(r"^\s*-.*$", text, re.MULTILINE))


def highlights(text):
    single = [m for m in re.findall(r"\*[^\n\*]*\*", text) if m.strip("*").strip()]
    double = [m for m in re.findall(r"\*\*[^\n\*]*\*\*", text) if m[2:-2].strip()]
    return len(single) + len(double)


def title(text):
    return any(t.lstrip("<").rstrip(">").strip() for t in re.findall(r"<<[^\n]+>>", text))


def quoted(text):
    text = text.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


def refuse(word):
    raise ValueError(word)


def is_json(text):
    """By the grammar: NaN and Infinity are Python's own."""
    try:
        json.loads(text, parse_constant=refuse)
        return True
    except ValueError:
        return False


def parts_between(text, divider, blank_ends):
    """None where a part is blank that may not be."""
    parts = text.split(divider)
    kept = [p for i, p in enumerate(parts) if p.strip() or not (blank_ends and i in (0, len(parts) - 1))]
    return None if any(not p.strip() for p in kept) else kept


def two_responses(text, blank_ends):
    parts = parts_between(text, "******", blank_ends)
    return parts is not None and len(parts) == 2 and parts[0].strip() != parts[1].strip()


def first_word(text, num_paragraphs, nth, word):
    paragraphs = [p.strip() for p in text.split("\n\n") if p.strip()]
    if len(paragraphs) != num_paragraphs:
        return False
    start = paragraphs[nth - 1].lstrip("'\"").lower()
    return bool(re.match(re.escape(word.lower()) + r"(?![\w-])", start))


def capital_words(text):
    return sum(token.isupper() for token in re.split(r"--|[\s,:;@#$%&?!\"()\[\]{}<>“”«»…]+", text))


def sections(text, splitter):
    return len(re.findall(re.escape(splitter) + r"\s?\d+", text))


def unfenced(text):
    text = re.sub(r"^```(?:json|Json|JSON)?", "", text.strip())
    return re.sub(r"```$", "", text).strip()


def postscript(text, marker):
    pattern = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}.get(marker, re.escape(marker.lower()))
    return re.search(pattern, text.lower()) is not None


def tenth(n):
    return max(round(n * 0.1), 1)


OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
IFEVAL = {
    "keywords:existence": lambda t, a: all(re.search(re.escape(k), t, re.I) for k in a["keywords"]),
    "keywords:frequency": lambda t, a: RELATIONS[a["relation"]](len(re.findall(re.escape(a["keyword"]), t, re.I)), a["frequency"], 0),
    "keywords:forbidden_words": lambda t, a: not any(whole_words(t, w) for w in a["forbidden_words"]),
    "keywords:letter_frequency": lambda t, a: RELATIONS[a["let_relation"]](t.lower().count(a["letter"].lower()), a["let_frequency"], 0),
    "language:response_language": lambda t, a: t.language == a["language"],
    "length_constraints:number_sentences": lambda t, a: RELATIONS[a["relation"]](sentences(t), a["num_sentences"], 0),
    "length_constraints:number_paragraphs": lambda t, a: len(parts_between(t, "***", True) or ()) == a["num_paragraphs"],
    "length_constraints:number_words": lambda t, a: RELATIONS[a["relation"]](len(re.findall(r"\w+", t)), a["num_words"], 0),
    "length_constraints:nth_paragraph_first_word": lambda t, a: first_word(t, a["num_paragraphs"], a["nth_paragraph"], a["first_word"]),
    "detectable_content:number_placeholders": lambda t, a: len(re.findall(r"\[.*?\]", t)) >= a["num_placeholders"],
    "detectable_content:postscript": lambda t, a: postscript(t, a["postscript_marker"]),
    "detectable_format:number_bullet_lists": lambda t, a: bullets(t) == a["num_bullets"],
    "detectable_format:constrained_response": lambda t, a: any(o in t for o in OPTIONS),
    "detectable_format:number_highlighted_sections": lambda t, a: highlights(t) >= a["num_highlights"],
    "detectable_format:multiple_sections": lambda t, a: sections(t, a["section_spliter"]) >= a["num_sections"],
    "detectable_format:json_format": lambda t, a: is_json(unfenced(t)),
    "detectable_format:title": lambda t, a: title(t),
    "combination:two_responses": lambda t, a: two_responses(t, True),
    "combination:repeat_prompt": lambda t, a: t.strip().lower().startswith(a["prompt_to_repeat"].strip().lower()),
    "startend:end_checker": lambda t, a: t.strip().strip('"').lower().endswith(a["end_phrase"].strip().lower()),
    "startend:quotation": lambda t, a: quoted(t),
    "change_case:capital_word_frequency": lambda t, a: RELATIONS[a["capital_relation"]](capital_words(t), a["capital_frequency"], 0),
    "change_case:english_capital": lambda t, a: t.isupper() and t.language == "en",
    "change_case:english_lowercase": lambda t, a: t.islower() and t.language == "en",
    "punctuation:no_comma": lambda t, a: "," not in t,
}

ROLL = {
    "verify_keywords": lambda t, a: all(re.search(re.escape(k), t, re.I) for k in a["keyword_list"]),
    "verify_keyword_frequency": lambda t, a: whole_words(t, a["word"]) == a["N"],
    "validate_forbidden_words": lambda t, a: not any(whole_words(t, w) for w in a["forbidden_words"]),
    "verify_letter_frequency": lambda t, a: t.count(a["letter"]) == a["N"],
    "validate_response_language": lambda t, a: t.language == a["language"],
    "verify_paragraph_count": lambda t, a: len(parts_between(t, "* * *", False) or ()) == a["N"],
    "validate_word_constraint": lambda t, a: RELATIONS[a["quantifier"]](len(t.split()), a["N"], tenth(a["N"])),
    "verify_sentence_constraint": lambda t, a: RELATIONS[a["quantifier"]](sentences(t), a["N"], 1),
    "validate_paragraphs": lambda t, a: first_word(t, a["N"], a["i"], a["first_word"]),
    "verify_postscript": lambda t, a: bool(re.search(re.escape(a["postscript_marker"]) + r"\s*\S", t)),
    "validate_placeholders": lambda t, a: len(re.findall(r"\[(.*?)\]", t)) >= a["N"],
    "verify_bullet_points": lambda t, a: bullets(t) == a["N"],
    "validate_title": lambda t, a: title(t),
    "validate_choice": lambda t, a: t.strip() in [o.strip() for o in a["options"]],
    "validate_highlighted_sections": lambda t, a: highlights(t) >= a["N"],
    "validate_sections": lambda t, a: len(re.findall(r"(?<!\w)" + re.escape(a["section_splitter"]) + r"(?!\w)", t)) == a["N"],
    "validate_json_format": lambda t, a: is_json(t),
    "validate_repeat_prompt": lambda t, a: t.startswith(a["original_prompt"]),
    "validate_two_responses": lambda t, a: two_responses(t, False),
    "validate_uppercase": lambda t, a: t.isupper(),
    "validate_lowercase": lambda t, a: t.islower(),
    "validate_frequency_capital_words": lambda t, a: RELATIONS[a["quantifier"]](len(re.findall(r"\b[A-Z]+\b", t)), a["N"], tenth(a["N"])),
    "validate_end": lambda t, a: t.strip().endswith(a["end_phrase"]),
    "validate_quotation": lambda t, a: quoted(t),
    "validate_no_commas": lambda t, a: "," not in t,
}

LANGUAGE = {"language:response_language", "change_case:english_capital", "change_case:english_lowercase", "validate_response_language"}
SENTENCES = {"length_constraints:number_sentences", "verify_sentence_constraint"}


class Text(str):
    """A response, and the language that it was made in."""
    language = "en"


def loose_texts(text):
    lines = text.split("\n")
    whole = [text] + ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    texts = [Text(t) for t in whole + [t.replace("*", "") for t in whole]]
    for t in texts:
        t.language = text.language
    return texts


def follows(check, text, arguments, strict=True):
    return any(bool(t.strip()) and check(t, arguments) for t in ([text] if strict else loose_texts(text)))
