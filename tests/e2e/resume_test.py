#!/usr/bin/env python3
"""A run that is killed with SIGKILL at random moments, on any rank or the process that started the ranks, and started again with --resume
gives what an undisturbed one gives: weights and rollouts to the bit, every step once in metrics.jsonl and TensorBoard. Then what --resume,
--new-run and a changed configuration do. Argument: the roll binary. ROLL_KILLS: how many kills (default 8 for each number of ranks)."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

from resumed import STEPS, binary, check_same, command, prepare, run

# With two ranks weights are bfloat16, whose float32 masters have a half of their own in a checkpoint, and the sampler reads 8 bits of them.
DTYPES = {1: [], 2: ["actor_train.model_args.dtype=bf16", "critic.model_args.dtype=bf16", "actor_infer.model_args.dtype=int8"]}
KILLS = int(os.environ.get("ROLL_KILLS", "8"))
FORKED = binary.parent / "forked/roll"  # starts sooner, for what nobody kills


def descendants(pid):
    found = []
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return found
    for child in map(int, children):
        found += [child] + descendants(child)
    return found


def is_rank(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/exe").resolve() == binary
    except OSError:
        return False


def kill_at_random(folder, out, ranks, rng, longest):
    """Starts or resumes the run and kills one of its processes; True when it was too late: the run has ended by itself."""
    with open(folder / "killed.log", "w") as log:
        process = subprocess.Popen(command(folder, out, ranks, "--resume", *DTYPES[ranks]), stdout=log, stderr=log, start_new_session=True)
        try:
            process.wait(rng.uniform(0, longest))
        except subprocess.TimeoutExpired:
            victims = [process.pid] + [pid for pid in descendants(process.pid) if is_rank(pid)]
            try:
                os.kill(rng.choice(victims), signal.SIGKILL)
            except ProcessLookupError:
                pass
        code = process.wait(120)
    text = (folder / "killed.log").read_text(errors="replace")  # a kill may leave half of a character
    assert code in (0, 1, -signal.SIGKILL), f"exit code {code}\n{text[-3000:]}"
    return code == 0


def check_kills(folder, ranks):
    base, out = folder / f"base{ranks}", folder / f"killed{ranks}"
    begun = time.monotonic()
    run(folder, base, ranks, *DTYPES[ranks])
    longest = time.monotonic() - begun
    rng = random.Random(ranks)
    kills = rounds = 0
    while kills < KILLS:
        shutil.rmtree(out, ignore_errors=True)
        while not kill_at_random(folder, out, ranks, rng, longest):
            kills += 1
            assert kills < 20 * KILLS + 100, "the run does not get on"
        rounds += 1
        check_same(out, base)
    print(f"{ranks} ranks: {kills} kills in {rounds} runs of {STEPS} steps; each gave the undisturbed run's weights, rollouts and metrics", flush=True)


def check_stops(folder, ranks):
    """A wish to stop saves what was done, whatever save_steps says, and names the command that goes on."""
    out = folder / f"stopped{ranks}"
    run(folder, folder / f"plain{ranks}", ranks, "save_steps=0", "best_ckpt_to_keep=0")
    num_steps = lambda: (out / "metrics.jsonl").read_text().count("\n") if (out / "metrics.jsonl").exists() else 0
    saved = 0
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGUSR1, 75)):
        process = subprocess.Popen(command(folder, out, ranks, "--resume", "save_steps=0", "best_ckpt_to_keep=0"), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True)
        wanted = num_steps() + 2  # with step 0, the first validation
        while process.poll() is None and num_steps() < wanted:
            time.sleep(0.01)
        process.send_signal(number)
        text = process.communicate(timeout=120)[0]
        if process.returncode == 0:
            break
        assert process.returncode == code, f"{number}: exit code {process.returncode}, not {code}\n{text[-3000:]}"
        if "which is saved" in text:
            saved += 1
            assert "resume with: roll train" in text and "--resume" in text, text[-3000:]
    assert saved >= 2, f"{saved} stops saved something"
    run(folder, out, ranks, "--resume", "save_steps=0", "best_ckpt_to_keep=0")
    for checkpoint in (out / "checkpoints").glob("step_*"):  # those of the stops
        if checkpoint.name != f"step_{STEPS:06}":
            shutil.rmtree(checkpoint)
    check_same(out, folder / f"plain{ranks}")
    print(f"{ranks} ranks: {saved} stops were saved and gone on with", flush=True)


def verify(checkpoint, code):
    done = subprocess.run([FORKED, "verify", checkpoint], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def check_strangers(folder, out):
    """A report of a checkpoint is its run's. Nothing writes into a checkpoint, and what people put there is warned of."""
    checkpoint = out / "checkpoints/latest"
    files = lambda: sorted(path.name for path in checkpoint.rglob("*"))
    before = files()
    report = lambda *words: subprocess.run([binary, "report", *words], capture_output=True, text=True, timeout=60)
    assert report(checkpoint).returncode == 0 and (out / "report.html").exists()
    (out / "report.html").unlink()
    for words in ([out, "--out", checkpoint / "report.html"], [out, "--out", checkpoint / "actor/report.html"]):
        done = report(*words)
        assert done.returncode == 2 and "is inside the checkpoint" in done.stderr, done
    for key in ("output_dir", "rollout_dump_dir", "logging_dir", "tracker_kwargs.log_dir"):
        text = run(folder, out, 1, "--new-run", f"{key}={checkpoint / 'actor'}", code=2)
        assert f"{key} = " in text and "lies in the checkpoint" in text, text
    assert files() == before, files()
    stranger = checkpoint / "report.html"
    stranger.write_text("<p>")
    assert "note: report.html: is not in the manifest" in verify(checkpoint, 0)
    text = run(folder, out, 1, "--resume")
    assert "report.html: is not in the manifest: nothing reads it" in text and "damaged" not in text, text
    assert f"step {STEPS} is done" in text, text
    stranger.unlink()


def check_folder(folder):
    """The run in base1 is complete: what does a second start do there?"""
    out = folder / "base1"
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file() and file.name != "log.txt"}
    text = run(folder, out, 1, code=2)
    assert "already holds a run" in text and "--resume" in text and "--new-run" in text, text
    assert before == {file: file.read_bytes() for file in out.rglob("*") if file.is_file() and file.name != "log.txt"}
    text = run(folder, out, 1, "--resume", "actor_train.training_args.learning_rate=0.05", code=2)
    assert "learning_rate: 0.001 -> 0.05" in text and "--allow-config-change" in text, text
    # Nothing is left to do but what the run may have died before: `latest`, and what was begun.
    latest, unfinished = out / "checkpoints/latest", out / f"checkpoints/.saving_step_{STEPS:06}"
    latest.unlink()
    latest.mkdir()  # as a tool leaves it that copies what links lead to
    text = run(folder, out, 1, "--resume", code=2)
    assert "latest: must be a symbolic link" in text and "remove it" in text, text
    latest.rmdir()
    latest.symlink_to(f"step_{STEPS - 1:06}")
    unfinished.mkdir()
    run(folder, out, 1, "--resume")
    check_same(out, out)
    assert latest.resolve().name == f"step_{STEPS:06}" and not unfinished.exists(), list(latest.parent.iterdir())
    check_strangers(folder, out)
    text = run(folder, out, 1, "--new-run", "max_steps=1", "save_steps=0", "eval_steps=0", "best_ckpt_to_keep=0")
    new = out / "latest"
    assert new.is_symlink() and (new / "checkpoints/step_000001/manifest.json").exists(), list(new.iterdir())
    alone = folder / "alone"  # the folder of a run that --new-run made holds no checkpoint but by its link
    shutil.copytree(new, alone / "latest", symlinks=True)
    assert "checkpoints/step_000001: " in verify(alone, 0)
    # Damage is named, and the checkpoint before it is taken.
    damaged = folder / "damaged"
    shutil.copytree(out, damaged, symlinks=True)
    weights = damaged / f"checkpoints/step_{STEPS:06}/actor/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    text = run(folder, damaged, 1, "--resume")
    assert f"step_{STEPS:06} is damaged" in text and "actor/model.safetensors" in text and f"resuming after step {STEPS - 1}" in text, text
    check_same(damaged, out)
    # Each file, torn, is named by roll verify.
    checkpoint = damaged / "checkpoints/latest"
    assert verify(checkpoint, 0).endswith("all undamaged\n")
    for file in sorted(path for path in checkpoint.rglob("*") if path.is_file() and path.name != "manifest.json"):
        whole = file.read_bytes()
        for torn in (whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1])):
            file.write_bytes(torn)
            text = verify(checkpoint, 2)
            assert str(file.relative_to(checkpoint)) + ":" in text, (file, text)
        file.write_bytes(whole)
    manifest = checkpoint / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-20])
    assert "manifest.json" in verify(checkpoint, 2)
    manifest.write_bytes(json.dumps(json.loads((out / "checkpoints/latest/manifest.json").read_text()) | {"step": 999999}).encode())
    assert "manifest.json: has changed since it was written" in verify(checkpoint, 2)
    manifest.write_bytes(json.dumps({"format": 1, "step": 2**63 - 1, "files": {}}).encode())
    text = run(folder, damaged, 1, "--resume")
    assert "step: a whole number from 0 to" in text and f"resuming after step {STEPS - 1}" in text, text
    # A longer run goes on, and its learning rate is not what it would have been.
    text = run(folder, damaged, 1, "--resume", f"max_steps={STEPS + 1}", "save_steps=2", "logging_steps=3", "max_ckpt_to_keep=3")
    for role in ("actor_train", "critic"):
        assert re.search(rf"warning: {role}: the learning rate continues at \d\S+; with the configuration of the checkpoint's run, the next update would have used 0 "
                         r"\(now lr_scheduler_type = cosine over \d+ updates\)", text), text
    text = run(folder, damaged, 1, "--resume", f"max_steps={STEPS + 2}", "metric_for_best_model=score/mean", "greater_is_better=true")
    assert 'metric_for_best_model was "-val_score/all/mean" and is now "score/mean"' in text, text
    print("a second start, a changed configuration, --new-run and a damaged checkpoint do what they should", flush=True)


def check_safety(folder):
    """What a run must not do to others, and to itself."""
    # Two at once: the second is refused, whether the first has done a step or not.
    out = folder / "shared"
    first = subprocess.Popen(command(folder, out, 1, "max_steps=1000"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while first.poll() is None and not (out / ".lock").exists():
        time.sleep(0.01)
    text = run(folder, out, 1, "--resume", "max_steps=1000", code=2)
    assert "another run is using this folder (process" in text, text
    first.terminate()
    assert first.wait(120) == 143
    # Two starts at once, of which the first ends soon: the other does not write over it.
    out = folder / "raced"
    starts = [subprocess.Popen(command(folder, out, 1, "max_steps=1", "eval_steps=0", "best_ckpt_to_keep=0"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
              for _ in range(3)]
    texts = [start.communicate(timeout=120)[0] for start in starts]
    assert sorted(start.returncode for start in starts) == [0, 2, 2], texts
    for start, text in zip(starts, texts):
        assert start.returncode == 0 or "already holds a run" in text or "another run is using" in text, text
    owner = json.loads((out / "checkpoints/step_000001/manifest.json").read_text())["run"]
    assert json.loads((out / "run.json").read_text())["run"] == owner and len((out / "metrics.jsonl").read_text().splitlines()) == 1
    # A start that fails leaves no trace; what else lies in the folder stays.
    out = folder / "home"
    out.mkdir()
    (out / "model").symlink_to(folder / "actor")
    run(folder, out, 1, "rewards.counted.command=[no/such/program]", code=2)
    assert [path.name for path in out.iterdir()] == ["model"], list(out.iterdir())
    # The model that is read may be below output_dir, and may be gone at the end; output_dir may be the working folder.
    shutil.copytree(folder / "critic", out / "critic")
    process = subprocess.Popen(command(folder, ".", 1, "reward_pretrain=critic", "critic.model_args.model_name_or_path=critic", "save_steps=0"),
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=out)
    while process.poll() is None and not (out / "metrics.jsonl").exists():
        time.sleep(0.01)
    shutil.rmtree(out / "critic", ignore_errors=True)
    text = process.communicate(timeout=120)[0]
    assert process.returncode == 0 and (out / "checkpoints/latest/critic/tokenizer.json").exists(), text[-3000:]
    # Weights that are not finite are not saved, and what was saved stays.
    out = folder / "diverged"
    run(folder, out, 1, "max_steps=1", "actor_train.training_args.lr_scheduler_type=constant", "critic.training_args.lr_scheduler_type=constant")
    huge = ["actor_train.training_args.lr_scheduler_type=constant", "critic.training_args.lr_scheduler_type=constant",
            "actor_train.training_args.learning_rate=0.1", "actor_train.training_args.weight_decay=1.0e+41", "eval_steps=0", "best_ckpt_to_keep=0",
            "--allow-config-change"]
    text = run(folder, out, 1, "--resume", "max_steps=2", "max_ckpt_to_keep=1", "actor_train.training_args.gradient_accumulation_steps=8",
               "critic.training_args.gradient_accumulation_steps=8", *huge, code=1)
    assert "holds NaN or infinite numbers" in text, text[-3000:]
    assert [path.name for path in (out / "checkpoints").glob("step_*")] == ["step_000001"], list((out / "checkpoints").iterdir())
    print("a folder in use, a failed start, a model that goes away and a diverged run do no harm", flush=True)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        check_kills(folder, 1)
        check_folder(folder)
        check_safety(folder)
        check_stops(folder, 1)
        check_kills(folder, 2)
        check_stops(folder, 2)


main()
