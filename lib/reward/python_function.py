"""Answers the lines of a reward program (reward/command.h) with a function of the user's: FILE FUNCTION.

The names of its parameters say which trainer it was written for, and so what it gets and gives:
  solution_str                verl      data_source, solution_str, ground_truth, extra_info -> number or {"score": number, ...}
  completions                 TRL       prompts, completions and the row's columns, lists of one -> list of one number
  queries                     OpenRLHF  queries, prompts, labels, lists of one -> tensor of one, or {"rewards": it, ...}
  else                        roll      what a line holds, and the row's columns, by name -> number or {"reward": number, ...}
A function may be `async`. One with **keywords gets all; the others get what they name."""
import asyncio
import importlib.util
import inspect
import json
import os
import sys
import traceback


def load(file, name):
    folder, stem = os.path.split(os.path.abspath(file))
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(stem.removesuffix(".py"), file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        own = [key for key, value in vars(module).items() if callable(value) and getattr(value, "__module__", "") == spec.name]
        sys.exit(f"{file} has no function {name}; it has {', '.join(own) or 'none'}")
    return function


def for_verl(q, row):
    truth = row["reward_model"]["ground_truth"] if isinstance(row.get("reward_model"), dict) else q["ground_truth"]
    return dict(data_source=row.get("data_source", q["tag"]), solution_str=q["response"], ground_truth=truth, extra_info=row.get("extra_info"))


def for_trl(q, row):
    is_chat = isinstance(row.get("prompt", row.get("messages")), list)
    columns = {key: [value] for key, value in row.items() if key not in ("prompt", "completion", "completion_ids")}
    return columns | dict(prompts=[row["prompt"] if is_chat and "prompt" in row else q["messages"] if is_chat else q["prompt"]],
                          completions=[[{"role": "assistant", "content": q["response"]}] if is_chat else q["response"]])


def for_openrlhf(q, row):
    return dict(queries=[q["prompt"] + q["response"]], prompts=[q["prompt"]], labels=[q["ground_truth"]])


def for_roll(q, row):
    return row | {key: value for key, value in q.items() if key != "id"}


def arguments_of(function):
    """A line -> the arguments of the function."""
    parameters = inspect.signature(function).parameters
    given = next((give for name, give in (("solution_str", for_verl), ("completions", for_trl), ("queries", for_openrlhf)) if name in parameters), for_roll)
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    wanted = [p.name for p in parameters.values() if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]

    def arguments(q):
        every = given(q, q["row"] if isinstance(q["row"], dict) else {})
        absent = [name for name in wanted if name not in every]
        if absent:
            raise TypeError(f"its parameter {absent[0]} is nothing that a response has, nor a column of its row; there are {', '.join(every)}")
        return every if takes_all else {name: value for name, value in every.items() if name in parameters}

    return arguments


def verdict(given):
    """What a function gave, as {"reward", "detail"}."""
    detail = {}
    if isinstance(given, dict):
        detail = {key: value for key, value in given.items() if isinstance(value, (str, int, float, bool))}
        given = next((given[key] for key in ("reward", "score", "rewards") if key in given), None)
    while hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, (list, tuple)):
        if len(given) != 1:
            raise ValueError(f"it gave {len(given)} rewards for one response")
        given = given[0]
    if given is None:
        raise ValueError("it gave no reward")
    return {"reward": float(given), "detail": detail}


def main():
    file, name = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the function prints is no answer
    function = load(file, name)
    arguments = arguments_of(function)
    print(sys.stdin.readline().strip(), file=answers, flush=True)  # {}: ready
    for line in sys.stdin:
        q = json.loads(line)
        try:
            given = function(**arguments(q))
            answer = verdict(asyncio.run(given) if inspect.isawaitable(given) else given)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"id": q["id"]} | answer), file=answers, flush=True)


main()
