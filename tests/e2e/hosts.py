"""Several hosts on one machine: network namespaces h1, h2, ... joined by a bridge, each with a name of its own. `ip netns exec`
stands in for ssh. Needs root and iproute2."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

SKIPPED = 77

# As ssh does, the agent starts with an environment of its own: what ranks need, the program must pass on.
AGENT = """#!/bin/sh
host=$1; shift
exec ip netns exec {prefix}$host unshare --uts env -i HOME="$HOME" PATH="$PATH" TMPDIR={tmp} sh -c "hostname $host; $*"
"""


def skip(reason):
    print(f"SKIPPED: several hosts are not tested: {reason}", flush=True)
    sys.exit(SKIPPED)


def ip(*words):
    return subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True).stdout


def skip_without_namespaces():
    for tool in ("ip", "unshare", "mpirun", "hostname"):
        if not shutil.which(tool):
            skip(f"there is no `{tool}` (Debian: iproute2, util-linux, openmpi-bin, hostname)")
    if os.geteuid() != 0:
        skip("network namespaces need root")
    probe = f"roll{os.getpid()}probe"
    try:
        ip("netns", "add", probe)
        ip("-n", probe, "link", "add", "v1", "type", "veth", "peer", "name", "v2")
    except subprocess.CalledProcessError as error:
        skip(f"this machine allows no network namespaces: {error.stderr.strip()}")
    finally:
        subprocess.run(["ip", "netns", "delete", probe], capture_output=True)


class Hosts:
    """Use it in a `with`: at its end the hosts and everything that runs on them are gone."""

    def __init__(self, folder, count):
        self.prefix = f"roll{os.getpid()}"  # two tests at once do not meet
        self.names = [f"h{i + 1}" for i in range(count)]
        self.folder = pathlib.Path(folder)
        self.tmp = self.folder / "tmp"
        self.agent = self.folder / "agent"

    def __enter__(self):
        self.tmp.mkdir(exist_ok=True)
        self.agent.write_text(AGENT.format(prefix=self.prefix, tmp=self.tmp))
        self.agent.chmod(0o755)
        try:
            self.connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def connect(self):
        switch = self.prefix + "sw"
        ip("netns", "add", switch)
        ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", switch, "link", "set", "bridge", "up")
        lines = ["127.0.0.1 localhost"] + [f"10.77.0.{i + 1} {name}" for i, name in enumerate(self.names)]
        for i, name in enumerate(self.names):
            space = self.prefix + name
            ip("netns", "add", space)
            ip("-n", switch, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("-n", switch, "link", "set", name, "master", "bridge", "up")
            ip("-n", space, "address", "add", f"10.77.0.{i + 1}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", space, "link", "set", device, "up")
            etc = pathlib.Path("/etc/netns") / space  # `ip netns exec` lays it over /etc
            etc.mkdir(parents=True)
            (etc / "hosts").write_text("\n".join(lines) + "\n")

    def __exit__(self, *_):
        for space in [self.prefix + name for name in self.names] + [self.prefix + "sw"]:
            for process in subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True).stdout.split():
                os.kill(int(process), signal.SIGKILL)
            subprocess.run(["ip", "netns", "delete", space], capture_output=True)
            shutil.rmtree(pathlib.Path("/etc/netns") / space, ignore_errors=True)

    def cut(self, name):
        ip("-n", self.prefix + "sw", "link", "set", name, "down")

    def mend(self, name):
        ip("-n", self.prefix + "sw", "link", "set", name, "up")

    def hostfile(self, slots):
        file = self.folder / f"hosts_{slots}"
        file.write_text("# name and number of ranks\n" + "".join(f"{name} slots={slots}\n" for name in self.names))
        return file

    def start(self, name, command, env=None):
        """Starts a command on a host; its output goes to pipes."""
        on_host = ["ip", "netns", "exec", self.prefix + name, "unshare", "--uts", "sh", "-c", f'hostname {name}; exec "$@"', "sh"]
        return subprocess.Popen([*on_host, *map(str, command)], env={**os.environ, "TMPDIR": str(self.tmp), **(env or {})},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")

    def processes(self, name):
        """{process id: name} of what runs on a host; those that are dead and not yet reaped do not count."""
        found = {}
        for process in ip("netns", "pids", self.prefix + name).split():
            try:
                state = pathlib.Path(f"/proc/{process}/stat").read_text()
            except OSError:
                continue
            program, _, rest = state.partition("(")[2].rpartition(")")
            if rest.split()[0] != "Z":
                found[int(process)] = program
        return found

    def rank_process(self, name):
        """The process of the first rank on a host."""
        for process, program in sorted(self.processes(name).items()):
            if program == "roll" and b"OMPI_COMM_WORLD_RANK=" in pathlib.Path(f"/proc/{process}/environ").read_bytes():
                return process
        raise AssertionError(f"no rank runs on {name}: {self.processes(name)}")

    def wait_until_empty(self, seconds):
        """What still runs after so many seconds; {} as soon as nothing does."""
        end = time.monotonic() + seconds
        while True:
            left = {name: found for name in self.names if (found := self.processes(name))}
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.2)
