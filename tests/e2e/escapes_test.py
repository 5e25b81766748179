#!/usr/bin/env python3
"""1,000 texts that would command a terminal (clipboard, links, titles, C1, overwriting, direction of writing), through every command as
arguments, names of files, keys and values of configurations, rows, and what a checkpoint says: nothing of them reaches standard output,
standard error or log.txt, on a pipe or on a terminal, and data that programs read stays what it was. Argument: the roll binary."""
import base64
import json
import os
import pathlib
import pty
import random
import re
import select
import subprocess
import sys
import tempfile
import unicodedata

import one_step

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish

binary = pathlib.Path(sys.argv[1]).resolve()
CONTROLS = ["\x1b]52;c;{}\x07", "\x1b]8;;http://evil/{}\x1b\\", "\x1b]0;{}\x07", "\x1b[8m{}", "\x1b[?1049h{}", "\x1b[5i{}", "\x1bP{}\x1b\\", "\x1bc{}",
            "\r{}", "\b\b\b{}", "\x07{}", "\x7f{}", "\x9b5i{}", "\x9d52;c;{}\x9c", "\x90{}\x9c", "\x85{}", "\u202e{}\u202c", "\u2066{}\u2069", "\u200f{}",
            "\u061c{}", "\u2028{}", "\u2029{}", "\ufeff{}", "\U000e0041{}", "\u2063{}", "\x0b{}", "\x0e{}\x0f"]
# What we ourselves send to a terminal: places, erasing, colours, and a frame's begin and end.
OURS = re.compile(r"\r\x1b\[2K|\x1b\[(?:\d+;\d+)?H|\x1b\[[JK]|\x1b\[(?:0|1|2|31|32|33|36)m|\x1b\[\?(?:2026|25)[hl]")
draw = random.Random(7)
TEXTS = [draw.choice(CONTROLS).format(base64.b64encode(draw.randbytes(6)).decode()) for _ in range(1000)]
ALL = "".join(TEXTS)
covered, turns = set(), [0]


def harm(text):
    """The characters that a terminal would obey, or hide."""
    def is_harmful(c):
        return (unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") and c not in "\n\t") or "\u202a" <= c <= "\u202e" or "\u2060" <= c <= "\u206f" \
            or c in "\u061c\u200e\u200f\ufeff" or "\U000e0000" <= c <= "\U000e0fff"
    return sorted({f"U+{ord(c):04X}" for c in text if is_harmful(c)})


def look_at(what, output):
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        return expect(False, f"{what}: bytes that are no UTF-8: {error}")
    found = harm(text)
    expect(not found, f"{what}: {found} in {text[:3000]!r}")


def on_pipes(words, feed):
    done = subprocess.run([binary, *words], input=feed, capture_output=True, timeout=300)
    return done.stdout + done.stderr, done.returncode


def on_terminal(words, feed):
    """Both streams on a pseudo-terminal. What we style with is taken out."""
    master, slave = pty.openpty()
    process = subprocess.Popen([binary, *words], stdin=subprocess.PIPE, stdout=slave, stderr=slave,
                               env={k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm-256color", "COLUMNS": "80"})
    os.close(slave)
    process.stdin.write(feed)
    process.stdin.close()
    output = b""
    while select.select([master], [], [], 300)[0]:
        try:
            output += os.read(master, 1 << 16)
        except OSError:
            break
    os.close(master)
    return OURS.sub("", output.decode(errors="surrogateescape")).replace("\r\n", "\n").encode(errors="surrogateescape"), process.wait()


def through(*words, feed=b"", codes=(2,), ways=None, said=None):
    """Runs `roll words`, on pipes and on a terminal by turns where nothing is said of it."""
    turns[0] += 1
    covered.add(words[0])
    words = [str(word) for word in words]
    for way in ways or (on_pipes if turns[0] % 2 else on_terminal,):
        output, code = way(words, feed)
        what = f"roll {words[0]} {words[1][:30]!r} {way.__name__}"
        look_at(what, output)
        expect(code in codes, f"{what}: exit code {code}: {output[-500:]!r}")
        if said:
            expect(said in output.decode(errors="replace"), f"{what}: {said} is not said in {output[-500:]!r}")


def lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def check_rows(folder, model):
    """Prompts, tags, columns, roles, ids and ground truths."""
    file = folder / "rows.jsonl"
    rows = [dict(id=text, prompt=f"{i}+1={text}", ground_truth=str(i), tag=text) for i, text in enumerate(TEXTS)]
    file.write_text(lines(rows))
    through("data", "check", file, codes=(0, 2))
    through("new", folder / "made", "--yes", "--model", model, "--data", file, codes=(0, 2), ways=(on_pipes,))
    through("new", folder / "asked", "--model", model, "--data", file, feed=f"{ALL}\n\n".encode(), codes=(0, 2), ways=(on_terminal,))
    for name, row in dict(columns={text: text for text in TEXTS}, roles=dict(messages=[dict(role=text, content=text) for text in TEXTS]),
                          keys={"prompt": {text: 1 for text in TEXTS}}).items():
        file = folder / f"{name}.jsonl"
        file.write_text(lines([row] * 3))
        through("data", "check", file, codes=(0, 2))
        through("score", "--reward", "math_rule", "--input", file)
        if name != "roles":  # which are sound conversations
            through("tokenize", "--model", model, "--input", file)
            through("logprobs", "--model", model, "--input", file)
            through("generate", "--model", model, "--input", file)
    (folder / "broken.jsonl").write_bytes(b"{\"a\": " + ALL.encode() + b"\n")
    through("data", "check", folder / "broken.jsonl")


def check_words(folder, model):
    """Arguments: of every flag and place that takes a text, all the texts at once."""
    for words in (("quickstart", f"{ALL}=1"), ("keys", ALL), ("metrics", ALL), ("explain", ALL), ("completion", ALL), ("man", ALL), ("doctor", ALL),
                  ("data", "check", ALL),
                  ("new", folder / "no", "--model", ALL), ("convert-config", ALL), ("validate-config", ALL), ("train", "--config", ALL),
                  ("train", f"--{ALL}"), ("sft", "--config", ALL), ("dpo", "--config", ALL), ("distill", "--config", ALL), ("evaluate", "--config", ALL), ("report", ALL), ("verify", ALL), ("inspect", ALL), ("pack-stats", "--config", ALL),
                  ("check-loss", "--config", ALL), ("generate", "--model", ALL), ("serve", "--model", ALL), ("serve-environment", "--", ALL), ("score", "--reward", ALL), ("logprobs", "--model", ALL),
                  ("tokenize", "--model", ALL), ("init-model", "--arch", ALL), ("export", "--model", ALL, "--out", folder / "no"), (ALL, "x")):
        through(*words)
    covered.discard(ALL)


def check_configurations(folder, model):
    config = dict(exp_name="e", output_dir=str(folder / "out"), pretrain=str(model))
    file = folder / "config.yaml"
    for what, keys in dict(keys={text: 1 for text in TEXTS}, values=dict(exp_name=ALL, adv_estimator=ALL, max_steps=ALL),
                           domains=dict(rewards={text: dict(type=text, tag_included=[text]) for text in TEXTS[:50]})).items():
        file.write_text(json.dumps(config | keys))
        for command in ("validate-config", "train", "sft", "dpo", "distill", "evaluate", "pack-stats", "check-loss"):
            through(command, "--config", file)
        if what == "keys":
            through("convert-config", file, codes=(0, 2))
    file.write_bytes(b"a: [" + "".join(text for text in TEXTS if "\x85" not in text).encode())
    through("validate-config", "--config", file)
    file.write_text("{}")
    through("validate-config", "--config", file, *(f"{text}={text}" for text in TEXTS))


def check_runs(folder, model):
    """A run whose rows, domain and folder are hostile: its lines, its screen, log.txt, its checkpoint and its page."""
    domain, run = TEXTS[0], folder / "run\x1b]0;title\x07\u202e"
    rows = folder / "train\x1b]0;t\x07.jsonl"
    rows.write_text(lines(dict(id=text, prompt=f"{i % 90 + 10}+1={text[:8]}", ground_truth=text, tag=domain) for i, text in enumerate(TEXTS[:40])))
    data, its = dict(data_args=dict(file_name=[str(rows)], prompt="prompt")), dict(model_args=dict(model_name_or_path=str(model)))
    training = dict(training_args=dict(learning_rate=1e-3, per_device_train_batch_size=4, gradient_accumulation_steps=1))
    scorer = folder / "score.py"
    scorer.write_text("import sys\nfor line in sys.stdin: print('{\"reward\": 0.5, \"detail\": {\"\\\\u001b]0;x\\\\u0007\": \"\\\\u009b5i\"}}', flush=True)\n")
    config = dict(exp_name=domain, seed=3, output_dir=str(run), max_steps=1, save_steps=1, eval_steps=1, rollout_batch_size=2, prompt_length=64,
                  num_return_sequences_in_group=2, response_length=4, adv_estimator="grpo", actor_train=its | training | data, actor_infer=its, reference=its,
                  validation=data, rewards={domain: dict(type="command", command=[sys.executable, str(scorer)], tag_included=[domain])})
    file = folder / "run\x9b5i.yaml"
    file.write_text(json.dumps(config))
    through("train", "--config", file, codes=(0,), ways=(on_pipes,), said="validation after step 1")
    through("train", "--config", file, "--resume", "max_steps=2", "--allow-config-change", codes=(0,), ways=(on_terminal,))
    look_at("log.txt", (run / "log.txt").read_bytes())
    expect("validation after step 2" in (run / "log.txt").read_text(), "log.txt tells of the run that a terminal showed")
    through("report", run, codes=(0,))
    through("verify", run, codes=(0,), ways=(on_pipes, on_terminal))
    through("inspect", run, codes=(0,), ways=(on_pipes, on_terminal))
    resolved = run / "checkpoints/latest/config.resolved.yaml"
    done = subprocess.run([binary, "inspect", run, "--config"], capture_output=True)
    expect(done.stdout == resolved.read_bytes(), "a program reads the configuration as it is")
    output, _ = on_terminal(["inspect", str(run), "--config"], b"")
    look_at("inspect --config", output)
    for i, text in enumerate(TEXTS):  # in place of a path: names of files, which may hold any byte but / and 0
        (resolved.parent / f"{i}{text.replace('/', '')}".encode()[:250].decode(errors="surrogateescape")).touch()
    (os.fsencode(resolved.parent) and open(os.path.join(os.fsencode(resolved.parent), b"\x9b\xff\x1bc"), "w")).close()
    through("verify", run, codes=(0, 2))
    through("train", "--config", file, "--resume", "max_steps=3", "--allow-config-change", codes=(0,), ways=(on_pipes,))
    manifest = resolved.parent.parent / "latest/manifest.json"
    about = json.loads(manifest.read_text())
    about["files"] |= {text: dict(bytes=1, xxh3="0") for text in TEXTS}
    manifest.write_text(json.dumps(about | {text: text for text in TEXTS}))
    through("verify", run)
    through("inspect", run, codes=(0, 2))
    log = run / "log.txt"
    log.write_text(log.read_text() + "".join(f"warning: {text}\n" for text in TEXTS))
    (run / "metrics.jsonl").write_text(lines({"step": 1} | {text: 1} for text in TEXTS))
    through("report", run, codes=(0,))
    through("sft", "--config", file)


def check_data_is_exact(folder, model):
    """What programs read is what was there, byte by byte."""
    feed = lines(dict(text=text) for text in TEXTS).encode()
    done = subprocess.run([binary, "tokenize", "--model", model], input=feed, capture_output=True)
    decoded = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    expect(decoded == TEXTS, f"tokens of {sum(a != b for a, b in zip(decoded, TEXTS))} texts are others': {done.stderr[-500:]!r}")
    look_at("tokenize", on_terminal(["tokenize", "--model", str(model)], feed)[0])
    through("generate", "--model", model, "--prompt", ALL[:2000], "--max-new-tokens", "40", codes=(0,), ways=(on_terminal,))
    through("generate", "--model", model, "--chat", "--template", "chatml", "--max-new-tokens", "8", feed="".join(TEXTS[:5]).replace("\x85", "").encode() + b"\n",
            codes=(0, 2), ways=(on_terminal,))
    through("init-model", "--hidden", "32", "--heads", "2", "--kv-heads", "1", "--layers", "1", "--out", folder / f"m{TEXTS[3]}".replace("/", ""), codes=(0, 2))


def main():
    expect(len(set(map(str, TEXTS))) == 1000 and not [text for text in TEXTS if not harm(text)], "1,000 texts, each of them hostile")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = folder / "model\x1b[8m"
        one_step.make_model(binary, model, 1, False)
        check_words(folder, model)
        check_rows(folder, model)
        check_configurations(folder, model)
        check_runs(folder, model)
        check_data_is_exact(folder, model)
    commands = set(re.findall(r"^  ([a-z][a-z-]+) {2,}", subprocess.run([binary, "--help"], capture_output=True, text=True).stdout, re.M))
    expect(commands - covered == set(), f"commands that no text went through: {commands - covered}")
    finish(f"{len(TEXTS)} hostile texts through {len(covered)} commands")


main()
