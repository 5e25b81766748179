"""`roll` of the wheel: names this Python's torch to the program's own launcher, and becomes it."""
import importlib.util
import os
import pathlib
import sys


def main():
    torch = importlib.util.find_spec("torch")
    if torch and not os.environ.get("ROLL_TORCH"):
        os.environ["ROLL_TORCH"] = list(torch.submodule_search_locations)[0]
    launcher = str(pathlib.Path(__file__).resolve().parent / "bundle" / "roll")
    os.execv(launcher, [launcher, *sys.argv[1:]])


if __name__ == "__main__":
    main()
