#!/usr/bin/env python3
"""The version is CMakeLists.txt's everywhere, and the commit beside it that of the sources. Argument: the roll binary."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

binary = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(roll VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def run(*words, cwd=None):
    return subprocess.run([*map(str, words)], cwd=cwd, capture_output=True, text=True, check=True).stdout


def git(folder, *words):
    return run("git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words, cwd=folder).strip()


def written(folder):
    run("cmake", "-DVERSION=1.2.3", f"-DOUT={folder}/version.cpp", "-P", folder / "app/version.cmake")
    text = (folder / "version.cpp").read_text()
    assert 'return "1.2.3";' in text, text
    return re.search(r'commit = "(.*)";', text)[1]


def check_commit(folder):
    """Of a tree like ours: without git, within another repository, in its own, and changed."""
    tree = folder / "roll"
    (tree / "app").mkdir(parents=True)
    for name in ["version.cmake", "version.cpp.in"]:
        shutil.copy(ROOT / "app" / name, tree / "app")
    (tree / ".gitignore").write_text("version.cpp\n")
    assert written(tree) == "", "without git"
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "somebody else's")
    assert written(tree) == "", "in somebody else's repository"
    git(tree, "init", "-q")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "ours")
    commit = git(tree, "rev-parse", "--short", "HEAD")
    assert written(tree) == commit, "in its own repository"
    before = (tree / "version.cpp").stat().st_mtime_ns
    (tree / "README").write_text("of no source\n")
    assert written(tree) == commit and (tree / "version.cpp").stat().st_mtime_ns == before, "written again without need"
    (tree / "app/version.cmake").write_text((tree / "app/version.cmake").read_text() + "# changed\n")
    assert written(tree) == commit + "+", "changed sources"


def main():
    first = run(binary, "--version").split("\n")[0]
    assert re.fullmatch(re.escape(f"roll {VERSION}") + r"( \([0-9a-f]{7,}\+?\))?", first), first
    assert f'"roll {VERSION}"' in run(binary, "man").split("\n")[0]
    if not shutil.which("cmake") or not shutil.which("git"):
        print("skipped: no cmake or git to look at the commit with")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        check_commit(pathlib.Path(name))
    print(f"{first}, with the commit of the sources' own repository")


main()
