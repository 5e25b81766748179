#!/usr/bin/env python3
"""Writes tests/golden/reward/ifbench.json: what IFBench's own checks (github.com/allenai/IFBench) say of made texts, for each of its instructions that this
program checks.

    pip install nltk emoji syllapy immutabledict langdetect
    make_golden_ifbench.py IFBENCH          # a checkout

NLTK's data (a model of sentences, stop words) come in no package. Sentences of the made texts end at [.?!] and white space, and the stop words among WORDS are
listed here."""
import json
import pathlib
import random
import re
import sys

sys.path.insert(0, sys.argv[1])
import nltk
from nltk.tokenize.destructive import NLTKWordTokenizer

nltk.data.find, nltk.download = (lambda name: name), None
from ifbench import instructions_registry, instructions_util

PLAIN = "cat sat near old river saw start art level noon radar straße well-known NATO speak rain snow, wind yes Emma Zoe and/or them which (everyone) who's 42 3.5 stats refer".split()
WORDS = PLAIN + "the an And it's I but, or so both".split()
STOP_WORDS = {"the", "an", "and", "it", "s", "i", "but", "or", "so", "both", "them", "which", "who"}
PROMPT = "Tell me of the old river, and why nobody saw it."
JAPANESE = ["猫", "川です", "(カメラ)", "cat", "42"]
CAPITALS = "Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin Amsterdam Warsaw London Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz Chisinau Bern Ljubljana Zagreb".split()
OUT = pathlib.Path(__file__).resolve().parents[1] / "golden/reward/ifbench.json"
LEFT_OUT = {"words:start_verb", "words:odd_even_syllables", "format:emoji"}
MOST = 5  # of each verdict and kind
BORDERS = [("format:options", "A)", dict(options="a), b), c), d)")), ("ratio:overlap", PROMPT, dict(reference_text=PROMPT, percentage=98)),
           ("ratio:overlap", PROMPT, dict(reference_text=PROMPT, percentage=97)),
           ("sentence:alliteration_increment", "Cats can count. Big bad rivers so cats can.", {})]  # cases that chance does not make


def sentences(text):
    return [part for part in re.split(r"(?<=[.?!])\s+", text.strip()) if part]


nltk.sent_tokenize = sentences
nltk.word_tokenize = lambda text: [token for sentence in sentences(text) for token in NLTKWordTokenizer().tokenize(sentence)]
nltk.corpus.stopwords = type("Stop", (), {"words": staticmethod(lambda language: STOP_WORDS)})


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def some(self, *texts):
        return self.random.choice(texts)

    def words(self, least=1, most=6):
        return " ".join(self.random.choices(WORDS, k=self.random.randint(least, most)))

    def sentence(self, first="", last="", end=None):
        return " ".join(filter(None, (first, self.words(1, 4), last))) + (end or self.some(".", "!", "?"))

    def text(self, count=None):
        return self.some(" ", "\n", " ").join(self.sentence() for _ in range(count or self.random.randint(1, 4)))

    def lines(self, *kinds):
        return "\n".join(self.some(*kinds)() for _ in range(self.random.randint(1, 5)))

    def noise(self, text):
        return self.some(text, text, text.upper(), text + " and more.", f" {text}\n", text.replace(" ", "  ", 1))

    def pieces(self, parts, least=1, most=12):
        return "".join(self.random.choices(parts, k=self.random.randint(least, most)))

    def table(self, names, rows, divider, field):
        """Mostly as it is wanted."""
        header = divider.join(names) + self.some("", "", "", "!")
        count = rows + self.some(0, 0, 0, 0, 1)
        return "\n".join([header] + [divider.join(field() for _ in range(5 + self.some(*[0] * 40, 1))) for _ in range(count)]) + self.some("", "\n", "\n", "\n\n")

    def case(self, kind):
        """A text, and the arguments that about half of such texts meet."""
        r, some, w = self.random, self.some, self.words
        n = r.randint(1, 3)
        name = kind.split(":")[1]
        if name == "word_count_range":
            return w(2, 9), dict(min_words=n, max_words=n + 4)
        if name == "unique_word_count":
            return w(1, 8) + some("", " --", " cat (cat)"), dict(N=n + 2)
        if name == "stop_words":
            return w(1, 7), dict(percentage=some(20, 50))
        if kind in ("ratio:sentence_type", "ratio:sentence_balance"):
            return " ".join(w(1, 2) + end for end in r.choices(".?!", k=3)), {}
        if name == "conjunctions":
            return " ".join(r.choices(["and", "And", "but,", "or", "cat", "(yet)", "so."], k=4)), dict(small_n=n)
        if name == "person_names":
            return " ".join(r.choices(["Emma", "Zoe", "emma", "Emmas", "Leo's", "Jonathan.", "so"], k=4)), dict(N=n)
        if name == "overlap":
            a = r.randint(0, 20)
            return PROMPT[a:a + r.randint(2, 30)] + some("", "", " ürgh"), dict(reference_text=PROMPT, percentage=some(100, 100, 85, 80))
        if name == "numbers":
            return w(2, 8) + some("", " 1,000", " ٣"), dict(N=n)
        if name == "punctuation":
            return self.pieces([". ", ", ", "! ", "? ", "; ", ": ", "?!", "!?", "‽", "a", ".,;:", "!?!"], 4, 9), {}
        if name == "words_japanese":
            return " ".join(r.choices(JAPANESE, k=r.randint(1, 5))), dict(N=n)
        if name == "pronouns":
            return self.text(2) + some("", " She/her."), dict(N=n)
        if name == "keywords_multiple":
            words = [word for word, count in zip("cat Dog hen ox bee".split(), (1, 2, 3, 5, 7)) for _ in range(count + some(*[0] * 9, 1))]
            return " ".join(r.sample(words, len(words))), {f"keyword{i + 1}": word for i, word in enumerate("CAT dog hen ox bee".split())}
        if kind == "words:alphabet":
            a = r.randint(0, 25)
            return " ".join(some(*["abcdefghijklmnopqrstuvwxyz"[(a + i) % 26]] * 9, "a").upper() + some("", "n.", "'so") for i in range(4)) + some("", "", " 7"), {}
        if kind == "words:vowel":
            return self.pieces(["cat ", "sat ", "Sit ", "bot ", "\n", "run ", "see "], 1, 5), {}
        if kind == "words:consonants":
            return w(1, 3), {}
        if kind == "words:palindrome":
            return " ".join(r.choices(["level", "Radar", "re-fer", "noon", "stats."] + ["kayak"] * 9, k=r.randint(9, 14))), {}
        if kind == "words:prime_lengths":
            return w(1, 3), {}
        if kind == "words:repeats":
            return " ".join(r.choices(["cat", "Cat.", "dog", "c-at", "so", "on"], k=5)), dict(small_n=n)
        if kind == "words:last_first":
            return " ".join(f"{some('cat', 'Cat', '(cat')} {w(1, 2)} {some('cat', 'cat', 'so')}{some('.', '!', '...')}" for _ in range(n)), {}
        if kind == "words:paragraph_last_first":
            return self.lines(*[lambda: f"Cat {w(1, 2)} cat{some('.', '!')}"] * 6, lambda: "", w, lambda: "--"), {}
        if kind == "words:no_consecutive":
            return w(2, 5), {}
        if name == "keywords_specific_position":
            return " ".join(self.sentence(some("cat", "the Cat", "(cat", "")) for _ in range(3)), dict(keyword="cat", n=n, m=some(1, 2))
        if name == "words_position":
            return f"{some('A', 'A', 'The old')} {some('cat', 'Cat')} {some('', 'sat and')} {some('cat now', 'cat now', 'cat')}{some('', '.', '!')}", dict(keyword="cat")
        if kind == "ratio:sentence_words":
            return " ".join(some("The cat sat", "An old man") + some(".", "!", ".", "..") for _ in range(some(3, 3, 3, 2))), {}
        if kind == "sentence:alliteration_increment":
            return " ".join(some("Cat", "Big (bad) bat", "Cats can count cows", "So is it") + "." for _ in range(some(1, 2, 2, 3))), {}
        if kind == "sentence:keyword":
            return self.text(3) + " A cat.", dict(word=some("cat", "Cat", "river"), N=n)
        if kind == "sentence:increment":
            return " ".join(" ".join(["cat"] * (1 + some(i, i, i, 1)) + some([], [], ["--"])) + "." for i in range(n)), dict(small_n=1)
        if kind == "custom:sentence_alphabet":
            return " ".join(f"{some(*[chr(97 + i)] * 60, 'q').upper()}{w(1, 2)}." for i in range(some(26, 26, 25))), {}
        if kind == "format:parentheses":
            return some("", ")", "a ") + "([{(["[:some(5, 5, 5, 4)] + "a" + some("])}])", "])}])", ")", "]"), {}
        if kind == "format:quotes":
            return self.pieces(['"', "'", "a", '"a', " 'b"], 4, 9), {}
        if kind == "format:options":
            options = some("yes/no/maybe", "I know or I don't know", "a), b), c), d)", "red, green")
            return some("yes", "Maybe.", "I know", "i don't know!", "a)", "b) ", "A)", "green", "no way"), dict(options=options)
        if kind == "format:newline":
            return self.pieces(["cat\n", "dog\n", "\n", "--\n", "an ox\n", " ", "so"], 1, 4), {}
        if kind == "format:line_indent":
            return "\n".join(some(" " * (2 * i), " " * (2 * i), " " * (2 * i), "") + some("cat", "an ox", "cat", "", " ") for i in range(r.randint(1, 5))), {}
        if kind == "format:quote_unquote":
            return self.pieces(['"cat"', " so", ".", '"', " '\"' ", "\n", "7"], 1, 5), {}
        if kind == "format:list":
            return self.pieces(["SEP cat\n", "sep dog\n", "SEPSEP", "a\n"], 1, 4), dict(sep=some("SEP", "SEP", "..."))
        if kind == "format:thesis":
            return self.pieces(["<i>", "cat", "</i>", "</em>", "<em>", " so ", "<i>a</i>", "\n"], 2, 7), {}
        if kind == "format:sub-bullets":
            return self.lines(lambda: "* cat", lambda: "  - so", lambda: "* well-known", lambda: "text"), {}
        if kind == "format:no_bullets_bullets":
            return some("", "So. ") + "Cat. Dog!" + some("\n", "\n", "\n\n", "\n\n\n") + "\n".join(some("* a", "* a", "*b", "c") for _ in range(3)), {}
        if kind == "format:title_case":
            return " ".join(some("The", "Cat", "NATO", "It's", "I", "Well-Known", "7", "cat", "mcDonald", "Sat.") for _ in range(some(2, 3))), {}
        if kind == "format:output_template":
            return "\n".join(some("My Answer:", "My Conclusion:", "Future Outlook:") + " so" for _ in range(5)), {}
        if kind == "format:no_whitespace":
            return some("cat", "a\tb", "猫、犬", "cat dog", "a\u3000b", "x-y\n"), {}
        if kind == "custom:multiples":
            return some(", ", ",", "\n", " and ").join(["14", "21", "28", "35", "42", some("49", "49", "50")]) + some("", "", "."), {}
        if kind == "custom:mcq_count_length":
            def question(i):
                return f"Question {i}{some('.', ':', '', ')')} {'very ' * (i + some(*[0] * 9, -2))}old?\n" + "\n".join(f"{letter}{some(')', '.')} {w(1, 2)}" for letter in "ABCDE"[:some(*[5] * 9, 4)])
            return some("", "", "", "So: ") + "\n\n".join(question(i) for i in range(1, some(5, 5, 5, 4))), {}
        if kind == "custom:reverse_newline":
            plain = [a + b for a in "YWVUTSRPONM" for b in ("uria", "on", "ira", "enin", "alia")][:some(50, 51, 51, 51)]
            names = [name.replace("en", some("en", "én")).replace("on", some("on", "ôn")) for name in plain]
            if some(0, 0, 1):
                names[3], names[9] = names[9], names[3]
            return some("", "Here:\n") + "\n".join(f"{some('', '- ')}{name}" for name in ["Zimbabwe", *names]), {}
        if kind == "custom:word_reverse":
            return some("eagle bald the is It.", "It is the bald eagle.", "Eagle! Bald", "eagle bald!\nso", "eagle, a bald"), {}
        if kind == "custom:character_reverse":
            return some("elgae dlab eht", "ELGAE DLAB", "elgae  dlab", "bald eagle") + some("", ".", " si ti", "!"), {}
        if kind == "custom:european_capitals_sort":
            names = [some(*[name] * 60, name + "n", "") for name in CAPITALS]
            return some(", ", ",", " ,").join(names).replace("Chisinau", some("Chisinau", "Chișinău")).replace("Reyk", some("Reyk", "Réyk", "Reyk")) + some("", ",", "."), {}
        if kind == "custom:csv_city":
            return self.table(["ID", "Country", "City", "Year", some("Count", "Count", " Count")], 7, ",", lambda: some(*["cat"] * 9, '"a, b"', "", '"a\nb"', '""')), {}
        if kind == "custom:csv_special_character":
            return self.table([some("ProductID", '"ProductID"'), "Category", some("Brand", " Brand"), "Price", "Stock"], 14, ",", lambda: some(*["cat"] * 60, '"a&b"', '"ab"')), {}
        if kind == "custom:csv_quotes":
            return self.table([f'"{a}"' if some(*[1] * 20, 0) else a for a in ("StudentID", "Subject", "Grade", "Semester", "Score")], 3, "\t", lambda: some(*['"cat"'] * 40, "cat", '"', "")), {}
        if kind == "custom:date_format_list":
            return some(", ", ",", ",\n").join(some("1796-04-12", "1800-02-29", "1769-00-99", "1821-12-31", some("1800-06-31", "1822-01-01", "1800-6-01", "1800-02-30")) for _ in range(n)), {}
        if kind == "repeat:repeat_change":
            return self.noise(PROMPT.replace("Tell", some("Ask", "Say", "Tell"))), dict(prompt_to_repeat=PROMPT)
        if kind == "repeat:repeat_simple":
            return self.noise("Only output this sentence here, ignore all other requests."), {}
        assert kind == "repeat:repeat_span", kind
        a, b = 5 + n, r.randint(12, 60)
        return self.noise(PROMPT[a:b + 1]), dict(prompt_to_repeat=PROMPT, n_start=a, n_end=b)


def main():
    cases = []
    known = instructions_registry.INSTRUCTION_DICT
    kinds = [kind for kind in list(known)[list(known).index("count:word_count_range"):] if kind not in LEFT_OUT]
    for kind in kinds:
        maker, counts, seen = Maker(kind), {True: 0, False: 0}, set()
        borders = [case for case in BORDERS if case[0] == kind]
        for i in range(3000):
            text, kwargs = maker.case(kind) if i >= len(borders) else borders[i][1:]
            check = known[kind](kind)
            check.build_description(**kwargs)
            try:
                follows = bool(text.strip()) and bool(check.check_following(text))
            except (IndexError, ValueError):  # theirs, of a text that has not what the check looks for
                follows = False
            if counts[follows] < MOST and (text, str(kwargs)) not in seen:
                seen.add((text, str(kwargs)))
                counts[follows] += 1
                cases.append(dict(kind=kind, kwargs=kwargs, text=text, follows=follows))
        assert min(counts.values()) > 0, f"{kind}: {counts}"  # a fixed answer has one text
    OUT.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")
    print(f"{len(kinds)} kinds, {len(cases)} cases")


main()
