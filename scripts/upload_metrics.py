#!/usr/bin/env python3
"""Uploads a run folder's metrics to Weights & Biases, SwanLab or Trackio, which `roll` itself never talks to: upload_metrics.py RUN_FOLDER
--to wandb|swanlab|trackio [--project NAME]. Needs that service's Python package and, but for trackio, login. Run again, it uploads what has
been added since (wandb; the others begin anew). WANDB_MODE=offline writes wandb's own files for `wandb sync`."""
import argparse
import json
import pathlib


def metrics_of(folder):
    for line in open(folder / "metrics.jsonl"):
        values = json.loads(line)
        yield values.pop("step"), {name: value for name, value in values.items() if isinstance(value, (int, float))}


def open_service(name, project, run):
    if name == "wandb":
        import wandb

        return wandb.init(project=project, id=run, resume="allow")
    if name == "trackio":
        import trackio

        return trackio.init(project=project, name=run)
    import swanlab

    return swanlab.init(project=project, experiment_name=run)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="output_dir of the run")
    parser.add_argument("--to", choices=["wandb", "swanlab", "trackio"], required=True)
    parser.add_argument("--project", default="roll")
    args = parser.parse_args()
    if not (args.folder / "metrics.jsonl").exists():
        parser.error(f"{args.folder}: holds no metrics.jsonl")
    service = open_service(args.to, args.project, json.loads((args.folder / "run.json").read_text())["run"])
    first = getattr(service, "step", 0) if args.to == "wandb" and getattr(service, "resumed", False) else 0
    count = 0
    for step, values in metrics_of(args.folder):
        if step >= first:
            service.log(values, step=step)
            count += 1
    service.finish()
    print(f"{count} steps uploaded")


main()
