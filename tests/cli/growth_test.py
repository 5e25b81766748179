#!/usr/bin/env python3
"""No reader takes more than 5 times as many instructions for four times the text, in any of the shapes of tests/growth. Counted by valgrind's
callgrind, without which this is skipped. Arguments: the roll binary, beside which, or beside whose folder, roll_tests lies; parts of names of
shapes, if not all."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MOST = 5
roll = pathlib.Path(sys.argv[1]).resolve()
tests = next(folder / "roll_tests" for folder in roll.parents if (folder / "roll_tests").exists())
if not shutil.which("valgrind"):
    print("SKIPPED: how much work readers do is not counted: there is no valgrind here (apt-get install valgrind)")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=growth_measured", "--dump-after=growth_measured",
                           f"--callgrind-out-file={folder}/out", tests, "[growth]"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    names = [line.removeprefix("growth: ") for line in done.stdout.splitlines() if line.startswith("growth: ")]
    dumps = sorted(pathlib.Path(folder).glob("out.*"), key=lambda file: int(file.suffix[1:]))
    counts = [int(re.search(r"^(?:totals|summary): (\d+)", dump.read_text(), re.M)[1]) for dump in dumps]
if len(names) < 100 or len(counts) < 3 * len(names):
    sys.exit(f"{len(names)} shapes, {len(counts)} counts: this test no longer understands valgrind")
failed = []
for i, name in enumerate(names):
    once, of_n, of_4n = counts[3 * i:3 * i + 3]
    line = f"{name}: {of_n / 1e6:.2f} and {of_4n / 1e6:.2f} million instructions, {of_4n / of_n:.1f} times"
    print(line)
    if of_4n > MOST * of_n:
        failed.append(line)
sys.exit("\n".join(["more than linear:"] + failed) if failed else 0)
