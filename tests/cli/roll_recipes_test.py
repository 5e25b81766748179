"""ROLL's own text recipes validate as they are written, where its repository is: ROLL_RECIPES names its folder examples/, and
none of it is here. Models and data files are absent; the shapes of models follow from their names."""
import os
import pathlib
import re
import subprocess
import sys

roll = pathlib.Path(sys.argv[1]).resolve()
root = os.environ.get("ROLL_RECIPES")
if not root:
    print("skipped: ROLL_RECIPES does not name the examples/ of a clone of github.com/alibaba/ROLL")
    sys.exit(77)

# What is refused, and with which words.
REFUSED = {
    "docs_examples/example_topr.yaml": "positive_loss_coef = x_1: a number is needed",  # it says so itself: a placeholder
    "qwen2.5-7B-distill_megatron/distill_megatron.yaml": "distils from written answers",
    "qwen3.5-27B-rlvr_megatron/rlvr_megatron_80GB.yaml": "rewards.cv_detection",
    "qwen3.5-35BA3-rlvr_megatron/rlvr_megatron_80GB.yaml": "rewards.cv_detection",
    "qwen3.5-35BA3-rlvr_megatron/rlvr_megatron_ppu.yaml": "rewards.cv_detection",
}
KINDS = ["rlvr", "sft", "dpo", "distill"]


def kind_of(name, text):
    """None: not of this test."""
    if "env_manager" in text or name.startswith("config/") or re.search("-vl-|vl_|omni|video|deepeyes", name):
        return None
    return next((kind for kind in ["dpo", "sft", "distill"] if kind in name), "rlvr" if "rewards:" in text else None)


failed, counts = [], {kind: [0, 0] for kind in KINDS}
for file in sorted(pathlib.Path(root).rglob("*.yaml")):
    name = file.relative_to(root).as_posix()
    kind = kind_of(name, file.read_text())
    if not kind:
        continue
    run = subprocess.run([roll, "validate-config", "--offline", "--no-data", "--config", file], capture_output=True, text=True)
    counts[kind][1] += 1
    counts[kind][0] += run.returncode == 0
    if (run.returncode, REFUSED.get(name, "") in run.stderr) != (2 if name in REFUSED else 0, True):
        failed.append(f"{name}: exit code {run.returncode}: {run.stderr.strip().splitlines()[-1:]}")
print(", ".join(f"{kind}: {valid} of {all_} valid" for kind, (valid, all_) in counts.items()))
assert counts["rlvr"][1] >= 37, counts
assert not failed, "\n".join(failed)
