"""A `roll sft` run of seconds, in `folder`: a tiny model on eight rows, which are also its validation."""
import json
import pathlib
import subprocess
import sys

import one_step

binary = pathlib.Path(sys.argv[1]).resolve()


def prepare(folder, name, learning_rate, **keys):
    """Model, rows and sft.yaml, whose output_dir is out."""
    one_step.make_model(binary, folder / "model", 1, False)
    (folder / "rows.jsonl").write_text("".join(json.dumps(dict(question=f"{i:02}+1=", answer=f"{i + 1:02}")) + "\n" for i in range(8)))
    data = dict(data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="question", response="answer"))
    config = dict(exp_name=name, seed=3, output_dir=str(folder / "out"), pretrain=str(folder / "model"), sequence_length=32, validation=data,
                  sft_train=data | dict(training_args=dict(learning_rate=learning_rate, per_device_train_batch_size=2,
                                                           gradient_accumulation_steps=1, lr_scheduler_type="constant")))
    (folder / "sft.yaml").write_text(json.dumps(config | keys))


def run(folder, *overrides, code=0):
    """What it printed."""
    done = subprocess.run([binary, "sft", "--config", folder / "sft.yaml", "--device", "cpu", *overrides], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr
