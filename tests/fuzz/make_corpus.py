#!/usr/bin/env python3
"""Writes what the fuzzers begin with, FOLDER/<fuzzer>/..., and a dictionary for each: from the repository's own examples.

    make_corpus.py FOLDER
"""
import hashlib
import json
import pathlib
import re
import struct
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/cli"))
from case_files import content_bytes  # noqa: E402

WORDS = {
    "yaml": ["${", "}", "${oc.env:", "<<: *", "&a ", "*a", "!!str ", "- ", "? ", ": ", "|\n", ">-\n", "---\n", "{", "[", "~"],
    "json": ["{", "}", "[", "]", "\"", ":", ",", "null", "true", "1e999", "\\ud800", "\\u0000", "-", "18446744073709551616",
             "\"model_type\":\"qwen2\"", "\"messages\":", "\"role\":", "\"content\":", "\"rope_scaling\":"],
    "safetensors": ["\"dtype\":\"F32\"", "\"BF16\"", "\"shape\":[", "\"data_offsets\":[", "__metadata__", "18446744073709551615"],
    "gguf": ["GGUF", "general.architecture", "general.alignment", "llama", "qwen3moe", "gemma3", "phi3", "tokenizer.ggml.tokens", "tokenizer.ggml.scores",
             "blk.0.attn_q.weight", "blk.0.ffn_up_exps.weight", "rope_freqs.weight", "token_embd.weight", "\x09\x00\x00\x00", "\x08\x00\x00\x00"],
    "tokenizer": ["\"type\":\"Sequence\"", "\"Replace\"", "\"pattern\":{\"Regex\":\"", "\"String\":\"", "\"NFKC\"", "\"Split\"",
                  "\"ByteLevel\"", "\"Digits\"", "\"merges\":[", "\"added_tokens\":[", "\"lstrip\":true", "(?i:", "\\\\p{L}+", "(?!",
                  "\"TemplateProcessing\"", "\"behavior\":\"MergedWithNext\"", "\"ignore_merges\":true", "\"unk_token\":\""],
    "template": ["{%", "%}", "{{", "}}", "{%-", "-%}", " for ", " in ", " if ", "endfor", "endif", " set ", "macro", "namespace(",
                 "loop.", "|tojson", "|join", "|map(", "|sort", "|unique", "|select(", ".split(", ".rsplit(", "range(", "[::-1]",
                 " is ", " not ", "**", "//", "~", "|indent(", "|replace(", "messages", "raise_exception(", "{#", "#}", "raw"],
    "answer": ["\\frac{", "\\sqrt[", "\\boxed{", "\\left(", "\\right]", "\\begin{pmatrix}", "\\end{pmatrix}", "^{", "_{", "\\cup",
               "\\infty", "\\text{", "\\log_", "\\binom", "!!", "\\pmod{", "\\in", "10^{10^{10}}", "\\%", "\\circ", "\\pm", "\\\\[4", "answer is"],
    "reply": ["\"id\":1", "\"reward\":", "\"detail\":", "{", "}", "[", "null", "NaN", "1e999", "\\ud800"],
    "judge": ["\"choices\":[{", "\"message\":{", "\"content\":", "\"error\":", "\"usage\":{\"total_tokens\":", "\"refusal\":", "\"finish_reason\":\"length\"",
              "Score: ", "score=", "/10", " out of ", "YES", "NO", "</think>", "<think>", "**", "1e999"],
    "convert": ["script\n", "yaml\n", "python\n", "readme\n", "GRPOConfig(", "source x", "case", "esac", "done", "<<E\n", "$((", "actor_rollout_ref.", "algorithm.", "data.", "--", "=", "${", "}", "$(", "\\\n", "'", "\"", "[", "null",
                "True", "1e-6", "99999999999999999999", "algorithm.adv_estimator=", "--rollout-batch-size", "num_generations: "],
    "message": ["STRT", "STAT", "NEWS", "GRUP", "STOP", "MORE", "LENG", "FACT", "ROLL", "SHOW", "PACK", "CONV", "SCOR", "JUDG", "SAID", "FRST", "null", "{}"],
    "hosts": ["slots=", "max_slots=", "max-slots=", "#", "65536", "node1", " "],
}


def case_files():
    """(path, bytes, standard input) of every file of every case of run_broken.py."""
    for file in sorted((SOURCE / "tests/cli/cases").glob("*.json")):
        cases = json.loads(file.read_text())
        for case in cases["cases"]:
            for name, content in {**cases["base"], **case.get("files", {})}.items():
                is_file = content is not None and not (isinstance(content, dict) and content.keys() & {"folder", "link"})
                if is_file and (isinstance(content, str) or content.get("times", content.get("nested", 1)) < 1000):
                    yield name, content_bytes(name, content, cases["base"]), case.get("stdin", "").encode()


def template_sources():
    text = (SOURCE / "lib/text/builtin_templates.cpp").read_text() + (SOURCE / "tests/jinja/template_test.cpp").read_text()
    yield from re.findall(r'R"\w*\((.*?)\)\w*"', text, re.S)
    yield from re.findall(r'"((?:[^"\\\n]|\\.)*[{][{%](?:[^"\\\n]|\\.)*)"', text)


def gguf_file(kind, block_bytes, width):
    """A llama of one layer, whose embedding is of a number format, with a tokenizer of three tokens."""
    def text(word):
        return struct.pack("<Q", len(word)) + word.encode()

    def texts(*words):
        return struct.pack("<IIQ", 9, 8, len(words)) + b"".join(map(text, words))

    sizes = dict(block_count=1, context_length=64, embedding_length=width, feed_forward_length=4, **{"attention.head_count": 2})
    keys = [text("general.architecture") + struct.pack("<I", 8) + text("llama")]
    keys += [text(f"llama.{name}") + struct.pack("<II", 4, value) for name, value in sizes.items()]
    keys += [text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-5)]
    keys += [text(f"tokenizer.ggml.{name}") + struct.pack("<I", 8) + text(word) for name, word in (("model", "llama"), ("pre", "default"))]
    keys += [text("tokenizer.ggml.tokens") + texts("a", "b", "ab", "<s>"), text("tokenizer.ggml.scores") + struct.pack("<IIQ4f", 9, 6, 4, -1, -2, -3, 0),
             text("tokenizer.ggml.token_type") + struct.pack("<IIQ4i", 9, 5, 4, 1, 1, 1, 3), text("tokenizer.chat_template") + struct.pack("<I", 8) + text("{{ a }}")]
    tensor = text("token_embd.weight") + struct.pack("<IQQIQ", 2, width, 4, kind, 0)
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(keys)) + b"".join(keys) + tensor
    return head + bytes(-len(head) % 32) + bytes(range(1, 5)) * block_bytes


def seeds():
    """(fuzzer, bytes) of every seed."""
    for file in sorted((SOURCE / "configs").glob("*.yaml")):
        yield "yaml", b"max_steps=2\n" + file.read_bytes()
    golden = {name: json.loads((SOURCE / f"tests/golden/text/{name}.json").read_text()) for name in ("templates", "tokenizers")}
    for case in golden["templates"]["cases"]:
        yield "template", case["source"].encode()
    for case in golden["tokenizers"]["cases"]:
        yield "tokenizer", b"ab 12\n" + json.dumps(case["tokenizer"]).encode()
    for source in template_sources():
        yield "template", source.encode()
    answers = (SOURCE / "tests/golden/reward/answers.txt").read_text().splitlines()
    for line in answers:
        yield "answer", f"{line}\nso the answer is \\boxed{{{line}}}".encode()
    for reply in ('{"id": 1, "reward": 0.5, "detail": {"a": [1]}}', '{"reward": 1}', '{"id": 2, "reward": 1}', '{"reward": "x"}'):
        yield "reply", reply.encode()
    for said in ("Score: 7", "**Score:** 8/10", "<think>no</think>YES", "NO."):
        yield "judge", said.encode()
        yield "judge", json.dumps(dict(choices=[dict(message=dict(content=said), finish_reason="stop")], usage=dict(total_tokens=3))).encode()
    for file in sorted((SOURCE / "tests/golden/convert").iterdir()):
        if not file.name.endswith(".ours.yaml"):
            yield "convert", (b"script\n" if file.suffix == ".sh" else b"yaml\n") + file.read_bytes()
    # In the order of message_fuzz.cpp; zeros are empty lists and what is not there.
    messages = re.findall(r'kMessage\{"(\w{4})", (\d+)', (SOURCE / "lib/records/messages.h").read_text())
    for pick, (tag, version) in enumerate(messages):
        for num_zeros in range(40):
            yield "message", bytes([ord("a") + pick]) + tag.encode() + int(version).to_bytes(4, "little") + bytes(num_zeros)
    for kind, block_bytes, width in ((0, 128, 32), (2, 18, 32), (7, 24, 32), (8, 34, 32), (10, 84, 256), (11, 110, 256), (13, 176, 256), (14, 210, 256)):
        yield "gguf", gguf_file(kind, block_bytes, width)
    for name, content, stdin in case_files():
        if name.endswith(".yaml"):
            yield "yaml", b"a.b=1\n" + content
        elif name.endswith("tokenizer.json"):
            yield "tokenizer", b"ab cd<|end|> 12 \xc3\xa9\n" + content
        elif name.endswith(".safetensors"):
            yield "safetensors", content
        elif name.startswith("hosts"):
            yield "hosts", content
        elif name.endswith(".jinja"):
            yield "template", content
        elif name.endswith((".json", ".jsonl")):
            yield "json", content
        if stdin:
            yield "json", stdin


def main():
    folder = pathlib.Path(sys.argv[1])
    count = {}
    for fuzzer, content in seeds():
        place = folder / fuzzer
        place.mkdir(parents=True, exist_ok=True)
        (place / hashlib.sha1(content).hexdigest()).write_bytes(content[:60000])
        count[fuzzer] = len(list(place.iterdir()))
    for fuzzer, words in WORDS.items():
        escaped = ["".join(c if c.isalnum() or c in " _-:." else f"\\x{b:02x}" for b in w.encode() for c in [chr(b)]) for w in words]
        (folder / f"{fuzzer}.dict").write_text("".join(f'"{w}"\n' for w in escaped))
    print("seeds:", ", ".join(f"{name} {n}" for name, n in sorted(count.items())))


main()
