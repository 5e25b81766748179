#!/usr/bin/env python3
"""Writes tests/golden/train/distill.json: what the update of tests/e2e/one_distill.py must give, in float64 and autograd. The divergences are
written from the papers that lib/loss/terms.h names.

    make_golden_distill.py BINARY      # needs torch and transformers; run by hand
"""
import json
import pathlib
import sys
import tempfile

import torch

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests/e2e"))
import one_distill  # noqa: E402
import one_step  # noqa: E402
from oracle_step import Policy  # noqa: E402


def rows_of(folder, rows):
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(folder / "student")
    ids = lambda text: tokenizer.encode(text, add_special_tokens=False)
    return [(ids(row["prompt"]), ids(row["answer"]) + [tokenizer.eos_token_id]) for row in rows]


def logits_of(model, prompt, answer, with_prompt):
    """Those that predict the learnt tokens, and these."""
    ids = torch.tensor([prompt + answer])
    begin = 1 if with_prompt else len(prompt)
    return model.model(ids).logits[0, begin - 1:-1], ids[0, begin:]


def kl(p, q):
    return (p * (torch.log(p) - torch.log(q))).sum(-1)


def divergence(keys, p, q):
    """p: the teacher's probabilities, q: the student's."""
    kind, a = keys.get("kd_objective", "forward_kl"), keys.get("skew_lambda", 0.1)
    if kind == "forward_kl":
        return kl(p, q)
    if kind == "reverse_kl":
        return kl(q, p)
    if kind == "skewed_forward_kl":
        return kl(p, a * p + (1 - a) * q)
    if kind == "skewed_reverse_kl":
        return kl(q, (1 - a) * p + a * q)
    if kind == "js_divergence":
        return (kl(p, (p + q) / 2) + kl(q, (p + q) / 2)) / 2
    order = p.argsort(-1)  # adaptive_kl: the head is where the likelier tokens are
    gap = (p - q).abs().detach()
    in_tail = torch.zeros_like(p)
    for row in range(len(p)):
        total = 0.0
        for token in order[row].tolist():
            total += p[row, token].item()
            in_tail[row, token] = float(total <= keys["adaptive_kl_alpha"])
    head, tail = (gap * (1 - in_tail)).sum(-1), (gap * in_tail).sum(-1)
    return head / (head + tail) * kl(p, q) + tail / (head + tail) * kl(q, p)


def loss_of(keys, student, teacher, rows):
    hot, hotter = keys.get("kd_temperature", 1.0), keys.get("teacher_temperature", 1.0)
    on_prompt = keys.get("distill_on_prompt", False)
    likelihoods, divergences = [], []
    for prompt, answer in rows:
        logits, labels = logits_of(student, prompt, answer, on_prompt)
        with torch.no_grad():
            of_teacher, _ = logits_of(teacher, prompt, answer, on_prompt)
            best, ids = of_teacher.topk(keys["logits_topk"] or of_teacher.size(-1), -1)
        likelihoods.append(-torch.log_softmax(logits, -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1))
        p, q = torch.softmax(best / hot / hotter, -1), torch.softmax(logits.gather(-1, ids) / hot, -1)
        divergences.append(divergence(keys, p, q))
    weight = keys.get("distill_loss_weight", 0.5)
    written, taught = torch.cat(likelihoods).mean(), torch.cat(divergences).mean()
    return dict(loss=(1 - weight) * written + weight * taught, student_loss=written, distill_loss=taught)


def expected(binary, recipe):
    keys = one_distill.RECIPES[recipe]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one_distill.prepare(binary, folder, keys)
        student, teacher = Policy(folder / "student"), Policy(folder / "teacher")
        before = {k: p.detach().clone().numpy() for k, p in student.named.items()}
        said = loss_of(keys, student, teacher, rows_of(folder, one_distill.rows()))
        said["loss"].backward()
        norm = torch.nn.utils.clip_grad_norm_(list(student.named.values()), 0.5)
        args = one_distill.TRAINING
        groups = [{"params": [p for p in student.named.values() if p.dim() > 1], "weight_decay": args["weight_decay"]},
                  {"params": [p for p in student.named.values() if p.dim() <= 1], "weight_decay": 0.0}]
        torch.optim.AdamW(groups, lr=args["learning_rate"], betas=(args["adam_beta1"], args["adam_beta2"]), eps=args["adam_epsilon"]).step()
        metrics = {"distill/" + k: v.item() for k, v in said.items()} | {"distill/grad_norm": norm.item()}
        with torch.no_grad():
            metrics["val/loss"] = loss_of(keys, student, teacher, rows_of(folder, one_distill.rows("v")))["student_loss"].item()
        changes = {k: one_step.fingerprint(p.detach().numpy() - before[k]) for k, p in sorted(student.named.items())}
        return {"metrics": metrics, "changes": changes}


binary = pathlib.Path(sys.argv[1]).resolve()
golden = {recipe: expected(binary, recipe) for recipe in one_distill.RECIPES}
(SOURCE / "tests/golden/train/distill.json").write_text(json.dumps(golden, indent=1) + "\n")
