#!/usr/bin/env python3
"""metrics.jsonl, metrics.csv and MLflow's file store hold the same numbers, every step once, also where a run goes on after an earlier step.
Where the mlflow package is installed it reads the store itself. Argument: the roll binary."""
import csv
import json
import os
import pathlib
import subprocess
import tempfile

from tiny_sft import prepare, run


def stored(folder, metric):
    """{step: value} of the only run in the store."""
    files = list((folder / "mlruns").glob(f"*/*/metrics/{metric}"))
    assert len(files) == 1, files
    lines = [line.split() for line in files[0].read_text().splitlines()]
    assert len({line[2] for line in lines}) == len(lines), f"a step is there twice: {lines}"
    return {int(step): float(value) for _, value, step in lines}


def check_with_mlflow(folder, losses):
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    try:
        from mlflow.tracking import MlflowClient
    except ImportError:
        return "its format"
    client = MlflowClient(tracking_uri=str(folder / "mlruns"))
    experiment = client.get_experiment_by_name("tracked")
    [found] = client.search_runs([experiment.experiment_id])
    assert found.info.run_name == "tracked"
    assert {point.step: point.value for point in client.get_metric_history(found.info.run_id, "sft/loss")} == losses
    return "mlflow itself"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder, "tracked", 1e-3, save_steps=2, eval_steps=4, max_steps=3, track_with=["stdout", "jsonl", "csv", "mlflow"],
                tracker_kwargs=dict(tracking_uri=str(folder / "mlruns")))
        run(folder)
        # As if the run had died after step 3, whose checkpoint is gone.
        subprocess.run(["rm", "-r", folder / "out/checkpoints/step_000003"], check=True)
        text = run(folder, "--resume", "max_steps=5")
        assert "step 5/5 | " in text and "loss " in text and " s/step" in text, text
        lines = [json.loads(line) for line in open(folder / "out/metrics.jsonl")]
        assert [line["step"] for line in lines] == [1, 2, 3, 4, 5]
        rows = list(csv.DictReader(open(folder / "out/metrics.csv")))
        assert [{key: float(value) for key, value in row.items() if value} for row in rows] == [
            {key: value for key, value in line.items() if value is not None} for line in lines]
        assert [bool(row["val/loss"]) for row in rows] == ["val/loss" in line for line in lines] == [False, False, False, True, True], rows
        losses = {line["step"]: line["sft/loss"] for line in lines}
        assert stored(folder, "sft/loss") == losses
        print(f"three trackers hold the same, read by csv and by {check_with_mlflow(folder, losses)}")


main()
