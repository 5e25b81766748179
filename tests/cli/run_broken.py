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
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from case_files import write_files

HERE = pathlib.Path(__file__).resolve().parent


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
