#!/usr/bin/env python3
"""A reward plug-in from outside: installs roll, builds tests/reward_plugin against the installed package, scores and trains
with it. Argument: the roll binary, in its build folder."""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(sys.argv[1]).resolve()
ROWS = [{"response": "it is 42", "ground_truth": "42", "num_response_tokens": 3, "difficulty": 2},
        {"response": "it is 41", "ground_truth": "42", "num_response_tokens": 1}]
CONFIG = """
output_dir: {folder}/run
max_steps: 2
rollout_batch_size: 4
num_return_sequences_in_group: 4
prompt_length: 64
response_length: 8
adv_estimator: reinforce
norm_mean_type: group
pretrain: {folder}/model
actor_train:
  training_args: {{learning_rate: 1.0e-4, per_device_train_batch_size: 16, gradient_accumulation_steps: 1}}
  data_args: {{file_name: {folder}/rows.jsonl, prompt: prompt}}
actor_infer:
  generating_args: {{temperature: 1}}
rewards:
  own: {{type: plugin, library: {library}, name: contains, args: {{per_token: 0.125}}}}
"""


def run(*command, stdin=None, expect=0):
    done = subprocess.run([str(c) for c in command], input=stdin, capture_output=True, text=True, timeout=300)
    if done.returncode != expect:
        sys.exit(f"{command}\nexit code {done.returncode}, expected {expect}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


def build(folder):
    run("cmake", "--install", BINARY.parent, "--prefix", folder / "installed")
    run("cmake", "-S", HERE.parent / "reward_plugin", "-B", folder / "plugin", f"-Droll_ROOT={folder / 'installed'}")
    run("cmake", "--build", folder / "plugin")
    return folder / "plugin/libmy_rewards.so"


def score(folder, library, name, args="{}", **expect):
    config = folder / "score.yaml"
    config.write_text(f"rewards:\n  own: {{type: plugin, library: {library}, name: {name}, args: {args}}}\n")
    done = run(BINARY, "score", "--config", config, stdin="".join(json.dumps(r) + "\n" for r in ROWS), **expect)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def expect_in(text, *wanted):
    for part in wanted:
        assert part in text, f"{part!r} is not in\n{text}"


def train(folder, library):
    run(BINARY, "init-model", "--hidden", 32, "--intermediate", 64, "--layers", 1, "--heads", 2, "--kv-heads", 1, "--out", folder / "model")
    (folder / "rows.jsonl").write_text("".join(json.dumps({"prompt": f"{i}", "ground_truth": "a"}) + "\n" for i in range(8)))
    (folder / "run.yaml").write_text(CONFIG.format(folder=folder, library=library))
    run(BINARY, "train", "--config", folder / "run.yaml")
    lines = [json.loads(line) for file in sorted((folder / "run/rollouts").glob("*.jsonl")) for line in file.read_text().splitlines()]
    assert len(lines) == 32, len(lines)
    for line in lines:
        right = "a" in line["response"]
        assert line["score"] == right and line["reward"] == right - 0.125 * len(line["response_ids"]), line


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        library = build(folder)
        results, _ = score(folder, library, "contains", "{per_token: 0.125}")
        assert results == [{"reward": 0.625, "detail": {"found": "yes"}}, {"reward": -0.125, "detail": {"found": "no"}}], results
        results, err = score(folder, library, "as_hard_as")
        assert results[0]["reward"] == 2 and results[1]["reward"] is None, results
        expect_in(err, "1 failed (1 unjudged), the first: as_hard_as: the row has no difficulty")
        _, err = score(folder, library, "infinite")
        expect_in(err, "2 failed (2 unparsable)", "must be finite")
        _, err = score(folder, library, "contains", "{per_token: much}")
        expect_in(err, "args.per_token = much: must be a number")
        for wrong, said in (("too_new", "built for version 2 of roll/reward.h, but this program has version 1; rebuild it"),
                            ("other_library", "built with libc++, but this program with libstdc++"),
                            ("absent", "has no symbol roll_reward_absent; write ROLL_REWARD(absent, function) there")):
            _, err = score(folder, library, wrong, expect=2)
            expect_in(err, "rewards.own.", said)
        train(folder, library)
        print("a reward of one's own scores and trains; wrong ones are found out")


main()
