#!/usr/bin/env python3
"""Writes tests/golden/train/{schedules,adamw,muon}.json: learning-rate schedules (transformers), AdamW and Muon with clipping (PyTorch, float64).

Needs torch and transformers; run by hand when the formulae under test change.
"""
import json
import pathlib

import torch
import transformers

out = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/train"
out.mkdir(parents=True, exist_ok=True)
made_by = "tests/oracles/make_golden_train.py"


def schedule(kind, peak, warmup, total, args=None):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=peak)
    name = "constant_with_warmup" if kind == "constant" and warmup else kind
    kwargs = dict(num_warmup_steps=warmup, num_training_steps=total)
    scheduler = transformers.get_scheduler(name, optimizer, scheduler_specific_kwargs=args or {}, **kwargs)
    rates = []
    for _ in range(total + 1):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return dict(type=kind, peak_lr=peak, warmup_steps=warmup, total_steps=total, args=args or {}, rates=rates)


KINDS = [("linear", {}), ("constant", {}), ("constant_with_warmup", {}), ("cosine", {}), ("cosine", {"num_cycles": 1.25}),
         ("cosine_with_restarts", {}), ("cosine_with_restarts", {"num_cycles": 3}),
         ("polynomial", {}), ("polynomial", {"power": 2.5, "lr_end": 3e-4}),
         ("inverse_sqrt", {}), ("inverse_sqrt", {"timescale": 7}),
         ("cosine_with_min_lr", {"min_lr": 2e-4}), ("cosine_with_min_lr", {"min_lr_rate": 0.1, "num_cycles": 0.75}),
         ("cosine_warmup_with_min_lr", {"min_lr_rate": 0.1}),
         ("cosine_warmup_with_min_lr", {"min_lr": 1e-4, "warmup_lr_rate": 0.2, "num_cycles": 1.0}),
         ("warmup_stable_decay", {"num_decay_steps": 5}),
         ("warmup_stable_decay", {"num_decay_steps": 4, "num_stable_steps": 2, "min_lr_ratio": 0.1, "num_cycles": 0.75}),
         ("warmup_stable_decay", {"num_decay_steps": 3, "warmup_type": "cosine", "decay_type": "linear"}),
         ("warmup_stable_decay", {"num_decay_steps": 5, "warmup_type": "1-sqrt", "decay_type": "1-sqrt", "min_lr_ratio": 0.2})]
schedules = [schedule(k, 1e-3, w, 12, args) for k, args in KINDS for w in (0, 1, 4)]
(out / "schedules.json").write_text(json.dumps(dict(made_by=made_by, cases=schedules)))

torch.manual_seed(3)
shapes = {"norm": [5], "weight": [3, 4], "bias": [4], "head": [2, 3]}
parameters = {n: torch.randn(s, dtype=torch.float64).float().double().requires_grad_() for n, s in shapes.items()}
start = {n: p.detach().clone() for n, p in parameters.items()}
groups = [dict(params=[p for p in parameters.values() if p.dim() >= 2], weight_decay=0.1),
          dict(params=[p for p in parameters.values() if p.dim() < 2], weight_decay=0.0)]
optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.8, 0.95), eps=1e-8)
steps = []
for step in range(3):
    gradients = {n: (torch.randn(s, dtype=torch.float64) * (0.05 if step == 1 else 1)).float().double() for n, s in shapes.items()}
    for n, p in parameters.items():
        p.grad = gradients[n].clone()
    norm = torch.nn.utils.clip_grad_norm_(list(parameters.values()), 1.0)
    optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = 1e-2 / (step + 1)
    optimizer.step()
    steps.append(dict(lr=1e-2 / (step + 1), norm=norm.item(), gradients={n: g.flatten().tolist() for n, g in gradients.items()},
                      weights={n: p.detach().flatten().tolist() for n, p in parameters.items()}))
(out / "adamw.json").write_text(json.dumps(dict(
    made_by=made_by, beta1=0.8, beta2=0.95, epsilon=1e-8, weight_decay=0.1, max_norm=1.0, shapes=shapes,
    start={n: p.flatten().tolist() for n, p in start.items()}, steps=steps)))


def small_model():
    """Names and shapes of the parameters of tests/model/small_spec.h."""
    layer = "model.layers.0."
    shapes = {"model.embed_tokens.weight": [10, 8]}
    for name, rows, columns in (("q", 8, 8), ("k", 4, 8), ("v", 4, 8), ("o", 8, 8)):
        shapes[f"{layer}self_attn.{name}_proj.weight"] = [rows, columns]
        if name != "o":
            shapes[f"{layer}self_attn.{name}_proj.bias"] = [rows]
    shapes |= {f"{layer}self_attn.q_norm.weight": [2], f"{layer}self_attn.k_norm.weight": [2]}
    shapes |= {f"{layer}mlp.gate_proj.weight": [6, 8], f"{layer}mlp.up_proj.weight": [6, 8], f"{layer}mlp.down_proj.weight": [8, 6]}
    shapes |= {f"{layer}input_layernorm.weight": [8], f"{layer}post_attention_layernorm.weight": [8], "model.norm.weight": [8]}
    return shapes | {"lm_head.weight": [10, 8]}


class Double(torch.Tensor):
    """torch.optim.Muon rounds the direction to bfloat16; as this class it stays float64."""
    def bfloat16(self):
        return self.clone()


torch.manual_seed(5)
sixty_fourths = lambda shape: torch.randint(-64, 65, shape).double() / 64
shapes = small_model()
parameters = {n: sixty_fourths(s) for n, s in shapes.items()}
start = {n: p.clone() for n, p in parameters.items()}
is_hidden = lambda n: "_proj.weight" in n
muons = {n: p.as_subclass(Double) for n, p in parameters.items() if is_hidden(n)}
muon = torch.optim.Muon(list(muons.values()), lr=1e-2, weight_decay=0.1, momentum=0.95, nesterov=True, ns_steps=5, adjust_lr_fn="match_rms_adamw")
others = [p for n, p in parameters.items() if not is_hidden(n)]
adamw = torch.optim.AdamW([dict(params=[p for p in others if p.dim() >= 2], weight_decay=0.1), dict(params=[p for p in others if p.dim() < 2], weight_decay=0.0)],
                          lr=1e-2, betas=(0.9, 0.999), eps=1e-8)
steps = []
for step in range(10):
    gradients = {n: sixty_fourths(s) * (0.125 if step % 3 == 1 else 1) for n, s in shapes.items()}
    norm = torch.stack([g.square().sum() for g in gradients.values()]).sum().sqrt()
    scale = min(1.0, 5.0 / (norm.item() + 1e-6))
    for n, p in parameters.items():
        (muons[n] if is_hidden(n) else p).grad = (gradients[n] * scale).as_subclass(Double if is_hidden(n) else torch.Tensor)
    for optimizer in (muon, adamw):
        optimizer.step()
    assert all(state["momentum_buffer"].dtype == torch.float64 for state in muon.state.values())
    steps.append(dict(gradients={n: g.flatten().tolist() for n, g in gradients.items()},
                      weights={n: p.as_subclass(torch.Tensor).flatten().tolist() for n, p in parameters.items()} if step in (0, 9) else {}))
(out / "muon.json").write_text(json.dumps(dict(
    made_by=made_by, max_norm=5.0, weight_decay=0.1, lr=1e-2, shapes=shapes, start={n: p.flatten().tolist() for n, p in start.items()}, steps=steps)))
