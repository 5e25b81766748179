#!/usr/bin/env python3
"""Checks the first step of a `roll train` run against an independent float64 PyTorch/HF computation.

Run by hand (needs torch and transformers); nothing of the program calls it.

  oracle_step.py prepare OUT [--recipe ppo|grpo] [--arch qwen2|qwen3|llama]
      writes small random models, a tokenizer, one step of rollouts and run.yaml, all under OUT
  roll train --config OUT/run.yaml
  oracle_step.py check --config OUT/run/config.resolved.yaml --run OUT/run [--ranks N]
      recomputes the step from the rollouts and the first weights, prints every comparison, exits 1 if one is out of tolerance

Sequences go through the models one by one, in float64, without padding, packing or micro-batches; the losses, the
advantages and the mini-batch split are written out again here and share no code with the program.
"""
import argparse
import json
import math
import pathlib
import random
import sys

import torch
import yaml
from safetensors.torch import load_file

torch.set_num_threads(1)
F64 = torch.float64


# -------------------------------------------------------------------------------------------------------- models
def in_float64(model):
    """HF computes norms and rotary angles in float32 whatever the weights are; here nothing may."""
    model = model.double().eval()
    for module in model.modules():
        kind = type(module).__name__
        if kind.endswith("RMSNorm"):
            eps = getattr(module, "variance_epsilon", None) or getattr(module, "eps", 1e-6)
            module.forward = lambda x, m=module, eps=eps: m.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps))
        elif kind.endswith("RotaryEmbedding"):
            def rotary(x, position_ids, *_, m=module, **__):
                angle = position_ids[..., None].to(F64) * m.inv_freq.to(F64)
                angle = torch.cat([angle, angle], -1)
                scale = getattr(m, "attention_scaling", 1.0)
                return angle.cos() * scale, angle.sin() * scale
            module.forward = rotary
    return model


def context_ends(s):
    """Where contexts end among the response's tokens; the last one at its end."""
    ends, at = [], 0
    for turn, after in zip(s.get("turns", []), s.get("turns", [])[1:]):
        at += turn["tokens"]
        ends += [at] if after.get("own_context") else []
        at += turn["environment_tokens"]
    return ends + [len(s["response_ids"])]


def contexts(s):
    """Token ids of each context; together they are prompt and response."""
    ids, begin, parts = s["prompt_ids"] + s["response_ids"], 0, []
    for end in context_ends(s):
        end += len(s["prompt_ids"])
        parts.append(torch.tensor([ids[begin:end]]))
        begin = end
    return parts


def cut(x, s):
    """A response's numbers as those of its contexts."""
    ends = context_ends(s)
    return [x[begin:end] for begin, end in zip([0] + ends, ends)]


class Policy:
    def __init__(self, folder):
        from transformers import AutoModelForCausalLM
        self.model = in_float64(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa"))
        self.named = dict(self.model.named_parameters())

    def __call__(self, s, temperature):
        """Log-probs and entropies of the response tokens."""
        logits = torch.cat([self.model(ids).logits[0] for ids in contexts(s)]) / temperature
        logits = logits[len(s["prompt_ids"]) - 1 : -1]  # what a context's last token predicts is in no mask
        log_p = torch.log_softmax(logits, -1)
        chosen = log_p[torch.arange(len(s["response_ids"])), torch.tensor(s["response_ids"])]
        return chosen, -(log_p.exp() * log_p).sum(-1)


class Critic:
    def __init__(self, folder):
        from transformers import AutoModel
        files = [load_file(f) for f in sorted(pathlib.Path(folder).glob("*.safetensors"))]
        weights = {k: v for f in files for k, v in f.items()}
        self.model = in_float64(AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa"))
        hidden = self.model.config.hidden_size
        head = {k: weights.get(f"score.{k}", torch.zeros(shape)) for k, shape in (("weight", (1, hidden)), ("bias", (1,)))}
        self.head = {k: torch.nn.Parameter(v.to(F64)) for k, v in head.items()}
        self.named = {f"model.{k}": p for k, p in self.model.named_parameters()}
        self.named |= {f"score.{k}": p for k, p in self.head.items()}

    def __call__(self, s):
        """Values before each response token, and after the last one."""
        hidden = torch.cat([self.model(ids).last_hidden_state[0] for ids in contexts(s)])
        values = hidden @ self.head["weight"][0] + self.head["bias"][0]
        return values[len(s["prompt_ids"]) - 1 : -1], values[-1]


# ---------------------------------------------------------------------------------------------------- experience
def kl_estimate(a, b, kind):
    d = a - b
    return {"kl": d, "abs": d.abs(), "mse": d * d / 2, "k3": torch.clamp(torch.exp(-d) + d - 1, -10, 10)}[kind]


def std(x):
    return x.std(unbiased=True)


def score(sample):
    """The verdict, which a line without penalties does not tell from its reward."""
    return sample.get("score", sample["reward"])


def own_tokens(sample):
    """1 for tokens of the model, 0 for those that an environment said between its turns."""
    mask = []
    for turn in sample.get("turns", []):
        mask += [1.0] * turn["tokens"] + [0.0] * turn["environment_tokens"]
    return torch.tensor(mask or [1.0] * len(sample["response_ids"]), dtype=F64)


def mean_of(x, mask):
    return (x * mask).sum() / mask.sum()


def final_masks(c, samples):
    keep = []
    for s in samples:
        group = torch.tensor([score(o) for o in samples if o["group_index"] == s["group_index"]], dtype=F64)
        drop = c("max_len_mask") and s["finish_reason"] == "length"
        drop = drop or (c("difficulty_mask")
                        and not c("difficulty_low_threshold") < group.mean() < c("difficulty_high_threshold"))
        drop = drop or (c("error_max_len_clip") and score(s) <= 0
                        and len(s["response_ids"]) >= c("error_max_len_threshold"))
        keep.append(0.0 if drop else 1.0)
    return [k * own_tokens(s) for s, k in zip(samples, keep)]


def sequence_rewards(c, samples):
    r = torch.tensor([s["reward"] for s in samples], dtype=F64)
    kinds = (c("norm_mean_type"), c("norm_std_type"))
    if c("adv_estimator") in ("grpo", "gigpo"):
        kinds = ("group", "group")
    assert kinds == (None, None) or len({s["domain"] for s in samples}) == 1, "domains are normalised one by one"
    out = r.clone()
    for i, s in enumerate(samples):
        group = r[[j for j, o in enumerate(samples) if o["group_index"] == s["group_index"]]]
        pool = {"group": group, "batch": r, "running": r}  # the first step's running moments are the batch's
        if kinds[0]:
            out[i] -= pool[kinds[0]].mean()
        if kinds[1]:
            out[i] /= std(pool[kinds[1]]) + 1e-6
    return clipped(c, out)


def clipped(c, rewards):
    return rewards.clamp(-c("reward_clip"), c("reward_clip")) if c("reward_clip") else rewards


def whiten(xs, masks):
    flat = torch.cat(xs)[torch.cat(masks).bool()]
    if len(flat) < 2:
        return [x * m for x, m in zip(xs, masks)]
    return [(x - flat.mean()) / torch.sqrt(flat.var(unbiased=True) + 1e-8) * m for x, m in zip(xs, masks)]


def backwards(x, factor, mask):
    """y[t] = x[t] + factor y[t + 1] over the tokens of the mask, as if there were no others; 0 elsewhere."""
    y, tail = torch.zeros_like(x), 0.0
    for t in reversed(range(len(x))):
        if mask[t]:
            y[t] = tail = x[t] + factor * tail
    return y


def normalised_turns(values, keys):
    """Less the mean of their key, over its deviation; 0 where there is nothing to be compared with."""
    out = []
    for v, key in zip(values, keys):
        pool = torch.tensor([w for w, other in zip(values, keys) if other == key], dtype=F64)
        deviation = std(pool).item() if len(pool) > 1 else 0.0
        out.append((v - pool.mean().item()) / (deviation + 1e-6) if deviation > 1e-6 else 0.0)
    return out


def turn_advantages(c, samples):
    """GiGPO (Feng et al. 2025) in ROLL's form, and step-level REINFORCE without normalisation."""
    number = lambda key, default: default if c(key) is None else c(key)
    returns, episodes, groups, states = [], [], [], []
    for s in samples:
        tail, own = 0.0, []
        for turn in reversed(s["turns"]):
            tail = turn["reward"] + number("step_reward_gamma", 0.95) * tail
            own.insert(0, tail)
        returns += own
        episodes += [sum(turn["reward"] for turn in s["turns"])] * len(own)
        groups += [s["group_index"]] * len(own)
        states += [(s["group_index"], turn["state"]) for turn in s["turns"]]
    values = returns
    if c("adv_estimator") == "gigpo":
        values = [number("episode_reward_weight", 1.0) * e + number("step_reward_weight", 1.0) * r
                  for e, r in zip(normalised_turns(episodes, groups), normalised_turns(returns, states))]
    values, advantages = iter(values), []
    for s in samples:
        tokens = []
        for turn in s["turns"]:
            tokens += [next(values)] * turn["tokens"] + [0.0] * turn["environment_tokens"]
        advantages.append(torch.tensor(tokens, dtype=F64))
    return advantages


def teachers(c):
    """Of each its folder, weight and tags; none: it teaches all."""
    described = c("teacher") or {}
    described = {"default": described} if "model_args" in described else described
    return [(t["model_args"]["model_name_or_path"], t.get("opd_kl_coef", c("opd_kl_coef") or 1.0), t.get("tag_included"))
            for t in described.values()]


def teacher_kl(c, samples, old, temperature, num_updates):
    """On-policy distillation, of each response token: the teachers' weighted KL."""
    if num_updates == 1 and not c("enable_old_logprobs_recompute"):
        old = [torch.tensor(s["log_probs"], dtype=F64) for s in samples]
    sums = [torch.zeros_like(o) for o in old]
    for folder, weight, tags in teachers(c):
        teacher = Policy(folder)
        for i, s in enumerate(samples):
            if not tags or s["tag"] in tags:
                sums[i] += weight * kl_estimate(old[i], teacher(s, temperature)[0], c("kl_penalty"))
    return sums


def build_experience(c, samples, old, ref, values, last_values, taught=None):
    """Everything per response token; lists over the sequences."""
    own = [own_tokens(s) for s in samples]
    old = [o * m for o, m in zip(old, own)]  # an environment's tokens have none
    ref = [r * m for r, m in zip(ref, own)] if ref is not None else None
    e = {"response_mask": own,
         "final_response_mask": final_masks(c, samples), "old_log_probs": old}
    metrics = {}
    rewards = [torch.zeros(len(s["response_ids"]), dtype=F64) for s in samples]
    for row, r in zip(rewards, sequence_rewards(c, samples)):
        row[-1] = r
    if ref is not None:
        e["ref_log_probs"] = ref
        kl = [kl_estimate(o, r, c("kl_penalty")) * m for o, r, m in zip(old, ref, own)]
        metrics["kl"] = torch.stack([mean_of(k, m) for k, m in zip(kl, own)]).mean().item()
        metrics["kl_coef"] = c("init_kl_coef") if c("add_token_level_kl") else 0.0
        if c("add_token_level_kl"):
            rewards = [clipped(c, r - c("init_kl_coef") * k) for r, k in zip(rewards, kl)]
    if c("whiten_rewards"):
        rewards = whiten(rewards, e["response_mask"])
    advantages, returns = [], []
    if taught:
        e["teacher_kl"] = taught
        metrics["teacher_kl"] = torch.stack([k.mean() for k in taught]).mean().item()
    of_turns = turn_advantages(c, samples) if c("adv_estimator") in ("gigpo", "step_reinforce") else None
    for i, (s, r) in enumerate(zip(samples, rewards)):
        if of_turns:
            advantages.append(of_turns[i])
            returns.append(of_turns[i])
            continue
        if c("is_pure_opd"):
            advantages.append(-taught[i])
            returns.append(-taught[i])
            continue
        if c("adv_estimator") == "rloo":
            others = [rewards[j].sum() for j, o in enumerate(samples) if o["group_index"] == s["group_index"] and j != i]
            advantages.append((r.sum() - torch.stack(others).mean()).item() * own[i])
            returns.append(advantages[-1])
            continue
        if values is None:
            advantages.append(backwards(r, c("gamma"), own[i]))
            returns.append(advantages[-1])
            continue
        bootstrap = last_values[i] if c("bootstrap_truncated") and s["finish_reason"] == "length" else 0.0
        after = torch.zeros_like(r)  # the value where the model speaks next
        after[own[i].bool()] = torch.cat([values[i][own[i].bool()][1:], torch.tensor([float(bootstrap)], dtype=F64)])
        deltas = r + c("gamma") * after - values[i]
        lambd = max(0.0, 1 - 1 / (c("lambd_alpha") * own[i].sum().item())) if c("lambd_alpha") else c("lambd")
        critic_lambd = c("lambd") if c("lambd_critic") is None else c("lambd_critic")
        advantages.append(backwards(deltas, c("gamma") * lambd, own[i]))
        returns.append((backwards(deltas, c("gamma") * critic_lambd, own[i]) + values[i]) * own[i])
    if c("use_opd"):
        advantages = [a - k for a, k in zip(advantages, taught)]
    finals = e["final_response_mask"]
    advantages = whiten(advantages, finals) if c("whiten_advantages") else [a * m for a, m in zip(advantages, finals)]
    if c("advantage_clip"):
        advantages = [a.clamp(-c("advantage_clip"), c("advantage_clip")) for a in advantages]
    e |= {"token_rewards": rewards, "advantages": advantages, "returns": returns}
    if values is not None:
        e["values"] = values
        said = torch.cat(own).bool()
        flat, target = torch.cat(values)[said], torch.cat(returns)[said]
        if target.var() > 0:
            metrics["critic/explained_variance"] = (1 - (target - flat).var() / target.var()).item()
    described = {"score": torch.tensor([score(s) for s in samples], dtype=F64),
                 "rewards": torch.stack([r.sum() for r in rewards])}
    described |= {k: torch.cat(e[k])[torch.cat(own).bool()] for k in ("advantages", "returns")}
    if values is not None:
        described["critic/values"] = flat
    for name, x in described.items():
        metrics |= {f"{name}/mean": x.mean().item(), f"{name}/max": x.max().item(), f"{name}/min": x.min().item()}
    return e, metrics


# ---------------------------------------------------------------------------------------------------------- loss
def loss_modes(c):
    """(policy, kl and value, diagnostics)."""
    mode = c("loss_agg_mode")
    if c("calculate_per_token_loss"):
        mode = "token-mean"
    other = {"token_mean": "token-mean", "sample_mean": "seq-mean-token-mean", "prompt_mean": "prompt-mean",
             "constant": "constant"}.get(c("loss_aggregation"))
    mode = other or mode
    diagnostics = "token-mean" if mode == "token-mean" else "seq-mean-token-mean"
    return mode, diagnostics if other else mode, diagnostics


def reduce(losses, masks, groups, mode, divisor):
    rows = [(l[m.bool()], g) for l, m, g in zip(losses, masks, groups) if m.sum() > 0]
    if not rows:
        return sum(l.sum() for l in losses) * 0
    if mode == "token-mean":
        return torch.cat([l for l, _ in rows]).mean()
    if mode == "seq-mean-token-mean":
        return torch.stack([l.mean() for l, _ in rows]).mean()
    if mode == "seq-mean-token-sum":
        return torch.stack([l.sum() for l, _ in rows]).mean()
    if mode == "constant":
        return torch.stack([l.sum() for l, _ in rows]).mean() / divisor
    by_prompt = [torch.cat([l for l, g in rows if g == group]).mean() for group in sorted({g for _, g in rows})]
    return torch.stack(by_prompt).mean()


def actor_loss(c, policy, samples, e, chosen, temperature):
    policy_mode, other_mode, diagnostics = loss_modes(c)
    owners = [i for i in chosen for _ in context_ends(samples[i])]  # to a loss each context is a sequence
    groups = [samples[i]["group_index"] for i in owners]
    at = lambda key: [part for i in chosen for part in cut(e[key][i], samples[i])]
    masks, finals, divisor = at("response_mask"), at("final_response_mask"), c("loss_aggregation_divisor")
    computed = [[cut(x, samples[i]) for x in policy(samples[i], temperature)] for i in chosen]
    log_probs, entropy = ([part for both in computed for part in both[k]] for k in (0, 1))
    d = [a - b for a, b in zip(log_probs, at("old_log_probs"))]
    ratio = [torch.exp(mean_of(x, m).expand_as(x) if c("importance_sampling") == "seq" else x) for x, m in zip(d, masks)]
    low, high = (c("pg_clip_low"), c("pg_clip_high")) if c("use_pg_clip_range") else (c("pg_clip"), c("pg_clip"))
    low_log, high_log = (c("actor_train", f"gmpo_epsilon_{side}") or 0.4 for side in ("low", "high"))
    terms, clipped = [], []
    for r, a in zip(ratio, at("advantages")):
        free, bounded = r * a, r.clamp(1 - low, 1 + high) * a
        term = torch.minimum(free, bounded)
        clipped.append((bounded < free).to(F64))
        if c("dual_clip_loss"):
            factor = c("dual_clip_c") or 1 + 2 * c("pg_clip")
            term = torch.where(a < 0, torch.maximum(term, factor * a), term)
        terms.append(-term)
    if c("actor_train", "pg_variant") == "gmpo":
        terms, clipped = [], []
        for x, a, mask in zip(d, at("advantages"), masks):
            kept = torch.where(a > 0, x.clamp(max=high_log), torch.where(a < 0, x.clamp(min=-low_log), x))
            clipped.append((kept != x).to(F64))
            terms.append(-a * torch.exp(mean_of(kept, mask)))
    pg = reduce(terms, finals, groups, policy_mode, divisor)
    total, say = pg, lambda x: reduce([v.detach() for v in x], masks, groups, diagnostics, 1).item()
    m = {"actor/pg_loss": pg.item(), "actor/entropy": say(entropy), "actor/approxkl": say([x * x / 2 for x in d]),
         "actor/clipfrac": say(clipped), "actor/ratio_mean": say(ratio),
         "actor/ppo_ratio_high_clipfrac": say([(r > 1 + high).to(F64) for r in ratio]),
         "actor/ppo_ratio_low_clipfrac": say([(r < 1 - low).to(F64) for r in ratio])}
    if c("actor_train", "pg_variant") == "gmpo":
        m |= {"actor/ppo_ratio_high_clipfrac": say([(x > high_log).to(F64) for x in d]),
              "actor/ppo_ratio_low_clipfrac": say([(x < -low_log).to(F64) for x in d])}
    # A sum of terms of both signs can be near 0: its rounding is relative to the terms.
    scale = {"actor/pg_loss": reduce([t.detach().abs() for t in terms], finals, groups, policy_mode, divisor).item()}
    if "ref_log_probs" in e:
        kl = reduce([kl_estimate(a, b, "k3") for a, b in zip(log_probs, at("ref_log_probs"))], finals, groups, other_mode,
                    divisor)
        m["actor/kl_loss"] = kl.item()
        if c("use_kl_loss"):
            total = total + c("kl_loss_coef") * kl
    total = c("rl_loss_coef") * total - c("entropy_loss_coef") * reduce(entropy, masks, groups, other_mode, divisor)
    if c("positive_loss_coef"):
        right = [f * (score(samples[i]) > 0) for f, i in zip(finals, owners)]
        positive = reduce([-x for x in log_probs], right, groups, policy_mode, divisor)
        m["actor/positive_loss"] = positive.item()
        total = total + c("positive_loss_coef") * positive
    m["actor/total_loss"] = total.item()
    scale["actor/total_loss"] = scale["actor/pg_loss"]
    return total, m, scale


def critic_loss(c, critic, samples, e, chosen):
    _, mode, diagnostics = loss_modes(c)
    groups = [samples[i]["group_index"] for i in chosen for _ in context_ends(samples[i])]
    at = lambda key: [part for i in chosen for part in cut(e[key][i], samples[i])]
    masks, losses, clipped = at("response_mask"), [], []
    for v, old, target in zip([part for i in chosen for part in cut(critic(samples[i])[0], samples[i])], at("values"), at("returns")):
        free = bounded = (v - target) ** 2
        if c("value_clip"):
            bounded = (torch.clamp(v, old - c("value_clip"), old + c("value_clip")) - target) ** 2
        losses.append(0.5 * torch.maximum(free, bounded))
        clipped.append((bounded > free).to(F64).detach())
    loss = reduce(losses, masks, groups, mode, c("loss_aggregation_divisor"))
    return loss, {"critic/loss": loss.item(), "critic/clipfrac": reduce(clipped, masks, groups, diagnostics, 1).item()}, {}


# ------------------------------------------------------------------------------------------------------- updates
def philox_words(seed, purpose, step, sequence, position):
    """Philox4x32-10 (Salmon et al. 2011) over the program's naming of random numbers: four times 32 bits."""
    counter = [position, sequence & 0xFFFFFFFF, (purpose << 16) | ((sequence >> 32) & 0xFFFF), step]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(p1 >> 32) ^ counter[1] ^ key[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ counter[3] ^ key[1], p0 & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def philox_uniform(*name):
    """53 bits in [0, 1)."""
    words = philox_words(*name)
    return ((words[0] << 21) | (words[1] >> 11)) / 2.0**53


def mini_batches(c, worker, n, ranks):
    """The seeded shuffle of the first step: whole groups under prompt-mean, single sequences otherwise."""
    args = c(worker, "training_args")
    size = int(args["per_device_train_batch_size"]) * int(args["gradient_accumulation_steps"]) * ranks
    unit = c("num_return_sequences_in_group") if loss_modes(c)[0] == "prompt-mean" else 1
    batches = []
    for epoch in range(c("ppo_epochs")):
        order = list(range(n // unit))
        for i in range(len(order) - 1, 0, -1):  # Fisher-Yates
            j = int(philox_uniform(c("seed"), 3, 1, epoch, i) * (i + 1))
            order[i], order[j] = order[j], order[i]
        flat = [i * unit + k for i in order for k in range(unit)]
        batches += [flat[i : i + size] for i in range(0, n, size)]
    return batches


def train(c, worker, model, batches, loss_of, total_updates):
    """AdamW with HF's schedule; returns metrics averaged over updates, their scales and the first gradient."""
    from transformers import get_scheduler
    args = c(worker, "training_args")
    number = lambda key: float(args[key])
    decay = [p for p in model.named.values() if p.dim() > 1]
    rest = [p for p in model.named.values() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": number("weight_decay")}, {"params": rest, "weight_decay": 0.0}],
        lr=number("learning_rate"), betas=(number("adam_beta1"), number("adam_beta2")), eps=number("adam_epsilon"))
    warmup = int(args["warmup_steps"]) or math.ceil(number("warmup_ratio") * total_updates)
    schedule = get_scheduler(args["lr_scheduler_type"], optimizer, warmup, total_updates)
    prefix = "actor" if worker == "actor_train" else "critic"
    sums, scales, first = {}, {}, None
    for chosen in batches:
        optimizer.zero_grad()
        loss, metrics, scale = loss_of(chosen)
        loss.backward()
        if first is None:
            first = {k: p.grad.clone() if p.grad is not None else torch.zeros_like(p) for k, p in model.named.items()}
        norm = torch.nn.utils.clip_grad_norm_(list(model.named.values()), float(c("max_grad_norm")) or math.inf)
        metrics |= {f"{prefix}/grad_norm": norm.item(), f"{prefix}/lr": optimizer.param_groups[0]["lr"]}
        optimizer.step()
        schedule.step()
        for k, v in metrics.items():
            sums[k] = sums.get(k, 0.0) + v / len(batches)
        for k, v in scale.items():
            scales[k] = scales.get(k, 0.0) + v / len(batches)
    return sums, scales, first


# --------------------------------------------------------------------------------------------------------- check
class Report:
    def __init__(self):
        self.failures = 0

    def line(self, what, error, limit, note=""):
        bad = not error <= limit
        self.failures += bad
        print(f"{'FAIL' if bad else 'ok  '} {what:<58} {error:10.3e}  (limit {limit:.0e}) {note}")

    def scalar(self, name, ours, theirs, limit, scale=0.0):
        error = abs(ours - theirs) / max(abs(theirs), scale, 1e-7)
        self.line(name, error, limit, f"{ours:.9g} vs {theirs:.9g}")

    def tensors(self, what, ours, theirs, limit, floor):
        """Relative L2 of each tensor; `floor` keeps a tensor of pure rounding from being compared with itself."""
        worst, where = 0.0, ""
        for name, b in theirs.items():
            a = ours[name].to(F64)
            error = ((a - b).norm() / max(b.norm().item(), floor, 1e-300)).item()
            if error > limit:
                self.line(f"{what} {name}", error, limit)
            if error >= worst:
                worst, where = error, name
        self.line(f"{what}: worst of {len(theirs)} tensors", worst, limit, where)


class Keys:
    """The run's YAML: c("gamma"), c("critic", "training_args"); ROLL's defaults for what is absent."""
    DEFAULTS = {"loss_agg_mode": "seq-mean-token-mean", "kl_penalty": "kl", "ppo_epochs": 1, "rl_loss_coef": 1.0,
                "importance_sampling": "token", "entropy_loss_coef": 0.0, "kl_loss_coef": 0.0, "gamma": 1.0, "lambd": 0.95,
                "pg_clip": 0.2, "pg_clip_low": 0.2, "pg_clip_high": 0.2, "init_kl_coef": 0.2, "adv_estimator": "gae",
                "positive_loss_coef": 0.0, "max_grad_norm": 1.0, "seed": 42, "max_steps": 500, "num_return_sequences_in_group": 1}
    TRAINING = {"learning_rate": 5e-5, "weight_decay": 0.0, "per_device_train_batch_size": 8, "gradient_accumulation_steps": 1,
                "warmup_steps": 0, "warmup_ratio": 0.0, "lr_scheduler_type": "linear", "adam_beta1": 0.9, "adam_beta2": 0.999,
                "adam_epsilon": 1e-8}

    def __init__(self, tree):
        self.tree = tree

    def __call__(self, *path):
        node = self.tree
        for key in path:
            node = (node or {}).get(key)
        if path[-1] == "training_args":
            return self.TRAINING | (node or {})
        if node is None and len(path) == 1:
            return self.DEFAULTS.get(path[0])
        if isinstance(node, str):
            try:
                return float(node)  # PyYAML reads 1e-6 as text
            except ValueError:
                return node
        return node


def read_lines(file):
    return [json.loads(line) for line in open(file) if line.strip()]


def weights_of(folder):
    return {k: v for f in sorted(pathlib.Path(folder).glob("*.safetensors")) for k, v in load_file(f).items()}


def model_folders(c, options):
    actor = options.actor or c("actor_train", "model_args", "model_name_or_path") or c("pretrain")
    critic = options.critic or c("critic", "model_args", "model_name_or_path") or c("reward_pretrain") or c("pretrain")
    reference = options.reference or c("reference", "model_args", "model_name_or_path") or c("pretrain")
    return actor, critic, reference


def compute(c, options):
    """The whole step: experience, metrics (with the scales that their rounding is relative to), gradients, models."""
    rollouts = options.rollouts or pathlib.Path(c("rollout_replay")) / "step_000001.jsonl"
    samples = sorted(read_lines(rollouts), key=lambda s: (s["group_index"], s["sample_index"]))
    folders = model_folders(c, options)
    temperature = c("actor_infer", "generating_args", "temperature") or 1.0
    actor, critic = Policy(folders[0]), Critic(folders[1]) if c("adv_estimator") == "gae" and not c("is_pure_opd") else None
    uses_reference = c("use_kl_loss") or (c("add_token_level_kl") and c("init_kl_coef") > 0) or c("enable_reference")
    with torch.no_grad():
        old = [actor(s, temperature)[0] for s in samples]
        values, last_values = zip(*[critic(s) for s in samples]) if critic else (None, None)
        reference = Policy(folders[2]) if uses_reference else None
        ref = [reference(s, temperature)[0] for s in samples] if reference else None
        num_updates = len(mini_batches(c, "actor_train", len(samples), options.ranks))
        taught = teacher_kl(c, samples, old, temperature, num_updates) if teachers(c) else None
        e, metrics = build_experience(c, samples, old, ref, values, last_values, taught)
    scales = {f"{k}/mean": 1.0 for k in ("advantages", "rewards", "returns", "critic/values")}
    scales |= {"critic/explained_variance": 1.0, "actor/approxkl": 1e-6}
    if ref is not None:  # terms of both signs cancel in its mean, the rounding of float32 log-probs does not
        scales["kl"] = torch.cat([kl_estimate(o, r, c("kl_penalty")).abs() for o, r in zip(old, ref)]).mean().item()
    if taught:
        scales["teacher_kl"] = torch.cat(taught).abs().mean().item()
    gradients, models = {}, {}
    losses = {"actor": lambda b: actor_loss(c, actor, samples, e, b, temperature),
              "critic": lambda b: critic_loss(c, critic, samples, e, b)}
    for role, worker, model, folder in (("critic", "critic", critic, folders[1]), ("actor", "actor_train", actor, folders[0])):
        if model is None:
            continue
        batches = mini_batches(c, worker, len(samples), options.ranks)
        steps = c("max_steps") - (int(c("critic_warmup") or 0) if role == "actor" else 0)
        of_role, scales_of_role, first = train(c, worker, model, batches, losses[role], steps * len(batches))
        metrics |= of_role
        scales |= scales_of_role
        gradients |= {f"{role}.{k}": g for k, g in first.items()}
        models[role] = (model, folder)
    return e, metrics, scales, gradients, models


def compare_experience(report, run, e):
    dumped = read_lines(run / "experience/step_000001.jsonl")
    for key, theirs in e.items():
        ours, expected = torch.cat([torch.tensor(line[key], dtype=F64) for line in dumped]), torch.cat(list(theirs))
        report.line(f"experience {key}: largest difference", (ours - expected).abs().max().item(), 2e-5)
        report.tensors(f"experience {key}: relative L2", {"all": ours}, {"all": expected}, 1e-5, 1e-6)


def compare_metrics(report, run, metrics, scales):
    ours = next(line for line in read_lines(run / "metrics.jsonl") if line["step"] == 1)
    for name, theirs in sorted(metrics.items()):
        if name in ours:
            report.scalar(f"metric {name}", ours[name], theirs, 1e-5, scales.get(name, 0.0))
        else:
            report.line(f"metric {name} is missing", math.inf, 0)


def compare_weights(report, run, models):
    for role, (model, folder) in models.items():
        before, after = weights_of(folder), weights_of(run / f"checkpoints/step_000001/{role}")
        initial = {k: before.get(k, torch.zeros_like(p)).to(F64) for k, p in model.named.items()}
        moved = {k: p.detach() - initial[k] for k, p in model.named.items()}
        report.tensors(f"change of the {role}'s weights", {k: after[k].to(F64) - initial[k] for k in moved}, moved, 1e-3, 1e-12)


def check(options):
    c, report, run = Keys(yaml.safe_load(open(options.config))), Report(), pathlib.Path(options.run)
    e, metrics, scales, gradients, models = compute(c, options)
    compare_experience(report, run, e)
    compare_metrics(report, run, metrics, scales)
    total = math.sqrt(sum(g.norm().item() ** 2 for g in gradients.values()))
    dumped = load_file(run / "experience/gradients_000001.safetensors")
    report.tensors("gradient of the first update", dumped, gradients, 1e-4, 1e-6 * total)
    compare_weights(report, run, models)
    print(f"{report.failures} comparisons out of tolerance" if report.failures else "everything agrees")
    return 1 if report.failures else 0


# ------------------------------------------------------------------------------------------------------- prepare
RECIPES = {
    "ppo": {"adv_estimator": "gae", "gamma": 0.99, "lambd": 0.95, "whiten_advantages": True, "add_token_level_kl": True,
            "init_kl_coef": 0.1, "kl_penalty": "k3", "value_clip": 0.3, "use_kl_loss": True, "kl_loss_coef": 0.02,
            "entropy_loss_coef": 0.01, "advantage_clip": 2.5, "bootstrap_truncated": True, "max_len_mask": False},
    "grpo": {"adv_estimator": "grpo", "use_kl_loss": True, "kl_loss_coef": 0.05, "use_pg_clip_range": True,
             "pg_clip_low": 0.2, "pg_clip_high": 0.28, "max_len_mask": True, "loss_agg_mode": "token-mean",
             "dual_clip_loss": True},
}
ARCHITECTURES = {
    "qwen2": {"num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True},
    "qwen3": {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "tie_word_embeddings": False},
    "llama": {"num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": False},
}


def make_tokenizer(folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: i for i, piece in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [258], "pad_token_id": 256}))
    return 259


def make_models(out, arch):
    import transformers
    vocab = 288
    config = transformers.AutoConfig.for_model(
        arch, vocab_size=vocab, hidden_size=64, intermediate_size=96, num_hidden_layers=2, initializer_range=0.08,
        max_position_embeddings=512, eos_token_id=258, bos_token_id=None, pad_token_id=256, **ARCHITECTURES[arch])
    torch.manual_seed(1)
    policy = transformers.AutoModelForCausalLM.from_config(config)
    for name, p in policy.named_parameters():  # biases and norms that do something
        if p.dim() == 1:
            p.data += 0.1 * torch.randn_like(p)
    policy.save_pretrained(out / "actor")
    for p in policy.parameters():  # a reference that is not the policy, so that the KL is not 0
        p.data += 0.02 * torch.randn_like(p)
    policy.save_pretrained(out / "reference")
    config.num_labels = 1
    critic = transformers.AutoModelForTokenClassification.from_config(config)
    critic.score.weight.data = torch.randn_like(critic.score.weight) * 0.1
    critic.save_pretrained(out / "critic")
    for role in ("actor", "reference", "critic"):
        make_tokenizer(out / role)


def make_rollouts(out, num_groups, group_size):
    rng, lines = random.Random(5), []
    for g in range(num_groups):
        prompt = [rng.randrange(256) for _ in range(rng.randint(2, 24))]
        for k in range(group_size):
            n = rng.choice([1, 3, 7, 12, 20, 32])
            lines.append({"step": 1, "domain": "math_rule", "prompt_id": f"p{g}", "group_index": g, "sample_index": k,
                          "prompt": "p", "response": "r", "prompt_ids": prompt,
                          "response_ids": [rng.randrange(256) for _ in range(n)], "log_probs": [-1.0] * n,
                          "finish_reason": "length" if n == 32 else "stop", "reward": rng.choice([0.0, 1.0, 0.25]),
                          "reward_detail": {}, "ground_truth": "1", "tag": "t"})
    (out / "rollouts").mkdir(exist_ok=True)
    (out / "rollouts/step_000001.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def prepare(options):
    out = pathlib.Path(options.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    make_models(out, options.arch)
    groups, size = 8, 4
    make_rollouts(out, groups, size)
    row = {"id": "0", "prompt": "1+1=", "ground_truth": "2", "tag": "t", "domain": "math_rule"}
    (out / "rows.jsonl").write_text(json.dumps(row) + "\n")
    training = {"learning_rate": 1e-3, "weight_decay": 0.01, "lr_scheduler_type": "linear", "warmup_steps": 0,
                "per_device_train_batch_size": 2, "gradient_accumulation_steps": groups * size // (2 * options.updates * options.ranks)}
    worker = lambda role: {"model_args": {"model_name_or_path": str(out / role), "dtype": "fp32"}}
    config = {"exp_name": "oracle", "seed": 42, "output_dir": str(out / "run"), "max_steps": 1, "save_steps": 1, "eval_steps": 0,
              "pretrain": str(out / "actor"), "reward_pretrain": str(out / "critic"), "rollout_batch_size": groups,
              "num_return_sequences_in_group": size, "prompt_length": 24, "response_length": 32, "max_grad_norm": 0.5,
              "ppo_epochs": options.epochs, "rollout_replay": str(out / "rollouts"), "dump_experience": True,
              **RECIPES[options.recipe],
              "actor_train": worker("actor") | {"training_args": training,
                                                "data_args": {"file_name": [str(out / "rows.jsonl")], "prompt": "prompt"}},
              "actor_infer": worker("actor") | {"generating_args": {"max_new_tokens": 32, "temperature": 0.9, "top_p": 1.0,
                                                                    "top_k": 0}},
              "reference": worker("reference"), "critic": worker("critic") | {"training_args": dict(training)},
              "rewards": {"math_rule": {"type": "math_rule", "tag_included": ["t"]}}}
    (out / "run.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    print(f"roll train --config {out / 'run.yaml'}\n{sys.argv[0]} check --config {out / 'run/config.resolved.yaml'} "
          f"--run {out / 'run'}" + (f" --ranks {options.ranks}" if options.ranks > 1 else ""))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    sub = commands.add_parser("prepare")
    sub.set_defaults(run_command=prepare)
    sub.add_argument("out")
    sub.add_argument("--recipe", choices=RECIPES, default="ppo")
    sub.add_argument("--arch", choices=ARCHITECTURES, default="qwen2")
    sub.add_argument("--updates", type=int, default=1, help="mini-batches per epoch")
    sub.add_argument("--epochs", type=int, default=1)
    sub.add_argument("--ranks", type=int, default=1)
    sub = commands.add_parser("check")
    sub.set_defaults(run_command=check)
    sub.add_argument("--config", required=True, help="the run's config.resolved.yaml")
    sub.add_argument("--run", required=True, help="its output_dir")
    sub.add_argument("--rollouts", help="JSON lines; default: step_000001.jsonl of rollout_replay")
    sub.add_argument("--ranks", type=int, default=1, help="data-parallel ranks of the run")
    for role in ("actor", "critic", "reference"):
        sub.add_argument(f"--{role}", help="HF folder of its first weights; default: from the config")
    options = parser.parse_args()
    return options.run_command(options)


if __name__ == "__main__":
    sys.exit(main())
