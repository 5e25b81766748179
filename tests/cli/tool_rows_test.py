#!/usr/bin/env python3
"""roll score, generate and tokenize give of Parquet, CSV, JSON arrays and compressed rows in GSM8K's columns what they give of JSON lines
in our own. Argument: the roll binary."""
import csv
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

from arrow_program import binary  # before pyarrow: it skips where that is missing
import pyarrow as pa
import pyarrow.parquet as pq

THEIRS = [dict(question=f"{i}+1?", answer=f"It is so.\n#### {i + 1}", response=f"#### {i + i % 2}") for i in range(5)]
OURS = [dict(messages=[dict(role="user", content=row["question"])], ground_truth=row["answer"].split("#### ")[1], response=row["response"]) for row in THEIRS]


def lines_of(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_all(folder):
    (folder / "rows.jsonl").write_text(lines_of(THEIRS))
    (folder / "rows.json").write_text(json.dumps(THEIRS, indent=1))
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(lines_of(THEIRS).encode()))
    with open(folder / "rows.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, THEIRS[0].keys())
        writer.writeheader()
        writer.writerows(THEIRS)
    table = pa.Table.from_pylist(THEIRS)
    pq.write_table(table, folder / "rows.parquet", compression="zstd")
    with pa.CompressedOutputStream(str(folder / "rows.jsonl.zst"), "zstd") as file:
        file.write(lines_of(THEIRS).encode())


def run(*arguments, stdin=None, code=0):
    done = subprocess.run([binary, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
    return done.stdout, done.stderr


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run("init-model", "--arch", "qwen2", "--hidden", 64, "--intermediate", 128, "--layers", 1, "--heads", 4, "--kv-heads", 2, "--tokenizer", "builtin", "--seed", 1,
            "--out", folder / "model")
        write_all(folder)
        uses = {"score": ("--reward", "math_rule"), "generate": ("--model", folder / "model", "--template", "chatml", "--max-new-tokens", "4"),
                "tokenize": ("--model", folder / "model", "--template", "chatml")}
        files = sorted(folder.glob("rows.*"))
        for command, flags in uses.items():
            wanted, _ = run(command, *flags, stdin=lines_of(OURS))
            assert len(wanted.splitlines()) == len(OURS)
            for file in files:
                out, said = run(command, *flags, "--input", file)
                assert out == wanted, (command, file.name, out, wanted)
                assert f"{file}: read as GSM8K's: question: question" in said, (command, said)
        rewards = [json.loads(line)["reward"] for line in run("score", *uses["score"], "--input", folder / "rows.parquet")[0].splitlines()]
        assert rewards == [0, 1, 0, 1, 0], rewards

        own = folder / "own.jsonl"  # what a tool reads as it stands is not taken for a layout
        own.write_text(lines_of([dict(question="2+1?", answer="#### 9", ground_truth="3", response="#### 3")]))
        out, said = run("score", *uses["score"], "--input", own)
        assert json.loads(out)["reward"] == 1 and "read as" not in said, (out, said)
        (folder / "half.jsonl").write_text(lines_of([THEIRS[0], dict(question="?")]))
        said = run("score", *uses["score"], "--input", folder / "half.jsonl", code=2)[1]
        assert f"{folder}/half.jsonl:2: " in said and "answer" in said, said
        print(f"{len(files)} files of rows, read by three tools, give what JSON lines of our own give")


main()
