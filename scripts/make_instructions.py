#!/usr/bin/env python3
"""Writes rows of instructions that a program can check (ROLL's JSON-lines columns, reward type ifeval): short requests of
eleven kinds, that a tiny model can learn to follow.

train.jsonl    requests to train on by reinforcement
heldout.jsonl  other requests of the same kinds, for the validation
sft.jsonl      some of the training requests, each several times with a response, of which one follows the instruction

Its ground_truth is the JSON of {"func_name": ..., arguments, and null for those of other functions}, as in ROLL's rows; with
--format ifeval, rows have instruction_id_list and kwargs instead, as in IFEval's. All depends on --seed alone, on every machine.
"""
import argparse
import hashlib
import json
import pathlib

import data_rows

WORDS = ["cat", "dog", "sun", "sea", "tree", "bird", "red", "star", "moon", "fish", "rain", "milk", "gold", "hill", "lamp", "ship"]
# Of every function, in the order in which ROLL's rows have them.
ARGUMENTS = ["N", "quantifier", "end_phrase", "keyword_list", "word", "forbidden_words", "letter", "i", "first_word",
             "postscript_marker", "options", "section_splitter", "original_prompt", "language"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the three files")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--format", choices=["roll", "ifeval"], default="roll", help="columns of the instructions (default %(default)s)")
    parser.add_argument("--heldout", type=int, default=100, help="held-out requests (default %(default)s)")
    parser.add_argument("--sft", type=int, default=200, help="requests of sft.jsonl (default %(default)s)")
    parser.add_argument("--careless", type=int, default=2, help="responses that do not follow, beside each that does (default %(default)s)")
    return parser.parse_args()


def request(prompt, func_name, arguments, instruction, kwargs, right, wrong):
    return {"prompt": prompt, "roll": {"func_name": func_name, **arguments}, "ifeval": (instruction, kwargs), "right": right, "wrong": wrong}


def requests_of(a, b):
    """One request of each kind about two words."""
    pair = f"{a} {b}"
    for word, other in ((a, b), (b, a)):
        yield request(f"Shout {word}!", "validate_uppercase", {}, "change_case:english_capital", {}, word.upper(), word)
        yield request(f"Quote {word}.", "validate_quotation", {}, "startend:quotation", {}, f'"{word}"', word)
        yield request(f"A title on {word}.", "validate_title", {}, "detectable_format:title", {}, f"<<{word}>>", word)
        yield request(f"A gap for {word}.", "validate_placeholders", {"N": 1}, "detectable_content:number_placeholders",
                      {"num_placeholders": 1}, f"[{word}]", word)
        yield request(f"Say any but {word}.", "validate_forbidden_words", {"forbidden_words": [word]}, "keywords:forbidden_words",
                      {"forbidden_words": [word]}, other, word)
    yield request(f"Use {a} and {b}.", "verify_keywords", {"keyword_list": [a, b]}, "keywords:existence", {"keywords": [a, b]}, pair, b)
    yield request(f"List {a}, {b}.", "verify_bullet_points", {"N": 2}, "detectable_format:number_bullet_lists", {"num_bullets": 2},
                  f"* {a}\n* {b}", pair)
    yield request(f"{a}, then {b}.", "validate_end", {"end_phrase": b}, "startend:end_checker", {"end_phrase": b}, pair, f"{b} {a}")
    yield request(f"{a} or {b}: both.", "validate_two_responses", {}, "combination:two_responses", {}, f"{a}******{b}", pair)
    yield request(f"3 words on {a}, {b}.", "validate_word_constraint", {"N": 3, "quantifier": "at least"},
                  "length_constraints:number_words", {"num_words": 3, "relation": "at least"}, f"{pair} {a}", pair)
    yield request(f"No comma: {a}, {b}.", "validate_no_commas", {}, "punctuation:no_comma", {}, pair, f"{a}, {b}")


def all_requests(seed):
    """In an order that the seed decides, on every machine; each prompt once."""
    every = {r["prompt"]: r for i, a in enumerate(WORDS) for b in WORDS[i + 1 :] for r in requests_of(a, b)}
    return sorted(every.values(), key=lambda r: hashlib.sha256(f"{seed} {r['prompt']}".encode()).digest())


def row(number, wanted, split, style):
    roll = {"func_name": wanted["roll"]["func_name"], **{key: wanted["roll"].get(key) for key in ARGUMENTS}}
    shared = data_rows.row(f"{split}-{number}", "instructions", wanted["prompt"], json.dumps(roll), "ifeval")
    if style == "roll":
        return shared
    instruction, kwargs = wanted["ifeval"]
    return shared | {"ground_truth": "", "instruction_id_list": [instruction], "kwargs": [kwargs]}


def sft_rows(number, wanted, num_careless, style):
    responses = [wanted["right"]] + num_careless * [wanted["wrong"]]
    return [row(f"{number}-{i}", wanted, "sft", style) | {"response": response} for i, response in enumerate(responses)]


def main():
    arguments = parse_arguments()
    style, shuffled = arguments.format, all_requests(arguments.seed)
    heldout, train = shuffled[: arguments.heldout], shuffled[arguments.heldout :]
    arguments.out.mkdir(parents=True, exist_ok=True)
    data_rows.write(arguments.out / "train.jsonl", [row(i, r, "train", style) for i, r in enumerate(train)])
    data_rows.write(arguments.out / "heldout.jsonl", [row(i, r, "heldout", style) for i, r in enumerate(heldout)])
    data_rows.write(arguments.out / "sft.jsonl", [line for i, r in enumerate(train[: arguments.sft])
                                        for line in sft_rows(i, r, arguments.careless, style)])


if __name__ == "__main__":
    main()
