"""`roll` of the wheel: names this Python's torch and pyarrow to the program's own launcher, and becomes it."""
import importlib.util
import os
import pathlib
import sys


def main():
    for variable, name in [("ROLL_TORCH", "torch"), ("ROLL_ARROW", "pyarrow")]:
        package = importlib.util.find_spec(name)
        if package and not os.environ.get(variable):
            os.environ[variable] = list(package.submodule_search_locations)[0]
    launcher = str(pathlib.Path(__file__).resolve().parent / "bundle" / "roll")
    os.execv(launcher, [launcher, *sys.argv[1:]])


if __name__ == "__main__":
    main()
