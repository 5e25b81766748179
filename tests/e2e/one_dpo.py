"""One update of `roll dpo` on a tiny model: its files, shared by dpo_test.py, which runs it, and tests/oracles/make_golden_dpo.py, which
computes what it must give."""
import json
import random

import one_step

PAIRS = 12
TRAINING = dict(learning_rate=1e-3, weight_decay=0.01, adam_beta1=0.8, adam_beta2=0.95, adam_epsilon=1e-4, lr_scheduler_type="constant",
                per_device_train_batch_size=PAIRS)
RECIPES = {"dpo": dict(beta=0.3), "cdpo": dict(beta=0.3, label_smoothing=0.1), "ipo": dict(beta=0.05, ipo=True)}


def rows(prefix=""):
    """Raw texts of different lengths."""
    rng = random.Random(11)
    word = lambda most: "".join(rng.choice("abcdefgh 0123") for _ in range(rng.randint(1, most)))
    return [dict(id=f"{prefix}{i}", prompt=prefix + word(20) + "=", chosen=word(30), rejected=word(30)) for i in range(PAIRS)]


def prepare(binary, folder, keys):
    """Models, rows and run.yaml under `folder`; returns the path of run.yaml."""
    for seed, role in enumerate(("actor", "reference"), 1):
        if not (folder / role).exists():
            one_step.make_model(binary, folder / role, seed, False)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    (folder / "held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows("v")))
    model = lambda role: dict(model_args=dict(model_name_or_path=str(folder / role), dtype="fp32"))
    config = dict(exp_name="dpo", seed=7, output_dir=str(folder / "run"), max_steps=1, save_steps=1, eval_steps=1, sequence_length=64,
                  max_grad_norm=0.5, track_with=["jsonl"], **keys,
                  actor_train=model("actor") | dict(training_args=TRAINING, data_args=dict(file_name=[str(folder / "rows.jsonl")])),
                  reference=model("reference"), validation=dict(data_args=dict(file_name=[str(folder / "held.jsonl")])))
    file = folder / "run.yaml"
    file.write_text(json.dumps(config, indent=1))
    return file
