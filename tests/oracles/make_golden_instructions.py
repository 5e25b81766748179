#!/usr/bin/env python3
"""Writes tests/golden/reward/allenai_instructions.json: what AllenAI's own checks (open_instruct/IFEvalG of github.com/allenai/open-instruct) say of made
texts, for each of the instructions that their training sets have beside IFEval's.

    pip install nltk absl-py immutabledict langdetect
    make_golden_instructions.py OPEN_INSTRUCT          # a checkout

NLTK's word_tokenize() cuts a text into sentences by a trained model, which no package has; their split_into_sentences() does it here."""
import json
import pathlib
import random
import sys

sys.path.insert(0, sys.argv[1])
from nltk.tokenize.destructive import NLTKWordTokenizer
from open_instruct.IFEvalG import instructions_registry, instructions_util

instructions_util.nltk.word_tokenize = lambda text: [token for sentence in instructions_util.split_into_sentences(text)
                                                     for token in NLTKWordTokenizer().tokenize(sentence)]
OUT = pathlib.Path(__file__).resolve().parents[1] / "golden/reward/allenai_instructions.json"
WORDS = "the cat sat near an old river and nobody saw start art level noon radar C++ straße well-known don't it's NATO I weekend often speak rain snow, wind yes".split()
PROMPT = "Tell me of the old river, and why nobody saw it."
MOST = 8  # of each verdict and kind


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def words(self, least=1, most=6):
        return " ".join(self.random.choices(WORDS, k=self.random.randint(least, most)))

    def some(self, *texts):
        return self.random.choice(texts)

    def sentence(self, first="", last=""):
        return " ".join(filter(None, (first, self.words(1, 4), last))) + self.some(".", "!", "?")

    def noise(self, text):
        """Mostly as it is."""
        return self.some(text, text, text, text.upper(), text + " and more.", "Well: " + text, f" {text}\n", text.replace(" ", "  ", 1))

    def case(self, kind):
        """A text, and the arguments that about half of such texts meet."""
        w, r = self.words, self.random
        word, n = r.choice(WORDS), r.randint(1, 3)
        if kind == "copy:repeat_phrase":
            phrase = "we saw the old cat"
            return " ".join(self.some(f"we saw {self.some('an', 'one', 'the')} old cat", "we saw the old cat now", "so") + self.some(".", ",", "\n") for _ in range(n)), dict(phrase=phrase, small_n=n)
        if kind in ("copy:copy", "copy:copying_simple"):
            return self.noise(PROMPT), dict(prompt_to_repeat=PROMPT)
        if kind == "copy:copying_multiple":
            return "******".join(self.some(PROMPT, f"\n{PROMPT} ", PROMPT.lower(), PROMPT, "Another.")for _ in range(r.choice([n + 1, n + 1, 2]))), dict(prompt_to_repeat=PROMPT, N=n + 1)
        if kind == "new:copy_span_idx":
            a, b = 5 + n, r.randint(12, 60)
            return self.noise(PROMPT[a:b]), dict(prompt_to_repeat=PROMPT, n_start=a, n_end=b)
        if kind == "detectable_format:sentence_hyphens":
            return self.some("-", " - ", "- ", "-", "-").join(self.sentence() for _ in range(n)), {}
        if kind == "keywords:no_adjacent_consecutive":
            return w(1, 5), {}
        if kind == "detectable_format:square_brackets":
            return " ".join(f"[{one}]" for one in w().split()) + self.some("", "", " end", "."), {}
        if kind in ("keywords:word_once", "keywords:word_count_different_numbers"):
            more = dict(frequency=n, relation=self.some("at least", "less than")) if "different" in kind else {}
            return w(2, 9) + self.some("", " cat", " CAT, cats"), dict(keyword="cat") | more
        if kind == "keywords:exclude_word_harder":
            return self.some("", "so ") + "cat" + self.some("", ".", " it is") + " " + w(), dict(keyword=self.some("cat", "old"))
        if kind.startswith("paragraphs:"):
            return self.some("***", "\n***\n", "\n\n", "\n\n", " *** ").join(self.some(w(), w(), w(), "") for _ in range(self.some(2, 2, 3, 1))), {}
        if kind.startswith("first_word:"):
            return " ".join(self.sentence(self.some("Cat", "cat", "cat", "Cats")) for _ in range(n)), dict(first_word=self.some("cat", "Cat", ["cat"] if "sent" in kind else "cat"))
        if kind.startswith("last_word:"):
            return " ".join(self.sentence(last=self.some("Cat", "cat", "(cat", "cats")) for _ in range(n)), dict(last_word=self.some("cat", "Cat", ["cat"] if "sent" in kind else "cat"))
        if kind == "detectable_format:bigram_wrapping":
            return " ".join(self.some(f"<<{w(2, 2)}>>", f"<<{w(2, 2)}>>", f"<<{w(2, 2)}>>", w(1, 1)) for _ in range(n)), {}
        if kind == "count:lowercase_counting":
            return w(1, 6), dict(N=n + 1)
        if kind == "letters:letter_counting":
            return w(1, 4), dict(N=r.randint(5, 20), relation=self.some("at least", "less than"))
        if kind == "letters:letter_counting2":
            return w(1, 9), dict(letter=self.some("a", "s"), let_frequency=n, let_relation=self.some("at least", "less than"))
        if kind == "count:counting_composition":
            return self.some("***", "\n***\n").join(" ".join(f"{w(3, 3)}." for _ in range(n)) for _ in range(self.some(3, 3, 3, 2))), dict(n_sent=n, n_words=self.some(4, 4, 3))
        if kind == "count:count_unique":
            return " ".join(r.sample(WORDS, r.randint(1, 7))) + self.some("", ".", " cat cat", ", cat, so"), {}
        if kind == "count:count_increment_word":
            return " ".join(r.choices(["cat", "river", "River", "river", "it", "so"], k=5)), dict(keyword1="cat", keyword2="river")
        if kind == "keywords:keyword_specific_position":
            return " ".join(self.sentence(self.some("cat", "the cat", "")) for _ in range(3)), dict(keyword=self.some("cat", ["cat"]), n=n, m=self.some(1, 2))
        if kind == "keywords:start_end":
            return f"{self.some('Cat', 'cat', 'so')} {w()} {self.some('cat', 'cat', 'CAT', 'cat.')}", {}
        return w(1, 5) + self.some("", ".", "!", "..."), {}


def main():
    cases = []
    known = instructions_registry.INSTRUCTION_DICT
    kinds = [kind for kind in known if list(known).index(kind) >= list(known).index("copy:repeat_phrase")]
    for kind in kinds:
        maker, counts = Maker(kind), {True: 0, False: 0}
        for _ in range(2000):
            text, kwargs = maker.case(kind)
            check = known[kind](kind)
            check.build_description(**kwargs)
            follows = bool(text.strip()) and bool(check.check_following(text))
            if counts[follows] < MOST:
                counts[follows] += 1
                cases.append(dict(kind=kind, kwargs=kwargs, text=text, follows=follows))
        assert min(counts.values()) > 2, f"{kind}: {counts}"
    OUT.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")
    print(f"{len(kinds)} kinds, {len(cases)} cases")


main()
