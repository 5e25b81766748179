#!/usr/bin/env python3
"""Supervised fine-tuning goes through every row once a pass, in another order each, and lowers the loss that it tells.
Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import one_step
from metric_words import unknown_metrics

binary = pathlib.Path(sys.argv[1]).resolve()
ROWS, BATCH, PASSES = 12, 2, 2


def run(folder, name, learning_rate, ranks=1, cp=1, tp=1):
    config = dict(exp_name=name, seed=3, output_dir=str(folder / name), pretrain=str(folder / "model"), sequence_length=32,
                  track_with=["jsonl"], logging_steps=5, save_steps=0, eval_steps=1, num_train_epochs=PASSES,
                  sft_train=dict(training_args=dict(learning_rate=learning_rate, per_device_train_batch_size=BATCH,
                                                    gradient_accumulation_steps=1, lr_scheduler_type="constant"),
                                 data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="question", response="answer"),
                                 strategy_args=dict(strategy_config=dict(tensor_model_parallel_size=tp, context_parallel_size=cp))),
                  validation=dict(data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="question", response="answer")))
    (folder / f"{name}.yaml").write_text(json.dumps(config))
    done = subprocess.run([binary, "sft", "--config", folder / f"{name}.yaml", "-n", str(ranks), "--device", "cpu"], capture_output=True, text=True,
                          timeout=300)
    if done.returncode:
        sys.exit(f"{name}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    return [json.loads(line) for line in open(folder / name / "metrics.jsonl")]


def check_preview(folder):
    """validate-config says what a run makes of the rows."""
    def validated(*overrides, code=0):
        done = subprocess.run([binary, "validate-config", "--config", folder / "still.yaml", *overrides], capture_output=True, text=True)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    text = validated()
    tokens = 5 + 3  # "00+1=" and "01" with its end, a token a byte
    assert f"training rows: {ROWS} rows; tokens: p50 {tokens}, " in text and f"; {3 * ROWS} of {tokens * ROWS} carry loss" in text, text
    assert f"{ROWS // BATCH * PASSES} updates of {BATCH} rows: {PASSES} passes over the training rows" in text, text
    with open(folder / "rows.jsonl", "a") as rows:
        rows.write(json.dumps(dict(question="long" * 9, answer="1")) + "\n")
    text = validated()
    assert f"sequence_length = 32: 1 of {ROWS + 1} rows are longer and are dropped; raise sequence_length to keep them" in text, text
    twice = folder / "twice.jsonl"
    asked = [dict(role="user", content="1+1=")]
    twice.write_text(json.dumps(dict(messages=asked, response="2")) + "\n" + json.dumps(dict(messages=[*asked, dict(role="assistant", content="2")], response="2")) + "\n")
    unnamed = ["sft_train.data_args.prompt=null", "sft_train.data_args.response=null", "global_template=chatml"]
    text = validated(f"sft_train.data_args.file_name=[{twice}]", *unnamed, code=2)
    assert "twice.jsonl:2: messages end with an answer, and the column response has one, too; remove one of the two" in text, text
    text = validated("sft_train.training_args.per_device_train_batch_size=25", code=2)
    assert f"{ROWS} rows x {PASSES} epochs are fewer than the 25 rows of one update; lower the batch size or add rows" in text, text


def check_dressed_prompts(folder):
    """A system message and a template of the configuration give the tokens and the loss of rows that hold them."""
    asked = lambda text: [dict(role="user", content=text)]
    answer = [dict(role="assistant", content="2")]
    write = lambda name, rows: (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    write("plain.jsonl", [dict(messages=asked("1+1") + answer), dict(messages=asked("2+0") + answer)])
    system = [dict(role="system", content="Add")]
    write("whole.jsonl", [dict(messages=system + asked("1+1=") + answer), dict(messages=system + asked("2+0=") + answer)])
    config = json.loads((folder / "still.yaml").read_text())
    losses = {}
    for name, more in (("plain", dict(system="Add", prompt_template="{prompt}=")), ("whole", {}), ("bare", {})):
        file = folder / f"{'plain' if name == 'bare' else name}.jsonl"
        config |= dict(output_dir=str(folder / f"dressed_{name}"), global_template="chatml", sequence_length=256, num_train_epochs=1)
        config["sft_train"]["data_args"] = dict(file_name=[str(file)]) | more
        config.pop("validation", None)
        (folder / f"dressed_{name}.yaml").write_text(json.dumps(config))
        done = subprocess.run([binary, "sft", "--config", folder / f"dressed_{name}.yaml", "--device", "cpu"], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
        losses[name] = [json.loads(line).get("sft/loss") for line in open(folder / f"dressed_{name}/metrics.jsonl")]
    assert losses["plain"] == losses["whole"] and losses["plain"][0] and losses["plain"] != losses["bare"], losses
    done = subprocess.run([binary, "validate-config", "--config", folder / "dressed_plain.yaml", "sft_train.data_args.prompt_template=x"], capture_output=True, text=True)
    assert done.returncode == 2 and "sft_train.data_args.prompt_template = x: must contain the mark {prompt} exactly once" in done.stderr + done.stdout, done.stdout + done.stderr


def check_layout(folder):
    """Four ranks that share sequences and weights learn what one learns."""
    one, four = run(folder, "one", 1e-4), run(folder, "four", 1e-4, ranks=4, cp=2, tp=2)
    assert not unknown_metrics(binary, set().union(*four)), unknown_metrics(binary, set().union(*four))
    for key in ("sft/loss", "val/loss", "sft/grad_norm"):
        gap = max(abs(a[key] - b[key]) / a[key] for a, b in zip(one, four, strict=True))
        assert gap < 5e-6, f"{key} differs by {gap:.1e} under cp 2 x tp 2"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one_step.make_model(binary, folder / "model", 1, False)
        # Answers of one length, so that the mean over the updates of a pass is the mean over all tokens.
        rows = [dict(question=f"{i:02}+1=", answer=f"{i + 1:02}") for i in range(ROWS)]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        still = run(folder, "still", 0.0)
        assert len(still) == ROWS // BATCH * PASSES, len(still)
        losses = [line["sft/loss"] for line in still]
        of_pass = [losses[i : i + ROWS // BATCH] for i in range(0, len(losses), ROWS // BATCH)]
        for one in of_pass:
            mean = sum(one) / len(one)
            assert abs(mean - still[-1]["val/loss"]) < 1e-5 * mean, f"a pass leaves rows out: {mean}, {still[-1]['val/loss']}"
        assert max(abs(a - b) for a, b in zip(*of_pass)) > 1e-4, "the passes have the same order"
        moved = [line["val/loss"] for line in run(folder, "moved", 1e-2)]
        assert 0 < moved[-1] < 0.7 * moved[0], moved
        check_layout(folder)
        check_dressed_prompts(folder)
        check_preview(folder)
        print(f"every row once a pass; the loss goes from {moved[0]:.2f} to {moved[-1]:.2f}")


main()
