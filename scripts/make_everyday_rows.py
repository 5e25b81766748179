#!/usr/bin/env python3
"""Writes rows of everyday instructions that a program can check (reward type ifeval, IFEval's columns), for a pretrained
chat model: ten kinds of form ("Write everything in lowercase."), each with a length that asks for substance and the topic's name.

train.jsonl    40 topics, to train on
tune.jsonl     10 other topics, to choose settings by
heldout.jsonl  10 further topics, for the result; no step and no setting has seen them

Each topic is asked about in two ways. All depends on --seed alone, on every machine.
"""
import argparse
import hashlib
import pathlib

import data_rows

TOPICS = """apples bees bicycles birds boats bread bridges beetles candles castles cats cheese chess clouds coffee
dogs dolphins dreams drums eggs farms fish flowers forests friends frogs gardens goats gold guitars hats honey horses houses
islands kites lakes lemons letters lions maps markets milk mirrors mountains music owls paper penguins pianos rain rivers
roses sheep ships snow spiders stars tea trains""".split()
QUESTIONS = ["Describe {}.", "Tell me something interesting about {}."]
NUM_TUNE = NUM_HELDOUT = 10
MIN_WORDS = 20


# The instruction, its name in IFEval and its arguments.
KINDS = [
    ("Write fewer than 40 words.", "length_constraints:number_words", {"num_words": 40, "relation": "less than"}),
    ("Write at least four sentences.", "length_constraints:number_sentences", {"num_sentences": 4, "relation": "at least"}),
    ("Begin with a title wrapped in double angular brackets, such as <<My Title>>.", "detectable_format:title", {}),
    ("Write a list of exactly 3 bullet points, each beginning with *.", "detectable_format:number_bullet_lists", {"num_bullets": 3}),
    ("Use the words blue and morning.", "keywords:existence", {"keywords": ["blue", "morning"]}),
    ("At the end, add a note that begins with P.S.", "detectable_content:postscript", {"postscript_marker": "P.S."}),
    ("Highlight two words with stars, like *this*.", "detectable_format:number_highlighted_sections", {"num_highlights": 2}),
    ("Answer in at most two sentences.", "length_constraints:number_sentences", {"num_sentences": 3, "relation": "less than"}),
    ("Do not use the words very and they.", "keywords:forbidden_words", {"forbidden_words": ["very", "they"]}),
    ("Leave one placeholder in square brackets, such as [name].", "detectable_content:number_placeholders", {"num_placeholders": 1}),
]


def rows(split, topics):
    for topic in topics:
        for question in QUESTIONS:
            for number, (words, name, arguments) in enumerate(KINDS):
                prompt = f"{question.format(topic)} Write at least {MIN_WORDS} words. {words}"
                kind = name.partition(":")[2] + ("" if arguments.get("relation") != "at least" else "_at_least")
                row = data_rows.row(f"{split}-{topic}-{QUESTIONS.index(question)}-{number}", "everyday", prompt, "", kind, "everyday")
                yield row | {"instruction_id_list": [name, "length_constraints:number_words", "keywords:existence"],
                             "kwargs": [arguments, {"num_words": MIN_WORDS, "relation": "at least"}, {"keywords": [topic.removesuffix("s")]}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the three files")
    parser.add_argument("--seed", type=int, default=42, help="decides which topics are held out (default %(default)s)")
    arguments = parser.parse_args()
    topics = sorted(TOPICS, key=lambda topic: hashlib.sha256(f"{arguments.seed} {topic}".encode()).digest())
    arguments.out.mkdir(parents=True, exist_ok=True)
    splits = {"heldout": topics[:NUM_HELDOUT], "tune": topics[NUM_HELDOUT:NUM_HELDOUT + NUM_TUNE], "train": topics[NUM_HELDOUT + NUM_TUNE:]}
    for split, chosen in splits.items():
        data_rows.write(arguments.out / f"{split}.jsonl", list(rows(split, chosen)))


if __name__ == "__main__":
    main()
