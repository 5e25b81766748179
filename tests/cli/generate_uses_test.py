#!/usr/bin/env python3
"""`roll generate` for people: --prompt shows text as it is drawn, --chat holds a conversation, in a pipe and on a terminal, --bench
measures. Argument: the roll binary."""
import json
import math
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

from expecting import expect, finish

BINARY = pathlib.Path(sys.argv[1]).resolve()


def roll(folder, *args, text=None):
    done = subprocess.run([BINARY, *map(str, args)], cwd=folder, input=None if text is None else text.encode(), capture_output=True,
                          timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def rows_of(out):
    return [json.loads(line) for line in out.splitlines()]


def check_prompts(folder):
    """What is shown is the text of the JSON lines."""
    generate = ["generate", "--model", "model", "--max-new-tokens", 40]
    for args in ([], ["--keep-special"], ["--stop", "e", "--stop", "\n"], ["--stop", "e", "--exclude-stop"], ["--ignore-eos"], ["--samples", 3],
                 ["--prompt", "two"], ["--prompt", "two", "--max-running-requests", 1]):
        args = [*generate, "--prompt", "1 + 1 =", *args]
        code, out, err = roll(folder, *args)
        expect(code == 0, f"{args}: exit {code}: {err}")
        code, lines, _ = roll(folder, *args, "--out", "-")
        texts = [row["text"] for row in rows_of(lines)]
        expect(out == "\n".join(text + "\n" for text in texts), f"{args}: {out!r} is not {texts}")
        expect("response tokens/s" in err and not out.startswith("{"), f"{args}: {err}")
    _, out, _ = roll(folder, *generate, "--prompt", "1 + 1 =", "--out", "-")
    _, lines, _ = roll(folder, *generate, text='{"prompt": "1 + 1 ="}\n')
    expect(out == lines, "a prompt is not the line of its text")
    _, out, _ = roll(folder, *generate, "--prompt", "hi", "--as-message", "--system", "be brief", "--out", "-")
    messages = [dict(role="system", content="be brief"), dict(role="user", content="hi")]
    _, lines, _ = roll(folder, *generate, text=json.dumps(dict(messages=messages)))
    expect(out == lines and rows_of(out), "a message is not the line of its messages")


def counts_of(err):
    """Answers, prompt tokens computed and known, response tokens."""
    return [int(x) for x in re.search(r"(\d+) answers: (\d+) prompt tokens computed, (\d+) reused; (\d+) response tokens", err).groups()]


def check_log_probs(folder):
    """A bias decides, and is not in the log-probs; the processed ones are those of what was drawn from."""
    generate = ["generate", "--model", "model", "--max-new-tokens", 6, "--ignore-eos"]
    samplings = [{"logit_bias": {"7": 100}}, {"top_k": 3}, {}]
    text = "".join(json.dumps({"ids": [1, 2], "sampling": sampling}) + "\n" for sampling in samplings)
    code, out, err = roll(folder, *generate, "--processed-log-probs", text=text)
    expect(code == 0, f"exit {code}: {err}")
    biased, cut, plain = rows_of(out)
    expect(biased["ids"] == [7] * 6 and max(biased["log_probs"]) < -1 and min(biased["processed_log_probs"]) > -1e-3, biased)
    expect(all(x < y for x, y in zip(cut["log_probs"], cut["processed_log_probs"])), cut)
    expect(plain["log_probs"] == plain["processed_log_probs"], plain)
    code, out, err = roll(folder, *generate, text=text)
    expect(code == 0 and all("processed_log_probs" not in row for row in rows_of(out)), out)


def check_seeds(folder):
    """A line's own seed names its random numbers alone: not its place, nor what the others ask."""
    line = json.dumps({"ids": [1, 2], "sampling": {"seed": 5}}) + "\n"
    generate = ["generate", "--model", "model", "--max-new-tokens", 6, "--ignore-eos"]
    code, out, err = roll(folder, *generate, "--samples", 2, "--seed", 9, text=line * 2 + '{"ids": [1, 2]}\n' + line)
    rows = [row["ids"] for row in rows_of(out)]
    expect(code == 0 and rows[0:2] == rows[2:4] == rows[6:8] and rows[0] != rows[1] and rows[4:6] != rows[0:2], f"{rows} {err}")
    code, out, err = roll(folder, *generate, "--seed", 5, text='{"ids": [1, 2]}\n')
    expect(rows_of(out)[0]["ids"] == rows[0], "--seed 5 and a line's seed 5 differ where the line is the first")


def check_chat(folder):
    chat = ["generate", "--model", "model", "--chat", "--ignore-eos", "--seed", 3]
    code, first, err = roll(folder, *chat, "--max-new-tokens", 40, text="hello\n")
    expect(code == 0 and "you>" not in first + err and counts_of(err)[0] == 1, f"exit {code}: {err}")
    expect("(cut after 40 tokens; --max-new-tokens allows more)" in err, err)
    turns = "hello\n\nand then\n/reset\nhello\n/quit\nnever\n"
    code, out, err = roll(folder, *chat, "--max-new-tokens", 40, text=turns)
    answers, computed, known, drawn = counts_of(err)
    expect(code == 0 and answers == 3 and drawn == 120, f"exit {code}: {err}")
    expect(out.startswith(first), "a first answer depends on what is said later")
    ask = ["generate", "--model", "model", "--max-new-tokens", 40, "--ignore-eos", "--seed", 3, "--out", "-"]
    row = rows_of(roll(folder, *ask, "--prompt", "hello", "--as-message")[1])[0]
    expect(row["text"] + "\n" == first, "a conversation begins otherwise than a prompt")
    # The second prompt knows all whole pages of the first one and its response but the last token; the third, all of the first's prompt
    # but its last page.
    length = len(row["prompt_ids"])
    pages = lambda tokens: tokens // 16 * 16
    expect(known == pages(length + 39) + pages(length - 1), f"{known} tokens were known, of {length} + 40")
    # The context is full: a pipe ends there.
    code, out, err = roll(folder, *chat, "--max-new-tokens", 200, text="hello\nmore\nmore\n")
    expect(code == 2 and "at most 255 leave room for an answer; /reset starts a new one" in err and "its limit of 256 tokens" in err, f"exit {code}: {err}")
    code, _, err = roll(folder, *chat, "--kv-cache-mib", 1, "--block-size", 128, text="hello\n")
    expect(code == 0, f"exit {code}: {err}")
    (folder / "model/tokenizer_config.json").rename(folder / "config.away")
    code, _, err = roll(folder, *chat, text="hello\n")
    expect(code == 2 and "no chat template" in err and "choose a built-in template: " in err, f"exit {code}: {err}")
    code, _, err = roll(folder, *chat, "--template", "chatml", text="hello\n")
    expect(code == 0, f"exit {code}: {err}")
    (folder / "config.away").rename(folder / "model/tokenizer_config.json")


class Terminal:
    """A conversation on a pseudo-terminal."""

    def __init__(self, folder, *args):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ["TERM"] = "xterm"
            os.execv(BINARY, [str(BINARY), *map(str, args)])
        self.seen = b""

    def read_until(self, is_enough):
        end = time.monotonic() + 60
        while not is_enough() and time.monotonic() < end:
            if not select.select([self.fd], [], [], 1)[0]:
                continue
            try:
                more = os.read(self.fd, 4096)
            except OSError:  # its end
                return
            self.seen += more

    def wait_for(self, text):
        """Takes what comes up to `text`."""
        self.read_until(lambda: text.encode() in self.seen)
        before, found, self.seen = self.seen.partition(text.encode())
        expect(found, f"no {text!r} in {before!r}")

    def wait_for_something(self):
        self.read_until(lambda: self.seen.strip())
        expect(self.seen.strip(), "no answer")

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """Exit code, after all that is left to say."""
        self.read_until(lambda: False)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def check_terminal(folder):
    chat = ["generate", "--model", "large_context", "--chat", "--ignore-eos", "--max-new-tokens", 30000]
    terminal = Terminal(folder, *chat)
    terminal.wait_for("you> ")
    for _ in range(3):  # a second Ctrl-C would end the process, were it about the same answer
        terminal.type("hello\n")
        terminal.wait_for("hello\r\n")
        terminal.wait_for_something()
        terminal.type("\x03")
        terminal.wait_for("you> ")
    terminal.type("\x04")
    expect(terminal.end() == 0, "end of file is not the end of a conversation")
    terminal = Terminal(folder, *chat)
    terminal.wait_for("you> ")
    terminal.type("\x03")
    expect(terminal.end() == 128 + signal.SIGINT, "Ctrl-C at the prompt")
    # A person may go on after an error.
    terminal = Terminal(folder, "generate", "--model", "model", "--chat", "--max-new-tokens", 4)
    terminal.wait_for("you> ")
    terminal.type("x" * 300 + "\n")
    terminal.wait_for("/reset starts a new")
    terminal.wait_for("you> ")
    terminal.type("hello\n/quit\n")
    terminal.wait_for("1 answers:")
    expect(terminal.end() == 0, "/quit after an error")


def check_bench(folder):
    bench = ["generate", "--model", "model", "--bench", "--batch", "1,3", "--prompt-tokens", 20, "--max-new-tokens", 12]
    code, out, err = roll(folder, *bench, "--json")
    expect(code == 0, f"exit {code}: {err}")
    rows = rows_of(out)
    expect([row["batch"] for row in rows] == [1, 3], out)
    for row in rows:
        expect((row["prompt_tokens"], row["new_tokens"]) == (20, 12), row)
        expect(row.pop("decode_limit") in ("memory", "products"), row)
        expect(all(isinstance(x, (int, float)) and math.isfinite(x) and x > 0 for x in row.values()), row)
        expect(row["slots_busy"] <= 1, row)
        expect(row["kv_pages"] == row["batch"] * 2, row)
    expect(rows[1]["decode_step_bytes"] > rows[0]["decode_step_bytes"] and rows[1]["decode_step_flops"] > 2 * rows[0]["decode_step_flops"], rows)
    code, out, err = roll(folder, *bench, "--trace", "traces/bench.json")
    names = {event["name"] for event in json.loads((folder / "traces/bench.json").read_text())["traceEvents"]}
    expect(code == 0 and any(name.startswith("aten::") for name in names), f"{err}{names}")
    table = [line.split() for line in out.splitlines()]
    expect(code == 0 and [line[0] for line in table[2:4]] == ["1", "3"] and "batch" in table[1], out)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for model, positions in (("model", 256), ("large_context", 32768)):
        code, _, err = roll(folder, "init-model", "--hidden", 32, "--intermediate", 64, "--layers", 2, "--heads", 4, "--kv-heads", 2,
                            "--max-positions", positions, "--seed", 5, "--out", model)
        expect(code == 0, err)
    check_prompts(folder)
    check_log_probs(folder)
    check_seeds(folder)
    check_chat(folder)
    check_terminal(folder)
    check_bench(folder)
finish("uses of generate")
