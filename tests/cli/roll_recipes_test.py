"""ROLL's own text recipes validate as they are written, where its repository is: ROLL_RECIPES names its folder examples/, and
none of it is here. Models and data files are absent; the shapes of models follow from their names. Those of FrozenLake and Sokoban
run a step, of a tiny model."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

roll = pathlib.Path(sys.argv[1]).resolve()
root = os.environ.get("ROLL_RECIPES")
if not root:
    print("skipped: ROLL_RECIPES does not name the examples/ of a clone of github.com/alibaba/ROLL")
    sys.exit(77)

# What is refused, and with which words.
REFUSED = {
    "docs_examples/example_topr.yaml": "positive_loss_coef = x_1: a number is needed",  # it says so itself: a placeholder
    "qwen3.5-27B-rlvr_megatron/rlvr_megatron_80GB.yaml": "rewards.cv_detection",
    "qwen3.5-35BA3-rlvr_megatron/rlvr_megatron_80GB.yaml": "rewards.cv_detection",
    "qwen3.5-35BA3-rlvr_megatron/rlvr_megatron_ppu.yaml": "rewards.cv_detection",
}
KINDS = ["rlvr", "sft", "dpo", "distill", "agentic"]
# The agentic ones that are: environments, managers and agents in Python.
PYTHON = {"webshop": "env_type = webshop: is an environment in Python: play it with a program that answers JSON lines, env_type: command",
          "guess_the_number": "env_type: guess_the_number", "gem_rg": "env_type: command (configs/agentic.md", "gem_math_dapo": "math_rule",
          "hotpotqa": "env_type: tools with env_config.questions", "rock_swe": "env_type: openai (configs/agentic.md",
          "openreward": "with tools: play it with a program that declares the tools, env_type: command", "atropos": "env_type: command (configs/agentic.md",
          "sokoban_sandbox": "the game itself is env_type: sokoban", "sokoban_native": "the game itself is env_type: sokoban",
          "agent_runner": "for an external agent set env_type: openai"}
# What a step on one rank needs, whatever it was written for.
SMALL = ["max_steps=1", "rollout_batch_size=8", "val_batch_size=4", "sequence_length=3072", "eval_steps=0", "track_with=stdout",
         "async_generation_ratio=0", "actor_infer.strategy_args.strategy_config.tensor_parallel_size=1"] + [
    f"{role}.{one}" for role in ("actor_train", "reference") for one in ("device_mapping=[0]", "model_args.ulysses_size=1")] + [
    "actor_infer.device_mapping=[0]"]


def kind_of(name, text):
    """None: not of this test."""
    if name.startswith("config/") or re.search("-vl-|vl_|omni|video|deepeyes", name):
        return None
    if "env_manager" in text:
        return "agentic"
    return next((kind for kind in ["dpo", "sft", "distill"] if kind in name), "rlvr" if "rewards:" in text else None)


def refusal_of(name, kind):
    """Words of the error, or None: it is valid."""
    if kind != "agentic":
        return REFUSED.get(name)
    return next((words for part, words in PYTHON.items() if part in name), None)


def why_no_step(file, folder):
    """None: a step was done."""
    text = file.read_text()
    small = SMALL if "\nactor_train:" in text else [word for word in SMALL if not word.startswith(("actor_train", "reference"))]  # it only samples
    words = [f"pretrain={folder / 'model'}", f"reward_pretrain={folder / 'model'}", *small]
    if "dtype: fp16" in text:  # no CPU computes in it
        words += [f"{role}.model_args.dtype=bf16" for role in ("actor_train", "actor_infer", "reference")]
    run = subprocess.run([roll, "train", "--config", file, "-n", "1", "--device", "cpu", "--new-run", *words], cwd=folder, capture_output=True, text=True,
                         timeout=600)
    return None if run.returncode == 0 and "step 1/1" in run.stdout else f"exit code {run.returncode}: {run.stderr.strip().splitlines()[-1:]}"


failed, counts, to_run = [], {kind: [0, 0] for kind in KINDS}, []
for file in sorted(pathlib.Path(root).rglob("*.yaml")):
    name = file.relative_to(root).as_posix()
    kind = kind_of(name, file.read_text())
    if not kind:
        continue
    run = subprocess.run([roll, "validate-config", "--offline", "--no-data", "--config", file], capture_output=True, text=True)
    counts[kind][1] += 1
    counts[kind][0] += run.returncode == 0
    words = refusal_of(name, kind)
    if (run.returncode, (words or "") in run.stderr) != (2 if words else 0, True):
        failed.append(f"{name}: exit code {run.returncode}: {run.stderr.strip().splitlines()[-1:]}")
    elif kind == "agentic" and not words:
        to_run.append(file.resolve())
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    subprocess.run([roll, "init-model", "--arch", "qwen2", "--hidden", "32", "--layers", "2", "--heads", "4", "--kv-heads", "2", "--tokenizer", "builtin",
                    "--seed", "1", "--out", folder / "model"], check=True, stdout=subprocess.DEVNULL)
    failed += [f"{file}: a step: {why}" for file in to_run if (why := why_no_step(file, folder))]
print(f"{len(to_run)} agentic ones ran a step")
print(", ".join(f"{kind}: {valid} of {all_} valid" for kind, (valid, all_) in counts.items()))
assert not failed, "\n".join(failed)
assert counts["rlvr"][1] >= 37 and len(to_run) >= 16, counts
