#!/usr/bin/env python3
"""ReMax through the real binary: one response more to each prompt, greedy, a line of its own, whose reward is taken off the others'. With a
filter that drops groups and prompts that run ahead, on several ranks, replayed and resumed. Argument: the roll binary."""
import json
import pathlib
import shutil
import subprocess
import tempfile

from resumed import LENGTH, binary, config, prepare, run
from rollouts import rollout_lines

STEPS, GROUPS, GROUP_SIZE = 4, 8, 2


def lines(out, step, folder="rollouts"):
    return rollout_lines(out, step, folder=folder)


def weights(out, step=STEPS):
    return (out / f"checkpoints/step_{step:06}/actor/model.safetensors").read_bytes()


def others(rollouts):
    return [line for line in rollouts if "is_baseline" not in line]


def check_lines(out):
    for step in range(1, STEPS + 1):
        rollouts = lines(out, step)
        assert len(rollouts) == GROUPS * (GROUP_SIZE + 1), len(rollouts)
        for i, line in enumerate(rollouts):
            group, sample = divmod(i, GROUP_SIZE + 1)
            assert (line["group_index"], line["sample_index"]) == (group, sample), line
            assert line.get("is_baseline") == (True if sample == GROUP_SIZE else None), line
        for i in range(0, len(rollouts), GROUP_SIZE + 1):
            *sampled, baseline = rollouts[i:i + GROUP_SIZE + 1]
            assert {line["prompt_id"] for line in sampled} == {baseline["prompt_id"]}
            assert baseline["domain"] == "plain" or sampled[0]["score"] != sampled[1]["score"], "the filter keeps what differs"
    counted = [line for step in range(1, STEPS + 1) for line in lines(out, step) if line["domain"] == "counted"]
    assert len({line["score"] for line in counted if "is_baseline" in line}) > 1, "all baselines are alike: little is tested"


def check_greedy(folder, out):
    """The first step's are what `roll generate` gives at temperature 0."""
    baselines = [line for line in lines(out, 1) if "is_baseline" in line]
    done = subprocess.run([binary, "generate", "--model", folder / "actor", "--device", "cpu", "--temperature", "0", "--max-new-tokens", str(LENGTH)],
                          input="".join(json.dumps({"ids": line["prompt_ids"]}) + "\n" for line in baselines), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    generated = [json.loads(line)["ids"] for line in done.stdout.splitlines()]
    assert generated == [line["response_ids"] for line in baselines], "a baseline is not the greedy response"


def check_advantages(out):
    """In the first step old policy and reference are one, so that no KL is in the rewards."""
    rewards = {line["group_index"]: line["reward"] for line in lines(out, 1) if "is_baseline" in line}
    experience = lines(out, 1, "experience")
    assert len(experience) == GROUPS * GROUP_SIZE and not any("is_baseline" in line for line in experience)
    for line in experience:
        wanted = line["reward"] - rewards[line["group_index"]]
        assert all(abs(x - wanted) < 1e-5 for x in line["advantages"]), (line["advantages"], wanted)
    metrics = json.loads((out / "metrics.jsonl").read_text().splitlines()[1])
    scores = [line["score"] for line in lines(out, 1) if "is_baseline" in line]
    assert abs(metrics["rollout/baseline_score"] - sum(scores) / len(scores)) < 1e-6, metrics["rollout/baseline_score"]
    assert metrics["score/mean"] == sum(line["score"] for line in experience) / len(experience), "baselines are counted as samples"


def check_resumed(folder, out):
    resumed = folder / "resumed"
    shutil.copytree(out, resumed, symlinks=True)
    latest = resumed / "checkpoints/latest"
    latest.unlink()
    latest.symlink_to("step_000002")
    for step in (3, 4):
        shutil.rmtree(resumed / f"checkpoints/step_{step:06}")
        (resumed / f"rollouts/step_{step:06}.jsonl").unlink()
    run(folder, resumed, 1, "--resume")
    assert weights(resumed) == weights(out), "a resumed run has other weights"
    assert all(lines(resumed, step) == lines(out, step) for step in (3, 4)), "a resumed run has other rollouts"


def check_replayed(folder, out, sampled):
    replayed = folder / "replayed"
    run(folder, replayed, 1, f"rollout_replay={out}/rollouts")
    assert weights(replayed) == weights(out), "a replayed run has other weights"
    ignoring = folder / "ignoring"
    run(folder, ignoring, 1, "adv_estimator=reinforce", "max_steps=1", f"rollout_replay={out}/rollouts")
    assert weights(ignoring, 1) == weights(sampled, 1), "an estimator that wants no baselines has used them"
    said = run(folder, folder / "lacking", 1, "max_steps=1", f"rollout_replay={sampled}/rollouts", code=2)
    assert "group 0: greedy responses: 0 (lines with is_baseline: true" in said, said[-2000:]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        changes = dict(adv_estimator="remax", norm_mean_type=None, norm_std_type=None, max_steps=STEPS, best_ckpt_to_keep=0, max_ckpt_to_keep=0,
                       dump_experience=True, track_with=["jsonl"])
        (folder / "run.yaml").write_text(json.dumps(config(folder, **changes), indent=1))
        out, sampled = folder / "remax", folder / "reinforce"
        run(folder, out, 1)
        check_lines(out)
        check_greedy(folder, out)
        check_advantages(out)
        run(folder, sampled, 1, "adv_estimator=reinforce", "max_steps=1")
        assert lines(sampled, 1) == others(lines(out, 1)), "the greedy responses have changed the others"
        for ranks in (2, 4):
            run(folder, folder / f"ranks{ranks}", ranks, "max_steps=1", f"actor_train.training_args.gradient_accumulation_steps={8 // ranks}")
            assert lines(folder / f"ranks{ranks}", 1) == lines(out, 1), f"{ranks} ranks sampled something else"
        check_replayed(folder, out, sampled)
        check_resumed(folder, out)
        print(f"{STEPS} steps with greedy baselines: lines, rewards, ranks, replay and resumption are as they should be")


main()
