"""One update of `roll distill` on tiny models: its files, shared by distill_test.py, which runs it, and
tests/oracles/make_golden_distill.py, which computes what it must give."""
import json
import random

from safetensors.numpy import load_file, save_file

import one_step

ROWS = 12
TRAINING = dict(learning_rate=1e-3, weight_decay=0.01, adam_beta1=0.8, adam_beta2=0.95, adam_epsilon=1e-4, lr_scheduler_type="constant",
                per_device_train_batch_size=ROWS)
# Every objective; the whole vocabulary once, and prompts once.
RECIPES = {"forward": dict(logits_topk=5, distill_loss_weight=0.85),
           "reverse": dict(kd_objective="reverse_kl", logits_topk=4, kd_temperature=2.0, teacher_temperature=0.7),
           "adaptive": dict(kd_objective="adaptive_kl", logits_topk=6, adaptive_kl_alpha=0.4, distill_on_prompt=True),
           "skewed forward": dict(kd_objective="skewed_forward_kl", logits_topk=5, skew_lambda=0.3, distill_loss_weight=1.0),
           "skewed reverse": dict(kd_objective="skewed_reverse_kl", logits_topk=5, skew_lambda=0.3, distill_loss_weight=1.0),
           "js": dict(kd_objective="js_divergence", logits_topk=0, distill_loss_weight=0.4)}


def rows(prefix=""):
    """Raw texts of different lengths."""
    rng = random.Random(11)
    word = lambda most: "".join(rng.choice("abcdefgh 0123") for _ in range(rng.randint(1, most)))
    return [dict(id=f"{prefix}{i}", prompt=prefix + word(20) + "=", answer=word(30)) for i in range(ROWS)]


def make_model(binary, folder, seed):
    """Whose predictions are far from even."""
    one_step.make_model(binary, folder, seed, False)
    tensors = load_file(folder / "model.safetensors")
    tensors["model.norm.weight"] *= 12
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def prepare(binary, folder, keys):
    """Models, rows and run.yaml under `folder`; returns the path of run.yaml."""
    for seed, role in enumerate(("student", "teacher"), 1):
        if not (folder / role).exists():
            make_model(binary, folder / role, seed)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    (folder / "held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows("v")))
    exact = dict(model_args=dict(dtype="fp32"))
    config = dict(exp_name="distill", seed=7, output_dir=str(folder / "run"), max_steps=1, save_steps=1, eval_steps=1, sequence_length=64,
                  max_grad_norm=0.5, track_with=["jsonl"], student_pretrain=str(folder / "student"), teacher_pretrain=str(folder / "teacher"),
                  answer_key="answer", **keys,
                  student=exact | dict(training_args=TRAINING, data_args=dict(prompt="prompt", file_name=[str(folder / "rows.jsonl")])),
                  teacher=exact, validation=dict(data_args=dict(file_name=[str(folder / "held.jsonl")])))
    file = folder / "run.yaml"
    file.write_text(json.dumps(config, indent=1))
    return file
