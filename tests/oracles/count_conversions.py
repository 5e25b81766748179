"""What becomes of other trainers' scripts in `roll convert-config`, as the table of configs/README.md.

count_conversions.py BINARY NAME=FOLDER... [--list FILE]

Every *.sh of a FOLDER (every *.py of one that ends with :py; of one that ends with :md the commands for GRPO and RLOO in its Markdown files,
beside the blocks above them that begin with a file's name, and Python blocks with their configurations) is converted as it stands: no variable is set,
no key is given (but -n 1 for Markdown's, which leave the number of processes open). --list writes
each script with its outcome and what was said of it.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import tempfile

OUTCOMES = {
    "converted": r"^$",
    "wants a value": r"which is known only when the script runs|give \w+=VALUE (?:behind|after) the file|the environment variable \w+ is not set|give it with -n|number of processes with -n|is not known: give",
    "several commands": r"commands start a training; choose one",
    "ends before": r"the script ends at the `exit` of",
    "starts no trainer": r"no command in it starts a known trainer",
    "does not validate": r"the converted configuration is invalid",
    "another kind": r"",
}


def outcome_of(binary, script, folder, *given):
    done = subprocess.run([binary, "convert-config", script.relative_to(folder), *given], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, 2):
        raise SystemExit(f"{script}: exit {done.returncode}: {done.stderr}")
    said = "" if done.returncode == 0 else done.stderr
    outcome = next(name for name, pattern in OUTCOMES.items() if re.search(pattern, said))
    return outcome, re.sub(r".*\n", "", said.strip()) if outcome == "does not validate" else said.strip().split("\n")[-1 if "converted.yaml:" in said else 0]


def unpack(folder, target):
    """Each command, or Python block, of the Markdown files in a folder of its own; the files' names."""
    scripts = []
    for page in sorted(folder.rglob("*.md")):
        named, text = {}, page.read_text()
        for block in re.finditer(r"^```(\w+)[^\n]*\n(.*?)^```", text, re.M | re.S):
            language, body = block.groups()
            if name := re.match(r"# (\S+\.(?:py|ya?ml))\n", body):
                named[name[1]] = body
            kind = {"bash": "sh", "shell": "sh", "sh": "sh", "python": "py"}.get(language)
            pattern = r"(?i)trl (grpo|rloo)\b|\S*(grpo|rloo)\S*\.py" if kind == "sh" else r"\b(GRPO|RLOO)Config\("
            if not kind or not re.search(pattern, body):
                continue
            beside = target / page.stem / f"{text.count(chr(10), 0, block.start()) + 1}"
            beside.mkdir(parents=True)
            for name, content in (named | {f"block.{kind}": body}).items():
                (beside / name).write_text(content)
            scripts.append(beside / f"block.{kind}")
    return scripts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("folders", nargs="+", metavar="NAME=FOLDER[:py|:md]")
    parser.add_argument("--list", type=pathlib.Path)
    flags = parser.parse_args()
    lines = []
    print("| | " + " | ".join(OUTCOMES) + " | all |\n|" + "---|" * (len(OUTCOMES) + 2))
    for word in flags.folders:
        name, _, folder = word.partition("=")
        root, _, kind = folder.partition(":")
        root, unpacked = pathlib.Path(root).resolve(), tempfile.TemporaryDirectory()
        target = pathlib.Path(unpacked.name)
        scripts = unpack(root, target) if kind == "md" else sorted(root.rglob("*.py" if kind else "*.sh"))
        count = collections.Counter()
        for script in scripts:
            outcome, said = outcome_of(flags.binary.resolve(), script, *((script.parent, "-n", "1") if kind == "md" else (root,)))
            count[outcome] += 1
            lines.append("\t".join([name, str(script.relative_to(target if kind == "md" else root)), outcome, said]))
        print(f"| {name} | " + " | ".join(str(count[each]) for each in OUTCOMES) + f" | {len(scripts)} |")
    if flags.list:
        flags.list.write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    main()
