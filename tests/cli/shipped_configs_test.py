"""Every file in configs/ validates without model or data at hand, and says how it is run."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

roll = pathlib.Path(sys.argv[1]).resolve()
root = pathlib.Path(__file__).resolve().parents[2]
configs = sorted((root / "configs").glob("*.yaml"))
assert len(configs) >= 7, configs
row = {"id": "1", "prompt": "1+1=", "messages": json.dumps([{"role": "user", "content": "1+1="}]), "response": "2",
       "ground_truth": "2", "tag": "arithmetic", "domain": "math_rule"}
failed = []
with tempfile.TemporaryDirectory() as folder:
    # The files that the configurations name by default, each with one row.
    for name in ["output/quickstart/data/train.jsonl", "output/quickstart/data/heldout.jsonl", "output/quickstart/data/sft.jsonl",
                 "data/math_deepmath_deal.jsonl", "data/math_benchmarks.jsonl"]:
        file = pathlib.Path(folder) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(row) + "\n")
    # What belongs to a configuration is beside it.
    shutil.copytree(root / "configs", pathlib.Path(folder) / "configs")
    for config in configs:
        started = time.monotonic()
        run = subprocess.run([roll, "validate-config", "--offline", "--config", config], cwd=folder, capture_output=True, text=True)
        if run.returncode:
            failed.append(f"{config.name}: exit code {run.returncode}: {run.stderr.strip()}")
        print(f"{config.name}: {time.monotonic() - started:.2f} s")
        head = config.read_text().split("\n\n")[0]
        for word in ["command", "expected"]:
            if f"# {word}" not in head:
                failed.append(f"{config.name}: its first comment does not say '{word}'")
sys.exit("\n".join(failed) or 0)
