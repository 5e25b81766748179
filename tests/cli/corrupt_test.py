#!/usr/bin/env python3
"""Corrupts every kind of input in many ways and gives it to the real binary: each must end with 0, or with 2 and a message
that names the place; never with a crash, after 10 s of processor time, or with 2 GB of memory.

    corrupt_test.py BINARY [KIND [NUMBER]]      # all kinds; one; one corruption of it, whose folder is kept

ROLL_CORRUPTIONS says how many of each kind (40). Corruption i of a kind is always the same. Most keep the form of the input
and change a value, so that they get past the first check.
"""
import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import random
import re
import shlex
import struct
import subprocess
import sys
import tempfile

from case_files import base_files

HERE = pathlib.Path(__file__).resolve().parent
NUMBERS = [0, -1, 1, 2, 7, 1e-300, 1e308, -1e308, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -2**63, 10**30, 0.5, 1e9, 65536]
STRINGS = ["", " ", "\0", "\n", "a" * 5000, "\ud800", "{{ x }}", "${a}", "../..", "/dev/zero", "null", "nan", "-", "é\u202e", "%s%n", "["]
MEMORY = 2 << 30
CPU_S = 10


# ---- corruptions

def nest(value, levels, rng):
    lists = rng.random() < 0.5
    for _ in range(levels):
        value = [value] if lists else {"a": value}
    return value


def other_value(old, rng):
    """A value in place of `old`: mostly of its type."""
    if isinstance(old, (int, float)) and not isinstance(old, bool) and rng.random() < 0.8:
        return rng.choice(NUMBERS + [old + 1, old - 1, -old, old * 2, old * 1000])
    if isinstance(old, str) and rng.random() < 0.7:
        at = rng.randrange(len(old) + 1)
        return rng.choice(STRINGS + [old[:at] + rng.choice(STRINGS) + old[at:], old[:at], old * 2, old[::-1]])
    if isinstance(old, list) and old and rng.random() < 0.7:
        new = copy.deepcopy(old)
        rng.choice([lambda: new.pop(rng.randrange(len(new))), lambda: new.append(copy.deepcopy(rng.choice(new))),
                    lambda: new.reverse(), lambda: new.extend(new * 50), lambda: new.insert(0, None)])()
        return new
    if isinstance(old, bool):
        return rng.choice([not old, None, 0, "true", []])
    return rng.choice([None, True, [], {}, [[]], 0, "x", 1.5, nest(1, rng.choice([3, 50, 150, 190]), rng)])


def paths_of(value, path=()):
    yield path
    for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths_of(child, (*path, key))


def corrupt_value(value, rng):
    """`value` with one or two of its parts changed, removed, doubled or renamed."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice([1, 1, 1, 2])):
        paths = [p for p in paths_of(value) if p]
        if not paths:
            return value
        *parents, last = rng.choice(paths)
        owner = value
        for key in parents:
            owner = owner[key]
        what = rng.random()
        if what < 0.75:
            owner[last] = other_value(owner[last], rng)
        elif what < 0.9:
            del owner[last]
        elif isinstance(owner, dict):
            owner[rng.choice(STRINGS[:4] + [str(last) + "x", str(last).upper()])] = copy.deepcopy(owner[last])
        else:
            owner.insert(0, copy.deepcopy(owner[last]))
    return value


def corrupt_bytes(content, rng):
    content = bytearray(content)
    at = rng.randrange(len(content) + 1)
    what = rng.randrange(7)
    if what == 0:
        content[at:at + 1] = bytes([rng.randrange(256)])
    elif what == 1:
        for _ in range(rng.choice([1, 3, 20])):
            i = rng.randrange(len(content))
            content[i] ^= 1 << rng.randrange(8)
    elif what == 2:
        del content[at:]
    elif what == 3:
        del content[at:at + rng.choice([1, 5, 100])]
    elif what == 4:
        content[at:at] = content[at:at + rng.choice([1, 20, 500])] * rng.choice([1, 2, 100])
    elif what == 5:
        content[at:at] = rng.choice([b"[", b"{\"a\":", b"- ", b"((", b"\\frac{"]) * rng.choice([5, 300, 100000])
    else:  # a number becomes another one
        numbers = [m.span() for m in re.finditer(rb"-?\d+(\.\d+)?(e-?\d+)?", bytes(content))]
        if numbers:
            begin, end = rng.choice(numbers)
            content[begin:end] = str(rng.choice(NUMBERS + ["1e999", "0x10", "1_000", ".nan"])).encode()
    return bytes(content)


def corrupt_json(content, rng, dump=json.dumps):
    if rng.random() < 0.25:
        return corrupt_bytes(content, rng)
    return dump(corrupt_value(json.loads(content), rng)).encode("utf-8", "surrogatepass")


def corrupt_lines(content, rng):
    lines = content.splitlines(keepends=True)
    i = rng.randrange(len(lines))
    lines[i] = corrupt_json(lines[i], rng) + b"\n"
    return b"".join(lines)


def corrupt_text(content, rng):
    """A text of lines with words, such as YAML."""
    if rng.random() < 0.3:
        return corrupt_bytes(content, rng)
    lines = content.decode().split("\n")
    i = rng.randrange(len(lines))
    what = rng.randrange(6)
    if what <= 1 and re.search(r"[:=]", lines[i]):
        key, sign, _ = re.split(r"([:=])", lines[i], maxsplit=1)
        lines[i] = f"{key}{sign} {rng.choice([str(n) for n in NUMBERS] + STRINGS + ['~', '[1, 2]', '{a: 1}', '.inf', '*x', '${max_steps}'])}"
    elif what == 2:
        lines[i] = " " * rng.randrange(5) + lines[i]
    elif what == 3:
        lines.insert(i, lines[rng.randrange(len(lines))])
    elif what == 4:
        lines.pop(i)
    else:
        return corrupt_bytes(content, rng)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def corrupt_safetensors(content, rng):
    size = struct.unpack("<Q", content[:8])[0]
    header, data = content[8:8 + size], content[8 + size:]
    what = rng.random()
    if what < 0.6:
        header = corrupt_json(header, rng)
    elif what < 0.7:
        return struct.pack("<Q", rng.choice([0, 1, size - 1, size + 1, 2**32, 2**63, 2**64 - 1])) + header + data
    elif what < 0.9:
        data = corrupt_bytes(data, rng)
    else:
        return corrupt_bytes(content, rng)
    return struct.pack("<Q", len(header)) + header + data


TEMPLATE = """{%- set ns = namespace(n=2) %}{% for m in messages %}{% if loop.first and m.role == 'user' %}{{ m.content * 3 }}
{%- else %}{{ (m.content | trim).split(' ')[:10] | join('-') }}{% endif %}{% set ns.n = ns.n * 4 + 1 %}{% endfor %}
{%- macro f(x, y=[1, 2]) %}{{ x | tojson(indent=2) }}{{ y | map('string') | list | sort }}{% endmacro %}{{ f(messages, range(20) | list) }}
{{- [1, 2] * 30 }}{{ ('ab' * 40) | length }}{{ 10 ** 3 }}"""
FRAGMENTS = ["* 100000000", "** 9", "| tojson", "| sort", "| unique", "| list", "| sum", "| title", "[::-1]", "{{", "%}", "{% for a in range(100000) %}",
             "{% endfor %}", "(" * 300, "- 1", "| indent(1000)", ".rsplit('a')", "~ messages", "{% raw %}", "messages", "x.y.z"]


def corrupt_template(content, rng):
    if rng.random() < 0.4:
        return corrupt_bytes(content, rng)
    pieces = re.split(r"(\W)", content.decode())
    for _ in range(rng.choice([1, 1, 2, 4])):
        i = rng.randrange(len(pieces))
        if rng.random() < 0.6:
            pieces.insert(i, " " + rng.choice(FRAGMENTS) + " ")
        elif pieces[i].isdigit():
            pieces[i] = str(rng.choice(NUMBERS))
        else:
            pieces[i] = rng.choice(pieces)
    return "".join(pieces).encode()


# ---- kinds of input

def cases_of(name):
    return base_files(json.loads((HERE / f"cases/{name}.json").read_text()))


Kind = collections.namedtuple("Kind", "base inputs")  # files; [(file to corrupt, how, command line)]


ANSWERS = [{"response": r"so the answer is \boxed{\frac{1}{2}+\sqrt{3}^{10}}", "ground_truth": r"\frac{1}{2}+\sqrt{3}^{10}"},
           {"response": r"the answer is $x \in [1, 2) \cup \{3\}$", "ground_truth": r"[1,2)\cup\{3\}", "tag": "a"},
           {"response": r"\boxed{\begin{pmatrix} 1 & 2 \\ 3 & 10^{5} \end{pmatrix}}", "ground_truth": r"\begin{pmatrix}1&2\\3&10^5\end{pmatrix}"}]
VALIDATE = "validate-config --config rlvr.yaml"


def lines_of(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def corrupt_answer(content, rng):
    """LaTeX within its row stays a row."""
    rows = [json.loads(line) for line in content.splitlines()]
    row = rng.choice(rows)
    key = rng.choice(["response", "ground_truth"])
    row[key] = corrupt_bytes(row[key].encode(), rng).decode("utf-8", "replace")
    return lines_of(*rows)


def replay_kind(binary, folder):
    """A run of one step on a model of random weights; its rollouts are what is corrupted."""
    command = ["init-model", "--tokenizer", "builtin", "--hidden", "16", "--intermediate", "32", "--layers", "1", "--heads", "2", "--out", "model"]
    config = (HERE.parent / "cli/cases/data_rows.json").read_text()
    config = json.loads(config)["base"]["rlvr.yaml"].replace("rollout_batch_size: 8", "rollout_batch_size: 2").replace("max_steps: 2", "max_steps: 1")
    config = config.replace("prompt_length: 64", "prompt_length: 400")
    config = config.replace("response_length: 32", "response_length: 8").replace("gradient_accumulation_steps: 2", "gradient_accumulation_steps: 1")
    config = config.replace("num_return_sequences_in_group: 4", "num_return_sequences_in_group: 2") + "save_steps: 0\n"
    (folder / "rlvr.yaml").write_text(config)
    (folder / "rows.jsonl").write_bytes(cases_of("data_rows")["rows.jsonl"] * 2)
    for arguments in (command, ["train", "--config", "rlvr.yaml", "output_dir=first", "--device", "cpu"]):
        done = subprocess.run([binary, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"corrupt_test: {arguments[0]} fails without any corruption:\n{done.stderr[-2000:]}")
    base = {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file() and "checkpoints" not in f.parts}
    rollouts = next(name for name in base if "rollouts" in name and name.endswith(".jsonl"))
    train = f"train --config rlvr.yaml --device cpu output_dir=out rollout_replay={pathlib.Path(rollouts).parent}"
    return Kind(base, [(rollouts, corrupt_lines, train)])


def kinds_of(binary, folder):
    config, rows, models, tokenizer, hosts = (cases_of(n) for n in ("config", "data_rows", "model_folders", "tokenizer", "hosts"))
    texts = lines_of({"text": "ab cd<|end|> 12 é"}, {"messages": [{"role": "user", "content": "ab"}, {"role": "assistant", "content": "cd " * 9}]})
    logprobs = "logprobs --model model --input rows.jsonl"
    tokenize = "tokenize --model model --input texts.jsonl"
    score = "score --reward math_rule --input answers.jsonl"
    tokenizer |= {"texts.jsonl": texts, "model/chat_template.jinja": TEMPLATE.encode()}
    return {
        "yaml": lambda: Kind(config, [("rlvr.yaml", corrupt_text, VALIDATE)]),
        "rows": lambda: Kind(rows | tokenizer | models | {"answers.jsonl": lines_of(*ANSWERS), "rlvr.yaml": rows["rlvr.yaml"], "rows.jsonl": rows["rows.jsonl"] * 3},
                             [("rows.jsonl", corrupt_lines, VALIDATE), ("answers.jsonl", corrupt_lines, score),
                              ("texts.jsonl", corrupt_lines, tokenize)]),
        "latex": lambda: Kind({"answers.jsonl": lines_of(*ANSWERS)}, [("answers.jsonl", corrupt_answer, score)]),
        "model": lambda: Kind(models, [("model/config.json", corrupt_json, logprobs),
                                       ("model/model.safetensors", corrupt_safetensors, logprobs)]),
        "tokenizer": lambda: Kind(tokenizer, [("model/tokenizer.json", corrupt_json, tokenize),
                                              ("model/tokenizer_config.json", corrupt_json, tokenize)]),
        "template": lambda: Kind(tokenizer, [("model/chat_template.jinja", corrupt_template, tokenize)]),
        "hosts": lambda: Kind(hosts, [("hosts", corrupt_text, "train --config rlvr.yaml --hostfile hosts --dry-run")]),
        "replay": lambda: replay_kind(binary, folder),
    }


# ---- running

def run(binary, arguments, folder):
    """Exit code (negative: killed by that signal), standard error, memory."""
    limited = ["sh", "-c", f'ulimit -t {CPU_S}; ulimit -c 0; exec "$0" "$@"', binary, *shlex.split(arguments)]
    with open(folder / ".stderr", "wb") as err:
        child = subprocess.Popen(limited, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
                                 env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HOME": str(folder / "hf")})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, (folder / ".stderr").read_text(errors="replace"), usage.ru_maxrss * 1024


def one(binary, kind, name, number, keep=None):
    """(what is wrong or "", exit code, memory)."""
    rng = random.Random(f"{name} {number}")
    target, corrupt, arguments = kind.inputs[number % len(kind.inputs)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or pathlib.Path(temporary)
        for file, content in kind.base.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(corrupt(content, rng) if file == target else content)
        code, err, memory = run(binary, arguments, folder)
    reasons = []
    if code not in (0, 2):
        reasons.append(f"ended by signal {-code}" if code < 0 else f"exit {code}")
    place = "|".join([*(re.escape(pathlib.Path(file).name) for file in kind.base), r"^roll: [\w.]+ = "])
    if code == 2 and not re.search(place, err, re.M):
        reasons.append("the message names no place")
    reasons += [f"a trace shows: {w}" for w in ("terminate called", "what():", "[json.exception", "filesystem error") if w in err]
    if memory > MEMORY:
        reasons.append(f"took {memory >> 20} MB")
    if keep:
        print(f"{folder}: roll {arguments}\nexit {code}, {memory >> 20} MB\n{err[-2000:]}")
    return "; ".join(reasons) and f"{name} {number}: {'; '.join(reasons)}: {err.strip()[-300:]}", code, memory


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    count = int(os.environ.get("ROLL_CORRUPTIONS", "40"))
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        kinds = kinds_of(binary, pathlib.Path(temporary))
        names = sys.argv[2:3] or list(kinds)
        if len(sys.argv) > 3:
            return one(binary, kinds[names[0]](), names[0], int(sys.argv[3]), pathlib.Path(tempfile.mkdtemp()))
        for name in names:
            kind = kinds[name]()
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                results = list(pool.map(lambda i: one(binary, kind, name, i), range(count)))
            wrong = [reason for reason, _, _ in results if reason]
            failures += len(wrong)
            print(f"{name}: {count} corruptions: {sum(code == 2 for _, code, _ in results)} refused, "
                  f"{sum(code == 0 for _, code, _ in results)} taken, {len(wrong)} wrong; at most {max(m for _, _, m in results) >> 20} MB",
                  *wrong, sep="\n  ", flush=True)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
