#!/usr/bin/env python3
"""Makes README's pictures: configs/pictures/screen.svg, the terminal of a quickstart in training, and report.png, the page of its run.
  .deps/venv/bin/python scripts/make_pictures.py [build/roll]
Takes the quickstart's time. Needs pyte (tests/requirements.txt) and Chromium."""
import fcntl
import html
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

import pyte

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
import browser  # noqa: E402

COLUMNS, LINES = 110, 40
SHOWN_STEP = 40  # far enough for curves
CELL_W, CELL_H = 8.4, 18
COLOURS = {"default": "#d8d8d8", "black": "#606060", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "blue": "#61afef", "magenta": "#c678dd",
           "cyan": "#56b6c2", "white": "#ffffff"}


def runs_of(line):
    """Neighbouring characters of one look: (column, text, colour, is bold)."""
    runs = []
    for x in range(COLUMNS):
        cell = line[x]
        look = (COLOURS.get(cell.fg, "#" + cell.fg if re.fullmatch("[0-9a-f]{6}", cell.fg) else COLOURS["default"]), cell.bold)
        if runs and runs[-1][2:] == look:
            runs[-1] = (runs[-1][0], runs[-1][1] + cell.data, *look)
        else:
            runs.append((x, cell.data, *look))
    return [run for run in runs if run[1].strip()]


def svg_of(screen):
    width, height = COLUMNS * CELL_W + 20, LINES * CELL_H + 20
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">',
             '<rect width="100%" height="100%" rx="8" fill="#1e2127"/>']
    for y in range(LINES):
        for x, text, colour, is_bold in runs_of(screen.buffer[y]):
            lead = len(text) - len(text.lstrip())
            text = text.strip()
            weight = ' font-weight="bold"' if is_bold else ""
            parts.append(f'<text x="{10 + (x + lead) * CELL_W:.1f}" y="{24 + y * CELL_H}" fill="{colour}" textLength="{len(text) * CELL_W:.1f}" '
                         f'xml:space="preserve"{weight}>{html.escape(text)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def quickstart(binary, folder):
    """The screen at SHOWN_STEP of its training."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream, shown = pyte.ByteStream(screen), None
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(binary, [str(binary), "quickstart"], os.environ | {"TERM": "xterm-256color"})
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    while True:
        select.select([master], [], [])
        try:
            data = os.read(master, 1 << 16)
        except OSError:
            break
        if not data:
            break
        stream.feed(data)
        is_training = screen.display[0].rstrip().startswith("roll · quickstart ")  # not its warm-up
        if shown is None and is_training and any(line.startswith(f"step {SHOWN_STEP}/") for line in screen.display):
            shown = svg_of(screen)
    assert os.waitpid(pid, 0)[1] == 0, "\n".join(screen.display)
    assert shown, "the step was never shown"
    return shown


def main():
    binary = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/roll").resolve()
    out = ROOT / "configs/pictures"
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (out / "screen.svg").write_text(quickstart(binary, folder))
        page = folder / "page.html"
        subprocess.run([binary, "report", folder / "output/quickstart/train", "--out", page], check=True)
        with browser.Browser(shutil.which("chromium")) as looks:
            looks.open(page.as_uri(), 1100, height=980)
            looks.screenshot(out / "report.png", whole=False)


main()
