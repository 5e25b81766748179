#!/usr/bin/env python3
"""How a run is stopped: Ctrl-C once and twice, SIGTERM, SIGUSR1, the time limit, a terminal, a launcher or a disk that goes. Argument: the roll binary."""
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

from long_run import LongRun, prepare, program_of

os.environ["OMP_NUM_THREADS"] = "1"
binary = pathlib.Path(sys.argv[1]).resolve()
# Words after these: how to go on, once the pipeline has saved.
STOPS = [(signal.SIGINT, 130, "roll: stopped by Ctrl-C (SIGINT)"), (signal.SIGTERM, 143, "roll: stopped by SIGTERM"),
         (signal.SIGUSR1, 75, "roll: stopped by SIGUSR1")]


def is_roll(run):
    """Whether the ranks are more than processes of mpirun that are about to become ranks."""
    return all(pathlib.Path(f"/proc/{rank}/exe").resolve() == binary for rank in run.ranks())


def only_line(err, begin):
    lines = [line for line in err.splitlines() if line and not re.match(r"(\[rank \d+\] )?warning: ", line)]
    assert len(lines) == 1 and lines[0].startswith(begin), f"{begin!r} is not all of:\n{err}"


def check_signals(folder):
    for kind in ("sft", "train"):
        for ranks in (1, 2):
            for number, code, words in STOPS:
                os.environ["OMP_NUM_THREADS"] = str(ranks)  # with two, a signal may come to another thread of roll's
                with LongRun(binary, folder, kind, ranks) as run:
                    os.environ["OMP_NUM_THREADS"] = "1"
                    run.work()
                    run.process.send_signal(number)
                    only_line(run.end(code)[1], words)


def check_rank_is_signalled(folder):
    """As srun does, or an administrator: only one rank gets the signal, all end."""
    with LongRun(binary, folder, "train", 2) as run:
        run.work()
        os.kill(run.ranks()[1], signal.SIGUSR1)
        only_line(run.end(75)[1], "roll: stopped by SIGUSR1")


def check_twice(folder):
    """The ranks are held, so that nothing but the second signal can end them."""
    with LongRun(binary, folder, "train", 2) as run:
        run.work()
        for rank in run.ranks():
            os.kill(rank, signal.SIGSTOP)
        run.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        run.process.send_signal(signal.SIGINT)
        only_line(run.end(130)[1], "roll: stopped by Ctrl-C (SIGINT), and ended at once")
    with LongRun(binary, folder, "sft") as run:
        run.work()
        run.process.send_signal(signal.SIGSTOP)
        for number in (signal.SIGINT, signal.SIGTERM):
            run.process.send_signal(number)
        run.process.send_signal(signal.SIGCONT)
        run.process.wait()
        assert run.process.returncode in (-signal.SIGINT, -signal.SIGTERM), run.process.returncode


def check_time_limit(folder):
    for ranks in (1, 2):
        with LongRun(binary, folder, "train", ranks, ["--time-limit", "3s"]) as run:
            only_line(run.end(75)[1], "roll: stopped by the time limit")
    with LongRun(binary, folder, "sft", 1, ["--time-limit", "soon"]) as run:
        only_line(run.end(2)[1], "roll: --time-limit = soon: must be a time above 0")


class Terminal:
    """One that somebody reads, until it goes away."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))  # room for the screen
        self.is_over = False
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while not self.is_over:
            if select.select([self.master], [], [], 0.02)[0]:
                os.read(self.master, 65536)

    def hang_up(self):
        os.close(self.slave)
        self.is_over = True
        self.reader.join()
        os.close(self.master)


def check_closed_terminal(folder):
    """The terminal goes away under the run, and with it whatever its lines are written to."""
    for ranks in (1, 2):
        terminal = Terminal()
        with LongRun(binary, folder, "train", ranks, terminal=terminal.slave) as run:
            run.work()
            terminal.hang_up()
            run.end(129)
        assert re.search(r"(?m)^\S+Z roll: stopped by SIGHUP \(the terminal is gone\) after step \d+, which is saved; resume with: ", run.log()), run.log()
        step = int(re.search(r"after step (\d+), which is saved", run.log())[1])
        assert (run.out / f"checkpoints/latest").resolve().name == f"step_{step:06}"
    for ranks in (1, 2):  # under nohup it goes on
        with LongRun(binary, folder, "sft", ranks, preexec=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as run:
            run.work()
            run.process.send_signal(signal.SIGHUP)
            run.work(3)
            run.process.send_signal(signal.SIGTERM)
            only_line(run.end(143)[1], "roll: stopped by SIGTERM")


def check_nobody_reads(folder):
    """Whoever reads the run's lines may go: they are in log.txt."""
    for ranks in (1, 2):
        with LongRun(binary, folder, "sft", ranks) as run:
            run.work()
            run.process.stdout.close()
            run.process.stderr.close()
            run.work(3)
            run.process.send_signal(signal.SIGTERM)
            assert run.process.wait(120) == 143, run.process.returncode


def check_first_moments(folder):
    """A rank that does not listen yet: a signal to it is one to all, and where it is held it is named."""
    with LongRun(binary, folder, "sft", 2) as run:
        run.until(lambda: len(run.ranks()) == 2 and is_roll(run), "ranks")
        os.kill(run.ranks()[1], signal.SIGTERM)
        only_line(run.end(143)[1], "roll: stopped by SIGTERM")
    with LongRun(binary, folder, "sft", 2, **{"sft_train.backend_timeout": 0.02}) as run:
        run.until(lambda: len(run.ranks()) == 2 and is_roll(run), "ranks")
        os.kill(run.ranks()[1], signal.SIGSTOP)
        err = run.end(1)[1]
    assert "roll: rank 0 of 2, start: waited 1.2 s and not all other ranks came" in err and err.count("not all") == 1, err
    assert "roll: nothing came from rank 1: is it stopped" in err, err


def check_lost_launcher(folder):
    for victim in ("roll", "mpirun"):
        with LongRun(binary, folder, "train", 2) as run:
            run.work()
            mpirun = next(p for p in run.processes() if program_of(p) == "mpirun")
            maps = [line.split()[-1] for rank in run.ranks() for line in open(f"/proc/{rank}/maps") if "/dev/shm/" in line or f"/pid.{mpirun}/" in line]
            assert maps, "the ranks share no memory"
            os.kill(run.process.pid if victim == "roll" else mpirun, signal.SIGKILL)
            err = run.end(-signal.SIGKILL if victim == "roll" else 1)[1]
            if victim == "mpirun":
                only_line(err, "roll: mpirun was killed by signal 9 (Killed)")
            run.until(lambda: not any(pathlib.Path(file).exists() for file in maps), f"end of {maps}", ended=True)


def mount(folder, options):
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, text=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def check_disk(folder):
    """A disk that is full, and one that cannot be written: exit code 1 and the file's name."""
    disk = folder / "disk"
    disk.mkdir()
    if not mount(disk, "size=256k"):
        print("a full disk is not tested: this machine allows no tmpfs", flush=True)
        return
    try:
        for ranks in (1, 2):
            with LongRun(binary, folder, "train", ranks, out=disk / f"full{ranks}") as run:
                err = run.end(1)[1]
                assert f"{run.out}/" in err and "No space left on device" in err, err
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with LongRun(binary, folder, "train", 2, out=disk / "read_only") as run:
            err = run.end(1)[1]
            assert f"{run.out}" in err and "Read-only file system" in err, err
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(binary, folder)
        for check in (check_signals, check_rank_is_signalled, check_twice, check_time_limit, check_closed_terminal,
                      check_nobody_reads, check_first_moments, check_lost_launcher, check_disk):
            begin = time.monotonic()
            check(folder)
            print(f"{check.__name__}: {time.monotonic() - begin:.1f} s", flush=True)


main()
