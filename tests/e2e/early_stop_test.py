#!/usr/bin/env python3
"""A run whose validation does not improve ends early with a checkpoint, as its last step would; one that goes on knows how long it has
waited. Argument: the roll binary."""
import json
import pathlib
import subprocess
import sys
import tempfile

import one_step

binary = pathlib.Path(sys.argv[1]).resolve()


def run(folder, *overrides, code=0):
    done = subprocess.run([binary, "sft", "--config", folder / "sft.yaml", "--device", "cpu", *overrides], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def steps(folder):
    return [json.loads(line)["step"] for line in open(folder / "out/metrics.jsonl")]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        one_step.make_model(binary, folder / "model", 1, False)
        (folder / "rows.jsonl").write_text("".join(json.dumps(dict(question=f"{i:02}+1=", answer=f"{i + 1:02}")) + "\n" for i in range(8)))
        data = dict(data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="question", response="answer"))
        # Nothing is learnt, so no validation is better than the first.
        config = dict(exp_name="early", seed=3, output_dir=str(folder / "out"), pretrain=str(folder / "model"), sequence_length=32, save_steps=0,
                      eval_steps=1, max_steps=9, early_stopping_patience=3, validation=data,
                      sft_train=data | dict(training_args=dict(learning_rate=0.0, per_device_train_batch_size=2, gradient_accumulation_steps=1,
                                                               lr_scheduler_type="constant")))
        (folder / "sft.yaml").write_text(json.dumps(config))
        run(folder, "max_steps=2")
        assert steps(folder) == [1, 2]
        text = run(folder, "--resume")
        assert "early stop after step 4: val/loss was measured 3 times without improving on its best" in text, text
        assert "step 4/4 |" in text and steps(folder) == [1, 2, 3, 4], text
        checkpoints = folder / "out/checkpoints"
        assert (checkpoints / "latest").resolve().name == (checkpoints / "best").resolve().name == "step_000004"
        assert "early stop after step 4" in run(folder, "--resume") and steps(folder) == [1, 2, 3, 4]
        run(folder, "--resume", "early_stopping_patience=5")
        assert steps(folder) == [1, 2, 3, 4, 5, 6]
        text = run(folder, "--resume", "validation.data_args.file_name=[]", code=2)
        assert "early_stopping_patience = 3: metric_for_best_model = val/loss (" in text and "is measured in validations" in text, text
        print("ends after three validations without a better one, also across a restart")


main()
