#!/usr/bin/env python3
"""Fails where tracked files leave the rules of the house: sizes, markers, process exits, heavy headers, dead paths."""
import pathlib
import re
import subprocess
import sys

import english

root = pathlib.Path(__file__).resolve().parent.parent
listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
texts = {}
for name in filter(None, listed):
    try:
        texts[name] = (root / name).read_text()
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        continue  # binary golden files; files removed but not yet committed
sources = {n: t for n, t in texts.items() if re.match(r"(app|lib|cuda|tests)/.*\.(h|cpp|cu|cuh)$", n)}
wrong = []


def check_lines(files, pattern, message):
    for name, text in files.items():
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(pattern, line):
                wrong.append(f"{name}:{number}: {message}: {line.strip()[:80]}")


def check_function_lengths(name, text, limit=60):
    """Relies on clang-format: a function at namespace level ends with a brace in column 0."""
    start = None
    for number, line in enumerate(text.split("\n"), 1):
        is_table = line.endswith("= {")
        if re.match(r"\S.*\{$", line) and not is_table and not re.match(r"(namespace|struct|class|enum|extern|TEST_CASE)\b", line):
            start = number
        elif line.startswith("}"):
            if start and number - start + 1 > limit:
                wrong.append(f"{name}:{start}: a function of {number - start + 1} lines; at most {limit}")
            start = None


LITERAL = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])\'|^ *#(?:.*\\\n)*.*', re.M)
JOINED = re.compile(r"(?:^|[;:)\x01\x02]|\belse\b)\s*(?:[*]*(?:\w|\.|::|->|\[_*\])+\s*(?:[-+*/%|&^]|<<|>>)?=(?!=)|\+\+|--"
                    r"|(?:\w|\.|->|\[_*\])+(?:\+\+|--))[^,;]*,(?=[^;]*;)")


def check_joined_assignments(name, text):
    """Each assignment is a statement: no `a = 1, b = 2;`. Parentheses hide what is in them, so heads of for loops may."""
    def without(inside, mark):
        return mark + re.sub(r"[^\n]", "_", inside[0][1:-1]) + mark

    def check_block(block):
        flat = block[0]
        while (simpler := re.sub(r"\([^()]*\)", lambda p: without(p, "\x02"), flat)) != flat:
            flat = simpler
        flat = re.sub(r"\[[^][]*\]", lambda p: "[" + "_" * (len(p[0]) - 2) + "]", flat[1:])
        for found in JOINED.finditer(flat):
            number = code.count("\n", 0, block.start() + 1 + found.end()) + 1
            wrong.append(f"{name}:{number}: assignments joined by a comma; write a statement for each")
        return without(block, "\x01").replace("_", " ")

    code = LITERAL.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    while (simpler := re.sub(r"\{[^{}]*\}", check_block, code)) != code:
        code = simpler


def check_type_names(files):
    """Two types of one name in a namespace: what the compiler writes of them for every file, such as a destructor, the linker takes from
    one of the two. Relies on clang-format: what stands at namespace level begins in column 0."""
    found = {}
    for name, text in files.items():
        spaces = []
        for line in text.split("\n"):
            if opened := re.match(r"namespace ?([\w:]*) ?\{", line):
                spaces.append(opened[1] or name)
            elif re.match(r"\}  // namespace", line):
                spaces.pop()
            elif defined := re.match(r"(?:struct|class|enum(?: class)?|union) (\w+)(?: final)?(?: \{|$| : )", line):
                found.setdefault("::".join([*spaces, defined[1]]), []).append(name)
    for type_name, places in found.items():
        if len(places) > 1:
            wrong.append(f"{places[0]}: {type_name} is another type in {', '.join(places[1:])}; a namespace has one of a name")


library = {n: t for n, t in sources.items() if n.startswith("lib/")}
check_type_names({n: t for n, t in sources.items() if not n.startswith("tests/")})
own = "scripts/check_house.py"
for name, text in sources.items():
    if text.count("\n") > 400:
        wrong.append(f"{name}: {text.count(chr(10))} lines; at most 400")
    check_function_lengths(name, text)
    if not name.startswith("tests/"):
        check_joined_assignments(name, text)
prose = {n: t for n, t in texts.items() if n != own and not n.startswith("tests/golden/") and not n.endswith(".jsonl")}
check_lines(prose, r"\b(TODO|FIXME|XXX|HACK)\b", "a marker left behind")
check_lines(prose, r"(?<![\w.$}~-])/(work|root)/", "a path of one machine")
check_lines({n: t for n, t in library.items() if n != "lib/base/env.cpp"}, r"\bgetenv\(", "only lib/base/env.cpp reads the environment")
check_lines(library, r"std::(exit|abort|quick_exit)\(|(?<![\w.:>])(exit|quick_exit|::abort)\(",
            "the library throws; only app/main.cpp ends the process")
past_the_guard = {"app/job.cpp", "lib/job/deadline.cpp", "lib/job/supervisor.cpp",  # each makes its text harmless itself
                  "lib/sandbox/box.cpp", "lib/sandbox/box_files.cpp", "lib/sandbox/box_files.h", "lib/sandbox/box.h"}  # a program's own streams, which are pipes to us
check_lines({n: t for n, t in sources.items() if not n.startswith("tests/") and n not in past_the_guard},
            r"write\(STD(OUT|ERR)_FILENO|[\"/]dev/(tty|std(out|err))|fdopen\(|ttyname\(|sync_with_stdio\((?!false\);  // the streams')",
            "goes past base/console.h, which makes what is printed harmless to a terminal")
# What ranks send as bytes is a message; the barrier of collect/rollout_manager.cpp sends none.
bare = re.compile(r"lib/(dist|transport|forecast)/|lib/collect/(news_exchange|rollout_manager)\.cpp")
check_lines({n: t for n, t in library.items() if not bare.match(n)}, r"(gather|broadcast)_bytes\(",
            "ranks tell each other messages, by dist/messages.h")
tags = [tag for text in library.values() for tag in re.findall(r'MessageKind \w+\{"([^"]*)"', text)]
wrong += [f"the message's tag {tag} is there twice" for tag in sorted(set(tags)) if tags.count(tag) > 1]

installed = "lib/loss/roll/loss.h"  # of plug-ins, which need all of ATen; one source file of ours includes it
headers = {n: t for n, t in sources.items() if n.endswith(".h") and not n.startswith("tests/") and n != installed}
check_lines(headers, r"#include <(torch/torch|ATen/ATen)\.h>",
            "35 s of compile time in a header; include <ATen/core/Tensor.h>")

for readme in (n for n in texts if n.endswith(".md")):
    for path in re.findall(r"(?<![\w/.-])((?:app|lib|cuda|configs|scripts|tests|third_party)/[\w./-]*\w)(?![\w*<])", texts[readme]):
        if not (root / path).exists():
            wrong.append(f"{readme}: names {path}, which does not exist")
# A file that a comment names, by its whole path or the end of it.
ends = {"/".join(parts[i:]) for parts in (n.split("/") for n in texts) for i in range(len(parts))}
for name, text in sources.items():
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.search(r"//(.*)", line)
        for path in re.findall(r"(?<![\w./<-])((?:[\w-]+/)*[\w-]+\.(?:h|cpp|cu|cuh))\b", comment[1] if comment else ""):
            if path not in ends:
                wrong.append(f"{name}:{number}: names {path}, which does not exist")
for name, text in texts.items():
    places = english.in_page(text) if name.endswith(".md") else \
        english.in_source(name, text) if name in sources and not name.startswith("tests/") else ()
    wrong += [f"{name}:{number}: {fault}" for number, fault in places]
print("\n".join(wrong) or f"house: {len(texts)} files keep the rules")
sys.exit(bool(wrong))
