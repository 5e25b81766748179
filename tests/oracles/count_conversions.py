"""What becomes of other trainers' scripts in `roll convert-config`, as the table of configs/README.md.

count_conversions.py BINARY NAME=FOLDER... [--list FILE]

Every *.sh of a FOLDER (and every *.py of one that ends with :py) is converted as it stands: no variable is set, no key is given. --list writes
each script with its outcome and what was said of it.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess

OUTCOMES = {
    "converted": r"^$",
    "wants a value": r"only a run of the script would tell|give \w+=VALUE behind the file|the environment variable \w+ is not set|say it with -n|is not known: say",
    "several commands": r"commands start a training; choose one",
    "ends before": r"it ends at the exit of",
    "starts no trainer": r"nothing in it starts a trainer",
    "does not validate": r"what it converts to is refused",
    "another kind": r"",
}


def outcome_of(binary, script, folder):
    done = subprocess.run([binary, "convert-config", script.relative_to(folder)], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if done.returncode not in (0, 2):
        raise SystemExit(f"{script}: exit {done.returncode}: {done.stderr}")
    said = "" if done.returncode == 0 else done.stderr
    outcome = next(name for name, pattern in OUTCOMES.items() if re.search(pattern, said))
    return outcome, re.sub(r".*\n", "", said.strip()) if outcome == "does not validate" else said.strip().split("\n")[-1 if "converted.yaml:" in said else 0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("folders", nargs="+", metavar="NAME=FOLDER[:py]")
    parser.add_argument("--list", type=pathlib.Path)
    flags = parser.parse_args()
    lines = []
    print("| | " + " | ".join(OUTCOMES) + " | all |\n|" + "---|" * (len(OUTCOMES) + 2))
    for word in flags.folders:
        name, _, folder = word.partition("=")
        root, colon, _ = folder.partition(":py")
        scripts = sorted(pathlib.Path(root).resolve().rglob("*.py" if colon else "*.sh"))
        count = collections.Counter()
        for script in scripts:
            outcome, said = outcome_of(flags.binary.resolve(), script, pathlib.Path(root).resolve())
            count[outcome] += 1
            lines.append("\t".join([name, str(script.relative_to(pathlib.Path(root).resolve())), outcome, said]))
        print(f"| {name} | " + " | ".join(str(count[each]) for each in OUTCOMES) + f" | {len(scripts)} |")
    if flags.list:
        flags.list.write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    main()
