#!/usr/bin/env python3
"""LibTorch's CUDA half is loaded where NVIDIA's driver is, and only there. Argument: the roll binary.

A machine without a driver plays one that has it: an empty library of the driver's name is found, and LibTorch says what it can."""
import os
import pathlib
import subprocess
import sys
import tempfile

binary = sys.argv[1]
DRIVER, CUDA_HALF = "libcuda.so.1", "libtorch_cuda.so"


def version(folder=None, code=0):
    """What `roll --version` says, with `folder` first among those where libraries are looked for."""
    env = {**os.environ, "LD_LIBRARY_PATH": f"{folder}"} if folder else os.environ
    done = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=100, env=env)
    assert done.returncode == code, f"exit code {done.returncode}, not {code}: {done.stderr}"
    return done.stdout + done.stderr


def empty_library(path):
    subprocess.run(["g++", "-shared", "-x", "c++", "/dev/null", "-o", path], check=True)


needed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
if "libc10_cuda" not in needed:
    print("skipped: this build has no CUDA")
    sys.exit(77)
assert CUDA_HALF not in needed, "the loader brings LibTorch's CUDA half to every process"
if DRIVER in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout:
    print("skipped: this machine has a driver")
    sys.exit(77)
assert "NCCL not loaded, because there is no NVIDIA driver" in version(), version()
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    empty_library(folder / DRIVER)
    said = version(folder)
    assert "NCCL 2." in said, said  # the library's own answer: it is loaded, and what we call of it is found
    (folder / CUDA_HALF).write_text("cut off")
    said = version(folder, code=1)
    assert "this machine has an NVIDIA driver, but LibTorch's CUDA libraries cannot be loaded" in said and CUDA_HALF in said, said
print("LibTorch's CUDA half is loaded where it is of use")
