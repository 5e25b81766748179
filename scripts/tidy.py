#!/usr/bin/env python3
"""tidy.py SOURCE...: runs clang-tidy on sources that build/ compiles, as many at a time as cores. scripts/tidy.sh chooses them.

The build's own commands cannot be given to clang: g++ compiles several sources as one, with precompiled headers that clang takes
for its own and cannot read. A source is therefore looked at alone, with its group's command less what is g++'s.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
OF_GCC = {"-fpch-preprocess", "-Winvalid-pch", "-Wno-subobject-linkage", "-Wno-stringop-overflow", "-Wno-restrict", "-Werror"}


def arguments_of(command):
    """What of a compiler's command says how a source is to be read."""
    words = iter(shlex.split(command)[1:])
    kept = []
    for word in words:
        if word in ("-o", "-c", "-include", "-MF", "-MT", "-x"):  # the only file that is included is the precompiled header
            next(words)
        elif word not in OF_GCC and word != "-MD":
            kept.append(word)
    return kept[next(i for i, word in enumerate(kept) if word.startswith("-")):]  # behind ccache and the compiler


def commands():
    """Source -> the arguments that it is compiled with, by itself or in a group."""
    found = {}
    for entry in json.loads((ROOT / "build/compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        is_group = "/build/groups/" in entry["file"] and file.exists()
        sources = re.findall(r'#include "([^"]+\.cpp)"', file.read_text()) if is_group else [entry["file"]]
        for source in sources:
            found[str((ROOT / source).resolve())] = entry["command"]
    return found


def check(tidy, source, command):
    begin = time.monotonic()
    done = subprocess.run(["nice", tidy, "--quiet", source, "--", *arguments_of(command)], cwd=ROOT, capture_output=True, text=True)
    said = done.stdout if done.returncode == 0 else done.stdout + "\n".join(
        line for line in done.stderr.splitlines() if not re.match(r"\d+ warnings? ", line))
    return done.returncode, said.strip(), time.monotonic() - begin


def main():
    tidy, *sources = sys.argv[1:]
    known = commands()
    jobs = [(source, known.get(str((ROOT / source).resolve()))) for source in sources]
    for source, command in jobs:
        if not command:
            print(f"tidy: {source}: skipped, as this build does not compile it")
    jobs = [job for job in jobs if job[1]]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for (source, _), (code, said, seconds) in zip(jobs, pool.map(lambda job: check(tidy, *job), jobs)):
            failed += code != 0
            print(f"tidy: {source}: {'FAILED' if code else 'nothing to say'} ({seconds:.0f} s)" + (f"\n{said}" if said else ""), flush=True)
    sys.exit(failed > 0)


main()
