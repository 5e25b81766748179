#!/usr/bin/env python3
"""Writes lib/unicode/newer_characters.cpp: characters of Unicode 15.0 to 16.0, each with an older one of its kind.

Needs `tokenizers`, whose regular expressions know Unicode 16; run by hand: tests/oracles/make_unicode_table.py
"""
import pathlib
import sys

from tokenizers import Regex, normalizers, pre_tokenizers

SCRIPTS = ["Han", "Hiragana", "Katakana", "Hangul"]


def members(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    return {c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF and not split.pre_tokenize_str(chr(c))}


def old_characters():
    """Assigned in this Python's Unicode 3.2 copy: older than anything in use."""
    import unicodedata
    return {c for c in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Co", "Cs")}


def known_to_unicode_14():
    import unicodedata
    if unicodedata.unidata_version != "14.0.0":
        sys.exit(f"needs a Python with Unicode 14 (3.11), this one has {unicodedata.unidata_version}")
    return {c for c in range(0x110000) if unicodedata.category(chr(c)) != "Cn"}


def main():
    kind = {}
    for name in CATEGORIES:
        for c in members(rf"\p{{{name}}}"):
            kind[c] = [name]
    word = members(r"\w")
    scripts = {name: members(rf"\p{{{name}}}") for name in SCRIPTS}
    for c in kind:
        kind[c] += [len(chr(c).encode()), c in word, next((s for s in SCRIPTS if c in scripts[s]), "")]
    kind = {c: tuple(k) for c, k in kind.items()}
    old, known = old_characters(), known_to_unicode_14()
    example = {}
    for c in sorted(kind, reverse=True):
        if c in old or (c in known and kind[c] not in example):
            example[kind[c]] = c
    ranges = []
    for c in sorted(set(kind) - known):
        rep = example.get(kind[c])
        if rep is None:
            sys.exit(f"U+{c:04X}: no older character of kind {kind[c]}")
        if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == rep:
            ranges[-1][1] = c
        else:
            ranges.append([c, c, rep])
    lower = normalizers.Lowercase()
    lowered = []
    for c in sorted(set(kind) - known):
        text = lower.normalize_str(chr(c))
        if text == chr(c):
            continue
        delta = ord(text) - c
        if lowered and lowered[-1][1] == c - 1 and lowered[-1][2] == delta:
            lowered[-1][1] = c
        else:
            lowered.append([c, c, delta])
    rows = [f"    {{0x{a:X}, 0x{b:X}, 0x{r:X}}},\n" for a, b, r in ranges]
    lower_rows = [f"    {{0x{a:X}, 0x{b:X}, {d}}},\n" for a, b, d in lowered]
    out = pathlib.Path(__file__).resolve().parents[2] / "lib/unicode/newer_characters.cpp"
    out.write_text(
        "// Written by tests/oracles/make_unicode_table.py; do not edit.\n"
        '#include "text/newer_characters.h"\n\nnamespace roll {\n\nnamespace {\n\n'
        f"constexpr NewerRange kRanges[] = {{\n{''.join(rows)}}};\n\n"
        f"constexpr LowercaseRange kLowercase[] = {{\n{''.join(lower_rows)}}};\n\n"
        "}  // namespace\n\nstd::span<const NewerRange> newer_ranges() { return kRanges; }\n"
        "std::span<const LowercaseRange> newer_lowercase() { return kLowercase; }\n\n}  // namespace roll\n")
    print(f"{out}: {len(rows)} ranges, {len(lower_rows)} case ranges")


if __name__ == "__main__":
    main()
