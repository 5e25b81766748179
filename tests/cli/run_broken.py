#!/usr/bin/env python3
"""Runs broken inputs through the real binary: each must end with its exit code and its message, without a crash or a trace.

    run_broken.py BINARY [-k WORD]          # WORD: only cases whose name holds it

A case file (cases/*.json) is {"base": {name: content}, "cases": [...]}; a case is
    name     what is broken, as words
    files    {path: content}, written to a fresh folder in which the binary runs; they replace those of "base".
             content: a string; {"hex": "00ff"}; {"text": "ab", "times": 1000}; {"nested": 9}: lists in lists; {"folder": true}; {"link": "target"};
             {"copy": "path in the
             source tree"}; {"replace": [old, new], ...}: the base's content with every pair replaced; {"zeros_of": "config.json", "cut": 9}:
             safetensors of a qwen2 of that configuration, without its last 9 bytes; null: no such file;
             {"tokenizer": "text"}: a tokenizer.json of bytes, and one token for that text;
             {"as": "model/config.json"}: the base's file of that name
    args     the command line after the binary (a list, or one string that is split at blanks)
    stdin    text, if any
    env      {NAME: value}, if any
    exit     the exit code; 2 when missing
    message  regular expression (or a list of them) that standard error, or with exit 0 either stream, must hold
    stdout   regular expression that standard output must hold, if any
    timeout  seconds; 60 when missing
"""
import concurrent.futures
import json
import math
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent


def zero_weights(config):
    """Safetensors of a qwen2 with tied embeddings, all zeros."""
    hidden, inner, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    narrow = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    shapes = {"model.embed_tokens.weight": [vocab, hidden], "model.norm.weight": [hidden]}
    for layer in range(config["num_hidden_layers"]):
        rows = {"self_attn.q_proj": hidden, "self_attn.k_proj": narrow, "self_attn.v_proj": narrow}
        parts = {f"{name}.{part}": [size, hidden] if part == "weight" else [size] for name, size in rows.items() for part in ("weight", "bias")}
        parts |= {"self_attn.o_proj.weight": [hidden, hidden], "mlp.gate_proj.weight": [inner, hidden], "mlp.up_proj.weight": [inner, hidden],
                  "mlp.down_proj.weight": [hidden, inner], "input_layernorm.weight": [hidden], "post_attention_layernorm.weight": [hidden]}
        shapes |= {f"model.layers.{layer}.{name}": shape for name, shape in parts.items()}
    header, end = {}, 0
    for name, shape in shapes.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + 2 * math.prod(shape)]}
        end = header[name]["data_offsets"][1]
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


def small_tokenizer(text):
    tokenizer = json.loads((SOURCE / "tests/golden/rollout/model/tokenizer.json").read_text())
    last = tokenizer["added_tokens"][-1]
    tokenizer["added_tokens"].append(last | {"id": last["id"] + 1, "content": text})
    return json.dumps(tokenizer).encode()


def content_bytes(name, content, base):
    if isinstance(content, str):
        return content.encode()
    if "hex" in content:
        return bytes.fromhex(content["hex"])
    if "nested" in content:
        return b"[" * content["nested"] + b"]" * content["nested"]
    if "text" in content:
        return content["text"].encode() * content.get("times", 1)
    if "zeros_of" in content:
        weights = zero_weights(json.loads(base[content["zeros_of"]]))
        return weights[:len(weights) - content.get("cut", 0)]
    if "tokenizer" in content:
        return small_tokenizer(content["tokenizer"])
    if "as" in content:
        return content_bytes(content["as"], base[content["as"]], base)
    if "copy" in content:
        return (SOURCE / content["copy"]).read_bytes()
    text = content_bytes(name, base[name], {}).decode()
    pairs = content["replace"]
    for old, new in zip(pairs[::2], pairs[1::2]):
        if old not in text:
            raise ValueError(f"{name} of the base does not hold {old!r}")
        text = text.replace(old, new)
    return text.encode()


def write_files(folder, files, base):
    for name, content in {**base, **files}.items():
        path = folder / name
        if content is None:
            continue
        if isinstance(content, dict) and content.get("folder"):
            path.mkdir(parents=True)
            continue
        if isinstance(content, dict) and "link" in content:
            path.symlink_to(content["link"])
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content_bytes(name, content, base))


def run_case(binary, case, base):
    """The reasons why the case fails; empty when it passes."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_files(folder, case.get("files", {}), base)
        args = case["args"] if isinstance(case["args"], list) else shlex.split(case["args"])
        env = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HOME": str(folder / "hf"), **case.get("env", {})}
        try:
            done = subprocess.run([binary, *args], cwd=folder, env=env, input=case.get("stdin", "").encode(),
                                  capture_output=True, timeout=case.get("timeout", 60))
        except subprocess.TimeoutExpired:
            return ["did not end"]
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    wanted = case.get("exit", 2)
    reasons = [] if done.returncode == wanted else [f"exit {done.returncode}, not {wanted}"]
    messages = case["message"] if isinstance(case["message"], list) else [case["message"]]
    heard = err if wanted else out + err
    reasons += [f"no match for {m!r}" for m in messages if not re.search(m, heard, re.M)]
    if not re.search(case.get("stdout", ""), out, re.M):
        reasons.append(f"no match on standard output for {case['stdout']!r}: {out[:1500]}")
    reasons += [f"a trace shows: {w}" for w in ("terminate called", "what():", "Traceback", "filesystem error", "[json.exception") if w in err]
    return [*reasons, f"stderr: {err.strip()[:1500]}"] if reasons else []


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    word = sys.argv[sys.argv.index("-k") + 1] if "-k" in sys.argv else ""
    jobs = []
    for file in sorted(HERE.glob("cases/*.json")):
        table = json.loads(file.read_text())
        jobs += [(file.stem, case, table.get("base", {})) for case in table["cases"] if word in case["name"]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda job: run_case(binary, job[1], job[2]), jobs))
    failed = 0
    for (stem, case, _), reasons in zip(jobs, results):
        if reasons:
            failed += 1
            print(f"FAILED {stem}: {case['name']}\n  " + "\n  ".join(reasons))
    print(f"{len(jobs) - failed} of {len(jobs)} broken inputs end as they should")
    sys.exit(failed > 0 or not jobs)


if __name__ == "__main__":
    main()
