"""Wheel, Debian package and tarball of scripts/package.sh work where nobody has the checkout: an empty home, a bare environment.

packages_test.py BINARY. The torch is that of .deps: nothing is downloaded.
"""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

BINARY = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = ROOT / ".deps/torch"
for tool in ["patchelf", "dpkg-shlibdeps", "readelf"]:
    if not shutil.which(tool):
        print(f"skipped: {tool} is not installed (scripts/setup.sh --tests installs it)")
        sys.exit(77)
if not (TORCH / "lib/libtorch_cpu.so").exists():
    print("skipped: the torch of this build is not in .deps")
    sys.exit(77)
SHORT = ["eval_steps=0", "save_steps=100", "rollout_batch_size=16"]  # steps of one update
NEEDS_CUDA = "libc10_cuda.so" in subprocess.run(["readelf", "-d", BINARY], capture_output=True, text=True, check=True).stdout


def bare(folder, *path):
    """The environment of somebody who has only what is installed."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return {"HOME": str(home), "PATH": ":".join([*map(str, path), "/usr/bin:/bin"]), "OMP_NUM_THREADS": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def num_steps(folder):
    steps = {json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines()}
    return len(steps - {0})


def run(*words, wanted=0, **how):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=500, **how)
    text = done.stdout + done.stderr
    assert done.returncode == wanted, f"{words}: exit {done.returncode}, not {wanted}\n{text[-3000:]}"
    return text


def package(kind, out):
    run(ROOT / "scripts/package.sh", *kind, "--build", BINARY.parent, "--out", out, env=dict(os.environ, DPKG_DEB_COMPRESSOR_LEVEL="1", GZIP="-1"))
    (made,) = [file for file in out.iterdir() if file.suffix in (".whl", ".deb", ".gz")]
    return made


def check_trains(roll, share, folder, warm_up, env):
    """Two steps, by one rank and by two, from a warmed-up model."""
    (folder / "output").mkdir()
    (folder / "output/quickstart").symlink_to(warm_up)
    config = share / "configs/quickstart.yaml"
    for ranks in ["1", "2"]:
        devices = [f"{role}.device_mapping={list(range(int(ranks)))}" for role in ["actor_train", "actor_infer", "reference", "critic"]]
        words = [roll, "train", "--config", config, "-n", ranks, f"output_dir=run{ranks}", "max_steps=2", *SHORT, *devices]
        if ranks == "2":  # the line of a dry run works in any shell
            said = run(*words, "--dry-run", cwd=folder, env=env)
            words = ["bash", "-c", next(line for line in said.splitlines() if "mpirun" in line)]
        text = run(*words, cwd=folder, env=env if ranks == "1" else bare(folder))
        assert num_steps(folder / f"run{ranks}") == 2, text
        assert (f"{ranks} ranks over" in text) == (ranks == "2"), text


def check_elf_files(folder):
    """No file looks for libraries in a place of this machine."""
    for file in folder.rglob("*"):
        if file.is_file() and file.open("rb").read(4) == b"\x7fELF":
            paths = re.findall(r"(?:RUNPATH|RPATH).*\[(.*)\]", run("readelf", "-d", file))
            assert all(part.startswith("$ORIGIN") for path in paths for part in path.split(":")), (file, paths)


def check_tag(wheel, folder):
    """The tag's glibc is what the most demanding file of it needs, no less and no more."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    needed = {int(minor) for file in folder.rglob("*") if file.is_file() and file.open("rb").read(4) == b"\x7fELF"
              for minor in re.findall(r"GLIBC_2\.(\d+)", run("readelf", "-V", file))}
    (tagged,) = re.findall(r"-py3-none-manylinux_2_(\d+)_x86_64\.whl$", wheel.name)
    assert max(needed) <= int(tagged) <= max(35, *needed), (wheel.name, needed)


def bare_venv(folder):
    """An environment with pip alone, in which torch is what .deps has."""
    venv.create(folder, with_pip=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / "torch").symlink_to(TORCH)
    (site / "nvidia").symlink_to(ROOT / ".deps/nvidia")
    return site


def shorten_warm_up(configs):
    """Of an installation: how well the model calculates is not looked at here."""
    for name in ["quickstart_sft.yaml", "quickstart.yaml"]:
        file = configs / name
        text = file.read_text()
        assert "700" in text, name
        file.write_text(text.replace("000700", "000010").replace("700", "10"))


def check_again(roll, folder, env):
    """A second quickstart is refused with flags that it has."""
    text = run(roll, "quickstart", "max_steps=2", cwd=folder, env=env, wanted=2)
    assert "continue it with --resume, or start another one with --new-run" in text, text[-2000:]
    run(roll, "quickstart", "max_steps=2", *SHORT, "--resume", cwd=folder, env=env)
    run(roll, "quickstart", "max_steps=1", *SHORT, "--new-run", cwd=folder, env=env)
    train = folder / "output/quickstart/train"
    assert (train / "latest/metrics.jsonl").exists() and (train / "latest").resolve() != train.resolve(), [*train.iterdir()]


def check_own_loss(roll, folder, env):
    """A loss plug-in of somebody who has the wheel, g++, and nothing else."""
    run(roll, "new", "mine", "--examples", cwd=folder, env=env)
    run("bash", "build_plugin.sh", "my_loss.cpp", cwd=folder / "mine", env=env | {"ROLL_TORCH": str(TORCH)})
    quickstart = folder / "output/quickstart/train"
    text = run(roll, "check-loss", "--config", quickstart / "config.resolved.yaml", "--rollouts", quickstart / "rollouts",
               f"actor_train.loss_func={{library: {folder}/mine/libmy_loss.so, name: clipped}}", cwd=folder, env=env)
    assert "largest deviation from one batch in float64" in text, text


def check_wheel(folder):
    """The quickstart, from pip install to the first steps of PPO; gives what it made, for the other packages."""
    wheel = package(["--wheel"], folder)
    check_tag(wheel, folder / "unpacked")
    check_elf_files(folder / "unpacked")
    site = bare_venv(folder / "venv")
    run(folder / "venv/bin/pip", "install", "--no-index", "--no-deps", wheel)
    metadata = (site / next(site.glob("roll_rlvr-*.dist-info")) / "METADATA").read_text()
    torch = re.search(r"^readonly kTorch=(.*)$", (ROOT / "scripts/setup.sh").read_text(), re.M)[1]
    arrow = re.search(r"^readonly kArrow=(.*)$", (ROOT / "scripts/setup.sh").read_text(), re.M)[1]
    assert f"Requires-Dist: torch=={torch}\nRequires-Dist: pyarrow=={arrow}\n" in metadata, metadata[:500]
    env = bare(folder, folder / "venv/bin")
    roll = folder / "venv/bin/roll"
    said = run(roll, "--version", cwd=folder, env=env)
    assert "LibTorch" in said and f"\nVersion: {said.split()[1]}\n" in metadata, (said, metadata[:500])
    shorten_warm_up(site / "roll_rlvr/bundle/share/roll/configs")
    text = run(roll, "quickstart", "max_steps=2", *SHORT, cwd=folder, env=env)
    made = folder / "output/quickstart"
    assert "== step 4 of 4: PPO" in text and num_steps(made / "train") == 2, text[-3000:]
    check_again(roll, folder, env)
    for came in ["scripts/upload_metrics.py", "include/roll/loss.h", "include/roll/reward.h", "include/roll/environment.h", "configs/examples/my_loss.cpp"]:
        assert (site / "roll_rlvr/bundle/share/roll" / came).exists(), came
    check_own_loss(roll, folder, env)
    (folder / "own").mkdir()
    check_trains(roll, site / "roll_rlvr/bundle/share/roll", folder / "own", made, env)
    return made


def check_deb(folder, warm_up):
    deb = package(["--deb"], folder)
    for depends in run("dpkg-deb", "-f", deb, "Depends").replace(" ", "").strip().split(","):
        run("dpkg-query", "-W", depends.split("(")[0])  # what this machine was built with
    run("dpkg-deb", "-x", deb, folder / "root")
    check_elf_files(folder / "root")
    roll = folder / "root/usr/bin/roll"
    text = run(roll, "--version", env=bare(folder), wanted=2)
    assert "no LibTorch found." in text and "pip install torch==" in text, text
    shorten_warm_up(folder / "root/usr/lib/roll/share/roll/configs")
    (folder / "torch").mkdir()  # a folder of this name is no LibTorch
    assert "no LibTorch found." in run(roll, "--version", env=bare(folder), cwd=folder, wanted=2)
    env = {**bare(folder), "ROLL_TORCH": str(TORCH)}
    check_trains(roll, folder / "root/usr/lib/roll/share/roll", folder, warm_up, env)


def torch_like(folder, version="2.11.0", without=()):
    """A torch folder of links, without some of its libraries."""
    (folder / "torch/lib").mkdir(parents=True)
    (folder / "nvidia").symlink_to(ROOT / ".deps/nvidia")
    (folder / "torch/version.py").write_text(f"__version__ = '{version}+cpu'\n")
    for library in (TORCH / "lib").iterdir():
        if not library.name.startswith(tuple(without)):
            (folder / "torch/lib" / library.name).symlink_to(library)
    return folder / "torch"


def check_arrow(roll, folder, env):
    """Compressed rows and Parquet are read with the pyarrow that is named, and said to want one without."""
    if not BINARY.with_name("libroll_arrow.so").exists():
        return
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(b'{"prompt": "1+1=", "ground_truth": "2"}\n'))
    words = [roll, "--torch", TORCH, "data", "convert", folder / "rows.jsonl.gz", "--out", folder / "rows.jsonl"]
    text = run(*words, env=env, wanted=2)
    assert "rows.jsonl.gz: Parquet and compressed files need Apache Arrow" in text and "pip install pyarrow==" in text, text
    assert "rows.jsonl: 1 rows" in run(*words, env=env | {"ROLL_ARROW": str(ROOT / ".deps/arrow")})


def check_tarball(folder):
    run("tar", "-xzf", package([], folder), "-C", folder)
    (bundle,) = folder.glob("roll-*-x86_64")
    check_elf_files(bundle)
    env = bare(folder)
    assert "LibTorch" in run(bundle / "roll", "--torch", TORCH, "--version", env=env)  # all else is the wheel's
    check_arrow(bundle / "roll", folder, env)
    # A torch for the CPU serves a program for the CPU; one for CUDA says what it lacks.
    cpu = torch_like(folder / "cpu", without=["libtorch_cuda", "libc10_cuda", "libtorch_nvshmem"] if NEEDS_CUDA else ["libtorch_cuda."])
    text = run(bundle / "roll", "--torch", cpu, "--version", env=env, wanted=2 if NEEDS_CUDA else 0)
    assert ("was built for CUDA" in text) == NEEDS_CUDA, text
    (bundle / "bin/roll-cpu").write_text("#!/bin/sh\necho the program for the CPU\n")
    (bundle / "bin/roll-cpu").chmod(0o755)
    text = run(bundle / "roll", "--torch", cpu, "--version", env=env)
    assert ("the program for the CPU" in text) == NEEDS_CUDA, text
    old = torch_like(folder / "old", version="2.10.0")
    text = run(bundle / "roll", "--torch", old, "--version", env=env, wanted=2)
    assert "is torch 2.10.0+cpu, and this program was built for torch 2.11.0" in text, text


with tempfile.TemporaryDirectory() as base:
    folders = [pathlib.Path(base) / name for name in ["wheel", "deb", "tar"]]
    for folder in folders:
        folder.mkdir()
    warm_up = check_wheel(folders[0])
    check_deb(folders[1], warm_up)
    check_tarball(folders[2])
print("wheel and Debian package train, and the tarball starts, where the checkout is not")
