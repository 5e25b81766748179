"""What tests of Parquet need: `binary`, the program of their first argument. Skips the test where its build has no Arrow, or this
Python no pyarrow."""
import importlib.util
import pathlib
import sys

binary = pathlib.Path(sys.argv[1]).resolve()
if not importlib.util.find_spec("pyarrow"):
    print("skipped: no pyarrow in this Python")
    sys.exit(77)
if not binary.with_name("libroll_arrow.so").exists():
    print("skipped: this build has no Arrow")
    sys.exit(77)
