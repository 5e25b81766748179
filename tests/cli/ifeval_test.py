#!/usr/bin/env python3
"""`roll score --reward ifeval` against ifeval_oracle.py, on generated responses to generated instructions of all 25 kinds of
both row formats, strict and loose.

    ifeval_test.py BINARY [CASES]           # of each format; 1000 when missing

Every verdict must agree; where a language detector or the end of a sentence decides, 99 % of all and 97 % of a kind.
"""
import json
import pathlib
import random
import re
import subprocess
import sys

import ifeval_oracle as oracle
from expecting import expect, finish

BINARY, CASES = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
WORDS = ("the cat sat near an old river and nobody saw start art Art light C++ naïve straße coöperate well-known don't IT'S "
         "USA NATO I OK weekend Weekend ΟΔΟΣ οδός Σας because people often speak about rain, snow and wind; they said: yes").split()
# Texts long enough that a reader is sure of their language.
LANGUAGES = {
    "en": ["The weather was cold this morning, so we stayed at home and read our books.", "Nobody knows where the children went after school."],
    "fr": ["Il faisait froid ce matin, alors nous sommes restés à la maison pour lire.", "Personne ne sait où les enfants sont allés après l'école."],
    "de": ["Heute Morgen war es kalt, deshalb sind wir zu Hause geblieben und haben gelesen.", "Niemand weiß, wohin die Kinder nach der Schule gegangen sind."],
    "es": ["Esta mañana hacía frío, así que nos quedamos en casa leyendo nuestros libros.", "Nadie sabe adónde fueron los niños después de la escuela."],
    "it": ["Questa mattina faceva freddo, quindi siamo rimasti a casa a leggere i nostri libri.", "Nessuno sa dove siano andati i bambini dopo la scuola."],
    "ru": ["Сегодня утром было холодно, поэтому мы остались дома и читали книги.", "Никто не знает, куда пошли дети после школы."],
    "ko": ["오늘 아침은 추워서 우리는 집에서 책을 읽었습니다.", "아이들이 학교가 끝난 뒤 어디로 갔는지 아무도 모릅니다."],
    "ja": ["今朝は寒かったので、私たちは家で本を読みました。", "子どもたちが放課後どこへ行ったのか誰も知りません。"],
    "ar": ["كان الطقس باردا هذا الصباح لذلك بقينا في البيت نقرأ كتبنا.", "لا أحد يعرف إلى أين ذهب الأطفال بعد المدرسة."],
    "hi": ["आज सुबह ठंड थी इसलिए हम घर पर रहे और किताबें पढ़ते रहे।", "किसी को नहीं पता कि बच्चे स्कूल के बाद कहाँ गए।"],
    "th": ["เช้านี้อากาศหนาวเราจึงอยู่บ้านอ่านหนังสือ", "ไม่มีใครรู้ว่าเด็กๆไปไหนหลังเลิกเรียน"],
    "fi": ["Tänä aamuna oli kylmä, joten jäimme kotiin lukemaan kirjojamme.", "Kukaan ei tiedä, minne lapset menivät koulun jälkeen."],
    "vi": ["Sáng nay trời lạnh nên chúng tôi ở nhà đọc sách.", "Không ai biết bọn trẻ đã đi đâu sau giờ học."],
}


# What a kind looks for, so that it is met often enough.
OFTEN = {"title": lambda m: f"{m.words(0, 2)} <<{m.random.choice(['', ' ', '<', m.words(1, 2)])}>> {m.words(0, 2)}",
         "two_responses": lambda m: "******".join([m.words(0, 2), m.words(1, 2), "", " "][m.few(3)] for _ in range(2 + m.few(1))),
         "postscript": lambda m: f"{m.words(1, 3)}\n{m.random.choice(['P.S.', 'P. S.', 'p.p.s', 'P.P.S.', 'PS', 'Section'])}{m.random.choice(['', ' ', ' so'])}",
         "json_format": lambda m: m.json_text(), "paragraph_count": lambda m: "* * *".join(m.words(m.few(1), 2) for _ in range(1 + m.few(2))),
         "quotation": lambda m: m.random.choice(['"{}"', ' "{}"\n', '"{}', '{}"', '"', "'{}'"]).replace("{}", m.words()),
         "constrained_response": lambda m: m.words(0, 1) + " " + m.random.choice(oracle.OPTIONS), "number_paragraphs": lambda m: m.random.choice(["", "a", "***"]) + "***b"}


class Maker:
    """Random responses, and arguments that about half of them meet."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def few(self, most):
        return self.random.randrange(most + 1)

    def words(self, least=0, most=12):
        return " ".join(self.random.choices(WORDS, k=self.random.randint(least, most)))

    def prose(self):
        ends = [". ", "! ", "? ", "... ", ", ", ".\n", " ", " Dr. Who ", '." ', ".\n\n"]
        return "".join(self.words(1, 8) + self.random.choice(ends) for _ in range(self.random.randint(1, 6)))

    def markdown(self):
        marks = [lambda: f"* {self.words(1, 3)}\n", lambda: f"- {self.words(1, 3)}\n", lambda: f"**{self.words(0, 2)}**", lambda: f"*{self.words(0, 2)}* ",
                 lambda: f"<<{self.words(0, 2)}>>\n", lambda: f"[{self.words(0, 2)}] ", lambda: "[open ", lambda: "***", lambda: "\n* * *\n",
                 lambda: "******", lambda: f"\nSection {self.random.choice('0123456789①٣½')}\n", lambda: " SECTION 1 ", lambda: "a Section of it ", lambda: "\n\n",
                 lambda: f"P.S. {self.words(0, 2)}", lambda: "P. P. S ", lambda: self.words(1, 5), lambda: self.words(1, 5) + ". ",
                 lambda: " \t", lambda: "--", lambda: "…"]
        return "".join(self.random.choice(marks)() for _ in range(self.random.randint(0, 8)))

    def json_text(self):
        texts = [lambda: json.dumps({self.words(1, 1): self.few(9)}), lambda: "[1, 2,]", lambda: "{'a': 1}", lambda: json.dumps(self.words()),
                 lambda: "[[1], {}]", lambda: '{"a": 1} and more', lambda: "null", lambda: '[1e400, "\\ud800"]', lambda: "\ufeff{}", lambda: "[NaN]", lambda: "[01]"]
        fence = self.random.choice([("", ""), ("```json\n", "\n```"), ("```", "```"), ("  \n", "\n")])
        return fence[0] + self.random.choice(texts)() + fence[1]

    def text(self, wanted):
        often = [make for name, make in OFTEN.items() if wanted.endswith(name)]
        if often and self.few(1):
            return often[0](self)
        kind = self.random.randrange(10)
        text = self.prose() if kind < 4 else self.markdown() if kind < 8 else self.json_text() if kind < 9 else self.random.choice(oracle.OPTIONS)
        shape = self.random.randrange(10)
        return [text.upper(), text.lower(), f'"{text}"', f'\n"{text}" ', f"{text} \n", f"{text}\n{self.words(1, 3)}", "", text, text, text][shape]

    def foreign_text(self):
        language = self.random.choice(list(LANGUAGES) + ["en"] * 8)
        text = oracle.Text(self.random.choice([str, str.upper, str.lower, str.lower])(" ".join(self.random.sample(LANGUAGES[language], 2))))
        text.language = language
        return text

    def near(self, count):
        return max(0, count + self.random.randint(-2, 2))

    def arguments(self, t, relations):
        """Values for every argument of every kind; a kind takes its own."""
        pick, tokens = self.random.choice, t.split() or ["x"]
        counts = [len(t.split()), len(re.findall(r"\w+", t)), oracle.sentences(t), oracle.bullets(t), oracle.highlights(t),
                  oracle.capital_words(t), t.count("e"), t.lower().count("the"), t.count("***") + 1, t.count("* * *") + 1, len(t.split("\n\n"))]
        few_words = [pick(tokens).strip(".,!?") or "x" for _ in range(self.random.randint(1, 2))]
        some = pick([few_words, self.random.sample(WORDS, 2)])
        number, paragraphs = self.near(pick(counts)), max(1, self.near(len(t.split("\n\n"))))
        return dict(number=number, words=some, word=pick(some + ["the", "art"]), letter=pick("eETa"), relation=pick(relations),
                    paragraphs=paragraphs, nth=self.random.randint(1, paragraphs), marker=pick(["P.S.", "P.P.S", "Section", "the end"]),
                    splitter=pick(["Section", "SECTION"]), phrase=pick([t.strip()[-5:], "Any other questions?", pick(tokens)]).strip() or "x",
                    beginning=pick([t[:6], "Say this."]).strip() or "x", language=pick([getattr(t, "language", "en"), "fr"]),
                    options=[pick([t.strip(), "yes", "no"]) or "yes", "maybe"])


TAKES = {  # own key -> name in Maker.arguments
    "keywords:existence": {"keywords": "words"}, "keywords:frequency": {"keyword": "word", "frequency": "few", "relation": "relation"},
    "keywords:forbidden_words": {"forbidden_words": "words"}, "keywords:letter_frequency": {"letter": "letter", "let_frequency": "letters", "let_relation": "relation"},
    "language:response_language": {"language": "language"}, "length_constraints:number_sentences": {"num_sentences": "sentences", "relation": "relation"},
    "length_constraints:number_paragraphs": {"num_paragraphs": "divided"}, "length_constraints:number_words": {"num_words": "tokens", "relation": "relation"},
    "length_constraints:nth_paragraph_first_word": {"num_paragraphs": "paragraphs", "nth_paragraph": "nth", "first_word": "start"},
    "detectable_content:number_placeholders": {"num_placeholders": "small"}, "detectable_content:postscript": {"postscript_marker": "marker"},
    "detectable_format:number_bullet_lists": {"num_bullets": "small"}, "detectable_format:number_highlighted_sections": {"num_highlights": "small"},
    "detectable_format:multiple_sections": {"section_spliter": "splitter", "num_sections": "small"}, "combination:repeat_prompt": {"prompt_to_repeat": "beginning"},
    "startend:end_checker": {"end_phrase": "phrase"}, "change_case:capital_word_frequency": {"capital_frequency": "capitals", "capital_relation": "relation"},
    "verify_keywords": {"keyword_list": "words"}, "verify_keyword_frequency": {"word": "word", "N": "few"}, "validate_forbidden_words": {"forbidden_words": "words"},
    "verify_letter_frequency": {"letter": "letter", "N": "letters"}, "validate_response_language": {"language": "language"}, "verify_paragraph_count": {"N": "divided"},
    "validate_word_constraint": {"N": "split", "quantifier": "relation"}, "verify_sentence_constraint": {"N": "sentences", "quantifier": "relation"},
    "validate_paragraphs": {"N": "paragraphs", "i": "nth", "first_word": "start"}, "verify_postscript": {"postscript_marker": "marker"},
    "validate_placeholders": {"N": "small"}, "verify_bullet_points": {"N": "small"}, "validate_choice": {"options": "options"},
    "validate_highlighted_sections": {"N": "small"}, "validate_sections": {"section_splitter": "splitter", "N": "small"},
    "validate_repeat_prompt": {"original_prompt": "beginning"}, "validate_frequency_capital_words": {"N": "capitals", "quantifier": "relation"},
    "validate_end": {"end_phrase": "phrase"},
}
EXACT = {"few": lambda m, t: m.few(2), "small": lambda m, t: m.few(3), "letters": lambda m, t: m.near(t.lower().count("e")),
         "sentences": lambda m, t: m.near(oracle.sentences(t)), "tokens": lambda m, t: m.near(len(re.findall(r"\w+", t))),
         "split": lambda m, t: m.near(len(t.split())), "capitals": lambda m, t: m.near(oracle.capital_words(t)),
         "divided": lambda m, t: m.random.randint(1, 3),
         "start": lambda m, t: m.random.choice([m.random.choice(t.split("\n\n")).strip(" \n\t'\"*").split(" ")[0].strip().rstrip(".,!?:;") or "x", "the"])}


def cases(style, checks, relations):
    maker = Maker(style)
    for number in range(CASES):
        kind = list(checks)[number % len(checks)]
        text = maker.foreign_text() if kind in oracle.LANGUAGE else oracle.Text(maker.text(kind))
        values = maker.arguments(text, relations)
        args = {key: EXACT[name](maker, text) if name in EXACT else values[name] for key, name in TAKES.get(kind, {}).items()}
        yield kind, text, args


def row_of(style, kind, text, args):
    row = {"response": maybe_thinking(text), "prompt": "p", "tag": "ifeval"}
    if style == "ifeval":
        return row | {"instruction_id_list": [kind], "kwargs": [args]}
    truth = {"func_name": kind, "N": None, "quantifier": None} | args
    return row | {"ground_truth": truth if len(text) % 3 == 0 else json.dumps(truth)}


def maybe_thinking(text):
    """Half of the responses think first, which is not looked at."""
    return f"<think>, ! *\n</think>\n\n{text}" if len(text) % 2 and not text.startswith("\n") else str(text)


def score(rows, *flags):
    run = subprocess.run([BINARY, "score", "--reward", "ifeval", *flags], input="".join(json.dumps(r) + "\n" for r in rows),
                         capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def compare(style, checks, relations, strict):
    made = list(cases(style, checks, relations))
    results = score([row_of(style, *case) for case in made], *([] if strict else ["--strict=false"]))
    table, wrong = {}, 0
    for (kind, text, args), result in zip(made, results):
        wanted = oracle.follows(checks[kind], text, args, strict)
        seen = result["detail"].get("followed")
        line = table.setdefault(kind, [0, 0, 0])
        line[0] += 1
        line[1] += wanted
        if seen == [wanted]:
            continue
        line[2] += 1
        wrong += 1
        if kind not in oracle.LANGUAGE | oracle.SENTENCES or line[2] == 1:
            print(f"{kind} {args}: {'follows' if wanted else 'does not follow'}, said {result}: {text!r}")
    for kind, (count, followed, unlike) in table.items():
        share = 1 - unlike / count
        least = 0.97 if kind in oracle.LANGUAGE | oracle.SENTENCES else 1
        expect(share >= least, f"{style} strict={strict} {kind}: {unlike} of {count} verdicts differ")
        expect(0 < followed < count or CASES < 1000, f"{style} {kind}: {followed} of {count} follow, so that one verdict is never seen")
    print(f"{style}, strict={strict}: {len(made)} cases, {sum(line[1] for line in table.values())} follow, {wrong} verdicts differ")
    expect(wrong <= 0.01 * len(made), f"{style}: {wrong} verdicts differ")


def check_allenai():
    """AllenAI's rows, as JSON and as Python writes them: IFEval's instructions have the verdicts of IFEval's rows, the others those of AllenAI's own code
    (tests/oracles/make_golden_instructions.py); of those that need sentences or words, 97 %."""
    rows = [row_of("ifeval", *case) for case in cases("ifeval", oracle.IFEVAL, ["less than", "at least"])][::10]
    pairs = [(rows[i], rows[i + 1]) for i in range(0, len(rows) - 1, 2)]
    listed = lambda write: [dict(response=a["response"], ground_truth=write([dict(instruction_id=a["instruction_id_list"] + b["instruction_id_list"], kwargs=a["kwargs"] + b["kwargs"])]))
                            for a, b in pairs]
    alone = lambda which: [result["detail"]["followed"][0] for result in score([dict(pair[which], response=pair[0]["response"]) for pair in pairs])]
    for write in (json.dumps, repr):
        followed = [result["detail"].get("followed") for result in score(listed(write))]
        expect(followed == [list(both) for both in zip(alone(0), alone(1))], f"{write}: lists of two instructions have the verdicts of each")
    golden = json.loads((pathlib.Path(__file__).resolve().parents[1] / "golden/reward/allenai_instructions.json").read_text())
    results = score([dict(response=case["text"], ground_truth=repr([dict(instruction_id=[case["kind"]], kwargs=[case["kwargs"] or None])])) for case in golden])
    wrong = [(case, result) for case, result in zip(golden, results) if result["detail"].get("followed") != [case["follows"]]]
    loose = ("sentence_hyphens", "word_sent", "counting_composition", "count_unique", "specific_position", "start_end")
    for case, result in wrong:
        print(f"{case}: said {result}")
    exact = [case for case, _ in wrong if not any(part in case["kind"] for part in loose)]
    expect(not exact and len(wrong) <= 0.03 * len(golden), f"AllenAI's: {len(wrong)} of {len(golden)} verdicts differ, {len(exact)} of those that need no sentences")
    unknown = score([dict(response="x", ground_truth='[{"instruction_id": ["new:galaxy"], "kwargs": [null]}]')])[0]
    expect("unknown instruction" in unknown["detail"]["error"], unknown)


def check_ifbench():
    """IFBench's instructions have the verdicts of its own code (tests/oracles/make_golden_ifbench.py), all but one in a hundred of those that need sentences or words; the three that need a model or a dictionary are
    refused by name, and the arguments of a real row, null where a kind takes none, are read."""
    golden = json.loads((pathlib.Path(__file__).resolve().parents[1] / "golden/reward/ifbench.json").read_text())
    results = score([dict(response=case["text"], instruction_id_list=[case["kind"]], kwargs=[dict(num_words=None, relation=None) | case["kwargs"]]) for case in golden])
    wrong = [(case, result) for case, result in zip(golden, results) if result["detail"].get("followed") != [case["follows"]]]
    for case, result in wrong:
        print(f"{case}: said {result}")
    loose = ("sentence", "last_first", "specific_position", "words_position", "pronouns", "title_case", "no_bullets_bullets")
    exact = [case for case, _ in wrong if not any(part in case["kind"] for part in loose)]
    expect(not exact and len(wrong) <= 0.012 * len(golden), f"IFBench's: {len(wrong)} of {len(golden)} verdicts differ, {len(exact)} of those that need no sentences")
    for kind, needed in (("words:start_verb", "parts of speech"), ("words:odd_even_syllables", "dictionary of syllables"), ("format:emoji", "table of emojis")):
        error = score([dict(response="x", instruction_id_list=[kind], kwargs=[{}])])[0]["detail"]["error"]
        expect(f'instruction_id_list[0] = "{kind}": its check needs' in error and needed in error, error)
    for kind, kwargs, said in (("count:numbers", {"N": None}, "N = null: must be a whole number"), ("sentence:keyword", {"word": "cat", "N": 0}, "N = 0: must be at least 1")):
        error = score([dict(response="x", instruction_id_list=[kind], kwargs=[kwargs])])[0]["detail"]["error"]
        expect(f"kwargs[0]: {kind}: {said}" in error, error)


check_allenai()
check_ifbench()
for strict in (True, False):
    compare("ifeval", oracle.IFEVAL, ["less than", "at least"], strict)
    compare("roll", oracle.ROLL, ["at least", "at most", "around"], strict)
finish("ifeval")
