#!/usr/bin/env python3
"""Runs the configurations of tests/e2e with two binaries on the same inputs: every metric of the first must come from the second to
the last digit, every weight and rollout to the last bit. Metrics of time are left out; what only the second has is listed.

    compare_runs.py BEFORE AFTER [-k WORD]      # BEFORE, AFTER: roll binaries; WORD: only runs whose name holds it
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("before", type=pathlib.Path)
arguments.add_argument("after", type=pathlib.Path)
arguments.add_argument("-k", default="")
options = arguments.parse_args()
BINARIES = {"before": options.before.resolve(), "after": options.after.resolve()}
sys.argv = [sys.argv[0], str(BINARIES["before"])]  # replay.py makes models and rollouts with it

import one_step  # noqa: E402
import replay  # noqa: E402

TIMED = ("utc", "time/", "perf/", "system/tps")
TIMED_ENDS = ("_s", "rollout/guessed", "rollout/guessed_right", "rollout/guess_speedup", "/resident_bytes", "reward/seconds/mean", "reward/seconds/max", "reward/waiting")
failures, new_metrics, compared = [], set(), 0


def run(binary, *command):
    done = subprocess.run([binary, *map(str, command)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{binary} {' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")


def tensors_in(file):
    """By name, in whatever order the file has them."""
    return dict(replay.deserialize(file.read_bytes()))


def lines_of(file):
    return [json.loads(line) for line in open(file)]


def compare_metrics(name, before, after):
    for a, b in zip(lines_of(before), lines_of(after), strict=True):
        new_metrics.update(b.keys() - a.keys())
        for key, value in a.items():
            if not key.startswith(TIMED) and not key.endswith(TIMED_ENDS) and b.get(key, "absent") != value:
                failures.append(f"{name}: step {a['step']}: {key} = {value} before, {b.get(key, 'absent')} after")


def compare_folders(name, before, after):
    global compared
    compare_metrics(name, before / "metrics.jsonl", after / "metrics.jsonl")
    for file in sorted(before.rglob("*")):
        other = after / file.relative_to(before)
        if file.suffix == ".safetensors" and tensors_in(file) != tensors_in(other):
            failures.append(f"{name}: {file.relative_to(before)} differs")
        if file.suffix == ".jsonl" and file.name != "metrics.jsonl":
            for a, b in zip(lines_of(file), lines_of(other), strict=True):
                if a != {key: b.get(key) for key in a}:
                    failures.append(f"{name}: {file.relative_to(before)} differs")
                    break
    compared += 1
    print(f"{name}: {'different' if any(f.startswith(name + ':') for f in failures) else 'equal'}", flush=True)


def both(name, folder, start):
    """`start`(launch, suffix) runs it and gives the run's folder."""
    if options.k in name:
        compare_folders(name, *(start(lambda *command, b=binary: run(b, *command), f"{name}_{who}") for who, binary in BINARIES.items()))


def replayed(folder):
    rollouts = replay.record(folder)
    cases = {f"mode {mode}": dict(mode=mode, extra=extra)
             for mode, extra in (("seq-mean-token-mean", ""), ("token-mean", ""), ("seq-mean-token-sum", ""), ("prompt-mean", ""),
                                 ("constant", "loss_aggregation_divisor: 20"))}
    cases |= {f"variant {v}": {"actor_train.pg_variant": v} for v in ("vanilla", "tis", "topr", "cispo", "kimi15")}
    cases |= {"sequence ratios": {"importance_sampling": "seq"}, "sample weights": {"length_loss_weight": "true", "difficulty_loss_weight": "true"},
              "grpo": dict(estimator="grpo"), "reinforce": dict(estimator="reinforce"),
              "correction": {"train_infer_correction": "{is_weight: {enabled: true}, filters: [{enabled: true, ratio_low: 0.95, ratio_high: 1.05}]}"},
              "one update": dict(rows=16, accumulation=1), "dumped": {"dump_experience": "true"},
              "packed": dict(rows=8, accumulation=1, packing=replay.PACKED.format("load_balance", 90)),
              "2 ranks": dict(ranks=2, rows=4, accumulation=1), "tp 2": dict(ranks=2, tp=2), "cp 2, sampler tp 1": dict(ranks=2, cp=2, sampler_tp=1)}
    for name, keys in cases.items():
        both(name, folder, lambda launch, what, keys=keys: replay.train(folder, what.replace(" ", "_"), launch=launch, rollout_replay=rollouts, **keys))
    both("sampled", folder, lambda launch, what: replay.train(folder, what, launch=launch))
    both("sampled by 2 ranks", folder, lambda launch, what: replay.train(folder, what.replace(" ", "_"), ranks=2, rows=2, launch=launch))


def stepped(recipe, folder):
    config = one_step.prepare(BINARIES["before"], folder, recipe)

    def start(launch, what):
        launch("train", "--config", config, "-n", one_step.RECIPES[recipe]["ranks"], "--device", "cpu", f"output_dir={folder / what}")
        return folder / what
    both(f"step_{recipe}", folder, start)


def fine_tuned(folder):
    one_step.make_model(BINARIES["before"], folder / "model", 1, False)
    rows = [dict(question=f"{i:02}+1=" + "?" * (i % 5), answer=f"{i + 1:02}" * (1 + i % 3)) for i in range(24)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = dict(data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="question", response="answer"))
    config = dict(exp_name="sft", seed=3, pretrain=str(folder / "model"), sequence_length=48, track_with=["jsonl"], save_steps=3, eval_steps=2,
                  num_train_epochs=2, validation=data,
                  sft_train=data | dict(training_args=dict(learning_rate=1e-3, per_device_train_batch_size=2, gradient_accumulation_steps=2)))
    (folder / "run.yaml").write_text(json.dumps(config))
    for ranks in (1, 2):
        def start(launch, what):
            launch("sft", "--config", folder / "run.yaml", "-n", ranks, "--device", "cpu", f"output_dir={folder / what}")
            return folder / what
        both(f"sft_{ranks}", folder, start)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("replay", "sft", *one_step.RECIPES):
            (folder / part).mkdir()
        for recipe in one_step.RECIPES:
            stepped(recipe, folder / recipe)
        fine_tuned(folder / "sft")
        replayed(folder / "replay")
    print(f"{compared} runs compared. New metrics: {', '.join(sorted(new_metrics)) or 'none'}")
    sys.exit("\n".join(failures) if failures else 0)


main()
