#!/usr/bin/env python3
"""metrics.jsonl, metrics.csv, MLflow's file store and W&B's offline run hold the same numbers, every step once, also where a run goes on after an
earlier step. Where the mlflow or wandb packages are installed (ROLL_WANDB: the program of one elsewhere) they read theirs, and trackio what scripts/upload_metrics.py gives it.
Argument: the roll binary."""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import wandb_files
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


def wandb_file(folder):
    [file] = (folder / "out/wandb").glob("offline-run-*/run-*.wandb")
    assert file.parent.name.endswith("-" + file.stem.removeprefix("run-")) and (file.parent / "files").is_dir(), file
    return file


def check_wandb(folder, lines):
    file = wandb_file(folder)
    kinds = [kind for kind, _ in wandb_files.read(file)]
    assert kinds.count(wandb_files.RUN) == kinds.count(wandb_files.EXIT) == 1 and kinds[-1] == wandb_files.EXIT, kinds
    assert kinds[0] == wandb_files.HEADER and kinds[1] == wandb_files.RUN, kinds
    assert file.stat().st_size > 2 * wandb_files.BLOCK, "too short to show what happens between blocks"
    about = dict(wandb_files.fields(wandb_files.read(file)[1][1]))
    assert about[1].decode() == file.stem.removeprefix("run-") and about[3] == b"shared" and about[8] == b"tracked", about
    assert wandb_files.items(about[4])["sft_train"]["training_args"]["learning_rate"] == 1e-3
    changed = [wandb_files.items(message) for kind, message in wandb_files.read(file) if kind == wandb_files.CONFIG]
    assert [config["max_steps"] for config in changed] == [88, 90], changed
    assert wandb_files.histories(file) == lines
    summaries = [wandb_files.items(message) for kind, message in wandb_files.read(file) if kind == wandb_files.SUMMARY]
    assert [line["sft/loss"] for line in summaries] == [line["sft/loss"] for line in lines]
    if not wandb_files.program():
        print("SKIPPED: `wandb sync` itself, because there is no wandb (pip install wandb==0.31.0; ROLL_WANDB names its program)")
        return "its format"
    (folder / "home").mkdir()
    facts, uploaded, is_complete = wandb_files.synced(file.parent, folder / "home")
    assert (facts["name"], facts["project"], facts["displayName"]) == (about[1].decode(), "shared", "tracked"), facts
    plain = [{"step": line["_step"], **{name: value for name, value in line.items() if name[0] != "_"}} for line in uploaded]
    assert plain == lines and is_complete, plain
    return "wandb sync itself"


def check_trackio(folder, lines):
    """Its own import of metrics.csv cuts names to ten letters, so it gets them from upload_metrics.py."""
    try:
        import trackio  # noqa: F401
    except ImportError:
        print("SKIPPED: trackio, because it is not installed (pip install trackio==0.43.0)")
        return "nobody's"
    environment = dict(os.environ, TRACKIO_DIR=str(folder / "trackio"))
    script = pathlib.Path(__file__).parents[2] / "scripts/upload_metrics.py"
    subprocess.run([sys.executable, script, folder / "out", "--to", "trackio", "--project", "shared"], check=True, env=environment, timeout=120)
    name = json.loads((folder / "out/run.json").read_text())["run"]
    read = "import json, sys; from trackio.sqlite_storage import SQLiteStorage as S; print(json.dumps(S.get_logs('shared', sys.argv[1])))"
    logs = json.loads(subprocess.run([sys.executable, "-c", read, name], check=True, env=environment, capture_output=True, text=True).stdout)
    assert [{key: value for key, value in log.items() if key != "timestamp"} for log in logs] == [
        {key: value for key, value in line.items() if value is not None} for line in lines], logs[:2]
    return "trackio's"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder, "tracked", 1e-3, save_steps=2, eval_steps=4, max_steps=3,
                track_with=["stdout", "jsonl", "csv", "mlflow", "wandb"], tracker_kwargs=dict(tracking_uri=str(folder / "mlruns"), project="shared"))
        run(folder)
        with open(wandb_file(folder), "ab") as file:  # as if it had been killed while it wrote
            file.write(b"\x01\x02\x03\x04\xff\x00\x01half")
        # As if the run had died after step 3, whose checkpoint is gone.
        subprocess.run(["rm", "-r", folder / "out/checkpoints/step_000003"], check=True)
        run(folder, "--resume", "max_steps=88")
        text = run(folder, "--resume", "max_steps=90")  # it had come to an end, which is none any more
        assert "step 90/90 | " in text and "loss " in text and " s/step" in text, text
        lines = [{key: value for key, value in json.loads(line).items() if key != "utc"} for line in open(folder / "out/metrics.jsonl")]
        assert [line["step"] for line in lines] == list(range(1, 91))
        rows = list(csv.DictReader(open(folder / "out/metrics.csv")))
        assert [{key: float(value) for key, value in row.items() if value} for row in rows] == [
            {key: value for key, value in line.items() if value is not None} for line in lines]
        assert [bool(row["val/loss"]) for row in rows] == ["val/loss" in line for line in lines] == [step % 4 == 0 or step == 90 for step in range(1, 91)], rows
        losses = {line["step"]: line["sft/loss"] for line in lines}
        assert stored(folder, "sft/loss") == losses
        print(f"four trackers hold the same, read by csv, by {check_with_mlflow(folder, losses)} and by {check_wandb(folder, lines)}; uploaded numbers are {check_trackio(folder, lines)}")


main()
