"""What bash itself passes to the trainers that scripts start, against what `roll convert-config --keys` reads in them.

run_shell_scripts.py BINARY FOLDER_OR_SCRIPT... [--set NAME=VALUE]... [--report FILE]

Each script is run by bash where nothing can happen: as nobody, in an empty folder, without network and with processes of its own,
under a limit of time, and with a PATH that has stub interpreters, which write down their words, beside a few harmless tools. A script
that starts nothing without arguments and variables is given some, and so is the converter. torch_npu is not there.
Then key by key: every key that bash passed must have the same value in what the converter read, and no other key may be there.
Exit 1: a key differs. What the converter refuses to read is counted, with its first line.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

STUBS = """python python2 python3 python3.9 python3.10 python3.11 python3.12 torchrun accelerate deepspeed trl ray uv pip pip3 conda apt apt-get
nvidia-smi npu-smi rocm-smi srun sbatch scontrol squeue docker git wget curl hf huggingface-cli pkill killall kill rm mkdir mv cp ln chmod chown sleep tee
sudo tmux ssh scp rsync systemctl service mount umount touch nsys jq ip ifconfig""".split()
TOOLS = "basename dirname date wc tr cut seq cat grep egrep sed head tail sort uniq awk expr hostname nproc realpath readlink env xargs id whoami printf ls mktemp".split()
STARTERS = ("python", "python3", "torchrun", "accelerate", "deepspeed", "trl", "ray", "uv", "srun", "nsys", "sudo")
SECONDS = 20


def make_path(folder):
    folder.mkdir()
    for name in STUBS:
        stub = folder / name
        stub.write_text('#!/bin/bash\n[[ $* != "-c import torch_npu" ]] || exit 1\n/bin/cat /proc/self/environ > "$ROLL_RECORD/$EPOCHREALTIME.$BASHPID.env"\n'
                        f'printf "%s\\0" {name} "$@" > "$ROLL_RECORD/$EPOCHREALTIME.$BASHPID.argv"\n')
        stub.chmod(0o755)
    for name in TOOLS:
        if real := shutil.which(name, path="/usr/bin:/bin"):
            (folder / name).symlink_to(real)
    (folder / "bash").symlink_to("/bin/bash")
    (folder / "sh").symlink_to("/bin/bash")


def run(script, variables, arguments=()):
    """The words of each stub that bash started, in order, the environment that it had, and whether the script came to its end in time."""
    with tempfile.TemporaryDirectory() as base:
        base = pathlib.Path(base)
        base.chmod(0o755)
        make_path(base / "bin")
        for name in ("record", "empty"):
            (base / name).mkdir()
            (base / name).chmod(0o777)
        environment = {"PATH": str(base / "bin"), "HOME": "/home/somebody", "USER": "somebody", "LOGNAME": "somebody", "SHELL": "/bin/bash",
                       "ROLL_RECORD": str(base / "record"), "LC_ALL": "C.UTF-8", **variables}
        inside = ["/usr/bin/unshare", "--net", "--pid", "--fork", "--kill-child", "/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                  "/bin/bash", "-c", "ulimit -f 2048 -u 400 -v 4000000; exec /bin/bash \"$0\" \"$@\"", str(script), *arguments]
        try:
            subprocess.run(inside, cwd=base / "empty", env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
        calls = []
        for record in sorted((base / "record").glob("*.argv")):
            words = record.read_bytes().decode(errors="replace").split("\0")[:-1]
            if words[0] in STARTERS:
                calls.append(words)
        return calls, {**environment, "PWD": str(base / "empty")}, ended


def trainer_words(words):
    """What stands behind the program that trains: a module, a .py file or trl's subcommand; and its name."""
    for i, word in enumerate(words):
        name = pathlib.PurePath(word).name
        if name == "bash" and words[i + 1:i + 2] and re.fullmatch("-[a-z]*c", words[i + 1]):
            for line in words[i + 2].replace("\\\n", " ").splitlines():
                if found := trainer_words(shlex.split(line, comments=True)):
                    return found
        if name == "trl" and i + 1 < len(words):
            return "trl " + words[i + 1], words[i + 2:]
        if re.fullmatch(r"python[\d.]*", name) or name in ("torchrun", "accelerate", "deepspeed"):
            for j in range(i + 1, len(words)):
                if words[j] in ("-m", "--module") and j + 1 < len(words) and words[j + 1] not in ("torch.distributed.run", "torch.distributed.launch"):
                    return words[j + 1], words[j + 2:]
                if words[j].endswith(".py"):
                    return words[j], words[j + 1:]
            return None
    return None


def keys_of(words):
    keys, last = {}, None
    for word in words:
        if re.match(r"--[A-Za-z]..*|--[A-Za-z]$", word):
            key, equals, value = word[2:].partition("=")
            keys[key] = value if equals else "true"
            last = None if equals else key
        elif match := re.match(r"[+~]*([A-Za-z][\w.@\[\]]*\.[^=/:$-]*)=(.*)", word, re.S):
            keys[match[1]] = match[2]
            last = None
        elif last:
            keys[last] = word if keys[last] == "true" else keys[last] + " " + word
    return keys


def in_environment(value, environment):
    return re.sub(r"\$\{oc\.env:(\w+)\}", lambda match: environment.get(match[1], ""), value)


def is_same(read, passed, environment):
    """Without quotes a variable that is not set is no word, and its flag a switch."""
    filled = in_environment(read, environment)
    return filled == passed or (filled == "" and passed == "true")


def read_by_roll(binary, script, variables, arguments=()):
    given = [f"{i + 1}={word}" for i, word in enumerate(arguments)]
    done = subprocess.run([binary, "convert-config", "--keys", script, *given, *(f"{name}={value}" for name, value in variables.items())], capture_output=True, text=True, timeout=60)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
    launches = []
    for line in done.stdout.splitlines():
        words = shlex.split(line.replace("\\n", "\n"), posix=True) if line.strip() else []
        if words[:1] == ["starts"]:
            launches.append((words[2], {}))
        elif len(words) >= 3 and words[1] != "num_processes":  # which the launcher is told, not the trainer
            launches[-1][1][words[1]] = (words[2], words[0], "?" in words[3:])
    return launches, []


def run_to_trainer(script, variables):
    """What trains, as (program, words), and how it was asked: (environment, ended, variables, arguments). A script that starts none is run once more, with two
    arguments and with the variables that it wants."""
    arguments = ()
    for _ in range(2):
        calls, environment, ended = run(script, variables, arguments)
        ran = [found for words in calls if (found := trainer_words(words)) and keys_of(found[1])]
        if ran:
            break
        arguments = ("2", "/out")
        variables = variables | {name: "/given" for name in re.findall(r'-z "?\$\{?(\w+)', script.read_text(errors="replace"))}
    else:
        arguments = ()
    return ran, environment, ended, variables, arguments


def compare(binary, script, variables):
    ran, environment, ended, variables, arguments = run_to_trainer(script, variables)
    launches, refused = read_by_roll(binary, script, variables, arguments)
    if launches is None:
        return "refused", refused, ran
    problems = []
    for name, keys in launches:  # those that the converter takes for the trainer's
        others = [keys_of(words) for program, words in ran if program == name]
        if not others:
            if ended and ran:
                problems.append(f"{name}: bash did not start it")
            continue
        problems += min(([f"{name}: {key}: bash {wanted.get(key)!r}, read {keys.get(key)}" for key in sorted({*wanted, *keys})
                          if key not in keys or not keys[key][2] and not is_same(keys[key][0], wanted.get(key), environment)] for wanted in others), key=len)
    return ("differs" if problems else "same" if ran else "starts nothing"), problems, ran


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--report", type=pathlib.Path)
    flags = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("wants root, to give the scripts less than that")
    variables = dict(word.split("=", 1) for word in flags.set)
    scripts = sorted(script for path in flags.paths for script in ([path] if path.is_file() else path.rglob("*.sh")))
    count, report = {}, []
    for script in scripts:
        outcome, lines, ran = compare(flags.binary, script.resolve(), variables)
        count[outcome] = count.get(outcome, 0) + 1
        report.append({"script": str(script), "outcome": outcome, "lines": lines, "ran": [[program, keys_of(words)] for program, words in ran]})
        if outcome in ("differs", "refused"):
            print(f"{script}: {outcome}", *lines, sep="\n  ")
    if flags.report:
        flags.report.write_text(json.dumps(report, indent=1))
    print(", ".join(f"{number} {outcome}" for outcome, number in sorted(count.items())))
    sys.exit(1 if count.get("differs") else 0)


if __name__ == "__main__":
    main()
