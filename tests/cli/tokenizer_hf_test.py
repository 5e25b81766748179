#!/usr/bin/env python3
"""`roll tokenize` against Hugging Face tokenizers: tokenizer_hf_test.py ROLL [STRINGS PER TOKENIZER]

Trains byte-level tokenizers as Qwen2, Llama 3 and GPT-2 have them, and SentencePiece's as Gemma, Llama 2, Phi-3 and Mistral have them,
encodes and decodes the same random and multilingual strings with both, and shows the first difference as small as it can be made.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    from tokenizer_corpus import TOKENIZERS, random_strings, spoken
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


def check_models(binary):
    """A model with such a tokenizer is one that `inspect` takes and `generate` samples from, and its text is HF's."""
    def run(*arguments, text=""):
        done = subprocess.run([binary, *map(str, arguments)], input=text.encode(), capture_output=True)
        if done.returncode != 0:
            sys.exit(f"roll {arguments[0]} failed ({done.returncode}): {done.stderr.decode()}")
        return done.stdout.decode()

    for name in ("gemma", "llama2", "mistral3"):
        tokenizer = TOKENIZERS[name]()
        with tempfile.TemporaryDirectory() as folder:
            tokenizer.save(str(pathlib.Path(folder) / "tokenizer.json"))
            (pathlib.Path(folder) / "tokenizer_config.json").write_text(json.dumps(dict(eos_token="<eos>" if name == "gemma" else "</s>")))
            model = pathlib.Path(folder) / "model"
            run("init-model", "--hidden", 32, "--intermediate", 32, "--layers", 1, "--heads", 2, "--kv-heads", 1, "--tokenizer", folder, "--out", model)
            told = run("inspect", model)
            if f"tokenizer: {tokenizer.get_vocab_size()} tokens; end tokens: " not in told or "chat template: none that can be used" not in told:
                sys.exit(f"{name}: inspect says {told}")
            lines = [json.loads(line) for line in run("generate", "--model", model, "--max-new-tokens", 200, "--samples", 4, "--ignore-eos", text='{"prompt": "The quick"}\n{"ids": [5]}\n').split("\n") if line]
            if lines[0]["prompt_ids"] != tokenizer.encode("The quick").ids or any(line["text"] != tokenizer.decode(line["ids"]) for line in lines):
                sys.exit(f"{name}: generate gives {lines}")
            shown = run("generate", "--model", model, "--max-new-tokens", 200, "--ignore-eos", "--prompt", "The quick", "--seed", 0)
            if shown.rstrip("\n") != json.loads(run("generate", "--model", model, "--max-new-tokens", 200, "--ignore-eos", "--prompt", "The quick", "--seed", 0, "--out", "-"))["text"].rstrip("\n"):
                sys.exit(f"{name}: shown as it is drawn: {shown!r}")
            (model / "tokenizer.json").write_text((model / "tokenizer.json").read_text().replace('"ByteFallback"', '"WordPiece"'))
            done = subprocess.run([binary, "inspect", model], capture_output=True, text=True)
            if done.returncode != 2 or "unsupported decoder" not in done.stderr or "parameters" not in done.stdout:
                sys.exit(f"{name}: inspect of a decoder that nobody knows: {done}")
    print("models with tokenizers of SentencePiece's families are inspected and sampled")


def main():
    binary, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    texts = random_strings(count)
    check_models(binary)
    few = texts[:max(200, count // 20)]
    for name, make in TOKENIZERS.items():
        tokenizer = make()
        compare(binary, name, tokenizer, spoken(name, texts), [], lambda t: hf(tokenizer, t))
        tokenizer.encode_special_tokens = True
        compare(binary, name + " --no-special", tokenizer, spoken(name, few), ["--no-special"], lambda t: hf(tokenizer, t))


if __name__ == "__main__":
    main()
