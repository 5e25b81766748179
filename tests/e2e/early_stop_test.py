#!/usr/bin/env python3
"""A run whose validation does not improve ends early with a checkpoint, as its last step would; one that goes on knows how long it has
waited. Argument: the roll binary."""
import json
import pathlib
import tempfile

from tiny_sft import prepare, run


def steps(folder):
    return [json.loads(line)["step"] for line in open(folder / "out/metrics.jsonl")]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # Nothing is learnt, so no validation is better than the first.
        prepare(folder, "early", 0.0, save_steps=0, eval_steps=1, max_steps=9, early_stopping_patience=3)
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
        for metric, why in {"val/los": "no run measures this metric; `roll metrics` lists all metrics; did you mean 'val/loss'?",
                            "val_correct/all/mean": "is measured by `roll train`; here use val/loss or sft/loss"}.items():
            text = run(folder, "--resume", f"metric_for_best_model={metric}", code=2)
            assert f"metric_for_best_model = {metric}" in text and why in text, text
        # What only the run can know: there is no critic whose micro-batches would be filled.
        text = run(folder, "--resume", "max_steps=8", "metric_for_best_model=packing/critic/fill")
        assert text.count("metric_for_best_model = packing/critic/fill: was not measured in step 7; until it is, no checkpoint") == 1, text
        print("ends after three validations without a better one, also across a restart")


main()
