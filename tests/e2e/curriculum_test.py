#!/usr/bin/env python3
"""Curricula: by pass rate a run draws the rows that a calculation from its own rollouts says, on any number of ranks, also where it goes on after
a step and where sampling runs ahead; by difficulty it begins with the easy ones; a schedule changes the domains' parts. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import one_step
from rollouts import rollout_lines, rollout_text

binary = pathlib.Path(sys.argv[1]).resolve()
SEED, STEPS, ROWS, FLOOR = 3, 10, 48, 0.1
SHUFFLE, PASS_OVER = 2, 10  # purposes of random numbers (lib/base/random.h)
# A third of the rows is never right, a third always, and a third by the response.
SCORER = """import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    kind = int(asked["row"]["id"]) // 2 % 3
    print(json.dumps({"reward": kind if kind < 2 else len(asked["response"].encode()) % 2}), flush=True)
"""
SCHEDULE = [dict(step=5, probs=dict(kept=0.75, plain=0.25)), dict(step=8, probs=dict(kept=0.25, plain=0.75))]
PLAIN_GROUPS = [4, 3, 3, 2, 2, 3, 5, 6, 6, 6]  # 4, 3.5, 3, 2.5, 2, 3.33, 4.67, 6, 6, 6; of halves the first name's is rounded up


def philox(counter, key):
    """Philox4x32-10 (Salmon et al. 2011)."""
    for _ in range(10):
        p0, p1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [p1 >> 32 ^ counter[1] ^ key[0], p1 & 0xFFFFFFFF, p0 >> 32 ^ counter[3] ^ key[1], p0 & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def uniform(purpose, epoch, domain, position):
    name = 0xCBF29CE484222325
    for byte in domain.encode():
        name = (name ^ byte) * 0x100000001B3 % 2 ** 64
    words = philox([position, name & 0xFFFFFFFF, purpose << 16 | name >> 32 & 0xFFFF, epoch], [SEED, 0])
    return ((words[0] << 21) | (words[1] >> 11)) * 2.0 ** -53


def permutation(count, epoch, domain):
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = int(uniform(SHUFFLE, epoch, domain, i) * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order


class Oracle:
    """The rows of a domain without a filter, as they should come."""

    def __init__(self, domain, ids, by_pass_rate):
        self.domain, self.ids, self.by_pass_rate, self.rates, self.epoch, self.turn = domain, ids, by_pass_rate, {}, 0, 0
        self.order = permutation(len(ids), 0, domain)

    def draw(self):
        while True:
            if self.turn == len(self.ids):
                self.epoch, self.turn = self.epoch + 1, 0
                self.order = permutation(len(self.ids), self.epoch, self.domain)
            row = self.order[self.turn]
            self.turn += 1
            rate = self.rates.get(row, 0.5)
            if not self.by_pass_rate or uniform(PASS_OVER, self.epoch, self.domain, row) < max(FLOOR, 4 * rate * (1 - rate)):
                return row


def groups_of(run, step, domain):
    """[(id, mean score)] of the domain's groups."""
    groups = {}
    for line in rollout_lines(run, step):
        if line["domain"] == domain:
            groups.setdefault(line["group_index"], []).append((line["prompt_id"], line["score"]))
    return [(group[0][0], sum(score for _, score in group) / len(group)) for _, group in sorted(groups.items())]


def check_draws(run, by_pass_rate):
    """Each step's rows follow from the scores of the steps before."""
    oracle = Oracle("plain", [str(i) for i in range(ROWS) if i % 2], by_pass_rate)
    passed_over = 0
    lines = {line["step"]: line for line in map(json.loads, open(run / "metrics.jsonl"))}
    for step in range(1, STEPS + 1):
        groups, before = groups_of(run, step, "plain"), (oracle.epoch, oracle.turn)
        rows = [oracle.draw() for _ in groups]
        assert [oracle.ids[row] for row in rows] == [name for name, _ in groups], (run.name, step, groups)
        oracle.rates |= {row: rate for row, (_, rate) in zip(rows, groups)}
        turns = (oracle.epoch - before[0]) * len(oracle.ids) + oracle.turn - before[1]
        assert lines[step].get("plain/rollout/rows_passed_over", 0) == turns - len(rows), (run.name, step)
        passed_over += turns - len(rows)
    assert (passed_over > 10) == by_pass_rate, passed_over


def prepare(folder):
    one_step.make_model(binary, folder / "model", 1, False)
    (folder / "score.py").write_text(SCORER)
    row = lambda i: json.dumps(dict(id=str(i), prompt=f"{i}+{i % 7}=", ground_truth="1", domain="plain" if i % 2 else "kept", difficulty=i * 7 % ROWS))
    (folder / "rows.jsonl").write_text("".join(row(i) + "\n" for i in range(ROWS)))
    reward = dict(type="command", command=[sys.executable, str(folder / "score.py")], timeout_s=60)
    config = dict(exp_name="curriculum", seed=SEED, max_steps=STEPS, save_steps=1, eval_steps=0, max_ckpt_to_keep=2, track_with="jsonl",
                  pretrain=str(folder / "model"), rollout_batch_size=8, num_return_sequences_in_group=4, prompt_length=24, response_length=6,
                  adv_estimator="grpo", logging_steps=STEPS,
                  actor_train=dict(training_args=dict(learning_rate=1e-12, train_batch_size=16, lr_scheduler_type="constant"),
                                   data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="prompt",
                                                  domain_interleave_probs=dict(kept=0.5, plain=0.5))),
                  actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)),
                  rewards=dict(plain=reward, kept=reward | dict(query_filter_config=dict(type="std_filter", filter_args=dict(std_threshold=0)))))
    (folder / "run.yaml").write_text(json.dumps(config))


def train(folder, out, ranks, *words, code=0):
    done = subprocess.run([binary, "train", "--config", folder / "run.yaml", "--device", "cpu", "-n", str(ranks), f"output_dir={folder / out}", *words],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return folder / out if code == 0 else done.stderr


def total(run, metric):
    return sum(json.loads(line).get(metric, 0) for line in open(run / "metrics.jsonl"))


def check_pass_rate(folder):
    by_rate = ["actor_train.data_args.sampler=pass_rate", f"actor_train.data_args.domain_interleave_schedule={json.dumps(SCHEDULE)}"]
    base = train(folder, "base", 1, *by_rate)
    check_draws(base, True)
    assert [len(groups_of(base, step, "plain")) for step in range(1, STEPS + 1)] == PLAIN_GROUPS
    shuffled = train(folder, "shuffled", 1)
    check_draws(shuffled, False)
    assert all(len(groups_of(shuffled, step, "plain")) == 4 for step in range(1, STEPS + 1))
    unscheduled = train(folder, "unscheduled", 2, by_rate[0])
    check_draws(unscheduled, True)
    dropped = total(unscheduled, "rollout/groups_dropped"), total(shuffled, "rollout/groups_dropped")
    assert dropped[0] < 0.7 * dropped[1], dropped  # the filter's losses are known
    train(folder, "resumed", 2, *by_rate, "max_steps=6")
    for run in (train(folder, "ranks", 4, *by_rate), train(folder, "resumed", 1, *by_rate, "--resume")):
        for step in range(1, STEPS + 1):
            assert rollout_text(run, step) == rollout_text(base, step), (run.name, step)
        states = [json.loads((each / "checkpoints/latest/state.json").read_text())["prompts"] for each in (run, base)]
        assert states[0] == states[1] and len(states[0]["domains"]["kept"]["pass_rates"]) == ROWS // 2, states
    said = train(folder, "resumed", 1, "max_steps=12", "--resume", code=2)
    assert "sampler" in said and "--allow-config-change" in said, said
    print("by pass rate: the rows that the rollouts say, on 1, 2 and 4 ranks, resumed, with parts that change")
    ahead = train(folder, "ahead", 2, *by_rate, "async_generation_ratio=2", "actor_train.device_mapping=[0]", "actor_infer.device_mapping=[1]")
    check_draws(ahead, True)
    assert total(ahead, "rollout/staleness/max") > 0, "nothing was sampled ahead"
    print("by pass rate: the rows that the rollouts say, with sampling ahead")


def check_difficulty(folder):
    run = train(folder, "easy", 1, "actor_train.data_args.sampler=difficulty")
    names = [int(name) for step in range(1, STEPS + 1) for name, _ in groups_of(run, step, "plain")]
    epochs = [names[:ROWS // 2], names[ROWS // 2:]]
    easiest = sorted(range(1, ROWS, 2), key=lambda i: i * 7 % ROWS)
    assert epochs[0] == easiest and epochs[1] == easiest[:len(epochs[1])], epochs
    print("by difficulty: the easy rows first, in each epoch")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    prepare(folder)
    check_pass_rate(folder)
    check_difficulty(folder)
