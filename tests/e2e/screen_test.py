#!/usr/bin/env python3
"""What a terminal shows while a run trains, and after it ended, was stopped, or failed: read by a terminal emulator (pyte) behind a
pseudo-terminal. Argument: the roll binary."""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pyte

import one_step

binary = pathlib.Path(sys.argv[1]).resolve()
STEPS, PATIENCE_S = 6, 240
SCORER = """import sys, time
for line in sys.stdin:
    time.sleep(0.1)
    print('{"reward": 0.5}', flush=True)
"""


class Terminal:
    """A program behind a pseudo-terminal. Its screen, and what it wrote."""

    def __init__(self, folder, columns, rows, *more, **env):
        self.screen = pyte.HistoryScreen(columns, rows, history=2000)
        self.stream, self.raw = pyte.ByteStream(self.screen), b""
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        args = [binary, "train", "--config", folder / "run.yaml", "--device", "cpu", *more]
        self.process = subprocess.Popen(args, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        env={k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm-256color"} | env)
        os.close(slave)

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def shown(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def scrolled(self):
        lines = ["".join(line[x].data for x in range(self.screen.columns)).rstrip() for line in self.screen.history.top]
        return "\n".join(lines)

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            data = b""
        self.raw += data
        # pyte knows no "synchronized update", and prints what it does not know of private modes with intermediate bytes.
        self.stream.feed(data)
        return bool(data)

    def until(self, pattern):
        end = time.time() + PATIENCE_S
        while not re.search(pattern, self.shown()):
            assert time.time() < end and self.read(0.5), f"{pattern} is not shown:\n{self.shown()}"

    def end(self):
        end = time.time() + PATIENCE_S
        while self.read(0.5):
            assert time.time() < end, self.shown()
        return self.process.wait()


def prepare(folder):
    one_step.make_model(binary, folder / "model", 1, False)
    (folder / "score.py").write_text(SCORER)
    row = lambda i: json.dumps(dict(id=str(i), prompt=f"{i}+1=", ground_truth=str(i + 1), tag="t")) + "\n"
    (folder / "rows.jsonl").write_text("".join(row(i) for i in range(10, 40)))
    (folder / "validation.jsonl").write_text("".join(row(i) for i in range(40, 46)))
    model = dict(model_args=dict(model_name_or_path=str(folder / "model")))
    trained = dict(training_args=dict(learning_rate=1e-3, per_device_train_batch_size=8, gradient_accumulation_steps=1))
    data = dict(data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="prompt"))
    config = dict(exp_name="shown", seed=3, output_dir=str(folder / "run"), max_steps=STEPS, save_steps=0, eval_steps=4, rollout_batch_size=4,
                  num_return_sequences_in_group=2, prompt_length=24, response_length=8, adv_estimator="grpo",
                  actor_train=model | trained | data, actor_infer=model | dict(generating_args=dict(temperature=1.0)), reference=model,
                  validation=dict(data_args=dict(file_name=[str(folder / "validation.jsonl")])),
                  use_kl_loss=True, kl_loss_coef=0.01,
                  rewards=dict(t=dict(type="command", command=[sys.executable, str(folder / "score.py")], tag_included=["t"], timeout_s=60)))
    (folder / "run.yaml").write_text(json.dumps(config))


def check_screen(folder, columns, rows):
    out = folder / f"out{columns}"
    terminal = Terminal(folder, columns, rows, f"output_dir={out}")
    terminal.until(rf"step [23]/{STEPS} ")
    shown = terminal.shown()
    for text in ("roll · shown", "qwen2", "algorithm: ", "score 0.5 (best 0.5 @ 1)", "response length ", "entropy ", "┤", "prompt", "response",
                 "partly right (score 0.5)", " left", "── log"):
        assert text in shown, f"{text} is not shown at {columns} x {rows}:\n{shown}"
    assert max(map(len, shown.split("\n"))) < columns and shown.count("\n") == rows - 1
    assert terminal.raw.count(b"\x1b[36m") > 0, "curves have a colour"
    code = terminal.end()
    after = terminal.scrolled() + "\n" + terminal.shown()
    assert code == 0, after
    assert "── log" not in after and "┤" in terminal.shown(), f"the screen is gone, the end's curve is there:\n{after}"
    for text in ("validation after step 0", f"validation after step {STEPS}", "run folder: ", f"step {STEPS}/{STEPS}: score 0.5"):
        assert text in after, f"{text} is not left:\n{after}"
    log = (out / "log.txt").read_text()
    assert "\x1b" not in log and f"step {STEPS}/{STEPS} | " in log and "run: shown" in log, log
    return shown


def check_resize(folder):
    terminal = Terminal(folder, 120, 40, f"output_dir={folder / 'resized'}", "max_steps=20")
    terminal.until(r"step [1-9]/20 ")
    terminal.resize(60, 18)
    terminal.until(r"^roll · shown {20,}.*s\n(.*\n)+── log ─+\n")
    assert max(map(len, terminal.shown().split("\n"))) < 60, terminal.shown()
    assert terminal.end() == 0


def check_stop(folder):
    terminal = Terminal(folder, 80, 24, f"output_dir={folder / 'stopped'}", NO_COLOR="1")
    terminal.until(rf"step [1-9]/{STEPS} ")
    os.kill(terminal.process.pid, signal.SIGINT)
    assert terminal.end() == 130
    shown = terminal.shown()
    assert "stopped by Ctrl-C" in shown and "resume with: roll" in shown and "validation after step 0" in shown, shown
    assert "── log" not in shown and not re.search(rb"\x1b\[\d+m", terminal.raw), shown
    assert not terminal.screen.cursor.hidden


def check_failure(folder):
    terminal = Terminal(folder, 80, 24, f"output_dir={folder / 'failed'}", "rewards.t.on_reward_error=stop", "rewards.t.command=['/bin/false']")
    code = terminal.end()
    shown = terminal.shown()
    assert code != 0 and "roll: " in shown and "── log" not in shown and not terminal.screen.cursor.hidden, (code, shown)


def check_lines(folder):
    """Lines on a terminal that can do no more, or is asked for no more."""
    plain = Terminal(folder, 120, 40, f"output_dir={folder / 'plain'}", "--plain", "max_steps=2")
    assert plain.end() == 0
    assert b"\x1b[2J" not in plain.raw and b"\x1b[1;1H" not in plain.raw and b"step 1/2 | " in plain.raw, plain.raw
    dumb = Terminal(folder, 120, 40, f"output_dir={folder / 'dumb'}", "max_steps=2", TERM="dumb")
    assert dumb.end() == 0 and b"\x1b" not in dumb.raw and b"step 1/2 | " in dumb.raw, dumb.raw
    quiet = Terminal(folder, 120, 40, f"output_dir={folder / 'quiet'}", "--quiet", "max_steps=2")
    assert quiet.end() == 0
    text = quiet.raw.decode()
    assert "step 1/2" not in text and "run: " not in text and "\x1b" not in text, text
    assert "validation after step 2" in text and "run folder: " in text, text
    assert "step 1/2 | " in (folder / "quiet/log.txt").read_text()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        for columns, rows in ((80, 24), (120, 40)):
            shown = check_screen(folder, columns, rows)
        check_resize(folder)
        check_stop(folder)
        check_failure(folder)
        check_lines(folder)
        print(f"at 120 x 40:\n{shown}")


main()
