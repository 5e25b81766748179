"""Wording at which a first reader stops: comments that lean on what is above them, names that hide an action, long lines and sentences.
Used by check_house.py. A place is a hint for its author; a reader who never saw the project decides."""
import re

OPENS = re.compile(r"(What|Of|Whether|Where|Which|Whose|Those|That|As|Its|So|Likewise|Also|Whatever|Whoever|By which|In which|For which"
                   r"|From which|Beyond|Beside|Behind)\b")
RIDDLE = re.compile(r"\b(of those|of it|of them|of which|of its own|what is|what they|what it|where what|as was said|as is said"
                    r"|that there (?:is|are)|is told|are told|was told|whatever else|whichever|likewise|by then|at home"
                    r"|stands? (?:in|at|behind|beside)|goes on from|none of theirs)\b", re.I)
NAME = re.compile(r"(?<![.:>])\b(?:[a-z]\w*_of|of_\w+|told|heard|mine|theirs|whose|thereof)\b(?=\s*[({;,=)]|_?\s*;)")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
LONGEST_LINE = 100
LONGEST_SENTENCE = 30  # words


def in_source(name, text):
    """Yields (line, fault) for each place in C++ and CUDA."""
    was_block = False
    for number, line in enumerate(text.split("\n"), 1):
        block = re.match(r"\s*///?<? ?(.*)", line)
        if block:
            if not was_block and OPENS.match(block[1]):
                yield number, f"a comment opens with a relative word: {block[1]}"
            elif RIDDLE.search(block[1]):
                yield number, f"a comment without its noun: {block[1]}"
        else:
            code, _, trailing = line.partition("  // ")
            if trailing and (OPENS.match(trailing.strip().capitalize()) or RIDDLE.search(trailing)):
                yield number, f"a trailing comment must stand alone: {trailing.strip()}"
            found = NAME.search(LITERAL.sub('""', code))
            if found and name.endswith((".h", ".cuh")):
                yield number, f"name the action or the thing: {found[0]}"
            for literal in LITERAL.findall(code):
                if len(literal) >= 20 and RIDDLE.search(literal):
                    yield number, f"a message without its noun: {literal}"
        was_block = bool(block)


def in_page(text):
    """Yields (line, fault) for each place in a Markdown page."""
    is_fenced, paragraph, start = False, "", 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.startswith("```"):
            is_fenced = not is_fenced
        if not is_fenced and len(line) > LONGEST_LINE and "|" not in line and "http" not in line:
            yield number, f"{len(line)} characters; at most {LONGEST_LINE}"
        if is_fenced or not line.strip() or line.startswith(("#", "|", "```")):
            for sentence in re.split(r"(?<=[.!?:])\s+", paragraph):
                if (words := len(sentence.split())) > LONGEST_SENTENCE:
                    yield start, f"a sentence of {words} words; at most {LONGEST_SENTENCE}: {sentence[:60]}"
            paragraph = ""
        else:
            start = start if paragraph else number
            paragraph += " " + line.strip()
