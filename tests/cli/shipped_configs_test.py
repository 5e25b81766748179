"""Every file in configs/ validates without model or data at hand, and says how it is run; those in configs/algorithms are what
their first line says."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

roll = pathlib.Path(sys.argv[1]).resolve()
root = pathlib.Path(__file__).resolve().parents[2]
configs = sorted((root / "configs").rglob("*.yaml"))
assert len(configs) >= 25, configs
row = {"id": "1", "prompt": "1+1=", "messages": json.dumps([{"role": "user", "content": "1+1="}]), "response": "2",
       "ground_truth": "2", "tag": "arithmetic", "domain": "math_rule"}
failed = []


def updates(text):
    """What an update is: "4 updates of 128 sequences a step" of each role."""
    return re.findall(r"^(\w+: .*? (?:of \d+ sequences a step|\d+ sequences an update))", text, re.M)


def memory(text):
    """GB that the rank needs which needs most."""
    found = [line for line in text.splitlines() if re.match(r"memory of .*\(GPU\), about: ", line)]
    return max((float(number) for line in found for number in re.findall(r"(?:= |in sampling )([\d.]+)", line)), default=0)


with tempfile.TemporaryDirectory() as folder:
    # The files that the configurations name by default, each with one row.
    for name in ["output/quickstart/data/train.jsonl", "output/quickstart/data/heldout.jsonl", "output/quickstart/data/sft.jsonl",
                 "data/math_deepmath_deal.jsonl", "data/math_benchmarks.jsonl"]:
        file = pathlib.Path(folder) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(row) + "\n")
    subprocess.run([sys.executable, root / "scripts/make_everyday_rows.py", "--out", pathlib.Path(folder) / "output/real_model/data"], check=True)
    # What belongs to a configuration is beside it.
    shutil.copytree(root / "configs", pathlib.Path(folder) / "configs")
    for config in configs:
        started = time.monotonic()
        run = subprocess.run([roll, "validate-config", "--offline", "--config", config], cwd=folder, capture_output=True, text=True)
        if run.returncode:
            failed.append(f"{config.name}: exit code {run.returncode}: {run.stderr.strip()}")
        if "device_mapping" not in config.read_text():  # any number of ranks makes the same updates
            several = subprocess.run([roll, "validate-config", "--offline", "--no-data", "-n", "4", "--config", config], cwd=folder,
                                     capture_output=True, text=True)
            if not updates(run.stdout) or updates(run.stdout) != updates(several.stdout) or "another run" in several.stderr:
                failed.append(f"{config.name}: on four ranks {updates(several.stdout)} {several.stderr}, on one {updates(run.stdout)}")
        print(f"{config.name}: {time.monotonic() - started:.2f} s")
        head = config.read_text().split("\n\n")[0]
        for word in ["command", "expected"]:
            if f"# {word}" not in head:
                failed.append(f"{config.name}: its first comment does not say '{word}'")
        if (card := re.search(r"GPUs? of (\d+) (GB|GiB)", head)) and "_rlvr_" in config.name:  # others say nothing of memory
            room, taken = int(card[1]) * (1.074 if card[2] == "GiB" else 1), memory(run.stdout)
            if not 0 < taken <= room - 1:  # the driver and its libraries take a gigabyte
                failed.append(f"{config.name}: a rank takes {taken} GB, and its first comment promises {card[0]}")
        if config.parent.name == "algorithms":
            named = re.search(r"^algorithm: (.*)$", run.stdout, re.M)
            if not named or not head.startswith(f"# {named[1]}: ") or "# paper" not in head or f"configs/algorithms/{config.name}" not in head:
                failed.append(f"{config.name}: its first comment names another algorithm ({named and named[1]}), no paper, or another file")
# One for each row of the papers' table; the forms that ROLL and verl have of them are no files.
rows = [line.split(" | ")[0][2:] for line in (root / "configs/algorithms/README.md").read_text().splitlines() if re.match(r"\| .*\d{4}.* \| ", line) and not re.search(" as in (ROLL|verl)", line)]
titles = [config.read_text()[2:].split(":")[0] for config in configs if config.parent.name == "algorithms"]
titles.append("GDPO (Liu et al. 2026)")  # wants rewards of several parts, which the quickstart's have not
titles.append("GiGPO (Feng et al. 2025)")  # wants environments
if sorted(rows) != sorted(titles):
    failed.append(f"rows of configs/algorithms/README.md without a file, or files without a row: {sorted(set(rows) ^ set(titles))}")
sys.exit("\n".join(failed) or 0)
