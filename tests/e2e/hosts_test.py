#!/usr/bin/env python3
"""Ranks on several hosts: the same weights as one process, and an end in time, with a name for the culprit, when a rank or the
network between the hosts fails. The hosts are network namespaces (hosts.py). Argument: the roll binary."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from hosts import Hosts, skip_without_namespaces
from replay import binary, compare, record, train

TIMEOUT_MIN = 0.1  # backend_timeout; 6 s
END_S = 60         # far more than that and the time for leaving; what does not end by then hangs


def mpirun_args(hosts):
    return f"--mca plm_rsh_agent {hosts.agent} --mca oob_tcp_if_include eth0 --mca btl tcp,self --mca btl_tcp_if_include eth0"


def finish(process, what):
    try:
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, f"{what}: exit code {process.returncode}\n{out[-3000:]}\n{err[-3000:]}"
    return out


def launcher(hosts, slots):
    """`roll train` on the hosts, started on h1, to its end."""
    return lambda *arguments: finish(hosts.start("h1", [binary, *arguments, "--hostfile", hosts.hostfile(slots),
                                                        f"--mpirun-args={mpirun_args(hosts)}"]), f"{slots} a host")


def pasted_launcher(hosts, slots):
    """The same by the line that --dry-run prints."""
    def launch(*arguments):
        line = finish(hosts.start("h1", [binary, *arguments, "--dry-run", "--hostfile", hosts.hostfile(slots),
                                         f"--mpirun-args={mpirun_args(hosts)}"]), "--dry-run")
        assert line.startswith("mpirun -n ") and line.count("\n") == 1, line
        finish(hosts.start("h1", ["sh", "-c", line]), line)
    return launch


def start_with_variables(hosts, *arguments):
    """As torchrun does: one process on each host, without MPI."""
    env = {"WORLD_SIZE": str(len(hosts.names)), "MASTER_ADDR": "h1", "MASTER_PORT": "29511", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    return [hosts.start(name, [binary, *arguments], {**env, "RANK": str(i)}) for i, name in enumerate(hosts.names)]


def variables_launcher(hosts):
    def launch(*arguments):
        for rank in start_with_variables(hosts, *arguments):
            finish(rank, "torchrun's variables")
    return launch


def check_nothing_left(hosts, what):
    left = hosts.wait_until_empty(END_S)
    assert not left, f"{what}: left over: {left}"


def check_weights(folder, hosts, base, replay):
    count = len(hosts.names)
    cases = {2: [(2, launcher(hosts, 1), "2 hosts x 1"), (4, launcher(hosts, 2), "2 hosts x 2"),
                 (2, variables_launcher(hosts), "2 hosts x 1, torchrun's variables")],
             4: [(4, pasted_launcher(hosts, 1), "4 hosts x 1, the line of --dry-run")]}[count]
    for ranks, launch, what in cases:
        run = train(folder, what.replace(" ", "_").replace(",", "").replace("'", ""), ranks, rows=8 // ranks, accumulation=1,
                    launch=launch, **replay)
        compare(run, base, what)
        check_nothing_left(hosts, what)


def running(folder, hosts, name, slots=1, with_variables=False):
    """The processes of a long run whose second step has been made."""
    started = []

    def launch(*arguments):
        limited = [*arguments, f"actor_train.backend_timeout={TIMEOUT_MIN}"]
        if with_variables:
            started.extend(start_with_variables(hosts, *limited))
        else:
            started.append(hosts.start("h1", [binary, *limited, "--hostfile", hosts.hostfile(slots), f"--mpirun-args={mpirun_args(hosts)}"]))
    run = train(folder, name, 2 * slots, rows=4 // slots, accumulation=1, launch=launch, max_steps=100000)
    for _ in range(600):
        if (run / "metrics.jsonl").exists() and len(open(run / "metrics.jsonl").readlines()) >= 2:
            return started
        for process in started:
            assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    raise AssertionError(f"{name}: no step in a minute")


def check_end(hosts, process, message, what):
    """The job ends by itself and says `message`."""
    begin = time.monotonic()
    out, err = process.communicate(timeout=END_S)
    print(f"{what}: exit code {process.returncode} after {time.monotonic() - begin:.1f} s", flush=True)
    assert process.returncode not in (0, None), what
    assert re.search(message, err), f"{what}: {message!r} is not in:\n{err}"


def check_killed_rank(folder, hosts):
    for slots in (1, 2):
        [process] = running(folder, hosts, f"killed_{slots}", slots)
        os.kill(hosts.rank_process("h2"), signal.SIGKILL)
        check_end(hosts, process, rf"(?m)^roll: rank {slots} on host h2 was killed by signal 9 \(Killed\)", f"killed, {slots} a host")
        check_nothing_left(hosts, f"killed, {slots} a host")


def check_hanging_rank(folder, hosts):
    [process] = running(folder, hosts, "hangs")
    os.kill(hosts.rank_process("h2"), signal.SIGSTOP)
    check_end(hosts, process, r"roll: rank 0 of 2, step \d+: .*: waited 6\.0 s and nothing came from rank 1", "a rank hangs")
    check_nothing_left(hosts, "a rank hangs")


def check_cut_link(folder, hosts, with_variables):
    name = "cut_with_variables" if with_variables else "cut"
    processes = running(folder, hosts, name, with_variables=with_variables)
    hosts.cut("h2")
    try:
        for i, process in enumerate(processes):
            message = rf"rank {i} of 2, step \d+: .*: waited 6\.0 s and nothing came from rank {1 - i}"
            check_end(hosts, process, message, f"link {name}, as seen from {hosts.names[i]}")
    finally:
        hosts.mend("h2")
    check_nothing_left(hosts, name)


def main():
    skip_without_namespaces()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replay = dict(rollout_replay=record(folder))
        base = train(folder, "base", rows=8, accumulation=1, **replay)
        with Hosts(folder, 2) as hosts:
            check_weights(folder, hosts, base, replay)
            check_killed_rank(folder, hosts)
            check_hanging_rank(folder, hosts)
            check_cut_link(folder, hosts, with_variables=False)
            check_cut_link(folder, hosts, with_variables=True)
        with Hosts(folder, 4) as hosts:
            check_weights(folder, hosts, base, replay)


main()
