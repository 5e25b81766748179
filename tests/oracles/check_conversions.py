"""The numbers of converted configurations against what bash itself passes to the trainers.

check_conversions.py BINARY FOLDER_OR_SCRIPT...

Each script is run by bash with stub interpreters (run_shell_scripts.py). From the keys that these were passed, and the trainers' own
defaults, the numbers of our configuration are calculated here a second time: batch sizes, responses, learning rate, KL, clips,
lengths, LoRA, epochs. Each must stand in what `roll convert-config` writes. Exit 1: one differs. Wants root, as that script does.
"""
import pathlib
import re
import subprocess
import sys

import yaml

from run_shell_scripts import in_environment, keys_of, run_to_trainer

ACTOR, ROLLOUT = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout."


def verl(k):
    n = int(k(ROLLOUT + "n", 1))
    wanted = {
        "rollout_batch_size": int(k("data.train_batch_size", 1024)),
        "num_return_sequences_in_group": n,
        "actor_train.training_args.train_batch_size": int(k(ACTOR + "ppo_mini_batch_size", 256)) * n,
        "actor_train.training_args.learning_rate": k(ACTOR + "optim.lr", 1e-6),
        "prompt_length": k("data.max_prompt_length", 512),
        "response_length": k("data.max_response_length", 512),
        "actor_train.model_args.lora_rank": k("actor_rollout_ref.model.lora_rank", 0) or k("actor_rollout_ref.model.lora.rank", 0),
        "ppo_epochs": k(ACTOR + "ppo_epochs", 1),
    }
    if "actor_rollout_ref.model.path" in k.keys:
        wanted["pretrain"] = k("actor_rollout_ref.model.path", "")
    if k(ACTOR + "use_kl_loss", "False").lower() == "true" and float(k(ACTOR + "kl_loss_coef", 0.001)) and k("distillation.enabled", "False") == "False":
        wanted["kl_loss_coef"] = k(ACTOR + "kl_loss_coef", 0.001)
    if k(ACTOR + "policy_loss.loss_mode", "vanilla") in ("vanilla", "gspo"):
        wanted["pg_clip_low"] = k(ACTOR + "clip_ratio_low", 0.2)
        wanted["pg_clip_high"] = k(ACTOR + "clip_ratio_high", 0.2)
    if "trainer.total_training_steps" in k.keys:
        wanted["max_steps"] = k("trainer.total_training_steps", None)
    return wanted


def verl_sft(k):
    old = "model.partial_pretrain" in k.keys
    wanted = {
        "pretrain": k("model.partial_pretrain" if old else "model.path", ""),
        "sft_train.training_args.train_batch_size": k("data.train_batch_size", 256),
        "sft_train.training_args.learning_rate": k("optim.lr", 1e-5 if old else 1e-3),
        "sft_train.training_args.weight_decay": k("optim.weight_decay", 0.01),
        "sequence_length": k("data.max_length", 1024),
        "sft_train.model_args.lora_rank": k("model.lora_rank", 0),
        "max_grad_norm": k("optim.clip_grad", 1.0),
    }
    steps = k("trainer.total_training_steps", None)
    wanted["max_steps" if steps else "num_train_epochs"] = steps or k("trainer.total_epochs", 4)
    return wanted


def slime(k):
    n, prompts = int(k("n-samples-per-prompt", 1)), int(k("rollout-batch-size", 32))
    sampled = n * prompts
    batch = int(k("global-batch-size", 0)) or sampled // int(k("num-steps-per-rollout", 1))
    role = "sft_train" if k("loss-type", "policy_loss") == "sft_loss" else "actor_train"
    wanted = {
        "pretrain": k("hf-checkpoint", ""),
        f"{role}.training_args.train_batch_size": batch,
        f"{role}.training_args.learning_rate": k("lr", 1e-6),
        f"{role}.training_args.weight_decay": k("weight-decay", 0.01),
        f"{role}.model_args.lora_rank": k("lora-rank", 0),
    }
    if role == "sft_train":
        wanted["num_train_epochs"] = k("num-epoch", 1)
        return wanted
    wanted |= {"rollout_batch_size": prompts, "num_return_sequences_in_group": n, "response_length": k("rollout-max-response-len", 1024)}
    if "num-rollout" in k.keys:
        wanted["max_steps"] = k("num-rollout", None)
    if "use-kl-loss" in k.keys and float(k("kl-loss-coef", 0)):
        wanted["kl_loss_coef"] = k("kl-loss-coef", 0)
    if k("advantage-estimator", "grpo") != "cispo":
        wanted |= {"pg_clip_low": k("eps-clip", 0.2), "pg_clip_high": k("eps-clip-high", k("eps-clip", 0.2))}
    return wanted


def openrlhf_rows(k, role, epochs, length):
    return {
        "pretrain": k("model.model_name_or_path", ""),
        f"{role}.training_args.train_batch_size": k("train.batch_size", 128),
        f"{role}.training_args.learning_rate": k("adam.lr", None),
        f"{role}.model_args.lora_rank": k("ds.lora.rank", 0),
        "num_train_epochs": k("train.max_epochs", epochs),
        "sequence_length": k("data.max_len", length),
    }


def openrlhf_dpo(k):
    return openrlhf_rows(k, "actor_train", 1, 512) | {"beta": k("model.beta", 0.1)}


def openrlhf_sft(k):
    return openrlhf_rows(k, "sft_train", 2, 2048)


TRAINERS = [(r"sft_trainer", verl_sft), (r"main_ppo", verl), (r"train_dpo", openrlhf_dpo), (r"train_sft", openrlhf_sft), (r"train(_async)?\.py", slime)]


class Given:
    def __init__(self, keys):
        self.keys = {key: value for key, value in keys.items() if value not in ("null", "None")}

    def __call__(self, key, otherwise):
        return self.keys.get(key, otherwise)


def is_same(found, wanted):
    try:
        return float(found) == float(wanted)
    except (TypeError, ValueError):
        return str(found).rstrip("/") == str(wanted).rstrip("/")


def check(binary, script):
    """What differs; None where there is nothing to compare."""
    found, environment, _, variables, arguments = run_to_trainer(script, {})
    named = [(wanted, keys) for program, words in found for pattern, wanted in TRAINERS if re.search(pattern, program) for keys in [keys_of(words)]]
    if not named:
        return None
    words = [f"{i + 1}={word}" for i, word in enumerate(arguments)]
    done = subprocess.run([binary, "convert-config", script, *words, *(f"{name}={value}" for name, value in variables.items())], capture_output=True, text=True, timeout=60)
    if done.returncode:
        return None
    ours = yaml.safe_load(done.stdout)
    wanted, keys = named[0]
    problems = []
    for path, value in wanted(Given(keys)).items():
        place = ours
        for part in path.split("."):
            place = (place or {}).get(part)
        if place is None and path.endswith("lora_rank"):
            place = 0
        if isinstance(place, str):
            place = in_environment(place, environment)
        if not is_same(place, value):
            problems.append(f"{path}: {place}, wanted {value}")
    return problems


def main():
    binary, *paths = sys.argv[1:]
    scripts = sorted(script for path in map(pathlib.Path, paths) for script in ([path] if path.is_file() else path.rglob("*.sh")))
    count = {"the same": 0, "different": 0, "not converted, or not started": 0}
    for script in scripts:
        problems = check(pathlib.Path(binary).resolve(), script.resolve())
        count["not converted, or not started" if problems is None else "different" if problems else "the same"] += 1
        if problems:
            print(f"{script}:", *problems, sep="\n  ")
    print(", ".join(f"{number} {name}" for name, number in count.items()))
    sys.exit(1 if count["different"] else 0)


if __name__ == "__main__":
    main()
