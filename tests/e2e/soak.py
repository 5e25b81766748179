#!/usr/bin/env python3
"""By hand: many steps of a tiny model with 1 % of the rewards failing in every way a program can (no answer, nonsense, an end, silence): memory,
descriptors and processes do not grow, and every row is there. Arguments: the roll binary, steps (default 2000)."""
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import one_step
from rollouts import rollout_lines

binary, steps = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 2000
GROUPS, GROUP_SIZE, ROWS = 4, 2, 37
SCORER = """import json, sys, time, zlib
for line in sys.stdin:
    query = json.loads(line)
    fault = zlib.crc32((query["response"] + str(query["id"])).encode()) % 400
    if fault == 0: sys.exit(3)
    if fault == 1: time.sleep(60)
    answer = {"id": query["id"], "reward": len(query["response"]) % 2}
    if fault == 2: answer["reward"] = "nonsense"
    if fault == 3: answer["reward"] = 1e308
    print(json.dumps(answer), flush=True)
"""


def state_of(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    rss_mb = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024
    below, to_visit = 0, [pid]
    while to_visit:
        for child in pathlib.Path(f"/proc/{to_visit.pop()}/task").glob("*/children"):
            found = [int(word) for word in child.read_text().split()]
            below += len(found)
            to_visit += found
    return rss_mb, len(os.listdir(f"/proc/{pid}/fd")), below


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one_step.make_model(binary, folder / "actor", 1, False)
        (folder / "score.py").write_text(SCORER)
        (folder / "rows.jsonl").write_text("".join(json.dumps(dict(id=str(i), prompt=f"{i}+1=", ground_truth="1", tag="t")) + "\n" for i in range(ROWS)))
        config = dict(exp_name="soak", output_dir=str(folder / "run"), pretrain=str(folder / "actor"), max_steps=steps, save_steps=50, eval_steps=0,
                      max_ckpt_to_keep=2, track_with=["jsonl", "tensorboard"], rollout_batch_size=GROUPS, num_return_sequences_in_group=GROUP_SIZE,
                      prompt_length=16, response_length=6, adv_estimator="grpo",
                      actor_train=dict(training_args=dict(learning_rate=1e-6, per_device_train_batch_size=GROUPS * GROUP_SIZE,
                                                          lr_scheduler_type="constant"),
                                       data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="prompt")),
                      actor_infer=dict(generating_args=dict(temperature=1.0)),
                      rewards=dict(d=dict(type="command", command=[sys.executable, str(folder / "score.py")], tag_included=["t"], timeout_s=0.5)))
        (folder / "run.yaml").write_text(json.dumps(config))
        with open(folder / "out.log", "w") as log:
            process = subprocess.Popen([binary, "train", "--config", folder / "run.yaml", "--device", "cpu"], stdout=log, stderr=log)
        seen, metrics = [], folder / "run/metrics.jsonl"
        while process.poll() is None:
            time.sleep(2)
            try:
                done = metrics.read_text().count("\n")
                seen.append((done, *state_of(process.pid)))
            except (OSError, StopIteration):
                pass
        assert process.returncode == 0, (folder / "out.log").read_text()[-3000:]
        settled = [row for row in seen if row[0] > steps / 10]
        early, late = settled[: len(settled) // 3], settled[-len(settled) // 3:]
        for index, what, may_grow in ((1, "memory in MB", 8), (2, "descriptors", 3), (3, "processes", 3)):
            a, b = statistics.median(row[index] for row in early), statistics.median(row[index] for row in late)
            print(f"{what}: {a:.1f} in the first third, {b:.1f} in the last", flush=True)
            assert b - a <= may_grow, f"{what} grows"
        lines = [json.loads(line) for line in open(metrics)]
        assert [line["step"] for line in lines] == list(range(1, steps + 1))
        prompts = collections.Counter()
        for step in range(1, steps + 1):
            records = rollout_lines(folder / "run", step)
            assert len(records) == GROUPS * GROUP_SIZE
            prompts.update(record["prompt_id"] for record in records if record["sample_index"] == 0)
        assert len(prompts) == ROWS and max(prompts.values()) - min(prompts.values()) <= 1, prompts
        failed = sum(line.get("reward/errors", 0) + line.get("reward/timeouts", 0) for line in lines)
        share = failed / (steps * GROUPS * GROUP_SIZE)
        print(f"{steps} steps, {failed:.0f} rewards failed ({100 * share:.2f} %), all rows were drawn evenly")
        assert 0.003 < share < 0.03


main()
