"""Packs a bundle of scripts/package.sh as a wheel, and prints its path.

The bundle becomes roll_rlvr/bundle, what share/ has for shells and man goes to the environment's own share/, and `roll` is an
entry point that starts the bundle's launcher. The platform tag says what the files in it need, read from their symbol versions.
"""
import argparse
import base64
import hashlib
import pathlib
import re
import subprocess
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NAME = "roll_rlvr"
# The first glibc whose distributions have that libstdc++, as the manylinux policies pair them.
GLIBC_WITH_GLIBCXX = {24: 27, 28: 31, 29: 34, 30: 35, 33: 39}
FOR_EVERYBODY = ["man", "bash-completion", "zsh"]  # of share/


def symbol_versions(bundle, library):
    """The minor versions of `library` ("GLIBC_2." or "GLIBCXX_3.4.") that some ELF file of the bundle asks for."""
    files = [f for f in bundle.rglob("*") if f.is_file() and f.open("rb").read(4) == b"\x7fELF"]
    text = subprocess.run(["readelf", "--version-info", "--wide", *files], capture_output=True, text=True, check=True).stdout
    return [int(minor) for minor in re.findall(rf"Name: {re.escape(library)}(\d+)", text)]


def platform_tag(bundle, machine):
    glibc = max(symbol_versions(bundle, "GLIBC_2."))
    libstdcxx = max(symbol_versions(bundle, "GLIBCXX_3.4."))
    with_it = next(has for version, has in sorted(GLIBC_WITH_GLIBCXX.items()) if version >= libstdcxx)
    return f"manylinux_2_{max(glibc, with_it)}_{machine}"


def description(version, torch, arrow):
    readme = (ROOT / "README.md").read_text()
    summary = re.search(r'DESCRIPTION "([^"]+)"', (ROOT / "CMakeLists.txt").read_text())[1]
    return (f"Metadata-Version: 2.1\nName: {NAME.replace('_', '-')}\nVersion: {version}\nSummary: {summary}\nRequires-Python: >=3.10\n"
            f"Requires-Dist: torch=={torch}\nRequires-Dist: pyarrow=={arrow}\nDescription-Content-Type: text/markdown\n\n{readme}")


def contents(bundle, version, tag, torch, arrow):
    """(name in the wheel, bytes, whether it can be executed) of every file."""
    for file in sorted(f for f in bundle.rglob("*") if f.is_file()):
        name = file.relative_to(bundle)
        everybody = name.parts[0] == "share" and name.parts[1] in FOR_EVERYBODY
        folder = f"{NAME}-{version}.data/data" if everybody else f"{NAME}/bundle"
        yield f"{folder}/{name}", file.read_bytes(), bool(file.stat().st_mode & 0o100)
    start = (HERE / "start.py").read_bytes()
    info = f"{NAME}-{version}.dist-info"
    yield f"{NAME}/__init__.py", b"", False
    yield f"{NAME}/__main__.py", start, False  # python -m roll_rlvr
    yield f"{info}/entry_points.txt", f"[console_scripts]\nroll = {NAME}.__main__:main\n".encode(), False
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: roll\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n".encode(), False
    yield f"{info}/METADATA", description(version, torch, arrow).encode(), False


def write(path, info, files):
    record = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as wheel:
        for name, content, executable in files:
            entry = zipfile.ZipInfo(name)  # of 1980: the same files give the same wheel
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(content)}\n"
        wheel.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=pathlib.Path)
    for option in ["--version", "--torch", "--arrow", "--out"]:
        parser.add_argument(option, required=True)
    arguments = parser.parse_args()
    tag = platform_tag(arguments.bundle, arguments.bundle.name.split("-")[-1])
    path = pathlib.Path(arguments.out) / f"{NAME}-{arguments.version}-py3-none-{tag}.whl"
    write(path, f"{NAME}-{arguments.version}.dist-info", contents(arguments.bundle, arguments.version, tag, arguments.torch, arguments.arrow))
    print(path)


main()
