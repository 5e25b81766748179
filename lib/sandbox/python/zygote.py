"""Started once, it forks one sandboxed process per program, so that neither Python's start nor the box's making is paid again.

    roll --(socket 3: a request and its descriptors)--> this process --fork--> keeper --fork--> program

This process and the keepers hold CAP_SYS_ADMIN in the box's own user namespace. The keeper gives the program namespaces of
its own (processes, mounts) and a /tmp of its own, and reports how it ended on the request's `leash`. When the leash
is let go, time is up (or roll is gone): the program, process 1 of its namespace, is killed, and the kernel kills all that
it started. The program itself has no capability, no descriptor of ours, nothing of /proc but its own descriptors, and a filter of system
calls.
"""
import atexit
import ctypes
import gc
import json
import os
import random
import resource
import select
import signal
import socket
import stat
import sys
import threading
import traceback
import types

WORK, SHM, ASIDE = "/tmp", "/dev/shm", "/mnt"
POLL_MS = 50
CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_MOVE, MS_REC, MNT_DETACH = 2, 4, 8, 4096, 8192, 16384, 2
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 1, 22, 38, 47, 4
SECCOMP_MODE_FILTER = 2
libc = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount_memory(target, options):
    """A tmpfs on `target`. The interpreter's folders below it stay, read-only, and nobody can move them, as they are mounts."""
    must(libc.mount(b"tmpfs", ASIDE.encode(), b"tmpfs", MS_NOSUID | MS_NODEV, options.encode()), f"mount {target}")
    for name in os.listdir(target):
        os.mkdir(f"{ASIDE}/{name}")
        must(libc.mount(f"{target}/{name}".encode(), f"{ASIDE}/{name}".encode(), None, MS_BIND | MS_REC, None), f"bind {target}/{name}")
    must(libc.mount(ASIDE.encode(), target.encode(), None, MS_MOVE, None), f"move {target}")


class FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


class Box:
    """What all programs share: how they are boxed."""

    def __init__(self, config):
        self.isolated = config["isolated"]
        self.filter = bytes.fromhex(config["filter"])
        self.filter_program = FilterProgram(len(self.filter) // 8, self.filter)
        self.proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY) if self.isolated and os.path.exists("/proc/self/statm") else None
        self.prelude = {}
        exec(PRELUDE, self.prelude)
        del self.prelude["__builtins__"]

    def make_processes(self):
        """In the keeper: what it forks next sees no process but its own."""
        if self.isolated:
            must(libc.unshare(CLONE_NEWPID), "unshare")

    def make_room(self, request):
        """A /tmp and a /dev/shm for one program, or for two."""
        if not self.isolated:
            return
        must(libc.unshare(CLONE_NEWNS), "unshare")
        mount_memory(WORK, f"size={request['tmp_mb']}m,nr_inodes=8192,mode=0700")
        mount_memory(SHM, f"size={request['memory_mb']}m,nr_inodes=1024,mode=0700")

    def show_descriptors(self):
        """In the program's process: of /proc its own descriptors, on /dev/fd, and nothing else. Its children see these too, not theirs."""
        if self.proc is None:
            return
        must(libc.unshare(CLONE_NEWNS), "unshare")
        is_mounted = libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None) == 0  # of its namespace of processes
        if is_mounted:
            must(libc.mount(b"/proc/self/fd", b"/dev/fd", None, MS_BIND, None), "bind /dev/fd")
        for _ in range(1 + is_mounted):
            must(libc.umount2(b"/proc", MNT_DETACH), "umount /proc")

    def give_up_rights(self, request):
        """In the program's process, before it runs a line of the program."""
        megabyte = 1 << 20
        limits = {resource.RLIMIT_AS: request["memory_mb"] * megabyte, resource.RLIMIT_CPU: request["cpu_s"],
                  resource.RLIMIT_FSIZE: request["tmp_mb"] * megabyte, resource.RLIMIT_NOFILE: 256, resource.RLIMIT_CORE: 0,
                  resource.RLIMIT_MEMLOCK: 0, resource.RLIMIT_MSGQUEUE: 0, resource.RLIMIT_SIGPENDING: 256}
        if self.isolated:
            limits[resource.RLIMIT_NPROC] = request["processes"] + 4  # this one, the keepers and the zygote count
        for limit, value in limits.items():
            hard = resource.getrlimit(limit)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(limit, (value, value))
        must(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "prctl ambient")
        if self.isolated:
            header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
            must(libc.capset(header, nothing), "capset")
        must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl no_new_privs")
        must(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(self.filter_program), 0, 0), "prctl seccomp")

    def used_mb(self, keepers):
        """Of all processes in the box but ours, and of their files in /dev/shm: those that are mapped count twice."""
        if not self.isolated:
            return 0
        shm, pages = os.statvfs(SHM), 0
        for name in os.listdir(self.proc) if self.proc is not None else []:
            if name.isdigit() and int(name) not in keepers:
                try:
                    file = os.open(f"{name}/statm", os.O_RDONLY, dir_fd=self.proc)
                    pages += int(os.read(file, 200).split()[1])
                    os.close(file)
                except (OSError, IndexError):
                    pass  # it has ended
        return pages * resource.getpagesize() + (shm.f_blocks - shm.f_bfree) * shm.f_frsize >> 20


def read_all(fd):
    with open(fd, "rb", closefd=False) as file:
        return file.read()


def write_files(request, fds):
    for name, mode, fd in zip(request["files"], request["modes"], fds):
        with open(os.path.join(request["work"], name), "xb") as file:
            file.write(read_all(fd))
            os.fchmod(file.fileno(), mode)


def end_program(status):
    """As an interpreter ends: threads, atexit, buffers."""
    try:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        status = status or 1
    os._exit(status)


def run_script(source, prelude):
    module = types.ModuleType("__main__")
    module.__dict__.update(prelude)
    module.__dict__.update(__name__="__main__", __file__="solution.py", __builtins__=__builtins__)
    sys.modules["__main__"] = module
    sys.argv = ["solution.py"]
    sys.setrecursionlimit(600000)
    status = 0
    try:
        exec(compile(source, "solution.py", "exec"), module.__dict__)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        if status == 1 and not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
    except BaseException:
        status = 1
        try:
            traceback.print_exc(limit=-10)
        except BaseException:
            pass
    end_program(status & 255)


def open_standard_streams(stdin, stdout, stderr):
    for number, fd in enumerate((stdin, stdout, stderr)):
        os.dup2(fd, number)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)


def become_program(box, request, fds):
    """Never returns."""
    try:
        _, stdin, stdout, stderr, *given = fds
        source = read_all(given[0]).decode("utf-8", "surrogateescape")
        ends = [os.dup(fd) for fd in given[1 + len(request["files"]):]]
        open_standard_streams(stdin, stdout, stderr)
        for number, fd in enumerate(ends):
            os.dup2(fd, 3 + number)
        os.closerange(3 + len(ends), 1024)
        os.setsid()
        for number in (signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(request["work"])
        os.umask(0o022)
        random.seed()
        box.show_descriptors()
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        box.give_up_rights(request)
    except BaseException as error:
        os.write(2, f"sandbox: {error}".encode())
        os._exit(255)
    gc.enable()
    if request["argv"]:
        try:
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execvpe(request["argv"][0], request["argv"], {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": WORK, "TMPDIR": request["work"]})
        except OSError as error:
            os.write(2, f"{request['argv'][0]}: {error.strerror}".encode())
            os._exit(127)
    if request["role"] != "harness":  # no module of the program's for the tests
        sys.path.insert(0, request["work"])
    try:
        if request["role"] == "script":
            run_script(source, box.prelude)
        elif request["role"] == "solution":
            sys.setrecursionlimit(600000)
            serve_solution(socket.socket(fileno=3), source, box.prelude)
            os._exit(0)
        elif request["role"] == "together":
            sys.setrecursionlimit(600000)
            both = json.loads(source)
            run_together(both["source"], both["tests"], box.prelude)
            os._exit(0)
        else:
            run_tests(socket.socket(fileno=3) if ends else None, json.loads(source), box.prelude)
            os._exit(0)
    finally:
        os._exit(1)


def watch(box, request, leash, program):
    """Until the program ends, uses too much memory, or the leash is let go. What killed it, or None."""
    poll = select.poll()
    pidfd = os.pidfd_open(program)
    poll.register(pidfd, select.POLLIN)
    poll.register(leash, select.POLLIN | select.POLLHUP)
    keepers = {1, os.getpid()}
    while True:
        ready = {fd for fd, _ in poll.poll(POLL_MS)}
        if pidfd in ready:
            return None
        if leash.fileno() in ready:
            return "stopped"
        if box.used_mb(keepers) > request["memory_mb"]:
            return "memory"


def keep(box, request, fds, other=None):
    """The keeper's life. `other`: another keeper, forked by this one, which ends no later."""
    leash = socket.socket(fileno=fds[0])
    report = {}
    artifact = []
    try:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        box.make_processes()
        write_files(request, fds[5:5 + len(request["files"])])
        program = os.fork()
        if program == 0:
            become_program(box, request, fds)
        for fd in fds[1:]:
            os.close(fd)
        killed = watch(box, request, leash, program)
        os.kill(program, signal.SIGKILL)
        if not box.isolated:
            try:
                os.killpg(program, signal.SIGKILL)
            except ProcessLookupError:
                pass
        _, status, usage = os.wait4(program, 0)
        report = {"status": os.waitstatus_to_exitcode(status), "killed": killed, "cpu_s": usage.ru_utime + usage.ru_stime}
        if request["artifact"] and report["status"] == 0:
            file = os.open(os.path.join(request["work"], request["artifact"]), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            if stat.S_ISREG(os.fstat(file).st_mode):
                artifact = [file]
    except OSError as error:
        if "status" not in report:
            report = {"error": str(error)}
    try:
        socket.send_fds(leash, [json.dumps(report).encode()], artifact)
        if other:
            os.waitpid(other, 0)
    finally:
        os._exit(0)


def keep_one(box, request, fds):
    try:
        box.make_room(request)
    except OSError as error:
        socket.send_fds(socket.socket(fileno=fds[0]), [json.dumps({"error": str(error)}).encode()], [])
        os._exit(0)
    keep(box, request, fds)


def keep_pair(box, request, fds, second, second_fds):
    """Two programs with one /tmp: a keeper each, and namespaces of processes of their own."""
    try:
        box.make_room(request)
    except OSError as error:
        for leash in (fds[0], second_fds[0]):
            socket.send_fds(socket.socket(fileno=leash), [json.dumps({"error": str(error)}).encode()], [])
        os._exit(0)
    other = os.fork()
    if other == 0:
        for fd in fds:
            os.close(fd)
        keep(box, second, second_fds)
    for fd in second_fds:
        os.close(fd)
    keep(box, request, fds, other)


def serve_roll(box):
    control = socket.socket(fileno=3)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    threading.stack_size(16 << 20)  # not that of main, of which few fit into memory_mb
    gc.disable()
    gc.freeze()
    control.send(b"ready")
    while True:
        message, fds, _, _ = socket.recv_fds(control, 1 << 16, 32)
        if not message:
            os._exit(0)
        request, second_fds = json.loads(message), []
        if request["shares_tmp"]:
            second, second_fds, _, _ = socket.recv_fds(control, 1 << 16, 32)
        if os.fork() == 0:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if second_fds:
                keep_pair(box, request, fds, json.loads(second), second_fds)
            keep_one(box, request, fds)
        for fd in fds + second_fds:
            os.close(fd)


if __name__ == "__main__":
    serve_roll(Box(json.loads(sys.argv[1])))
