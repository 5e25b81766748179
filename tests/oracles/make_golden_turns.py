#!/usr/bin/env python3
"""Writes tests/golden/maths/turns.json: GiGPO's advantages of the turns of some trajectories, as the paper has them (Feng et al. 2025,
arXiv 2505.10978, equations 3, 6, 7 and 8) and as ROLL has them. tests/experience/turn_advantages_test.cpp compares ours with both.

An oracle of its own, in float64 and from lists: a group is a list of trajectories, a trajectory a list of turns. What both leave
open is as in the authors' code: deviations divide by n - 1, 1e-6 is added to them.
Run by hand.   python tests/oracles/make_golden_turns.py
"""
import json
import pathlib
import random
import statistics

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/maths/turns.json"
GAMMA, EPISODES, STEPS = 0.9, 0.75, 0.5
rng = random.Random(23)


def trajectory(num_turns):
    """Of a turn: tokens of the model's, tokens of the environment's behind them, a reward, and the observation that it began with."""
    return [dict(tokens=rng.randint(1, 3), environment_tokens=0 if k + 1 == num_turns else rng.randint(0, 2),
                 reward=rng.choice([0.0, 0.5, 1.0, -0.25]), state=1 if k == 0 else rng.randint(2, 4)) for k in range(num_turns)]


# Of different lengths; one alone in its group; a group whose rewards agree; a group of one-turn trajectories, where both versions agree.
GROUPS = [[trajectory(n) for n in (1, 5, 2, 3)], [trajectory(4)], [trajectory(n) for n in (3, 1)], [trajectory(1) for _ in range(3)]]
for turns in GROUPS[2]:
    for number, turn in enumerate(turns):
        turn["reward"] = float(number == 0)


def normalised(x, pool):
    """Nothing can be said of a number whose pool does not differ."""
    if len(pool) < 2 or statistics.stdev(pool) < 1e-9:
        return 0.0
    return (x - statistics.fmean(pool)) / (statistics.stdev(pool) + 1e-6)


def total(turns):
    return sum(turn["reward"] for turn in turns)


def to_come(turns, k):
    return sum(GAMMA ** (j - k) * turns[j]["reward"] for j in range(k, len(turns)))


def steps(group, turns, k):
    alike = [to_come(other, j) for other in group for j in range(len(other)) if other[j]["state"] == turns[k]["state"]]
    return normalised(to_come(turns, k), alike)


def paper(group, turns, k):
    return EPISODES * normalised(total(turns), [total(other) for other in group]) + STEPS * steps(group, turns, k)


def roll(group, turns, k):
    """Where each turn is a sample that has its trajectory's reward."""
    return EPISODES * normalised(total(turns), [total(other) for other in group for _ in other]) + STEPS * steps(group, turns, k)


def main():
    advantages = {name: [[rule(group, turns, k) for k in range(len(turns))] for group in GROUPS for turns in group]
                  for name, rule in (("trajectories", paper), ("turns", roll))}
    apart = max(abs(a - b) for mine, others in zip(*advantages.values()) for a, b in zip(mine, others))
    print(f"the two versions are up to {apart:.2f} apart")
    OUT.write_text(json.dumps({
        "made_by": "tests/oracles/make_golden_turns.py",
        "config": {"step_reward_gamma": GAMMA, "episode_reward_weight": EPISODES, "step_reward_weight": STEPS},
        "groups": [number for number, group in enumerate(GROUPS) for _ in group],
        "trajectories": [turns for group in GROUPS for turns in group], "advantages": advantages}) + "\n")


if __name__ == "__main__":
    main()
