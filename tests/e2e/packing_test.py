#!/usr/bin/env python3
"""Packing changes neither weights nor log-probs, and `roll pack-stats` foretells what training reports. Argument: the roll
binary."""
import json
import os
import pathlib
import subprocess
import tempfile

from replay import PACKED, binary, compare, record, shared_of, train

REFERENCE = {"reference.use_sequence_packing": "true", "reference.sequence_packing_args.algorithm": "load_balance",
             "reference.sequence_packing_args.max_packed_sequence_length_forward": 80}
DYNAMIC = """use_dynamic_batching_in_train: true
  max_tokens_per_microbatch_in_train: 96
  use_dynamic_batching_in_infer: true
  max_tokens_per_microbatch_in_infer: 150"""
SHARED, WHOLE = "\n  share_prompts: true", "\n  share_prompts: false"
CASES = [  # name, ranks, sequences of a micro-batch where not packed, packing, further keys
    ("8 sequences", 1, 8, "", {}),
    ("2 sequences", 1, 2, "", {}),
    ("none 80", 1, 8, PACKED.format("none", 80), {}),
    ("load_balance 80, reference too", 1, 8, PACKED.format("load_balance", 80), REFERENCE),
    ("load_balance 131, at least 3", 1, 8, PACKED.format("load_balance", 131),
     {"actor_train.sequence_packing_args.min_num_micro_batches_train": 3}),
    ("load_balance 10000", 1, 8, PACKED.format("load_balance", 10000), {}),
    ("dynamic batching 96, 150", 1, 8, DYNAMIC, {}),
    ("none 100, reference too", 2, 4, PACKED.format("none", 100), REFERENCE),
    ("load_balance 72, critic 200", 2, 4, PACKED.format("load_balance", 72),
     {"critic.sequence_packing_args.max_packed_sequence_length_train": 200}),
    ("load_balance 90", 4, 2, PACKED.format("load_balance", 90), {}),
    ("none 90, tp 2", 4, 4, PACKED.format("none", 90), {"tp": 2}),
    ("load_balance 112, cp 2, tp 2", 4, 8, PACKED.format("load_balance", 112), {"cp": 2, "tp": 2}),
    ("by themselves, load_balance 90, dp 2", 2, 4, PACKED.format("load_balance", 90), {}),
    ("shared prompts, none 90, reference too", 1, 8, PACKED.format("none", 90) + SHARED, REFERENCE | {"reference.share_prompts": "true"}),
    ("shared prompts, not packed, dp 2", 2, 4, SHARED, {}),
    ("shared prompts, load_balance 112, cp 2, tp 2", 4, 8, PACKED.format("load_balance", 112) + SHARED,
     {"cp": 2, "tp": 2, "actor_train.sequence_packing_args.min_num_micro_batches_train": 2}),
]


def output(*arguments, **options):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{arguments}: exit code {done.returncode}\n{done.stderr[-3000:]}"
    return done.stdout


def foretold(folder, name, ranks, rollouts, flags):
    """{step: {metric: value}} of pack-stats."""
    report = json.loads(output("pack-stats", "--config", folder / f"{name}.yaml", "--rollouts", rollouts, "-n", ranks, "--json",
                               *[f"{k}={v}" for k, v in flags.items()]))
    steps = {}
    for stage in report["stages"]:
        assert all(s["over_budget"] == 0 for s in stage["summary"]), stage["summary"]
        for metrics in stage["metrics"]:
            steps.setdefault(metrics["step"], {}).update(metrics["values"])
    return steps


def check_prediction(run, steps, what):
    """Every packing metric of the run but the measured time is foretold, and nothing else."""
    numbers = 0
    for line in open(run / "metrics.jsonl"):
        reported = json.loads(line)
        step = reported["system/global_step"]
        packing = {k: v for k, v in reported.items() if k.startswith("packing/") and not k.endswith("wait_s")}
        assert packing.keys() == steps[step].keys(), f"{what}: {packing.keys() ^ steps[step].keys()}"
        for key, value in packing.items():
            assert abs(value - steps[step][key]) <= 1e-8 * max(1, abs(value)), f"{what}, step {step}: {key} is {value}, foretold {steps[step][key]}"
        waits = {k: v for k, v in reported.items() if k.startswith("packing/") and k.endswith("wait_s")}
        assert waits.keys() == {"packing/wait_s", "packing/critic/wait_s"} and min(waits.values()) >= 0, waits
        numbers += len(packing)
    print(f"{what:60s} {numbers} packing metrics as foretold", flush=True)
    assert numbers >= 3 * 5 * 4


def check_layouts(folder, rollouts):
    base = None
    for number, (label, ranks, rows, packing, keys) in enumerate(CASES):
        name, shares = f"case_{number}", label.startswith(("shared", "by themselves"))
        packing += "" if shares else WHOLE
        layout = {size: keys.get(size, 1) for size in ("tp", "cp")}
        keys = {key: value for key, value in keys.items() if key not in layout}
        data_ranks = ranks // (layout["tp"] * layout["cp"])
        run = train(folder, name, ranks, rows=rows, accumulation=8 // rows // data_ranks, packing=packing, rollout_replay=rollouts, **layout, **keys)
        what = f"n={ranks} {label}"
        base = base or run
        compare(run, base, what)
        assert (shared_of(run) > 0) == shares, f"{what}: {shared_of(run)} of the tokens are shared"
        check_prediction(run, foretold(folder, name, ranks, rollouts, keys), what)


def check_no_leak(folder):
    """Ten sequences in one pack: another one's tokens do not touch a bit of a sequence's log-probs."""
    rows = [[(7 * i + 3 * t * t) % 200 + 10 for t in range(3 + 11 * i % 37)] for i in range(10)]
    def log_probs(rows):
        text = "".join(json.dumps({"ids": ids}) + "\n" for ids in rows)
        return output("logprobs", "--model", folder / "model", "--max-tokens-per-batch", 10000, "--entropy", input=text).splitlines()
    before = log_probs(rows)
    for changed in range(len(rows)):
        others = [ids if i != changed else [(t + 5) % 200 + 10 for t in ids] for i, ids in enumerate(rows)]
        after = log_probs(others)
        assert [i for i in range(len(rows)) if before[i] != after[i]] == [changed], f"sequence {changed} leaks"
    print("a change in one sequence of a pack changes no bit of the others")


def check_assumed(folder, rollouts):
    """Without recorded lengths: the very prompts that training draws, and responses as they were asked for."""
    report = json.loads(output("pack-stats", "--config", folder / "case_3.yaml", "--mean", 1, "--std", 0, "--steps", 3, "--json"))
    lengths = [len(json.loads(line)["prompt_ids"]) + 1 for file in rollouts.glob("step_*.jsonl") for line in open(file)]
    assert report["lengths"]["count"] == len(lengths) == 48 and report["lengths"]["tokens"] == sum(lengths), report["lengths"]
    assert (report["lengths"]["min"], report["lengths"]["max"]) == (min(lengths), max(lengths))
    assert "lognormal, mean 1 and standard deviation 0" in report["notes"][0], report["notes"]
    prompts = sum(lengths) / len(lengths) - 1
    report = json.loads(output("pack-stats", "--config", folder / "case_3.yaml", "--mean", 8, "--std", 4, "--steps", 200, "--json"))
    assert abs(report["lengths"]["mean"] - prompts - 8) < 1 and report["lengths"]["max"] <= 48 + 24, report["lengths"]
    print("assumed responses join the prompts that training draws")


def check_shapes(folder):
    """A recipe whose model and data are not on the machine: by the shape of its name, by config.json, and without either."""
    recipe = pathlib.Path(__file__).resolve().parents[2] / "configs" / "qwen2.5-7b_rlvr_8gpu.yaml"
    empty = folder / "empty"
    empty.mkdir()
    (empty / "lengths.txt").write_text("".join(f"{1 + (i * i * 7919) % 9001}\n" for i in range(2048)))
    (empty / "config.json").write_text(json.dumps({
        "model_type": "qwen2", "vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "max_position_embeddings": 131072}))
    env = {**{k: v for k, v in os.environ.items() if k not in ("ROLL_MODEL", "ROLL_DATA")}, "HF_HOME": str(empty / "hf")}
    def report(*flags):
        return json.loads(output("pack-stats", "--config", recipe, "--lengths", "lengths.txt", "--json", *flags, cwd=empty, env=env))
    known, by_file, unknown = report(), report("--arch", "config.json"), report("pretrain=nowhere/nothing")
    assert any("Qwen2.5-7B, a known shape" in note for note in known["notes"]), known["notes"]
    assert {**known, "notes": []} == {**by_file, "notes": []}
    assert known["work"] == "FLOPs" and known["stages"][0]["metrics"]
    largest = known["budgets"][-1]
    assert 15.2e9 + 30.4e9 < largest["total_bytes"] < 400e9 and report("--memory-gb", 400)["budget_rule"].endswith("fits 400 GB")
    assert unknown["work"] == "tokens" and all(row["total_bytes"] is None for row in unknown["budgets"])
    for stage in unknown["stages"]:
        assert stage["metrics"] == [] and stage["summary"][0]["over_budget"] == 0 and stage["summary"][0]["imbalance"] < 5e-4
    output("pack-stats", "--config", recipe, "--lengths", "lengths.txt", "--html", "page.html", "pretrain=nowhere/nothing", cwd=empty, env=env)
    page = (empty / "page.html").read_text()
    assert "work is counted in tokens" in page and "no memory estimate, because" in page and "tokens saved" in page
    print("a recipe without its model is planned by the shape of its name, by config.json, or by tokens")


def check_many(folder):
    """100,000 lengths, planned twice for each stage and for every budget of the table."""
    lengths = folder / "lengths.txt"
    lengths.write_text("".join(f"{1 + (i * 7919) % 71}\n" for i in range(100_000)))
    sizes = [f"{role}.training_args.{key}" for role in ("actor_train", "critic")
             for key in ("per_device_train_batch_size=5", "gradient_accumulation_steps=125")]
    for ranks in (1, 8):
        text = output("pack-stats", "--config", folder / "case_3.yaml", "--lengths", lengths, "-n", ranks, "rollout_batch_size=25000", *sizes)
        assert text.startswith("100,000 sequences in 1 step"), text[:200]
    print("100,000 lengths are planned for 1 and 8 ranks")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rollouts = record(folder)
        check_no_leak(folder)
        check_layouts(folder, rollouts)
        check_assumed(folder, rollouts)
        check_shapes(folder)
        check_many(folder)


main()
