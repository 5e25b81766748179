#!/usr/bin/env python3
"""Fails on a source of lib/, cuda/ or app/ that calls a function of ours without including, be it through others, a header that
declares it. Sources are compiled several at a time, so a neighbour's include hides it until a tool reads the source alone."""
import functools
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"')
DECLARED = re.compile(r"^(?!using|return|#|struct|class|namespace|static_assert)[A-Za-z][^;{}()=\n]*[\s&*](\w+)\(", re.M)
AFTER_A_TYPE = re.compile(r"(?:\b(?!return|else|throw|case)\w+|\)>)[>&*\]]*(?=\s+[&*]*(\w+)\b)|[\[(,&]\s*(\w+)(?=[\],])")
CALLED = re.compile(r"(?<![\w.>:~])(\w+)\(")


@functools.cache
def code_of(path):
    return COMMENT_OR_TEXT.sub(lambda found: '""' + "\n" * found[0].count("\n"), path.read_text())


@functools.cache
def headers_of(path):
    names = re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)
    return {folder / name for name in names for folder in (root / "lib", root) if (folder / name).is_file()}


@functools.cache
def own_names(path):
    """Returns what may be a name that the file declares: a word after a type, in a list of parameters or in a binding."""
    return {name for names in AFTER_A_TYPE.findall(code_of(path)) for name in names}


def reached(path):
    seen, left = set(), [path]
    while left:
        if (file := left.pop()) not in seen:
            seen.add(file)
            left.extend(headers_of(file))
    return seen


files = [file for folder in ("lib", "cuda", "app") for file in sorted((root / folder).rglob("*.[hc]*"))]
declaring = {}  # a function's name -> the headers that declare it
for header in (file for file in files if file.suffix in (".h", ".cuh")):
    for name in DECLARED.findall(code_of(header)):
        declaring.setdefault(name, set()).add(header)

wrong = []
for file in (file for file in files if file.suffix in (".cpp", ".cu")):
    reachable = reached(file)
    known = set().union(*map(own_names, reachable))
    for called in CALLED.finditer(code_of(file)):
        headers = declaring.get(called[1], set())
        if headers and not headers & reachable and called[1] not in known:
            line = code_of(file).count("\n", 0, called.start()) + 1
            wrong.append(f"{file.relative_to(root)}:{line}: {called[1]}() of {min(headers).relative_to(root)} is not included")
print("\n".join(wrong) or f"includes: {len(files)} files include what they call")
sys.exit(bool(wrong))
