#!/usr/bin/env python3
"""A disk that refuses: from some moment on every write, sync or rename in the run folder fails, or a single one does. The run says which
file and ends, or goes on; with --resume on a disk that works again it gives what an undisturbed run gives. Argument: the roll binary.
ROLL_DISK_FAULTS: how many faults (default 12)."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from resumed import binary, check_same, command, prepare, run

FAULTS = int(os.environ.get("ROLL_DISK_FAULTS", "12"))
# Counts the calls that touch a file below $FAULTY_FOLDER (of $FAULTY_CALL alone, if set) and fails those whose number is in
# [$FAULTY_FROM, $FAULTY_TO). Knows no O_DIRECT if $FAULTY_DIRECT is set.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
static int calls;
static int is_in_folder(const char* path) {
  const char* folder = getenv("FAULTY_FOLDER");
  return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}
static int is_fd_in_folder(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return 0;
  path[n] = 0;
  return is_in_folder(path);
}
static int fails(const char* name, int concerned) {
  const char* only = getenv("FAULTY_CALL");
  if (!concerned || (only && strcmp(only, name) != 0)) return 0;
  int call = __sync_fetch_and_add(&calls, 1);
  if (call < atoi(getenv("FAULTY_FROM")) || call >= atoi(getenv("FAULTY_TO"))) return 0;
  errno = ENOSPC;
  return 1;
}
ssize_t write(int fd, const void* bytes, size_t size) {
  static ssize_t (*real)(int, const void*, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "write");
  if (getenv("FAULTY_DIRECT") && is_fd_in_folder(fd) && (fcntl(fd, F_GETFL) & O_DIRECT)) {
    fputs("no O_DIRECT here\n", stderr);
    errno = EINVAL;
    return -1;
  }
  return fails("write", is_fd_in_folder(fd)) ? -1 : real(fd, bytes, size);
}
ssize_t writev(int fd, const struct iovec* parts, int count) {
  static ssize_t (*real)(int, const struct iovec*, int);
  if (!real) real = dlsym(RTLD_NEXT, "writev");
  return fails("writev", is_fd_in_folder(fd)) ? -1 : real(fd, parts, count);
}
int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fsync");
  struct stat found;
  int of_file = fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
  return fails(of_file ? "fsync" : "fsync of a folder", is_fd_in_folder(fd)) ? -1 : real(fd);
}
int rename(const char* from, const char* to) {
  static int (*real)(const char*, const char*);
  if (!real) real = dlsym(RTLD_NEXT, "rename");
  return fails("rename", is_in_folder(to)) ? -1 : real(from, to);
}
"""


def check_small_disk(folder, base):
    """A file system that fills up: checkpoints for which there is no room are left out and said, until the last one; with room, all is well."""
    disk = folder / "disk"
    disk.mkdir()
    mount = lambda *words: subprocess.run(["mount", *words, str(disk)], capture_output=True).returncode == 0
    if not mount("-t", "tmpfs", "-o", "size=19m", "tmpfs"):
        print("the small disk is left out: no file system can be mounted here", flush=True)
        return
    try:
        text = run(folder, disk / "run", 1, "max_ckpt_to_keep=0", code=1)
        assert "a checkpoint takes" in text and "GB are free" in text and "could not be written" in text, text[-3000:]
        assert list((disk / "run/checkpoints").glob("step_*")), "no checkpoint had room"
        (disk / "fill").write_bytes(bytes(shutil.disk_usage(disk).free - (32 << 10)))
        text = run(folder, disk / "run", 1, "--resume", code=1)
        assert str(disk / "run") in text, text[-3000:]
        (disk / "fill").unlink()
        assert mount("-o", "remount,size=200m")
        run(folder, disk / "run", 1, "--resume")
        check_same(disk / "run", base)
        print("a disk that fills up ends the run when it matters, and the run goes on when there is room", flush=True)
    finally:
        subprocess.run(["umount", "-l", str(disk)])


def check_without_direct(folder):
    """Large files on a file system that knows no O_DIRECT."""
    out = folder / "large"
    weights = []
    for more in ({}, dict(LD_PRELOAD=str(folder / "shim.so"), FAULTY_FOLDER=str(folder), FAULTY_FROM="0", FAULTY_TO="0", FAULTY_DIRECT="1")):
        done = subprocess.run([binary, "init-model", "--arch", "qwen2", "--hidden", "256", "--intermediate", "512", "--layers", "1", "--heads", "4",
                               "--vocab", "512", "--out", out], capture_output=True, text=True, env=os.environ | more)
        assert done.returncode == 0, done.stderr
        weights.append((out / "model.safetensors").read_bytes())
        shutil.rmtree(out)
    assert weights[0] == weights[1] and len(weights[0]) > 1 << 20
    assert "no O_DIRECT here" in done.stderr, "nothing was written with O_DIRECT"


def main():
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        print("skipped: no C compiler for the library that makes writes fail")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "shim.c").write_text(SHIM)
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", folder / "shim.so", folder / "shim.c", "-ldl"], check=True)
        prepare(folder)
        base, out = folder / "base", folder / "faulty"
        run(folder, base, 1)
        check_small_disk(folder, base)
        check_without_direct(folder)
        rng = random.Random(1)
        ends = {0: 0, 1: 0}
        for fault in range(FAULTS):
            shutil.rmtree(out, ignore_errors=True)
            unsynced = fault % 4 == 1  # only fsync says that the bytes are not there
            first = rng.randrange(100 if unsynced else 600)
            is_single = unsynced or fault % 3 == 0
            environment = os.environ | dict(LD_PRELOAD=str(folder / "shim.so"), FAULTY_FOLDER=str(out), FAULTY_FROM=str(first),
                                            FAULTY_TO=str(first + 1 if is_single else 1 << 30))
            if unsynced:
                environment["FAULTY_CALL"] = "fsync"
            done = subprocess.run(command(folder, out, 1), capture_output=True, text=True, timeout=300, env=environment)
            said = done.stdout + done.stderr
            assert done.returncode in ends, f"fault {first}: exit code {done.returncode}\n{said[-3000:]}"
            assert done.returncode == 0 or str(out) in said, f"fault {first}: no file is named\n{said[-3000:]}"
            assert not unsynced or "fsync failed" in said, f"fault {first}: nobody noticed\n{said[-3000:]}"
            assert "filesystem error" not in said and "terminate called" not in said, said[-3000:]
            ends[done.returncode] += 1
            run(folder, out, 1, "--resume")
            check_same(out, base, checkpoints=not is_single)  # of a run that went on, the best may be the one that could not be written
        assert ends[1], "no fault was felt"
        print(f"{FAULTS} faults: {ends[1]} ended the run, {ends[0]} did not; each was gone on with to the undisturbed result")


main()
