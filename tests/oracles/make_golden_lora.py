#!/usr/bin/env python3
"""Writes tests/golden/lora/*.json: what PEFT's adapters beside the tiny models of make_golden_model.py compute in
float64, their gradients, and the log-probs after one update of AdamW.

By hand, with torch, transformers and peft installed:  tests/oracles/make_golden_lora.py
Adapters' numbers come from the same formula as the models' weights, so none are stored.
"""
import json
import pathlib
import sys

import numpy
import peft
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import make_golden_model as models  # noqa: E402
from oracle_step import philox_words  # noqa: E402

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/lora"
ATTENTION, MLP = ["q_proj", "k_proj", "v_proj", "o_proj"], ["gate_proj", "up_proj", "down_proj"]
CASES = {
    "plain": ("qwen2_gqa_tied", dict(r=4, lora_alpha=8, target_modules=ATTENTION + MLP)),
    "plain_llama": ("llama3_scaled", dict(r=3, lora_alpha=5, target_modules=ATTENTION)),
    "rslora": ("qwen3_gqa", dict(r=4, lora_alpha=3, target_modules=["q_proj", "v_proj"], use_rslora=True)),
    "dora": ("qwen3_tied_bias", dict(r=4, lora_alpha=8, target_modules=ATTENTION + MLP, use_dora=True)),
    "dropout": ("qwen2_gqa_tied", dict(r=4, lora_alpha=8, target_modules=ATTENTION + MLP, lora_dropout=0.25)),
    "dora_dropout": ("qwen2_gqa_tied", dict(r=4, lora_alpha=8, target_modules=ATTENTION + MLP, use_dora=True, lora_dropout=0.4)),
    "saved": ("qwen3_gqa", dict(r=2, lora_alpha=4, target_modules=MLP, modules_to_save=["lm_head", "embed_tokens"])),
}
UPDATE = dict(lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)


def mixed(z):
    """SplitMix64's finish, of numpy's uint64."""
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return z ^ (z >> numpy.uint64(31))


STEP = numpy.uint64(0x9E3779B97F4A7C15)


class NamedDropout(torch.nn.Module):
    """PEFT's dropout with the masks of lib/ops/dropout.h: of update 3 with seed 17."""
    ids = None  # those of the row that is computed

    def __init__(self, rate, product):
        super().__init__()
        self.rate, self.product = rate, product

    def forward(self, x):
        begun, names = numpy.uint64(0), []
        for position, token in enumerate(self.ids):
            begun = mixed(begun + STEP + numpy.uint64(token))
            words = philox_words(17, 12, 3, int(begun) >> 16, position)
            names.append(words[0] << 32 | words[1])
        counts = (numpy.uint64(self.product << 32) + numpy.arange(1, x.shape[-1] + 1, dtype=numpy.uint64)) * STEP
        bits = mixed(numpy.array(names, dtype=numpy.uint64)[:, None] + counts)
        return x * torch.from_numpy((bits >> numpy.uint64(32)) >= int(self.rate * 2**32)) / (1 - self.rate)


def name_masks(model, rate):
    """A product's number: its layer's and its place in it."""
    for name, module in model.named_modules():
        if hasattr(module, "lora_dropout"):
            place = 1 + (ATTENTION + MLP).index(name.rsplit(".", 1)[1])
            module.lora_dropout["default"] = NamedDropout(rate, int(name.split(".layers.")[1].split(".")[0]) << 8 | place)


def own_name(name):
    """As the program names it: PEFT's name without its own wrapping."""
    name = name.removeprefix("base_model.model.").replace(".default", "")
    return name.removesuffix(".weight") if "lora_magnitude_vector" in name else name


def fill_adapters(model):
    trained = {own_name(n): p for n, p in model.named_parameters() if p.requires_grad}
    for k, (name, p) in enumerate(sorted(trained.items())):
        w = models.weight(3000 + k, p.numel()).reshape(p.shape)
        if "lora_magnitude" in name:
            p.data.mul_(1 + 0.2 * w)
        elif "lora_" in name:
            p.data.copy_(w * (1.0 if "lora_A" in name else 0.5) * (3.0 / p.shape[1]) ** 0.5)
        else:
            p.data.add_(0.05 * w)
    return dict(sorted(trained.items()))


def loss_of(model, all_ids, log_probs):
    loss = 0
    for ids in all_ids:
        NamedDropout.ids = ids
        log_p = torch.log_softmax(model(torch.tensor([ids])).logits[0, :-1], -1)
        chosen = log_p.gather(1, torch.tensor(ids[1:], dtype=torch.long)[:, None])[:, 0]
        log_probs.append(chosen.tolist())
        loss = loss + (chosen * torch.cos(torch.arange(len(ids) - 1, dtype=torch.float64))).sum()
    return loss


def golden(base, options):
    config, dtype = models.MODELS[base]
    plain = models.fill(models.AutoModelForCausalLM.from_config(config, dtype=torch.float64), dtype)
    model = peft.get_peft_model(plain, peft.LoraConfig(task_type="CAUSAL_LM", **options)).double()
    if "lora_dropout" in options:
        name_masks(model, options["lora_dropout"])
    trained = fill_adapters(model)
    all_ids, before, after = models.rows(), [], []
    loss = loss_of(model, all_ids, before)
    loss.backward()
    gradients = {}
    for k, (name, p) in enumerate(trained.items()):
        gradients[name] = [p.grad.norm().item(), (p.grad.flatten() * models.weight(k + 1000, p.numel())).sum().item()]
    torch.optim.AdamW(trained.values(), **UPDATE).step()
    with torch.no_grad():
        loss_of(model, all_ids, after)
    return {"made_by": "tests/oracles/make_golden_lora.py", "model": base, "lora": options, "loss": loss.item(),
            "log_probs": before, "gradients": gradients, "log_probs_after": after}


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    for name, (base, options) in CASES.items():
        found = golden(base, options)
        (OUT / f"{name}.json").write_text(json.dumps(models.rounded(found)) + "\n")
        print(name, "loss", found["loss"], "after", sum(map(sum, found["log_probs_after"])))
