#!/usr/bin/env python3
"""Broken Parquet files end with a message that names the file, in bounded time and memory, or give what pyarrow gives.
Arguments: the roll binary, and how many mutations, if not 80."""
import concurrent.futures
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

from arrow_program import binary  # before pyarrow: it skips where that is missing
import pyarrow as pa
import pyarrow.parquet as pq

COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 80
MOST_MB = 1000


def table():
    rng = random.Random(3)
    return pa.Table.from_pylist([{
        "question": f"{n} + {n}?" + "x" * rng.randrange(60), "answer": str(2 * n), "score": rng.random(), "level": rng.choice([None, n]),
        "tag": rng.choice(["easy", "hard"]), "parts": [{"k": i, "v": [str(i)] * i} for i in range(n % 4)],
        "extra": {"deep": {"x": [n] * (n % 3)}, "flag": n % 2 == 0}} for n in range(400)])


def bases(folder):
    for number, options in enumerate([dict(compression="snappy"), dict(compression="zstd", write_page_checksum=True), dict(compression="gzip", row_group_size=50),
                                      dict(compression="none", data_page_version="2.0", use_dictionary=["tag"], data_page_size=512)]):
        file = folder / f"base{number}.parquet"
        pq.write_table(table(), file, **options)
        yield file.read_bytes()


def mutation(content, rng):
    """(its name, the bytes)"""
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    kind = rng.choice(["cut", "cut_end", "flip_footer", "flip_footer", "flip_pages", "flip_pages", "flip_length", "zero", "swap", "shrink", "noise_footer"])
    bytes_ = bytearray(content)
    if kind == "cut":
        return kind, content[:rng.randrange(len(content))]
    if kind == "cut_end":  # what is left seems whole
        keep = rng.randrange(4, footer)
        return kind, content[:keep] + content[footer:]
    if kind == "flip_footer":
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            bytes_[rng.randrange(footer, len(content) - 8)] ^= 1 << rng.randrange(8)
    elif kind == "flip_pages":
        for _ in range(rng.choice([1, 1, 3, 20])):
            bytes_[rng.randrange(4, footer)] = rng.randrange(256)
    elif kind == "flip_length":
        bytes_[-8:-4] = rng.choice([0, 1, 2**31 - 1, 2**32 - 1, len(content), rng.randrange(2**32)]).to_bytes(4, "little")
    elif kind == "zero":
        begin = rng.randrange(4, len(content) - 8)
        end = min(len(content) - 8, begin + rng.randrange(1, 200))
        bytes_[begin:end] = bytes(end - begin)
    elif kind == "swap":
        a, b = sorted(rng.sample(range(4, len(content) - 8), 2))
        bytes_[a:b] = bytes_[a:b][::-1]
    elif kind == "shrink":
        begin = rng.randrange(4, len(content) - 8)
        del bytes_[begin:begin + rng.randrange(1, 50)]
    else:
        for place in range(rng.randrange(footer, len(content) - 8), len(content) - 8, 7):
            bytes_[place] = rng.randrange(256)
    return kind, bytes(bytes_)


def bounded():
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(folder, number, kind, content):
    """The fault found, if any, and the exit status."""
    file, out = folder / f"m{number}.parquet", folder / f"m{number}.jsonl"
    file.write_bytes(content)
    with open(folder / f"m{number}.txt", "w+") as said:
        process = subprocess.Popen([binary, "data", "convert", file.name, "--out", out.name], cwd=folder, stdout=said, stderr=said, preexec_fn=bounded)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return f"mutation {number} ({kind}): did not end", -1
        said.seek(0)
        text = said.read()
    status = process.returncode
    fault = None
    if status == 2:
        if not text.startswith(f"roll: {file.name}") and f"roll: FILE = {file.name}" not in text or any(w in text for w in ("what():", "terminate", "Traceback")):
            fault = f"says {text[:300]!r}"
        elif out.exists():
            fault = "left a file"
    elif status == 0:
        fault = compare(file, out)
    else:
        fault = f"status {status}: {text[-300:]!r}"
    for made in (file, out, folder / f"m{number}.txt"):
        if not fault:
            made.unlink(missing_ok=True)
    return fault and f"mutation {number} ({kind}): {fault}", status


def compare(file, out):
    """Where we read the file, pyarrow reads the same rows."""
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    try:
        rows = pq.read_table(file).to_pylist()
    except Exception as e:
        return f"was read, and pyarrow says {e}"
    if len(lines) != len(rows):
        return f"has {len(lines)} rows, and pyarrow {len(rows)}"
    for line, row in zip(lines, rows):
        if line.get("ground_truth") != row["answer"] or line["messages"][0]["content"] != row["question"] or line["extra"] != row["extra"]:
            return f"gives {line}, and pyarrow {row}"
    return None


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    rng = random.Random(7)
    contents = list(bases(folder))
    cases = [(n, *mutation(rng.choice(contents), rng)) for n in range(COUNT)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda case: run(folder, *case), cases))
    faults = [fault for fault, _ in results if fault]
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    refused = sum(status == 2 for _, status in results)
    print(f"{COUNT} mutations: {refused} refused, {sum(status == 0 for _, status in results)} read as pyarrow reads them, at most {most:.0f} MB")
    print("\n".join(faults))
    assert not faults and refused > COUNT // 2 and most < MOST_MB
