#!/usr/bin/env python3
"""A pipe that nobody writes to, a folder, a socket, a device without an end, a link to nothing or to itself in place of each file that a
command opens by a name that is given, or that lies in a folder of ours: a sentence, or work without it, but never a wait. Argument: the roll
binary."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import one_step
from long_run import config

binary = pathlib.Path(sys.argv[1]).resolve()
HANG_S = 60  # what has not ended by then does not end


def make_socket(path):
    where = os.getcwd()
    os.chdir(path.parent)  # a socket's name is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(where)


KINDS = {"pipe": os.mkfifo, "folder": lambda path: path.mkdir(), "socket": make_socket, "device": lambda path: path.symlink_to("/dev/zero"),
         "link to nothing": lambda path: path.symlink_to("nothing"), "link to itself": lambda path: path.symlink_to(path.name)}

# Which file, in a folder with a run and its model, and who reads or writes it.
PLACES = [
    ("model/model.safetensors", "logprobs --model model --input texts.jsonl"),
    ("model/model.safetensors", "validate-config --config run.yaml output_dir=other"),
    ("model/config.json", "logprobs --model model --input texts.jsonl"),
    ("model/tokenizer.json", "tokenize --model model --input texts.jsonl"),
    ("run.yaml", "validate-config --config run.yaml"),
    ("run.yaml", "convert-config run.yaml"),
    ("rows.jsonl", "validate-config --config run.yaml output_dir=other"),
    ("rows.jsonl", "data check run.yaml"),
    ("rows.jsonl", "sft --config run.yaml --device cpu output_dir=other"),
    ("hosts", "sft --config run.yaml --hostfile hosts --dry-run"),
    ("out/metrics.jsonl", "report out --out page.html"),
    ("out/log.txt", "report out --out page.html"),
    ("out/config.resolved.yaml", "report out --out page.html"),
    ("out/.lock", "report out --out page.html"),
    ("out/metrics.jsonl", "sft --config run.yaml --device cpu --resume max_steps=3"),
    ("out/metrics.csv", "sft --config run.yaml --device cpu --resume max_steps=3"),
    ("out/log.txt", "sft --config run.yaml --device cpu --resume max_steps=3"),
    ("out/run.json", "sft --config run.yaml --device cpu --resume max_steps=3"),
    ("out/.lock", "sft --config run.yaml --device cpu --resume max_steps=3"),
    ("out/tensorboard", "sft --config run.yaml --device cpu --resume max_steps=3"),
    ("out/checkpoints/step_000002/manifest.json", "sft --config run.yaml --device cpu --resume max_steps=3"),
    ("out/checkpoints/step_000002/state.json", "sft --config run.yaml --device cpu --resume max_steps=3"),
    ("out/checkpoints/step_000002/manifest.json", "verify out"),
    ("out/checkpoints/step_000002/actor/model.safetensors", "verify out"),
    ("out/checkpoints/step_000002/state.json", "inspect out"),
    ("out/checkpoints/step_000002/beside", "verify out"),
    ("page.html", "report out --out page.html"),
]
OPENERS = [PLACES[number] for number in (0, 6, 10, 14, 20)]  # each opens in another way


def prepare(folder):
    one_step.make_model(binary, folder / "model", 1, False)
    rows = [dict(question=f"{i:02}+1=", answer=f"{i + 1:02}") for i in range(8)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "texts.jsonl").write_text(json.dumps({"text": "1+1=2", "prompt": "1+1=", "response": "2"}) + "\n")
    (folder / "hosts").write_text("localhost slots=1\n")
    changes = dict(max_steps=2, save_steps=1, track_with=["jsonl", "csv", "tensorboard"], output_dir="out", pretrain="model")
    whole = config(folder, "sft", "out") | changes
    whole["sft_train"]["data_args"]["file_name"] = ["rows.jsonl"]
    (folder / "run.yaml").write_text(json.dumps(whole))
    done = subprocess.run([binary, "sft", "--config", "run.yaml", "--device", "cpu"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def fault_of(base, folder, place, words, kind):
    """What is wrong with how the command ends; none: nothing."""
    shutil.copytree(base, folder, symlinks=True)
    file = folder / place
    if file.is_dir():
        shutil.rmtree(file)
    file.unlink(missing_ok=True)
    KINDS[kind](file)
    before = file.lstat()
    try:
        done = subprocess.run([binary, *words.split()], cwd=folder, capture_output=True, text=True, timeout=HANG_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"waits: {words} with {place} as {kind}"
    finally:
        after = file.lstat() if file.is_symlink() or file.exists() else None
        shutil.rmtree(folder)
    if done.returncode not in (0, 1, 2) or "internal error" in done.stderr:
        return f"exit code {done.returncode}: {words} with {place} as {kind}\n{done.stderr[-500:]}"
    if kind in ("pipe", "socket") and (after is None or after.st_ino != before.st_ino) and "step_" not in place:
        return f"replaced: {words} with {place} as {kind}"
    return None


def main():
    with tempfile.TemporaryDirectory() as name:
        base = pathlib.Path(name) / "base"
        base.mkdir()
        prepare(base)
        # All places take a pipe, each opener the other kinds once.
        cases = [(place, words, kind) for place, words in PLACES for kind in KINDS if kind == "pipe" or (place, words) in OPENERS]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            faults = list(pool.map(lambda n: fault_of(base, base.parent / str(n), *cases[n]), range(len(cases))))
    wrong = [fault for fault in faults if fault]
    print("\n".join(wrong))
    print(f"{len(cases)} special files, {len(wrong)} of them not told")
    sys.exit(len(wrong) > 0)


main()
