"""Runs that go on until something ends them, and who belongs to them: shared by stops_test.py and restarts_test.py."""
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import termios
import time

import one_step

HANG_S = 120  # what has not happened by then does not happen


def prepare(binary, folder):
    one_step.make_model(binary, folder / "model", 1, False)
    rows = [dict(id=str(i), question=f"{i:02}+1=", answer=f"{i + 1:02}", prompt=f"{i:02}+1=", ground_truth=str(i + 1), tag="sum") for i in range(12)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def config(folder, kind, out):
    training = dict(learning_rate=1e-4, per_device_train_batch_size=2, gradient_accumulation_steps=1, lr_scheduler_type="constant")
    shared = dict(exp_name="long", seed=3, output_dir=str(out), pretrain=str(folder / "model"), track_with=["jsonl"], max_steps=1000000,
                  save_steps=3, max_ckpt_to_keep=2, eval_steps=0)
    data = dict(file_name=[str(folder / "rows.jsonl")])
    if kind == "sft":
        return shared | dict(sequence_length=32, sft_train=dict(training_args=training, data_args=data | dict(prompt="question", response="answer")))
    return shared | dict(rollout_batch_size=2, num_return_sequences_in_group=2, prompt_length=16, response_length=8, adv_estimator="grpo",
                         actor_train=dict(training_args=training, data_args=data | dict(prompt="prompt")),
                         actor_infer=dict(generating_args=dict(temperature=1.0, top_p=1.0, top_k=0)),
                         rewards=dict(sum=dict(type="math_rule", tag_included=["sum"])))


def program_of(process):
    """Its name; empty: it has ended meanwhile."""
    try:
        return pathlib.Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


class LongRun:
    """`roll sft` or `roll train`, started; at the end of a `with` nothing of it is left."""

    def __init__(self, binary, folder, kind="sft", ranks=1, flags=(), out=None, terminal=None, preexec=None, **overrides):
        """`terminal`: a slave of a pseudo-terminal, which becomes the run's own."""
        LongRun.number = getattr(LongRun, "number", 0) + 1
        self.name = f"run{LongRun.number}"
        self.out = pathlib.Path(out or folder / self.name)
        file = folder / f"{self.name}.yaml"
        file.write_text(json.dumps(config(folder, kind, self.out)))
        self.mark = f"ROLL_TEST_RUN={os.getpid()}.{LongRun.number}"
        name, value = self.mark.split("=")
        self.process = subprocess.Popen([binary, kind, "--config", file, "-n", str(ranks), "--device", "cpu", *flags,
                                         *[f"{k}={v}" for k, v in overrides.items()]],
                                        stdin=terminal, stdout=terminal or subprocess.PIPE, stderr=terminal or subprocess.PIPE, text=True, errors="replace",
                                        start_new_session=terminal is not None, env=os.environ | {name: value},
                                        preexec_fn=preexec or (terminal and (lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes():
            os.kill(process, signal.SIGKILL)
        self.process.wait()

    def processes(self):
        """{process id: its environment} of all that lives, the first process included."""
        found = {}
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                environment = (place / "environ").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if self.mark in environment:
                found[int(place.name)] = environment
        return found

    def ranks(self):
        """Process ids by rank."""
        found = {}
        for process, environment in self.processes().items():
            for word in environment:
                if word.startswith("OMPI_COMM_WORLD_RANK=") and program_of(process) == "roll":
                    found[int(word.split("=")[1])] = process
        if found:
            return [found[rank] for rank in sorted(found)]
        # Alone, or the child of the supervisor, whose number may be the smaller one.
        return sorted(set(self.processes()) - {self.process.pid})[-1:] or [self.process.pid]

    def num_steps(self):
        file = self.out / "metrics.jsonl"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def has_checkpoint(self):
        return (self.out / "checkpoints/latest").exists()

    def log(self):
        file = self.out / "log.txt"
        return file.read_text() if file.exists() else ""

    def work(self, steps=2):
        """Waits for so many steps more."""
        wanted = self.num_steps() + steps
        self.until(lambda: self.num_steps() >= wanted, f"{steps} steps")

    def until(self, holds, what, ended=False):
        """`ended`: of a run that has."""
        end = time.monotonic() + HANG_S
        while not holds():
            if not ended and self.process.poll() is not None:
                raise AssertionError(f"{self.name}: ended before {what}: exit code {self.process.returncode}\n{self.process.communicate()}")
            assert time.monotonic() < end, f"{self.name}: no {what} in {HANG_S} s"
            time.sleep(0.02)

    def end(self, code):
        """(standard output, standard error) of a run that ends by itself, with this exit code, and leaves no process behind."""
        out, err = (text or "" for text in self.process.communicate(timeout=HANG_S))
        assert self.process.returncode == code, f"{self.name}: exit code {self.process.returncode}, not {code}\n{out[-2000:]}\n{err[-3000:]}"
        end = time.monotonic() + HANG_S
        while self.processes():
            assert time.monotonic() < end, f"{self.name}: left over: {list(self.processes())}"
            time.sleep(0.05)
        return out, err
