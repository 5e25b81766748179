#!/usr/bin/env python3
"""Writes tests/golden/train/dpo.json: what the update of tests/e2e/one_dpo.py must give, in float64 and autograd, and what TRL's DPOTrainer
says of the loss of its pairs.

    make_golden_dpo.py BINARY      # needs torch, transformers and trl (1.16 was used); run by hand
"""
import json
import pathlib
import sys
import tempfile

import torch

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests/e2e"))
import one_dpo  # noqa: E402
import one_step  # noqa: E402
from oracle_step import Policy  # noqa: E402


def pairs_of(folder, rows):
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(folder / "actor")
    ids = lambda text: tokenizer.encode(text, add_special_tokens=False)
    return [(ids(row["prompt"]), ids(row["chosen"]) + [tokenizer.eos_token_id], ids(row["rejected"]) + [tokenizer.eos_token_id])
            for row in rows]


def log_prob(model, prompt, response):
    return model(dict(prompt_ids=prompt, response_ids=response), 1.0)[0].sum()


def loss_of(keys, policy, reference, pairs):
    """The mean over the pairs, and TRL's metrics."""
    beta, smoothing = keys["beta"], keys.get("label_smoothing", 0.0)
    said = {name: [] for name in ("loss", "rewards/chosen", "rewards/rejected", "rewards/margins", "rewards/accuracies", "logps/chosen", "logps/rejected")}
    for prompt, chosen, rejected in pairs:
        better, worse = log_prob(policy, prompt, chosen), log_prob(policy, prompt, rejected)
        with torch.no_grad():
            better_ref, worse_ref = log_prob(reference, prompt, chosen), log_prob(reference, prompt, rejected)
        margin = (better - worse) - (better_ref - worse_ref)
        if keys.get("ipo"):
            loss = (margin - 1 / (2 * beta)) ** 2
        else:
            loss = -(1 - smoothing) * torch.log(torch.sigmoid(beta * margin)) - smoothing * torch.log(torch.sigmoid(-beta * margin))
        rewards = beta * (better - better_ref).detach(), beta * (worse - worse_ref).detach()
        for name, value in zip(said, (loss, *rewards, rewards[0] - rewards[1], (rewards[0] > rewards[1]).double(), better.detach(), worse.detach())):
            said[name].append(value)
    return {name: torch.stack(values).mean() for name, values in said.items()}


def expected(binary, recipe):
    keys = one_dpo.RECIPES[recipe]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one_dpo.prepare(binary, folder, keys)
        policy, reference = Policy(folder / "actor"), Policy(folder / "reference")
        before = {k: p.detach().clone().numpy() for k, p in policy.named.items()}
        said = loss_of(keys, policy, reference, pairs_of(folder, one_dpo.rows()))
        said["loss"].backward()
        norm = torch.nn.utils.clip_grad_norm_(list(policy.named.values()), 0.5)
        args = one_dpo.TRAINING
        groups = [{"params": [p for p in policy.named.values() if p.dim() > 1], "weight_decay": args["weight_decay"]},
                  {"params": [p for p in policy.named.values() if p.dim() <= 1], "weight_decay": 0.0}]
        torch.optim.AdamW(groups, lr=args["learning_rate"], betas=(args["adam_beta1"], args["adam_beta2"]), eps=args["adam_epsilon"]).step()
        metrics = {("dpo/" if k == "loss" else "") + k: v.item() for k, v in said.items()} | {"dpo/grad_norm": norm.item()}
        with torch.no_grad():
            held = loss_of(keys, policy, reference, pairs_of(folder, one_dpo.rows("v")))
        metrics |= {"val/" + k: v.item() for k, v in held.items()}
        changes = {k: one_step.fingerprint(p.detach().numpy() - before[k]) for k, p in sorted(policy.named.items())}
        return {"metrics": metrics, "changes": changes}


def of_trl(binary, recipe):
    """Loss and rewards of DPOTrainer, in float32, of the same pairs in one batch."""
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import DPOConfig, DPOTrainer
    keys = one_dpo.RECIPES[recipe]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one_dpo.prepare(binary, folder, keys)
        load = lambda role: AutoModelForCausalLM.from_pretrained(folder / role, dtype=torch.float32)
        args = DPOConfig(output_dir=str(folder / "trl"), beta=keys["beta"], per_device_train_batch_size=one_dpo.PAIRS, report_to=[], use_cpu=True, bf16=False,
                         max_length=None, gradient_checkpointing=False, disable_dropout=True)
        trainer = DPOTrainer(model=load("actor"), ref_model=load("reference"), args=args, processing_class=AutoTokenizer.from_pretrained(folder / "actor"),
                             train_dataset=Dataset.from_list([{k: row[k] for k in ("prompt", "chosen", "rejected")} for row in one_dpo.rows()]))
        batch = next(iter(trainer.get_train_dataloader()))
        ours = sorted(prompt + response for pair in pairs_of(folder, one_dpo.rows()) for prompt, response in ((pair[0], pair[1]), (pair[0], pair[2])))
        theirs = sorted(ids[mask.bool()].tolist() for ids, mask in zip(batch["input_ids"], batch["attention_mask"]))
        assert ours == theirs, "TRL sees the same tokens"
        trainer.model.train()
        loss = trainer.compute_loss(trainer.model, batch)
        said = {name: sum(values) / len(values) for name, values in trainer._metrics["train"].items() if name.startswith(("rewards/", "logps/"))}
        return {"dpo/loss": loss.item(), **{k: float(v) for k, v in said.items()}}


binary = pathlib.Path(sys.argv[1]).resolve()
golden = {recipe: expected(binary, recipe) for recipe in one_dpo.RECIPES} | {"trl": of_trl(binary, "dpo")}
(SOURCE / "tests/golden/train/dpo.json").write_text(json.dumps(golden, indent=1) + "\n")
