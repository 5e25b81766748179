#!/usr/bin/env python3
"""Writes tests/golden/maths/presets.json: the gradient of each algorithm of configs/algorithms with respect to the log-probs of a
small step, each objective written as its paper has it. tests/train/presets_test.cpp compares the shipped files with it.

An oracle of its own: float64 and autograd, one list entry for each response, no masks, no weights, no keys of ours. What a paper
leaves open (a coefficient, a clip range, the policy's gamma) is the preset's; `scale` is by how much the paper's gradient is longer
than ours, where the paper leaves its length open, and `why` says so.
Run by hand: needs torch.   python tests/oracles/make_golden_presets.py
"""
import json
import pathlib

import torch

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/maths/presets.json"
torch.manual_seed(11)
G = 4  # responses to a prompt
PROMPTS = [2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3, 2, 2, 2, 2]
TOKENS = [3, 7, 2, 5, 1, 15, 30, 14, 2, 14, 3, 4, 6, 1, 2, 8]
RIGHT = [1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]  # two prompts with right and wrong responses, two that agree
GREEDY = [0.0, 1.0, 1.0, 0.0]  # the reward of a greedy response to each prompt
N = len(TOKENS)
ALL = range(N)


def draw(scale, uniform=False):
    numbers = (torch.rand if uniform else torch.randn)
    return [(numbers(n, dtype=torch.float64) * scale).float().double() for n in TOKENS]


OLD = [-x - 0.05 for x in draw(3, uniform=True)]
NEW = [(o + x).float().double().requires_grad_() for o, x in zip(OLD, draw(0.25))]
REF = [(o + x).float().double() for o, x in zip(OLD, draw(0.4))]
VALUES = draw(0.7)
OLD = [o.float().double() for o in OLD]
ENERGIES = [(1 - o.exp()) ** 2 * (1 + x) for o, x in zip(OLD, draw(1, uniform=True))]  # squared gradients of OLD by the logits
ENERGIES = [e.float().double() for e in ENERGIES]
R = torch.tensor(RIGHT, dtype=torch.float64)


def group(i):
    return [j for j in ALL if j // G == i // G]


def mean(xs):
    return sum(xs) / len(xs)


def ratio(i):
    return torch.exp(NEW[i] - OLD[i])


def clipped(r, a, low, high):
    """PPO's pessimistic bound."""
    return torch.minimum(r * a, torch.clamp(r, 1 - low, 1 + high) * a)


def per_token(of_response, responses=ALL):
    """1 / sum |o| of the sum over all tokens."""
    return sum(of_response(i).sum() for i in responses) / sum(TOKENS[i] for i in responses)


def per_response(of_response):
    return sum(of_response(i) for i in ALL) / N


def minus_mean(i):
    return R[i] - R[group(i)].mean()


def standardised(i, rewards=R):
    of_group = rewards[group(i)]
    return (rewards[i] - of_group.mean()) / of_group.std() if of_group.std() > 0 else torch.tensor(0.0, dtype=torch.float64)


def gae(i, lambd, gamma=1.0):
    rewards = [0.0] * (TOKENS[i] - 1) + [R[i].item()]
    v = VALUES[i].tolist() + [0.0]
    deltas = [rewards[t] + gamma * v[t + 1] - v[t] for t in range(TOKENS[i])]
    return torch.tensor([sum((gamma * lambd) ** (s - t) * deltas[s] for s in range(t, TOKENS[i])) for t in range(TOKENS[i])],
                        dtype=torch.float64)


def ppo():  # 1707.06347, eq. 7: the mean over time steps
    return per_token(lambda i: clipped(ratio(i), gae(i, 0.95), 0.2, 0.2))


def vapo():  # 2504.05118: length-adaptive GAE, clip-higher, token-level loss, and mu times the likelihood of right responses
    policy = per_token(lambda i: clipped(ratio(i), gae(i, max(0.0, 1 - 1 / (0.05 * TOKENS[i]))), 0.2, 0.28))
    return policy + 0.1 * per_token(lambda i: NEW[i], [i for i in ALL if RIGHT[i]])


def reinforce():  # Williams 1992: the reward times the sum of the eligibilities
    return per_response(lambda i: R[i] * NEW[i].sum())


def grpo():  # 2402.03300, eq. 3 and 4; beta is 0.04 there
    def objective(i):
        to_ref = REF[i] - NEW[i]
        return (clipped(ratio(i), standardised(i), 0.2, 0.2) - 0.001 * (torch.exp(to_ref) - to_ref - 1)).mean()
    return per_response(objective)


def soft_overlong(tokens, longest=16, cache=3):  # 2503.14476, eq. 13; there 20,480 and 4,096
    if tokens <= longest - cache:
        return 0.0
    return ((longest - cache) - tokens) / cache if tokens <= longest else -1.0


def dapo():  # 2503.14476, eq. 7, 8, 11 and 13, the tokens of all prompts alike as in the authors' code; groups that agree are not sampled
    kept = [i for i in ALL if 0 < sum(RIGHT[j] for j in group(i)) < G]
    rewards = torch.tensor([(1.0 if RIGHT[i] else -1.0) + soft_overlong(TOKENS[i]) for i in ALL], dtype=torch.float64)
    return per_token(lambda i: clipped(ratio(i), standardised(i, rewards), 0.2, 0.28), kept)


def dr_grpo():  # 2503.20783: sums over tokens; the authors' code divides by a constant
    return per_response(lambda i: clipped(ratio(i), minus_mean(i), 0.2, 0.2).sum())


def lite_ppo():  # 2508.08221: the group's mean, the batch's deviation
    return per_token(lambda i: clipped(ratio(i), minus_mean(i) / R.std(), 0.2, 0.2))


def gspo():  # 2507.18071, eq. 5 and 7
    def objective(i):
        s = torch.exp((NEW[i] - OLD[i]).mean())
        return clipped(s, standardised(i), 3e-4, 4e-4)
    return per_response(objective)


def gmpo():  # 2507.20673: the geometric mean of clipped ratios, in (e^-0.4, e^0.4)
    def objective(i):
        a = standardised(i)
        sign = torch.sign(a)
        log_ratio = NEW[i] - OLD[i]
        kept = sign * torch.minimum(sign * log_ratio, sign * torch.clamp(log_ratio, -0.4, 0.4))
        return torch.exp(kept.mean()) * a
    return per_response(objective)


def cispo():  # 2506.13585, eq. 4 and 5: no lower bound on the weight; the upper one is not named there
    return per_token(lambda i: torch.clamp(ratio(i).detach(), max=1.2) * standardised(i) * NEW[i])


def sapo():  # 2511.20347, eq. 5 and 6
    def objective(i):
        tau = 1.0 if standardised(i) > 0 else 1.05
        return (4 / tau * torch.sigmoid(tau * (ratio(i) - 1)) * standardised(i)).mean()
    return per_response(objective)


def dppo():  # 2602.04879: the binary total variation bounds what the advantage pushes outwards; the threshold is the authors' script's
    def objective(i):
        moved = torch.exp(NEW[i].detach()) - torch.exp(OLD[i])
        outwards = moved if minus_mean(i) > 0 else -moved
        return ((outwards <= 0.15) * ratio(i).detach() * minus_mean(i) * NEW[i]).sum()
    return per_response(objective)


def rloo():  # 2402.14740, eq. 3 and 8
    reward = [R[i] - 0.03 * (OLD[i] - REF[i]).sum() for i in ALL]
    return per_response(lambda i: (reward[i] - mean([reward[j] for j in group(i) if j != i])) * NEW[i].sum())


def remax():  # 2310.10505, algorithm 1
    return per_response(lambda i: (R[i] - GREEDY[i // G]) * NEW[i].sum())


def opo():  # 2505.23585: the length-weighted mean as baseline
    def baseline(i):
        return sum(TOKENS[j] * R[j] for j in group(i)) / sum(TOKENS[j] for j in group(i))
    return per_response(lambda i: (R[i] - baseline(i)) * NEW[i].sum())


def gpg():  # 2504.02546: alpha makes up for groups that agree
    agreeing = [i for i in ALL if len({RIGHT[j] for j in group(i)}) == 1]
    alpha = N / (N - len(agreeing))
    return per_token(lambda i: alpha * minus_mean(i) * NEW[i])


def otb():  # 2602.07078: at each token the optimal baseline of the responses that reach it; the loss is that of the authors' example
    def advantages(i):
        realized = [e.cumsum(0) for e in ENERGIES]
        others = [[j for j in group(i) if TOKENS[j] > t] for t in range(TOKENS[i])]
        return torch.stack([R[i] - sum(realized[j][t] * R[j] for j in of) / sum(realized[j][t] for j in of) for t, of in enumerate(others)])
    return per_token(lambda i: clipped(ratio(i), advantages(i), 0.2, 0.2))


def over_the_batch(advantages):
    every = torch.cat(advantages)
    return [(a - every.mean()) / every.std() for a in advantages]


def reinforce_plus_plus():  # 2501.03262: the KL in each token's reward, advantages normalised over the batch
    def to_come(i):
        rewards = -0.01 * (OLD[i] - REF[i])
        rewards[-1] += R[i]
        return rewards.flip(0).cumsum(0).flip(0)
    a = over_the_batch([to_come(i) for i in ALL])
    return per_response(lambda i: clipped(ratio(i), a[i], 0.2, 0.2).mean())


def reinforce_plus_plus_baseline():  # 2501.03262, of reasoning: the group's mean first, and k2 in the loss
    a = over_the_batch([minus_mean(i).expand(TOKENS[i]) for i in ALL])
    return per_response(lambda i: (clipped(ratio(i), a[i], 0.2, 0.2) - 0.001 * (NEW[i] - REF[i]) ** 2 / 2).mean())


def topr():  # 2503.14286, eq. 6: rewards of 1 and -1; wrong responses weighed by their ratio, at most 1
    def objective(i):
        reward = 2 * R[i] - 1
        weight = torch.clamp(torch.exp((NEW[i] - OLD[i]).sum()).detach(), 0, 1) if reward < 0 else 1.0
        return weight * reward * NEW[i].sum()
    return per_response(objective)


def kimi():  # 2501.12599, eq. 3
    return per_response(lambda i: minus_mean(i) * NEW[i].sum() - 0.1 / 2 * (NEW[i] - OLD[i]).sum() ** 2)


CASES = {"ppo": ppo, "vapo": vapo, "reinforce": reinforce, "grpo": grpo, "dapo": dapo, "dr_grpo": dr_grpo, "lite_ppo": lite_ppo,
         "gspo": gspo, "gmpo": gmpo, "cispo": cispo, "sapo": sapo, "dppo": dppo, "rloo": rloo, "remax": remax, "opo": opo, "gpg": gpg, "otb": otb,
         "reinforce_plus_plus": reinforce_plus_plus, "reinforce_plus_plus_baseline": reinforce_plus_plus_baseline,
         "topr": topr, "kimi_k1.5": kimi}
SCALES = {"dr_grpo": (16, "the constant: the preset's response_length"), "dppo": (16, "likewise"),
          "topr": (2, "rewards of 1 and -1, where the preset has 0.5 and -0.5")}


def packed(responses):
    """On the token axis: index t is about token t + 1."""
    numbers = []
    for prompt, of_response in zip(PROMPTS, responses):
        numbers += [0.0] * (prompt - 1) + [float(f"{x:.9g}") for x in of_response.tolist()] + [0.0]
    return numbers


def gradient(objective):
    for x in NEW:
        x.grad = None
    (-objective()).backward()
    return packed([x.grad if x.grad is not None else torch.zeros_like(x) for x in NEW])


def main():
    presets = {}
    for name, objective in CASES.items():
        scale, why = SCALES.get(name, (1, ""))
        presets[name] = {"scale": scale, "why": why, "gradient": gradient(objective)}
    inputs = {"old_log_probs": OLD, "log_probs": [x.detach() for x in NEW], "ref_log_probs": REF, "values": VALUES, "energies": ENERGIES}
    OUT.write_text(json.dumps({
        "made_by": "tests/oracles/make_golden_presets.py", "group_size": G, "prompt_lengths": PROMPTS, "response_lengths": TOKENS,
        "scores": R.tolist(), "greedy_rewards": GREEDY, "inputs": {name: packed(x) for name, x in inputs.items()}, "presets": presets}) + "\n")


if __name__ == "__main__":
    main()
