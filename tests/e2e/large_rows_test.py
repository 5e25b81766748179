#!/usr/bin/env python3
"""Rows take a bounded memory, however large their file is: of one row group, of few large rows, and for a run that trains on them.

large_rows_test.py BINARY [MB]     # of text; 400 if not given
"""
import contextlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from arrow_program import binary  # before pyarrow: it skips where that is missing
import pyarrow as pa
import pyarrow.parquet as pq

SIZE_MB = int(sys.argv[2]) if len(sys.argv) > 2 else 250
MOST_MB = 400  # also of 5 GB; a batch of rows, what was read ahead of it, and the program


def write_file(file, row_bytes, compression):
    """Row groups of 400 MB of text."""
    rng = random.Random(5)
    words = [rng.randbytes(2).hex() for _ in range(2000)]  # a tokenizer knows them again; texts of words it never saw take it a minute
    noise = " ".join(rng.choices(words, k=1 << 21))
    schema = pa.schema([("question", pa.string()), ("answer", pa.string()), ("meta", pa.struct([("source", pa.string()), ("scores", pa.list_(pa.float64()))]))])
    count = SIZE_MB * 10**6 // row_bytes
    at_once = 4 * 10**8 // row_bytes
    with pq.ParquetWriter(file, schema, compression=compression, write_batch_size=max(1, 10**6 // row_bytes)) as writer:
        for begin in range(0, count, at_once):
            numbers = range(begin, min(count, begin + at_once))
            places = [rng.randrange(len(noise) - row_bytes) for _ in numbers]
            texts = pa.array([f"{n}: {noise[at:at + row_bytes - 50]}" for n, at in zip(numbers, places)])
            meta = pa.array([{"source": "s", "scores": [n / 7]} for n in numbers], schema.field("meta").type)
            writer.write_batch(pa.record_batch([texts, pa.array([str(n) for n in numbers]), meta], schema=schema), row_group_size=count)
    return count


def run(folder, *arguments):
    """What it printed, the largest memory of the process in MB, and its seconds."""
    begin, most = time.monotonic(), 0
    with open(folder / "said.txt", "w+") as said:
        process = subprocess.Popen([binary, *map(str, arguments)], stdout=said, stderr=said, cwd=folder, env={**os.environ, "TMPDIR": str(folder)})
        while process.poll() is None:  # what wait4() says begins with what this Python had when it forked
            with contextlib.suppress(OSError, TypeError):
                most = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1])
            time.sleep(0.02)
        said.seek(0)
        text = said.read()
    assert process.returncode == 0, f"{arguments}: status {process.returncode}\n{text[-3000:]}"
    return text, most / 1024, time.monotonic() - begin


def check(folder, name, row_bytes, compression):
    file = folder / f"{name}.parquet"
    count = write_file(file, row_bytes, compression)
    groups = pq.ParquetFile(file).metadata.num_row_groups
    text, most, seconds = run(folder, "data", "convert", file, "--out", "out.jsonl")
    assert f"out.jsonl: {count} rows" in text, text
    print(f"{name}: {file.stat().st_size / 1e6:.0f} MB, {count} rows, {groups} row groups: converted in {seconds:.0f} s with {most:.0f} MB", flush=True)
    assert most < MOST_MB, most
    (folder / "out.jsonl").unlink()
    return file, count


def check_run(folder, file, count):
    """Two steps, with prompts from anywhere in the file."""
    run(folder, "init-model", "--arch", "qwen2", "--hidden", 64, "--intermediate", 128, "--layers", 2, "--heads", 4, "--kv-heads", 2, "--tokenizer", "builtin", "--seed", 1,
        "--out", "model")
    trained = dict(training_args=dict(learning_rate=1e-6, per_device_train_batch_size=4, gradient_accumulation_steps=2))
    config = dict(exp_name="large", output_dir="run", pretrain="model", max_steps=2, save_steps=100, rollout_batch_size=4, num_return_sequences_in_group=2, prompt_length=2000,
                  response_length=8, track_with=["jsonl"], adv_estimator="grpo",
                  actor_train=trained | dict(data_args=dict(file_name=file.name, template="chatml")), actor_infer=dict(generating_args=dict(top_p=1, top_k=0)),
                  rewards=dict(any=dict(type="exact_match")))
    (folder / "config.yaml").write_text(json.dumps(config))
    text, most, seconds = run(folder, "train", "--config", "config.yaml", "--device", "cpu")
    assert f"training prompts: {count} rows" in text, text[-3000:]
    print(f"trained for two steps in {seconds:.0f} s with {most:.0f} MB", flush=True)
    assert most < MOST_MB + 300, most  # the model, and what its allocator keeps
    prompts = {json.loads(line)["prompt_id"] for part in folder.glob("run/**/rollouts/step_*.jsonl") for line in part.read_text().splitlines()}
    numbers = sorted(int(prompt.rsplit(":", 1)[1]) for prompt in prompts)
    assert len(numbers) == 8 and numbers[-1] > count // 3, numbers


def check_sft(folder, file, count):
    """Fine-tuning on the short columns of the rows that check_run() trains on."""
    config = dict(exp_name="large", output_dir="tuned", pretrain="model", max_steps=2, save_steps=100, sequence_length=200, track_with=["jsonl"],
                  sft_train=dict(training_args=dict(learning_rate=1e-6, per_device_train_batch_size=4),
                                 data_args=dict(file_name=file.name, template="chatml", question="answer", response="answer")))
    (folder / "sft.yaml").write_text(json.dumps(config))
    text, most, seconds = run(folder, "sft", "--config", "sft.yaml", "--device", "cpu")
    assert f"training rows: {count} rows" in text, text[-3000:]
    print(f"fine-tuned for two steps in {seconds:.0f} s with {most:.0f} MB", flush=True)
    assert most < MOST_MB, most


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    check(folder, "large", 2_000_000, "zstd")
    rows = check(folder, "rows", 1000, "snappy")
    check_run(folder, *rows)
    check_sft(folder, *rows)
