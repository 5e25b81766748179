#!/usr/bin/env python3
"""`roll tokenize` against Hugging Face tokenizers: tokenizer_hf_test.py ROLL [STRINGS PER TOKENIZER]

Trains a Qwen2-style, a Llama-3-style and a GPT-2-style tokenizer, encodes and decodes the same random and multilingual
strings with both, and shows the first difference as small as it can be made.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    from tokenizer_corpus import TOKENIZERS, random_strings
except ImportError as e:
    print(f"skipped: {e}; ROLL_PYTHON names a Python with tests/requirements.txt")
    sys.exit(77)


def roll(binary, folder, texts, *flags):
    lines = "".join(json.dumps({"text": t}) + "\n" for t in texts)
    done = subprocess.run([binary, "tokenize", "--model", folder, *flags], input=lines.encode(), capture_output=True)
    if done.returncode != 0:
        sys.exit(f"roll tokenize failed ({done.returncode}): {done.stderr.decode()}")
    return [json.loads(line) for line in done.stdout.split(b"\n") if line]


def hf(tokenizer, texts):
    ids = [e.ids for e in tokenizer.encode_batch(texts)]
    return [{"ids": i, "text": tokenizer.decode(i, skip_special_tokens=False)} for i in ids]


def shortest_difference(text, differs):
    """Drops pieces of `text` while the two still differ."""
    size = max(1, len(text) // 2)
    while True:
        for start in range(0, len(text), size):
            shorter = text[:start] + text[start + size:]
            if differs(shorter):
                text = shorter
                break
        else:
            if size == 1:
                return text
            size //= 2


def compare(binary, name, tokenizer, texts, flags, wanted):
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(str(pathlib.Path(folder) / "tokenizer.json"))
        got = roll(binary, folder, texts, *flags)
        if len(got) != len(texts):
            sys.exit(f"{name}: {len(texts)} strings in, {len(got)} lines out")
        num_ids = 0
        for text, ours, theirs in zip(texts, got, wanted(texts)):
            num_ids += len(ours["ids"])
            if ours == theirs:
                continue
            small = shortest_difference(text, lambda t: roll(binary, folder, [t], *flags) != wanted([t]))
            ours, theirs = roll(binary, folder, [small], *flags)[0], wanted([small])[0]
            sys.exit(f"{name}: differs on {ascii(small)}\n  roll {ours['ids']} {ascii(ours['text'])}\n"
                     f"  HF   {theirs['ids']} {ascii(theirs['text'])}")
    print(f"{name}: {len(texts)} strings, {sum(map(len, texts))} characters, {num_ids} ids: equal ids and decoded text", flush=True)


def main():
    binary, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    texts = random_strings(count)
    few = texts[:max(200, count // 20)]
    for name, make in TOKENIZERS.items():
        tokenizer = make()
        compare(binary, name, tokenizer, texts, [], lambda t: hf(tokenizer, t))
        tokenizer.encode_special_tokens = True
        compare(binary, name + " --no-special", tokenizer, few, ["--no-special"], lambda t: hf(tokenizer, t))


if __name__ == "__main__":
    main()
