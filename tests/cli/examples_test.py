#!/usr/bin/env python3
"""The help of every subcommand ends with an example, whose words the subcommand takes. Argument: the roll binary."""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

binary = pathlib.Path(sys.argv[1]).resolve()
REFUSED = ("has no flag", "takes no argument", "no subcommand", "belongs to", "applies ", "do not go together", "cannot be combined", ": missing", "must be one of", "must be a number")


def roll(folder, *words, timeout=60):
    return subprocess.run([binary, *words], cwd=folder, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def subcommands(folder, *above):
    """All that have none below them, as lists of words."""
    text = roll(folder, *above, "--help").stdout
    if not re.search("^Usage: .*SUBCOMMAND", text, re.M):
        return [list(above)]
    listed = re.findall(r"^  ([a-z][a-z-]*)  ", text.split("Options:")[1], re.M)
    return [command for name in listed for command in subcommands(folder, *above, name)]


with tempfile.TemporaryDirectory() as temporary:
    commands = subcommands(temporary)
    assert len(commands) >= 28 and ["data", "check"] in commands and ["train"] in commands, commands
    for command in commands:
        help_text = roll(temporary, *command, "--help").stdout
        example = re.search(r"\nExample:\n  (roll .*)\n$", help_text)
        assert example, f"{command}: its help ends with no example:\n{help_text[-200:]}"
        words = shlex.split(example[1].split(" > ")[0])[1:]
        assert words[:len(command)] == command, example[1]
        if command in (["quickstart"], ["doctor"]):  # which would run
            assert words == command, example[1]
            continue
        done = roll(temporary, *words)
        assert done.returncode in (0, 2), f"{example[1]}: exit code {done.returncode}\n{done.stderr}"
        assert not any(text in done.stderr for text in REFUSED), f"{example[1]}\n{done.stderr}"
    print(f"{len(commands)} subcommands: help ends with an example that the command takes")
