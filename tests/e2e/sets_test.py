#!/usr/bin/env python3
"""Three named validation sets, each with its rows, sampling and number of samples: the same numbers on 1, 2 and 4 ranks, those that
`roll evaluate` gives of the recorded responses and of the model, also where it was killed and goes on, and a best checkpoint by one of
them. Argument: the roll binary."""
import json
import math
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from metric_words import unknown_metrics
from resumed import binary, config, prepare, run

SETS = dict(greedy=(0, 1, "t"), many=(1.0, 4, "p"), mixed=(0.7, 2, "tp"))
SCORER = """import json, os, sys, time
for line in sys.stdin:
    query = json.loads(line)
    while query["row"]["prompt"] == "2+2=" and os.path.exists(sys.argv[1]): time.sleep(0.02)
    print(json.dumps({"reward": len(query["response"].encode()) % 2}), flush=True)
"""


def rows_of(number, tags):
    return "".join(json.dumps(dict(id=f"{tags}{i}", prompt=f"{i}+{number}=", ground_truth=str(i + number), tag=tags[i % len(tags)])) + "\n" for i in range(5))


def sets(folder):
    for number, (name, (_, _, tags)) in enumerate(SETS.items()):
        (folder / f"{name}.jsonl").write_text(rows_of(number, tags))
    return {name: dict(data_args=dict(file_name=[str(folder / f"{name}.jsonl")]), generating_args=dict(temperature=temperature, num_return_sequences=samples))
            for name, (temperature, samples, _) in SETS.items()}


def of_sets(out, step):
    lines = [json.loads(line) for line in open(out / "metrics.jsonl")]
    return {key: value for line in lines if line["step"] == step for key, value in line.items() if key.startswith("val")}


def evaluate(*args, code=0):
    done = subprocess.run([binary, "evaluate", *args], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout + done.stderr


def check_ended(folder, told, how):
    """Ended by a signal while the second of three pieces of the last set is judged; goes on on two ranks."""
    out, block = folder / f"ended{how}", folder / "block"
    flags = ["--config", folder / "run.yaml", "--device", "cpu", "--out", out, "--plain"]
    command = [*flags, "--model", folder / "actor", "--keep-every", "2"]
    block.touch()
    run = subprocess.Popen([binary, "evaluate", *command, "-n", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    pieces = [out / f"rollouts/val_mixed_000000-0000{i}-of-00003.jsonl" for i in (1, 2, 3)]
    try:
        while not pieces[0].exists():
            assert run.poll() is None, run.returncode
            time.sleep(0.02)
    finally:
        run.send_signal(how)
        if how == signal.SIGKILL:
            run.wait()
        block.unlink()
        said = run.communicate(timeout=60)[1]
    if how == signal.SIGTERM:
        assert run.returncode == 143 and "judged responses are saved; resume with: roll evaluate" in said and said.strip().endswith("--resume"), (run.returncode, said, (out / "log.txt").read_text()[-1000:])
    assert not pieces[2].exists() and (how == signal.SIGTERM or not pieces[1].exists())
    own = sorted((out / "rollouts").glob("val_000000-00001-of-*.jsonl"))
    assert len(own) == 1, "the validation's own rows are not kept in pieces"
    kept = [file.stat().st_mtime_ns for file in (pieces[0], own[0])]
    for change, difference in (("validation.sets.mixed.generating_args.temperature=0.5", "/sets/mixed/temperature: 0.7 -> 0.5"),
                               ("validation.generating_args.temperature=0.5", "/validation/temperature: "), ("seed=4", "\n  seed: 3 -> 4"),
                               ("rewards.counted.timeout_s=50", "rewards.counted.timeout_s: 60 -> 50")):
        said = evaluate(*command, "--resume", change, code=2)
        assert difference in said and "start a new evaluation with --out or --new-run" in said, said
    assert "/prompts of a piece (--keep-every): 2 -> 3" in evaluate(*flags, "--model", folder / "actor", "--keep-every", "3", "--resume", code=2)
    rows = (folder / "mixed.jsonl").read_text()
    (folder / "mixed.jsonl").write_text(rows.replace("0+2=", "0+3="))
    assert "/sets/mixed/rows: " in evaluate(*command, "--resume", code=2)
    (folder / "mixed.jsonl").write_text(rows)
    shutil.copytree(folder / "actor", folder / "other", dirs_exist_ok=True)
    weights = bytearray((folder / "other/model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "other/model.safetensors").write_bytes(weights)
    assert "/weights/model.safetensors: " in evaluate(*flags, "--model", folder / "other", "--keep-every", "2", "--resume", code=2)
    evaluate(*command, "--resume", "-n", "2")
    assert [file.stat().st_mtime_ns for file in (pieces[0], own[0])] == kept and pieces[2].exists(), "a kept piece was made again"
    assert of_sets(out, 0) == told, {key: (value, told.get(key)) for key, value in of_sets(out, 0).items() if value != told.get(key)}


def check_page(folder):
    """An evaluation has a page, alone and beside a run."""
    for beside in ([], [folder / "ranks1"]):
        page = folder / "page.html"
        done = subprocess.run([binary, "report", folder / "alone", *beside, "--out", page], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        runs = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page.read_text(), re.S)[1])["runs"]
        assert [run["is_evaluation"] for run in runs] == [True, False][:len(runs)] and runs[0]["metrics"]["val/many/pass@4"]["v"], runs[0]["metrics"].keys()


def check_without_file(folder, told):
    """Flags in place of a configuration give the numbers of a set that they can describe."""
    flags = ["--model", folder / "actor", "--data", f"many={folder}/many.jsonl", "--reward", "exact_match", "--samples", "4", "--max-new-tokens", "6"]
    said = evaluate(*flags, "--device", "cpu", "-n", "2", "--out", folder / "flags", "seed=3")
    assert "the reward exact_match (as given)" in said and "training prompts" not in said, said
    ours = {key: value for key, value in of_sets(folder / "flags", 0).items() if key.startswith("val/")}
    assert ours and ours == {key: value for key, value in told.items() if key.startswith("val/many/")}, ours
    said = evaluate(*flags, "--config", folder / "run.yaml", code=2)
    assert "replace a configuration file" in said, said
    said = evaluate("--model", folder / "actor", "--data", folder / "none.jsonl", code=2)
    assert "--data = " in said and "none.jsonl" in said, said
    assert "--data" in evaluate("--config", folder / "run.yaml", "--samples", "4", code=2)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        plain = config(folder)["validation"]
        (folder / "score.py").write_text(SCORER)
        counted = dict(type="command", command=[sys.executable, str(folder / "score.py"), str(folder / "block")], tag_included=["t"], timeout_s=60)
        changes = dict(max_steps=1, eval_steps=1, rewards=dict(counted=counted, plain=dict(type="exact_match", tag_included=["p"])), adv_estimator="reinforce",
                       norm_mean_type=None, norm_std_type=None, best_ckpt_to_keep=1, metric_for_best_model="val/many/maj@4", track_with=["jsonl"])
        (folder / "run.yaml").write_text(json.dumps(config(folder, **changes, validation=plain | dict(sets=sets(folder))), indent=1))
        told = {}
        for ranks in (1, 2, 4):
            out = folder / f"ranks{ranks}"
            run(folder, out, ranks, f"actor_train.training_args.gradient_accumulation_steps={8 // ranks}")
            told[ranks] = of_sets(out, 0)
            assert not unknown_metrics(binary, of_sets(out, 1)), unknown_metrics(binary, of_sets(out, 1))
        named = {key for key in told[1] if key.startswith("val/")}
        assert {"val/greedy/avg@1", "val/many/avg@4", "val/many/pass@2", "val/many/maj@4", "val/many/avg@4/se", "val/mixed/response_length"} <= named, named
        assert "val_correct/all/mean" in told[1] and "val/mixed/maj@2" not in named
        assert told[1] == told[2] == told[4], {key: [told[n].get(key) for n in told] for key in told[1] if len({told[n].get(key) for n in told}) > 1}
        manifest = json.loads((folder / "ranks1/checkpoints/latest/manifest.json").read_text())
        assert manifest["best_metric"] == max(of_sets(folder / "ranks1", step)["val/many/maj@4"] for step in (0, 1)), manifest

        for at in (0, 1):
            again = folder / "again.json"
            evaluate(*[f"--from={name}={folder}/ranks1/rollouts/val_{name}_{at:06}.jsonl" for name in SETS], "--out", again)
            again, run_said = json.loads(again.read_text()), {key: value for key, value in of_sets(folder / "ranks1", at).items() if key in named}
            assert again.keys() == run_said.keys() and all(math.isclose(again[key], run_said[key], rel_tol=1e-8, abs_tol=1e-8) for key in again), (again, run_said)
        evaluate("--config", folder / "run.yaml", "--device", "cpu", "-n", "2", "--model", folder / "actor", "--out", folder / "alone")
        assert of_sets(folder / "alone", 0) == told[1], "roll evaluate measures something else than a run's first validation"
        for how in (signal.SIGKILL, signal.SIGTERM):
            check_ended(folder, told[1], how)
        said = evaluate("--config", folder / "run.yaml", "--device", "cpu", "--out", folder / "ranks1", "--resume", code=2)
        assert "is a checkpoint of a training run" in said and "/actor and a new folder with --out" in said, said
        check_page(folder)
        check_without_file(folder, told[1])
        done = evaluate("--config", folder / "run.yaml", "--device", "cpu", "--out", folder / "none", "validation={}", "metric_for_best_model=score/mean", code=2)
        assert "has no validation" in done, done
        said = run(folder, folder / "wrong", 1, "metric_for_best_model=val/many/pass@3", code=2)
        assert "no validation set has this metric; there is val/greedy/avg@1" in said, said
        said = run(folder, folder / "wrong", 1, "validation.sets={a b: {data_args: {}}}", "metric_for_best_model=score/mean", code=2)
        assert "letters, digits" in said and "name the files of the set's rows" in said, said
        print(f"{len(named)} numbers of three sets are alike on 1, 2 and 4 ranks, recomputed, and by roll evaluate")


main()
