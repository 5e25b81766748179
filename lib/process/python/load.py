"""Loads the function or class FILE.py:NAME or module.NAME. Our Python programs are this text followed by their own."""
import importlib
import importlib.util
import json
import os
import sys
import traceback


def load(source, name):
    if source.endswith(".py"):
        folder, stem = os.path.split(os.path.abspath(source))
        sys.path.insert(0, folder)
        spec = importlib.util.spec_from_file_location(stem.removesuffix(".py"), source)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(source)
    found = getattr(module, name, None)
    if not callable(found):
        defined = [key for key, value in vars(module).items() if callable(value) and getattr(value, "__module__", "") == module.__name__]
        sys.exit(f"{source} has no function or class {name}; it has {', '.join(defined) or 'none'}")
    return found


def take_output():
    """Reserves standard output for answers: prints of the user's code go to standard error. Returns the answer function."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return lambda answer: print(json.dumps(answer), file=answers, flush=True)
