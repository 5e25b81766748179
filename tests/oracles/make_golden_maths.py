#!/usr/bin/env python3
"""Writes tests/golden/maths/{loss,experience}.json: what tests/loss and tests/experience compare with.

An oracle of its own: padded [B,T] float64 tensors, autograd and plain loops, where the C++ code has packed float32
tensors and weights. Inputs are rounded to float32 first, so that both start from the same numbers.
Run by hand: needs torch.   python tests/oracles/make_golden_maths.py
"""
import json
import math
import pathlib

import torch

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/maths"
torch.manual_seed(7)
PROMPTS = [3, 1, 4, 2, 2, 5, 3]
RESPONSES = [4, 7, 1, 6, 3, 2, 5]
GROUPS = [0, 0, 1, 1, 2, 2, 2]
LEFT_OUT = [4, 5, 6]  # without loss: the whole of the last prompt but what `kept` says
B, T = len(PROMPTS), max(p + r for p, r in zip(PROMPTS, RESPONSES))


def f32(x):
    return x.float().double()


def packed(x):
    """[B,T] -> the packed list."""
    return [v for b in range(B) for v in x[b, : PROMPTS[b] + RESPONSES[b]].tolist()]


def response_mask():
    m = torch.zeros(B, T, dtype=torch.float64)
    for b in range(B):
        m[b, PROMPTS[b] - 1 : PROMPTS[b] + RESPONSES[b] - 1] = 1
    return m


MASK = response_mask()


# ---------------------------------------------------------------------------------------------------------- loss
def reduce(loss, mask, mode, divisor=None):
    """The table of loss modes, spelled out sequence by sequence."""
    rows = [b for b in range(B) if mask[b].sum() > 0]
    if not rows:
        return loss.sum() * 0
    if mode == "token-mean":
        return sum((loss[b] * mask[b]).sum() for b in rows) / mask.sum()
    if mode == "seq-mean-token-sum":
        return sum((loss[b] * mask[b]).sum() for b in rows) / len(rows)
    if mode == "seq-mean-token-mean":
        return sum((loss[b] * mask[b]).sum() / mask[b].sum() for b in rows) / len(rows)
    if mode == "seq-mean-token-sum-norm":
        return sum((loss[b] * mask[b]).sum() for b in rows) / divisor
    if mode == "constant":
        return sum((loss[b] * mask[b]).sum() for b in rows) / (divisor * len(rows))
    if mode == "prompt-mean":
        groups = sorted({GROUPS[b] for b in rows})
        per_prompt = []
        for g in groups:
            of_g = [b for b in rows if GROUPS[b] == g]
            per_prompt.append(sum((loss[b] * mask[b]).sum() for b in of_g) / sum(mask[b].sum() for b in of_g))
        return sum(per_prompt) / len(groups)
    raise ValueError(mode)


POSITIVE = torch.tensor([1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0], dtype=torch.float64)  # a score above 0
DIFFICULTIES = [0.1, 0.9, 3.0, 0.5, -1.0, 0.25, 0.0]


def policy_variant(c, lp, d, ratio, adv, ppo, low, high):
    """Token loss, and where the ratio is clipped, too high, too low."""
    kind, r, none = c.get("pg_variant", "ppo"), ratio.detach(), torch.zeros_like(lp)
    if kind == "ppo":
        clipped = torch.clamp(r, 1 - low, 1 + high) * adv < r * adv
        return ppo, clipped.double(), (r > 1 + high).double(), (r < 1 - low).double()
    if kind == "vanilla":
        return -adv * lp, none, none, none
    if kind == "gmpo":  # the paper's: the sign makes one clip of both sides
        sign = torch.sign(adv)
        within = torch.clamp(d, -c.get("gmpo_epsilon_low", 0.4), c.get("gmpo_epsilon_high", 0.4))
        kept = sign * torch.minimum(sign * d, sign * within) + (adv == 0) * d
        means = torch.stack([(kept[b] * MASK[b]).sum() / MASK[b].sum() for b in range(B)])
        above, below = (d > c.get("gmpo_epsilon_high", 0.4)).double(), (d < -c.get("gmpo_epsilon_low", 0.4)).double()
        return -adv * torch.exp(means)[:, None], (kept != d).double(), above, below
    if kind == "sapo":
        tau = torch.where(adv > 0, c.get("sapo_tau_pos", 1.0), c.get("sapo_tau_neg", 1.05))
        return -adv * 4 / tau / (1 + torch.exp(-tau * (ratio - 1))), none, none, none
    if kind in ("dppo_tv", "dppo_kl"):
        p, q = torch.exp(lp.detach()), torch.exp(lp.detach() - d.detach())
        kl = q * torch.log(q / p) + (1 - q) * torch.log((1 - q) / (1 - p))
        far = (p - q).abs() if kind == "dppo_tv" else kl
        above = ((far > c.get("dppo_threshold_high", 0.2)) & (p > q)).double()
        below = ((far > c.get("dppo_threshold_low", 0.2)) & (p < q)).double()
        clipped = torch.where(adv > 0, above, below)
        return -torch.clamp(r, max=c.get("dppo_max_ratio", 20.0)) * adv * lp * (1 - clipped), clipped, above, below
    if kind == "kimi15":
        return -adv * lp + c.get("kimi15_tau", 0.1) / 2 * d**2, none, none, none
    if kind in ("topr_response", "kimi15_response"):  # of the whole response: the product of its tokens' ratios
        log_ratio = (d * MASK).sum(1, keepdim=True)
        if kind == "kimi15_response":  # a square for each response, shared out over its tokens
            return -adv * lp + c.get("kimi15_tau", 0.1) / 2 * log_ratio**2 / MASK.sum(1, keepdim=True), none, none, none
        whole = torch.exp(log_ratio.detach()).expand_as(d)
        tapered = ((whole > 1) & (adv < 0)).double()
        return -torch.where(adv < 0, torch.clamp(whole, 0, 1), torch.ones_like(whole)) * adv * lp, tapered, tapered, none
    floor, ceiling = {"tis": (c.get("tis_lower_bound", 0.0), c.get("tis_upper_bound", 1.0)), "topr": (0.0, 1.0),
                      "cispo": (1 - c.get("cispo_epsilon_low", 0.1), 1 + c.get("cispo_epsilon_high", 0.1))}[kind]
    loss = -torch.clamp(r, floor, ceiling) * adv * lp
    above, below = (r > ceiling).double(), (r < floor).double()
    clipped = above + below
    if kind == "topr":
        positive = POSITIVE[:, None]
        loss = positive * c.get("topr_positive_weight", 1.0) * -adv * lp + (1 - positive) * c.get("topr_negative_weight", 1.0) * loss
        above, below, clipped = above * (1 - positive), below * (1 - positive), clipped * (1 - positive)
    elif c.get("cispo_use_unified_mask"):
        clipped = above * (adv > 0) + below * (adv < 0)
        loss = loss * (1 - clipped)
    return loss, clipped, above, below


def sample_weights(c, mask):
    lengths, weights = mask.sum(1), torch.ones(B, dtype=torch.float64)
    valid = lengths > 0
    if not c.get("difficulty_loss_weight") and not c.get("length_loss_weight"):
        return weights
    if c.get("difficulty_loss_weight"):
        low, high = c.get("difficulty_range", (0.0, 1.0))
        scaled = [min(max((x - low) / (high - low), 0.0), 1.0) for x in DIFFICULTIES]
        weights = weights * (0.5 + 1.5 * torch.tensor(scaled, dtype=torch.float64))
    if c.get("length_loss_weight"):
        shortest, longest = lengths[valid].min(), lengths[valid].max()
        weights = weights * (1.5 - (lengths - shortest) / (longest - shortest))
    weights = weights * valid
    return weights / weights.sum() * valid.sum()


def actor(inputs, final_mask, c):
    lp = inputs["log_probs"].clone().requires_grad_()
    entropy = inputs["entropy"].clone().requires_grad_()
    old, ref, adv = inputs["old_log_probs"], inputs["ref_log_probs"], inputs["advantages"]
    mode = c.get("loss_agg_mode", "seq-mean-token-mean")
    diagnostics = "token-mean" if mode == "token-mean" else "seq-mean-token-mean"
    kl_mode = mode
    if "loss_aggregation" in c:
        mode = {"token_mean": "token-mean", "sample_mean": "seq-mean-token-mean", "prompt_mean": "prompt-mean",
                "constant": "constant"}[c["loss_aggregation"]]
        diagnostics = "token-mean" if mode == "token-mean" else "seq-mean-token-mean"
        kl_mode = diagnostics
    divisor = c.get("loss_aggregation_divisor")
    d = lp - old
    if c.get("importance_sampling", "token") == "seq":
        mean = (d * MASK).sum(1, keepdim=True) / MASK.sum(1, keepdim=True)
        ratio = torch.exp(mean).expand_as(d)
    elif c.get("importance_sampling") == "manual_on_policy":
        ratio = torch.exp(lp - lp.detach())
    else:
        ratio = torch.exp(d)
    clip = c.get("pg_clip", 0.2)
    low, high = (c["pg_clip_low"], c["pg_clip_high"]) if c.get("use_pg_clip_range") else (clip, clip)
    objective = torch.minimum(ratio * adv, torch.clamp(ratio, 1 - low, 1 + high) * adv)
    if c.get("dual_clip_loss"):
        objective = torch.where(adv < 0, torch.maximum(objective, c.get("dual_clip_c", 1 + 2 * clip) * adv), objective)
    token_loss, clipped, above, below = policy_variant(c, lp, d, ratio, adv, -objective, low, high)
    if c.get("use_is_weights"):
        token_loss = token_loss * inputs["is_weights"]
    pg = reduce(token_loss, final_mask, mode, divisor)
    weighted = reduce(token_loss * sample_weights(c, final_mask)[:, None], final_mask, mode, divisor)
    k3 = torch.clamp(torch.exp(ref - lp) - (ref - lp) - 1, -10, 10)
    kl = reduce(k3, final_mask, kl_mode, divisor)
    ent = reduce(entropy, MASK, diagnostics)
    total = weighted + (c.get("kl_loss_coef", 0) * kl if c.get("use_kl_loss") else 0)
    total = total * c.get("rl_loss_coef", 1) - c.get("entropy_loss_coef", 0) * reduce(entropy, MASK, kl_mode, divisor)
    positive = reduce(-lp, final_mask * POSITIVE[:, None], mode, divisor)
    total = total + c.get("positive_loss_coef", 0) * positive
    total.backward()
    with torch.no_grad():
        say = lambda x: reduce(x, MASK, diagnostics).item()
        metrics = {"actor/pg_loss": pg.item(), "actor/kl_loss": kl.item(), "actor/entropy": ent.item(),
                   "actor/total_loss": total.item(), "actor/approxkl": say(d**2 / 2), "actor/policykl": say(d),
                   "actor/clipfrac": say(clipped), "actor/ratio_mean": say(ratio),
                   "actor/ppo_ratio_high_clipfrac": say(above),
                   "actor/ppo_ratio_low_clipfrac": say(below)}
        if c.get("positive_loss_coef"):
            metrics["actor/positive_loss"] = positive.item()
        if c.get("difficulty_loss_weight") or c.get("length_loss_weight"):
            metrics["actor/weighted_pg_loss"] = weighted.item()
    return {"config": c, "metrics": metrics, "gradient": packed(lp.grad),
            "entropy_gradient": packed(entropy.grad) if entropy.grad is not None else None}


def critic(inputs, c):
    v = inputs["values"].clone().requires_grad_()
    old, ret = inputs["old_values"], inputs["returns"]
    free = (v - ret) ** 2
    bounded, clipped = free, torch.zeros_like(free)
    if "value_clip" in c:
        bounded = (torch.clamp(v, old - c["value_clip"], old + c["value_clip"]) - ret) ** 2
        clipped = (bounded > free).double()
    mode = c.get("loss_agg_mode", "seq-mean-token-mean")
    loss = reduce(0.5 * torch.maximum(free, bounded), MASK, mode, c.get("loss_aggregation_divisor"))
    loss.backward()
    diagnostics = "token-mean" if mode == "token-mean" else "seq-mean-token-mean"
    return {"config": c, "gradient": packed(v.grad),
            "metrics": {"critic/loss": loss.item(), "critic/clipfrac": reduce(clipped, MASK, diagnostics).item()}}


def frameworks(token_loss):
    """What other trainers compute of these token losses (padded [B,T]; no row without a token), and the keys of ours that
    mean the same. Each formula as its documentation or paper states it."""
    x, m, rows = token_loss, MASK, range(B)
    tokens, per_row = m.sum(), (x * m).sum(1)
    longest = 32.0  # "max completion length" of the trainers that divide by one
    prompts = sorted(set(GROUPS))
    of = lambda g: [b for b in rows if GROUPS[b] == g]
    prompt_mean = sum(sum(per_row[b] for b in of(g)) / sum(m[b].sum() for b in of(g)) for g in prompts) / len(prompts)
    mean_of_means = torch.stack([per_row[b] / m[b].sum() for b in rows]).mean()
    token_mean, sum_mean = per_row.sum() / tokens, per_row.mean()
    constant = {"loss_agg_mode": "constant", "loss_aggregation_divisor": longest}
    cases = [("verl token-mean", token_mean, {"loss_agg_mode": "token-mean"}),
             ("verl seq-mean-token-sum", sum_mean, {"loss_agg_mode": "seq-mean-token-sum"}),
             ("verl seq-mean-token-mean", mean_of_means, {"loss_agg_mode": "seq-mean-token-mean"}),
             # over the columns of the padded responses
             ("ROLL seq-mean-token-sum-norm", per_row.sum() / x.shape[1],
              {"loss_agg_mode": "seq-mean-token-sum-norm", "loss_aggregation_divisor": x.shape[1]}),
             ("TRL grpo", mean_of_means, {"loss_agg_mode": "seq-mean-token-mean"}),
             ("TRL dapo", per_row.sum() / tokens, {"loss_agg_mode": "token-mean"}),
             ("TRL dr_grpo", per_row.sum() / (B * longest), constant),
             ("slime token", token_mean, {"loss_aggregation": "token_mean"}),
             ("slime sample", mean_of_means, {"loss_aggregation": "sample_mean"}),
             ("slime prompt", prompt_mean, {"loss_aggregation": "prompt_mean"}),
             ("slime constant", (per_row / longest).mean(), {"loss_aggregation": "constant", "loss_aggregation_divisor": longest}),
             ("NeMo RL token level", (x * m).sum() / tokens, {"calculate_per_token_loss": True}),
             ("NeMo RL sequence level", mean_of_means, {})]
    return [{"name": name, "value": value.item(), "config": c} for name, value, c in cases]


def loss_golden():
    noise = lambda scale: f32(torch.randn(B, T, dtype=torch.float64) * scale)
    old = f32(-torch.rand(B, T, dtype=torch.float64) * 3 - 0.05)
    inputs = {"old_log_probs": old, "log_probs": f32(old + noise(0.25)), "ref_log_probs": f32(old + noise(0.6)),
              "advantages": noise(1), "entropy": f32(torch.rand(B, T, dtype=torch.float64) * 2),
              "old_values": noise(1), "returns": noise(1)}
    inputs["values"] = f32(inputs["old_values"] + noise(0.4))
    inputs["is_weights"] = f32(torch.rand(B, T, dtype=torch.float64) + 0.2)
    final = MASK.clone()
    final[LEFT_OUT] = 0
    final[5] = MASK[5]
    divided = ("constant", "seq-mean-token-sum-norm")
    actors = [{"loss_agg_mode": m, **({"loss_aggregation_divisor": 11.5} if m in divided else {})}
              for m in ("token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "prompt-mean") + divided]
    actors = [a | {"use_kl_loss": True, "kl_loss_coef": 0.3, "entropy_loss_coef": 0.02} for a in actors]
    kl = {"use_kl_loss": True, "kl_loss_coef": 0.05}
    actors += [{"loss_aggregation": m, "entropy_loss_coef": 0.02} | kl for m in ("token_mean", "sample_mean", "prompt_mean")]
    actors += [{"use_pg_clip_range": True, "pg_clip_low": 0.1, "pg_clip_high": 0.3},
               {"dual_clip_loss": True}, {"dual_clip_loss": True, "dual_clip_c": 1.1, "pg_clip": 0.1},
               {"importance_sampling": "seq", "pg_clip": 0.05}, {"rl_loss_coef": 0.5, "entropy_loss_coef": 0.1} | kl,
               {"rl_loss_coef": 0.0, "entropy_loss_coef": 0.1}]
    weighted = {"use_is_weights": True, "loss_agg_mode": "token-mean"}
    actors += [{"pg_variant": "vanilla"}, {"pg_variant": "kimi15", "kimi15_tau": 0.4} | weighted,
               {"pg_variant": "tis", "tis_lower_bound": 0.8, "tis_upper_bound": 1.1}, {"pg_variant": "tis"} | weighted,
               {"pg_variant": "topr", "topr_positive_weight": 0.7, "topr_negative_weight": 1.3}, {"pg_variant": "cispo"} | kl,
               {"pg_variant": "cispo", "cispo_epsilon_low": 0.2, "cispo_epsilon_high": 0.05, "cispo_use_unified_mask": True},
               {"importance_sampling": "manual_on_policy"} | kl, weighted, {"difficulty_loss_weight": True} | kl,
               {"length_loss_weight": True, "loss_agg_mode": "prompt-mean"},
               {"difficulty_loss_weight": True, "difficulty_range": [-2, 2.5]},
               {"difficulty_loss_weight": True, "length_loss_weight": True, "rl_loss_coef": 0.5} | weighted]
    actors += [{"pg_variant": "gmpo"}, {"pg_variant": "gmpo", "gmpo_epsilon_low": 0.1, "gmpo_epsilon_high": 0.2} | kl,
               {"pg_variant": "gmpo", "gmpo_epsilon_low": 0.05, "loss_agg_mode": "token-mean"}]
    actors += [{"pg_variant": "sapo"} | kl, {"pg_variant": "sapo", "sapo_tau_pos": 0.5, "sapo_tau_neg": 3.0, "importance_sampling": "seq"},
               {"pg_variant": "dppo_tv", "dppo_threshold_low": 0.005, "dppo_threshold_high": 0.01, "dppo_max_ratio": 1.1} | kl,
               {"pg_variant": "dppo_kl", "dppo_threshold_low": 0.0002, "dppo_threshold_high": 0.0005} | weighted]
    whole = {"loss_agg_mode": "seq-mean-token-sum"}
    actors += [{"pg_variant": "topr_response"} | whole, {"pg_variant": "kimi15_response", "kimi15_tau": 0.4} | whole,
               {"pg_variant": "topr_response", "loss_agg_mode": "token-mean"}, {"pg_variant": "kimi15_response"} | kl]
    positive = {"positive_loss_coef": 0.1}
    actors += [positive | {"loss_agg_mode": "token-mean"}, positive | kl | {"rl_loss_coef": 0.5, "loss_agg_mode": "prompt-mean"},
               positive, positive | weighted | {"length_loss_weight": True},
               positive | {"loss_agg_mode": "constant", "loss_aggregation_divisor": 11.5}]
    critics = [{"loss_agg_mode": m} for m in ("token-mean", "seq-mean-token-sum", "prompt-mean")]
    critics += [{}, {"value_clip": 0.2}, {"value_clip": 0.2, "loss_agg_mode": "token-mean"},
                {"loss_agg_mode": "constant", "loss_aggregation_divisor": 3.0}]
    return {"inputs": {k: packed(v) for k, v in inputs.items()}, "response_mask": packed(MASK),
            "final_response_mask": packed(final), "scores": (POSITIVE * 2 - 0.5).tolist(),
            "difficulties": DIFFICULTIES, "frameworks": frameworks(-torch.minimum(
                (r := torch.exp(inputs["log_probs"] - old)) * inputs["advantages"], torch.clamp(r, 0.8, 1.2) * inputs["advantages"])),
            "actor": [actor(inputs, final, c) for c in actors],
            "critic": [critic(inputs, c) for c in critics]}


# ---------------------------------------------------------------------------------------------------- experience
SCORES = [1.0, 0.0, 0.25, 0.5, -3.0, 2.0, 1.0]  # verdicts
REWARDS = [[0.875, -0.25, 0.25, 0.4375, -3.0, 1.5, 0.75], [0.5, 0.75, -1.0, 1.0, 0.25, -0.5, 2.0]]  # less penalties, by step
DOMAINS = ["math", "math", "math", "math", "code", "code", "code"]
TRUNCATED = [0, 1, 0, 1, 0, 0, 0]
BASELINES = [0.25, -0.5, 1.25]  # rewards of greedy responses, by group
PARTS = [[[1.0, s], [-0.5, x]] for s, x in zip([0.0, 1.0, 0.5, 0.5, 1.0, 0.0, 1.0], [0.25, 0.75, 0.0, 2.0, 1.0, 1.0, 0.5])]  # weight and reward, by sequence
ONE_ACTION = ("rloo", "opo", "gpg")  # estimators to which a response is one action


def kl_estimate(a, b, kind):
    d = a - b
    return {"kl": d, "abs": d.abs(), "mse": d * d / 2, "k3": torch.clamp(torch.exp(-d) + d - 1, -10, 10)}[kind]


def decoupled(rows, over_batch):
    """GDPO (2601.05242): each reward over its group, their weighted sum over the batch; verl whitens that over tokens instead."""
    over = lambda x, of: (x - of.mean()) / (of.std(unbiased=True) + 1e-6)
    sums = {b: sum(weight * over(torch.tensor(reward, dtype=torch.float64),
                                 torch.tensor([PARTS[i][k][1] for i in rows if GROUPS[i] == GROUPS[b]], dtype=torch.float64))
                   for k, (weight, reward) in enumerate(PARTS[b])) for b in rows}
    batch = torch.stack([sums[b] for b in rows])
    return {b: over(sums[b], batch) for b in rows} if over_batch else sums


def normalised(c, rewards, rows, seen):
    """Of these sequences; `seen`: what running moments know, these rewards included."""
    r = torch.tensor(rewards, dtype=torch.float64)
    mean_type, std_type = c.get("norm_mean_type"), c.get("norm_std_type")
    if c.get("adv_estimator") == "grpo":
        mean_type = std_type = "group"
    if c.get("adv_estimator") == "reinforce_plus_plus_baseline":
        mean_type = "group"
    seen += [rewards[b] for b in rows]
    pool = {"batch": lambda b: r[rows], "running": lambda b: torch.tensor(seen, dtype=torch.float64),
            "group": lambda b: torch.stack([r[i] for i in range(B) if GROUPS[i] == GROUPS[b]])}
    out = r.clone()
    is_gdpo = c.get("adv_estimator", "").startswith("gdpo")
    for b, reward in decoupled(rows, over_batch=c["adv_estimator"] == "gdpo").items() if is_gdpo else ():
        out[b] = reward
    for b in rows if not is_gdpo else ():
        out[b] = out[b] - (0.0 if mean_type else c.get("reward_baseline", 0.0))
        if c.get("adv_estimator") == "remax":
            out[b] = out[b] - BASELINES[GROUPS[b]]
        if mean_type:
            out[b] = out[b] - pool[mean_type](b).mean()
        if std_type:
            out[b] = out[b] / (pool[std_type](b).std(unbiased=True) + 1e-6)
    clip = c.get("reward_clip", math.inf)
    return torch.clamp(out, -clip, clip), (out[rows].abs() > clip).double().mean().item()


def one_action(c, returns, rows, carries):
    """The advantage of each response from the returns of all; `carries`: which of them carry loss."""
    others = lambda b: [i for i in rows if GROUPS[i] == GROUPS[b] and i != b]
    group = lambda b: [i for i in rows if GROUPS[i] == GROUPS[b]]
    agrees = lambda b: len({returns[i] for i in group(b)}) == 1
    mean = lambda xs: sum(xs) / len(xs)
    if c["adv_estimator"] == "rloo":
        return {b: returns[b] - mean([returns[i] for i in others(b)]) for b in rows}
    if c["adv_estimator"] == "opo":
        return {b: returns[b] - sum(RESPONSES[i] * returns[i] for i in group(b)) / sum(RESPONSES[i] for i in group(b)) for b in rows}
    loaded = [b for b in rows if carries[b]]
    alpha = len(loaded) / max(1, len([b for b in loaded if not agrees(b)]))
    return {b: alpha * (returns[b] - mean([returns[i] for i in group(b)])) for b in rows}


def optimal_baselines(inputs, weights, returns, rows):
    """Of token t of a group, the mean of its responses' returns from there on, weighed by what their tokens so far are: the squared
    norms of the gradients by the logits (Li et al. 2026), times the squared importance weights as verl does."""
    def energy(i, t):  # up to the t-th response token
        upto = range(PROMPTS[i] - 1, PROMPTS[i] + t)
        return sum(inputs["energies"][i, s] * (1 if weights is None else weights[i, s] ** 2) for s in upto)
    out = {}
    for b in rows:
        for t in range(RESPONSES[b]):
            reach = [i for i in rows if GROUPS[i] == GROUPS[b] and RESPONSES[i] > t]
            total = sum(energy(i, t) for i in reach)
            out[b, PROMPTS[b] - 1 + t] = sum(energy(i, t) * returns[i, PROMPTS[i] - 1 + t] for i in reach) / (total + 1e-8)
    return out


def whitened(x, mask):
    chosen = x[mask.bool()]
    if len(chosen) < 2:
        return x * mask
    return (x - chosen.mean()) / torch.sqrt(chosen.var(unbiased=True) + 1e-8) * mask


def sample_mask(c):
    keep = []
    for b in range(B):
        group = [SCORES[i] for i in range(B) if GROUPS[i] == GROUPS[b]]
        mean = sum(group) / len(group)
        drop = c.get("max_len_mask") and TRUNCATED[b]
        drop = drop or (c.get("difficulty_mask")
                        and not c["difficulty_low_threshold"] < mean < c["difficulty_high_threshold"])
        drop = drop or (c.get("error_max_len_clip") and SCORES[b] <= 0 and RESPONSES[b] >= c["error_max_len_threshold"])
        keep.append(0.0 if drop else 1.0)
    return torch.tensor(keep, dtype=torch.float64)


def correction(inputs, c):
    """Importance weights, and which tokens the filters keep."""
    old, sampler, keys = inputs["old_log_probs"], inputs["sampler_log_probs"], c["train_infer_correction"]

    def at_level(x, level):
        if level == "token":
            return x
        sums = (x * MASK).sum(1, keepdim=True)
        return (sums if level == "sequence" else sums / MASK.sum(1, keepdim=True)).expand_as(x)

    weights, metrics, kept = None, {}, torch.ones_like(old)
    say = lambda x: (x * MASK).sum().item() / MASK.sum().item()
    if keys["is_weight"].get("enabled"):
        weights = torch.exp(at_level(old - sampler, keys["is_weight"].get("weight_type", "token")))
        bound = keys["is_weight"].get("upper_bound", 1.2)
        metrics["actor/is_weight_clipfrac"] = say((weights > bound).double())
        weights = torch.clamp(weights, max=bound)
        metrics["actor/is_weight/mean"] = say(weights)
    for f in keys["filters"]:
        if not f.get("enabled"):
            continue
        level = f.get("agg_type", "token")
        if f.get("ratio_enabled", True):
            ratio = torch.exp(at_level(old - sampler, level))
            metrics[f"actor/train_infer_ratio_{level}/mean"] = say(ratio)
            kept = kept * (ratio >= f.get("ratio_low", 0.8)) * (ratio <= f.get("ratio_high", 1.2))
        if f.get("diff_enabled"):
            diff = at_level(torch.exp(old) - torch.exp(sampler), level)
            metrics[f"actor/train_infer_diff_{level}/mean"] = say(diff)
            kept = kept * (diff >= f.get("diff_low", -0.2)) * (diff <= f.get("diff_high", 0.2))
    metrics["actor/train_infer_kept_ratio"] = say(kept)
    return weights, kept, metrics


def describe(inputs, rows, r, rewards):
    """Metrics of some sequences of a completed step."""
    chosen = torch.zeros(B, T, dtype=torch.bool)
    chosen[rows] = MASK[rows].bool()
    stats = lambda name, x: {f"{name}/mean": x.mean().item(), f"{name}/max": x.max().item(), f"{name}/min": x.min().item()}
    metrics = {"kl": (r["kl"].sum(1) / MASK.sum(1))[rows].mean().item()}
    metrics |= stats("score", torch.tensor([SCORES[b] for b in rows], dtype=torch.float64))
    metrics |= stats("rewards", r["token_rewards"].sum(1)[rows])
    metrics |= stats("advantages", r["advantages"][chosen]) | stats("returns", r["returns"][chosen])
    metrics |= stats("critic/values", inputs["values"][chosen])
    errors = (r["returns"] - inputs["values"])[chosen]
    metrics["critic/explained_variance"] = 1 - (errors.var() / r["returns"][chosen].var()).item()
    groups = [[b for b in rows if GROUPS[b] == g] for g in sorted({GROUPS[b] for b in rows})]
    agreeing = [g for g in groups if len({rewards[b] for b in g}) == 1]
    right = [g for g in agreeing if sum(SCORES[b] for b in g) > 0]
    return metrics | {"group/all_correct_ratio": len(right) / len(groups), "group/mixed_ratio": 1 - len(agreeing) / len(groups),
                      "group/all_incorrect_ratio": (len(agreeing) - len(right)) / len(groups)}


def part(inputs, c, scores_after_penalties, rows, state):
    """These sequences as one batch: every [B,T] tensor is 0 outside of them. `state` goes on by one step."""
    mine = torch.zeros(B, 1, dtype=torch.float64)
    mine[rows] = 1
    mask = MASK * mine
    final = mask * sample_mask(c)[:, None]
    weights, metrics = None, {}
    if "train_infer_correction" in c:
        weights, kept, metrics = correction(inputs, c)
        final = final * kept
    kl = kl_estimate(inputs["old_log_probs"], inputs["ref_log_probs"], c.get("kl_penalty", "kl")) * mask
    coefficient = state["coefficient"] if c.get("add_token_level_kl") else 0.0
    metrics["kl_coef"] = coefficient
    rewards = torch.zeros(B, T, dtype=torch.float64)
    sequence_rewards, share = normalised(c, scores_after_penalties, rows, state["seen"])
    if "reward_clip" in c:
        metrics["reward_clip_frac"] = share
    for b in rows:
        rewards[b, PROMPTS[b] + RESPONSES[b] - 2] = sequence_rewards[b]
    rewards = rewards - coefficient * kl
    if "reward_clip" in c and c.get("add_token_level_kl"):
        metrics["token_reward_clip_frac"] = ((rewards.abs() > c["reward_clip"]) * mask).sum().item() / mask.sum().item()
        rewards = torch.clamp(rewards, -c["reward_clip"], c["reward_clip"])
    if c.get("whiten_rewards"):
        rewards = whitened(rewards, mask)
    gamma, lambd = c.get("gamma", 1.0), c.get("lambd", 0.95)
    if c.get("adv_estimator") in ONE_ACTION:
        of_response = one_action(c, (rewards * mask).sum(1).tolist(), rows, final.sum(1) > 0)
    adv, ret = torch.zeros(B, T, dtype=torch.float64), torch.zeros(B, T, dtype=torch.float64)
    for b in rows:
        times = list(range(PROMPTS[b] - 1, PROMPTS[b] + RESPONSES[b] - 1))
        v = inputs["values"][b]
        last = v[times[-1] + 1].item() if c.get("bootstrap_truncated") and TRUNCATED[b] else 0.0
        for t in times:
            if c.get("adv_estimator", "gae") == "gae":  # the definition: a sum of discounted deltas
                deltas = [rewards[b, s] + gamma * (v[s + 1] if s < times[-1] else last) - v[s] for s in times if s >= t]
                policy = max(0.0, 1 - 1 / (c["lambd_alpha"] * RESPONSES[b])) if "lambd_alpha" in c else lambd
                adv[b, t] = sum((gamma * policy) ** k * delta for k, delta in enumerate(deltas))
                ret[b, t] = v[t] + sum((gamma * c.get("lambd_critic", lambd)) ** k * delta for k, delta in enumerate(deltas))
            elif c["adv_estimator"] in ONE_ACTION:
                ret[b, t] = adv[b, t] = of_response[b]
            else:
                ret[b, t] = adv[b, t] = sum(gamma ** (s - t) * rewards[b, s] for s in times if s >= t)
    if c.get("adv_estimator") == "optimal_token_baseline":
        for (b, t), baseline in optimal_baselines(inputs, weights, ret, rows).items():
            adv[b, t] -= baseline
    whitens = c.get("whiten_advantages") or c.get("adv_estimator", "").startswith(("reinforce_plus_plus", "gdpo_verl"))
    adv = whitened(adv, final) if whitens else adv * final
    if "advantage_clip" in c:
        adv = torch.clamp(adv, -c["advantage_clip"], c["advantage_clip"])
    if "target_kl" in c:
        error = min(max((kl.sum(1) / MASK.sum(1))[rows].mean().item() / c["target_kl"] - 1, -0.2), 0.2)
        state["coefficient"] *= 1 + error * len(rows) / c["kl_horizon"]
    positive = final * (torch.tensor(SCORES)[:, None] > 0)
    return {"final_response_mask": final, "positive_response_mask": positive, "is_weights": None if weights is None else weights * mask, "kl": kl,
            "token_rewards": rewards, "advantages": adv, "returns": ret}, metrics


def experience(inputs, c, steps=1, domains=None):
    """The last of some steps. Domains are batches of their own, unless the configuration says otherwise."""
    rows_of = {d: [b for b in range(B) if (domains or [""] * B)[b] == d] for d in sorted(set(domains or [""]))}
    separate = c.get("statistics_per_domain", True)
    batches = rows_of if separate else {"": list(range(B))}
    states = {d: {"coefficient": c.get("init_kl_coef", 0.2), "seen": []} for d in batches}
    for step in range(steps):
        parts = {d: part(inputs, c, REWARDS[step], rows, states[d]) for d, rows in batches.items()}
    add = lambda key: None if any(r[key] is None for r, _ in parts.values()) else sum(r[key] for r, _ in parts.values())
    whole = {key: add(key) for key in ("final_response_mask", "positive_response_mask", "is_weights", "kl", "token_rewards", "advantages", "returns")}
    metrics = describe(inputs, list(range(B)), whole, REWARDS[steps - 1])
    if len(parts) == 1:
        metrics |= next(iter(parts.values()))[1]
    for d, rows in rows_of.items() if domains else ():
        of_domain = describe(inputs, rows, whole, REWARDS[steps - 1]) | (parts[d][1] if separate else {})
        metrics |= {f"{d}/{name}": value for name, value in of_domain.items()}
    if domains:  # the oracle's correction looks at whole batches
        assert "train_infer_correction" not in c
    return {"config": c, "steps": steps, "domains": domains or [""] * B,
            **{k: v if v is None else packed(v) for k, v in whole.items() if k != "kl"},
            "next_kl_coef": {d: s["coefficient"] for d, s in states.items()}, "metrics": metrics}


def experience_golden():
    noise = lambda scale: f32(torch.randn(B, T, dtype=torch.float64) * scale)
    old = f32(-torch.rand(B, T, dtype=torch.float64) * 3 - 0.05)
    inputs = {"old_log_probs": old, "ref_log_probs": f32(old + noise(0.5)), "values": noise(0.7)}
    inputs["sampler_log_probs"] = f32(old + noise(0.15))
    inputs["energies"] = f32((1 - torch.exp(old)) ** 2 * (1 + torch.rand(B, T, dtype=torch.float64)))
    configs = [{}, {"gamma": 0.9, "lambd": 0.8, "bootstrap_truncated": True}, {"bootstrap_truncated": True},
               {"adv_estimator": "reinforce", "gamma": 0.97}, {"adv_estimator": "grpo", "add_token_level_kl": True},
               {"whiten_advantages": True, "advantage_clip": 0.8}, {"whiten_rewards": True, "whiten_advantages": True},
               {"add_token_level_kl": True, "target_kl": 0.1, "kl_horizon": 100, "init_kl_coef": 0.05},
               {"max_len_mask": True, "whiten_advantages": True},
               {"difficulty_mask": True, "difficulty_low_threshold": 0.1, "difficulty_high_threshold": 0.4},
               {"error_max_len_clip": True, "error_max_len_threshold": 3, "target_kl": 50.0, "kl_horizon": 64},
               {"reward_clip": 0.75, "norm_mean_type": "batch", "norm_std_type": "batch"}, {"reward_clip": 0.5},
               {"reward_clip": 0.3, "norm_mean_type": "group", "add_token_level_kl": True, "init_kl_coef": 0.5,
                "whiten_rewards": True},
               {"norm_mean_type": "group"}, {"norm_mean_type": "group", "norm_std_type": "batch"},
               {"norm_mean_type": "batch", "norm_std_type": "running"}, {"norm_std_type": "batch"}]
    correction = lambda weight, *filters: {"train_infer_correction": {"is_weight": weight, "filters": list(filters)}}
    on = {"enabled": True}
    configs += [correction(on), correction(on | {"weight_type": "sequence", "upper_bound": 1.05}),
                correction(on | {"weight_type": "geometric", "upper_bound": 10.0}, on | {"agg_type": "token", "ratio_low": 0.9}),
                correction({}, on | {"agg_type": "geometric", "ratio_low": 0.95, "ratio_high": 1.05}),
                correction({}, on | {"agg_type": "sequence", "ratio_enabled": False, "diff_enabled": True, "diff_low": 0.0},
                           on | {"ratio_high": 1.1}, {"agg_type": "sequence", "ratio_low": 5.0}) | {"max_len_mask": True}]
    configs += [{"kl_penalty": k, "add_token_level_kl": True, "init_kl_coef": 0.1} for k in ("abs", "mse", "k3")]
    kl = {"add_token_level_kl": True, "init_kl_coef": 0.1}
    for estimator in ("reinforce_plus_plus", "reinforce_plus_plus_baseline", "remax", "optimal_token_baseline", "gdpo", "gdpo_verl") + ONE_ACTION:
        mine = {"adv_estimator": estimator}
        configs += [mine, mine | kl | {"gamma": 0.9}, mine | {"max_len_mask": True, "reward_clip": 0.2}]
    configs += [{"adv_estimator": "remax", "norm_std_type": "batch"}, {"adv_estimator": "rloo", "whiten_advantages": True},
                {"adv_estimator": "gpg", "norm_mean_type": "group", "norm_std_type": "group", "reward_clip": 0.5},
                {"lambd_critic": 1.0}, {"lambd_critic": 0.5, "gamma": 0.9, "bootstrap_truncated": True}, {"lambd_alpha": 0.4},
                {"lambd_alpha": 0.3, "lambd_critic": 1.0, "whiten_advantages": True} | kl]
    configs += [{"adv_estimator": "optimal_token_baseline"} | correction(on | {"upper_bound": 1.05}), {"adv_estimator": "optimal_token_baseline", "whiten_advantages": True, "norm_mean_type": "group"}]
    configs += [{"adv_estimator": "reinforce", "reward_baseline": 0.5}, {"adv_estimator": "reinforce", "reward_baseline": 0.25, "norm_std_type": "batch"},
                {"adv_estimator": "reinforce", "reward_baseline": 0.25, "norm_mean_type": "batch"}]
    cases = [experience(inputs, c) for c in configs]
    running = {"norm_mean_type": "running", "norm_std_type": "running"}
    adaptive = {"add_token_level_kl": True, "target_kl": 0.1, "kl_horizon": 30, "init_kl_coef": 0.05, "kl_penalty": "k3"}
    cases += [experience(inputs, c, steps=2) for c in (running, adaptive, {"norm_mean_type": "group", "norm_std_type": "running"})]
    batch = {"norm_mean_type": "batch", "norm_std_type": "batch"}
    by_domain = [{"adv_estimator": "gpg", "reward_clip": 0.2}, {"adv_estimator": "optimal_token_baseline"}, {"adv_estimator": "gdpo"}, {"adv_estimator": "gdpo_verl"}, {"adv_estimator": "reinforce_plus_plus"}, {"adv_estimator": "opo"} | kl,
                 {"reward_clip": 1.0} | batch, running, adaptive, {"adv_estimator": "grpo", "max_len_mask": True},
                 {"whiten_rewards": True, "whiten_advantages": True, "advantage_clip": 0.8} | batch]
    cases += [experience(inputs, c | scope, steps, DOMAINS) for c in by_domain for steps in (1, 2)
              for scope in ({}, {"statistics_per_domain": False})]
    return {"inputs": {k: packed(v) for k, v in inputs.items()}, "scores": SCORES, "rewards": REWARDS, "truncated": TRUNCATED, "baselines": BASELINES, "parts": PARTS,
            "cases": cases}


def rounded(x):
    if isinstance(x, float):
        return float(f"{x:.12g}")
    if isinstance(x, list):
        return [rounded(v) for v in x]
    return {k: rounded(v) for k, v in x.items()} if isinstance(x, dict) else x


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    shape = {"made_by": "tests/oracles/make_golden_maths.py", "prompt_lengths": PROMPTS, "response_lengths": RESPONSES,
             "group_index": GROUPS}
    for name, content in (("loss", loss_golden()), ("experience", experience_golden())):
        (OUT / f"{name}.json").write_text(json.dumps(rounded(shape | content)) + "\n")


if __name__ == "__main__":
    main()
