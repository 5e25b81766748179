#!/usr/bin/env python3
"""Every key that a fields() declares is read by code that runs, or is noted or refused there: none is accepted without effect;
and its sentence says more than its name.

A key counts as read where its member is named outside of its own declaration, of fields(), and of the checks and
completions of a configuration (which only look whether values fit each other). keys_test.py BINARY [SOURCE]
"""
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else __file__).resolve()
if SOURCE.is_file():
    SOURCE = SOURCE.parents[2]

# Read by completing the configuration alone: it writes what they say into other keys, or refuses them.
COMPLETED = {
    "pretrain": "model_name_or_path of every role", "reward_pretrain": "the critic's model_name_or_path",
    "val_sequence_length": "max_new_tokens of the validation", "global_template": "template of all data",
    "do_sample": "temperature", "rollout_mock": "the next three",
    "enable": "rollout_mock: rollout_replay or rollout_dump_dir", "mode": "the same",
    "reward_model": "a note; judge_model_type: cluster is refused", "dump_dir": "the same", "resume_from_checkpoint": "refused but false",
    "worker_cls": "type of a reward",
    "expert_tensor_parallel_size": "must equal tensor_model_parallel_size",
    "ep_size": "expert_model_parallel_size", "prompt_key": "question", "query_key": "query", "response_key": "response",
    "use_additional_prompts": "is_use_additional_prompts", "question_key": "question of student.data_args", "answer_key": "response, likewise",
    "num_gpus_per_worker": "must equal the parallel size", "max_model_len": "a note where it is too short",
}


# Structs whose fields() are the flags of a small tool, or the body of a request, and no keys of a file.
FLAGS_ONLY = {"lib/model/id_rows.h", "lib/model/init_spec.h", "lib/rollout/prompt_lines.cpp", "lib/serve/completion_request.cpp"}


def sources():
    return sorted([*(SOURCE / "lib").rglob("*.h"), *(SOURCE / "lib").rglob("*.cpp"), *(SOURCE / "app").rglob("*.h"), *(SOURCE / "app").rglob("*.cpp")])


def without_key_lines(text):
    """The text without the calls of a visitor v, whose rules name other keys' members: v("key", member, ..., only_with(other))."""
    kept, end = [], 0
    for call in re.finditer(r"\bv(?:\.\w+)?\(", text):
        if call.start() < end:
            continue
        kept.append(text[end : call.start()])
        depth = 1
        for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[()]', text[call.end() :]):
            depth += {"(": 1, ")": -1}.get(token[0], 0)
            if depth == 0:
                end = call.end() + token.end()
                break
    return "".join(kept) + text[end:]


def declarations():
    """(file, key, member) of every key."""
    for file in sources():
        text = file.read_text()
        if file.relative_to(SOURCE).as_posix() in FLAGS_ONLY or "fields(Keys& v)" not in text:
            continue
        for key, member in re.findall(r'\bv\(\s*"(\w+)",\s*(\w+),', text):
            yield file, key, member


def code():
    """Source text without the declarations and fields() lines of keys, checks, and comments."""
    lines = []
    for file in sources():
        name = file.relative_to(SOURCE).as_posix()
        if name.startswith("lib/settings/") and re.search(r"/(check_|complete|checks\.h)", name):
            continue
        text = file.read_text()
        if "fields(Keys& v)" in text:
            text = without_key_lines(text)
        for line in text.split("\n"):
            line = line.split("//")[0]
            if name.endswith(".h") and re.match(r"\s+[\w:<>, ]+ \w+( = [^;]+|\{[^;]*\})?;$", line) and "return" not in line:
                continue  # a member's declaration
            lines.append(line)
    return "\n".join(lines)


def silent_keys():
    """Keys whose sentence only repeats their name."""
    table = subprocess.run([sys.argv[1], "keys", "--markdown"], capture_output=True, text=True, check=True).stdout
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0] != "key"]
    if len(rows) < 300 or any(len(row) != 6 for row in rows):
        return [f"{len(rows)} rows of `roll keys --markdown`: this test no longer understands them"]
    stems = lambda text: {word.rstrip("s") for word in re.findall(r"[a-z]{2,}", text.lower())}
    said = {row[0]: re.sub(r" \[[^\]]*\]$", "", row[4]) for row in rows}  # without the allowed values
    return [f"{key}: its sentence is its name once more: {text}" for key, text in said.items() if not stems(text) - stems(key)]


def main():
    text = code()
    wrong, seen = [], 0
    for file, key, member in declarations():
        seen += 1
        if not re.search(rf"\b{member}\b", text) and key not in COMPLETED:
            wrong.append(f"{file.relative_to(SOURCE)}: {key}: nothing reads {member}; make it act, or note or refuse it")
    listed = subprocess.run([sys.argv[1], "keys"], capture_output=True, text=True, check=True).stdout
    for _, key, _ in declarations():
        if not re.search(rf"(^|[.\]]){key}(:| )", listed, re.M):
            wrong.append(f"{key}: declared, but `roll keys` does not list it")
    unknown = set(COMPLETED) - {key for _, key, _ in declarations()}
    wrong += [f"{key}: excused here, but no key" for key in sorted(unknown)]
    if seen < 150:
        wrong.append(f"only {seen} keys were found: this test no longer understands the sources")
    wrong += silent_keys()
    print("\n".join(wrong) or f"{seen} keys: each is read, noted or refused")
    sys.exit(bool(wrong))


main()
