"""A small run that has all the state a run can have, and whether another one gave the same: what the tests of resuming share. `binary` is
the test's first argument."""
import json
import pathlib
import subprocess
import sys

import one_step
from rollouts import rollout_text

binary = pathlib.Path(sys.argv[1]).resolve()
STEPS = 8
LENGTH = 6
SCORER = """import json, sys
for line in sys.stdin:
    print(json.dumps({"reward": len(json.loads(line)["response"].encode()) % 3}), flush=True)
"""
# What depends on the clock, on what was sampled beside what, or on how much of a run one process has done.
CLOCKED = ("utc", "time/", "throughput/", "memory/", "perf/", "comm/", "system/", "wait", "tokens_per", "mfu", "rollout/slots_busy",
           "reward/seconds", "rollout/kv_pages_used", "rollout/prefix_hits", "rollout/guess", "rollout/evictions", "rollout/groups_aborted")


def config(folder, **changes):
    trained = dict(training_args=dict(learning_rate=1e-3, per_device_train_batch_size=2, gradient_accumulation_steps=4,
                                      lr_scheduler_type="cosine", warmup_steps=2))
    reward = dict(type="command", command=[sys.executable, str(folder / "score.py")], tag_included=["t"], timeout_s=60,
                  query_filter_config=dict(type="std_filter", filter_args=dict(std_threshold=0)))
    model = lambda role: dict(model_args=dict(model_name_or_path=str(folder / role)))
    return dict(exp_name="resumed", seed=3, output_dir=str(folder / "run"), max_steps=STEPS, save_steps=1, eval_steps=3, max_ckpt_to_keep=2,
                best_ckpt_to_keep=1, metric_for_best_model="val_score/all/mean", greater_is_better=False, track_with=["jsonl", "tensorboard"],
                pretrain=str(folder / "actor"), reward_pretrain=str(folder / "critic"),
                is_use_additional_prompts=True, max_additional_running_prompts=3, rollout_batch_size=8, num_return_sequences_in_group=2, prompt_length=24, response_length=LENGTH, adv_estimator="gae",
                add_token_level_kl=True, init_kl_coef=0.1, target_kl=0.05, kl_horizon=50, norm_mean_type="running", norm_std_type="running",
                actor_train=model("actor") | trained | dict(data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="prompt",
                                                                            domain_interleave_probs=dict(counted=0.5, plain=0.5))),
                validation=dict(data_args=dict(file_name=[str(folder / "validation.jsonl")])),
                actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)), critic=model("critic") | trained,
                reference=model("actor"),
                rewards=dict(counted=reward, plain=dict(type="exact_match", tag_included=["p"], response_length_penalty_coef=0.5))) | changes


def prepare(folder):
    for seed, role in ((1, "actor"), (3, "critic")):
        one_step.make_model(binary, folder / role, seed, role == "critic")
    (folder / "score.py").write_text(SCORER)
    row = lambda i: json.dumps(dict(id=str(i), prompt=f"{i}+{i % 7}=", ground_truth=str(i + i % 7), tag="t" if i % 2 else "p")) + "\n"
    (folder / "rows.jsonl").write_text("".join(row(i) for i in range(37)))  # steps cross the ends of epochs
    (folder / "validation.jsonl").write_text("".join(row(i) for i in range(100, 104)))
    (folder / "run.yaml").write_text(json.dumps(config(folder), indent=1))


def command(folder, out, ranks, *more):
    return [binary, "train", "--config", folder / "run.yaml", "--device", "cpu", "-n", str(ranks), f"output_dir={out}", *more]


def run(folder, out, ranks, *more, code=0, **options):
    """What it said, on both streams."""
    done = subprocess.run(command(folder, out, ranks, *more), capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def lines_of(out):
    lines = [json.loads(line) for line in open(out / "metrics.jsonl")]
    return [{key: value for key, value in line.items() if not any(word in key for word in CLOCKED)} for line in lines]


def events_of(out):
    """(step, tag, value) of all event files."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    events = []
    for file in sorted((out / "tensorboard").iterdir()):
        for event in LegacyEventFileLoader(str(file)).Load():
            events += [(event.step, value.tag, value.simple_value) for value in event.summary.value
                       if not any(word in value.tag for word in CLOCKED)]
    return sorted(events)


def check_same(out, base, checkpoints=True):
    """`checkpoints`: whether the same ones must be there."""
    assert [line["step"] for line in lines_of(out)] == list(range(STEPS + 1)), [line["step"] for line in lines_of(out)]
    for mine, theirs in zip(lines_of(out), lines_of(base)):
        wrong = {key: (mine.get(key), theirs.get(key)) for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key)}
        assert not wrong, f"step {mine['step']}: {wrong}"
    assert events_of(out) == events_of(base)
    # Which of several ranks sampled a response is a matter of who had time; what it is, and what is learnt from it, is not.
    steps = lambda folder: sorted({file.name[:-len(".jsonl")].split("-")[0] for file in (folder / "rollouts").iterdir()})
    assert steps(base) == steps(out), (steps(base), steps(out))
    for step in steps(base):
        prefix, number = step.split("_")
        assert rollout_text(out, int(number), prefix + "_") == rollout_text(base, int(number), prefix + "_"), step
    shown = lambda folder: {file.name: file.read_text() for file in (folder / "samples").iterdir()}
    assert shown(out) == shown(base)
    for role in ("actor", "critic"):
        file = f"checkpoints/latest/{role}/model.safetensors"
        assert (out / file).read_bytes() == (base / file).read_bytes(), file
    best = lambda folder: json.loads((folder / "checkpoints/latest/manifest.json").read_text())["best_metric"]
    assert best(out) == best(base), (best(out), best(base))
    kept = lambda folder: sorted(path.name for path in (folder / "checkpoints").iterdir() if not path.name.endswith(".superseded"))
    assert not checkpoints or kept(out) == kept(base), (kept(out), kept(base))
