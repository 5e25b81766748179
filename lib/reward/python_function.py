"""Answers the lines of a reward program (reward/python_function.h) with a function of the user's: FILE FUNCTION [KEY].

KEY names the number that is the reward in the dict that the function gives; without it that is reward or score.

The names of its parameters say which trainer it was written for, and so what it gets and gives:
  solution_str   verl           data_source, solution_str, ground_truth, extra_info -> number or {"score": number, ...}
  solution_strs  verl, batch    data_sources, solution_strs, ground_truths, extra_infos -> list of those
  completions    TRL            prompts, completions, completion_ids, the row's columns, all lists -> list of numbers
  queries        OpenRLHF       queries, prompts, labels, lists -> tensor, or {"rewards": tensor, "extra_logs": {name: tensor}}
  , sample       slime          args, sample -> number or {"score": number, ...}
  , samples      slime, groups  args, samples -> list of those
  else           roll           what a line holds, and the row's columns, by name -> number or {"reward": number, ...}
A function may be `async`. One with **keywords gets all; the others get what they name. Lists hold all responses of a line, and an async function of
one response is awaited for all of them at once."""
import asyncio
import enum
import inspect
import math


class Args:
    def __getattr__(self, name):
        raise AttributeError(f"args.{name}: slime's command line is not there; a function may use what the sample has")


class Sample:
    class Status(enum.Enum):
        PENDING = "pending"
        COMPLETED = "completed"
        TRUNCATED = "truncated"
        ABORTED = "aborted"

    def __init__(self, q, row):
        self.prompt, self.response, self.label = q["prompt"], q["response"], row.get("label", q["ground_truth"])
        self.tokens, self.response_length = q["prompt_ids"] + q["response_ids"], len(q["response_ids"]) or q["num_response_tokens"]
        self.metadata = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
        self.status = {"length": self.Status.TRUNCATED, "abort": self.Status.ABORTED}.get(q["finish_reason"], self.Status.COMPLETED)
        self.index = self.group_index = self.rollout_id = self.reward = self.loss_mask = self.multimodal_inputs = self.custom_rm_path = None


def row_of(q):
    return q["row"] if isinstance(q["row"], dict) else {}


def of_verl(q, row):
    truth = row["reward_model"]["ground_truth"] if isinstance(row.get("reward_model"), dict) else q["ground_truth"]
    return dict(data_source=row.get("data_source", q["tag"]), solution_str=q["response"], ground_truth=truth, extra_info=row.get("extra_info") or {})


def of_verl_batch(questions, _):
    every = [of_verl(q, row_of(q)) for q in questions]
    return {key + "s": [one[key] for one in every] for key in every[0]}


def of_trl(questions, details):
    q, row = questions[0], row_of(questions[0])
    is_chat = isinstance(row.get("prompt", row.get("messages")), list)
    columns = {key: [row_of(q).get(key) for q in questions] for key in row if key not in ("prompt", "completion", "completion_ids")}

    def log_extra(column, values):
        for detail, value in zip(details, values):
            detail[column] = shown(value)

    def log_metric(name, value):
        for detail in details:
            detail[name] = shown(value)

    own = dict(prompts=[(row_of(q)["prompt"] if "prompt" in row else q["messages"]) if is_chat else q["prompt"] for q in questions],
               completions=[[{"role": "assistant", "content": q["response"]}] if is_chat else q["response"] for q in questions],
               log_extra=log_extra, log_metric=log_metric)
    if q["response_ids"]:
        own["completion_ids"] = [q["response_ids"] for q in questions]
    return columns | own


def of_openrlhf(questions, _):
    return dict(queries=[q["prompt"] + q["response"] for q in questions], prompts=[q["prompt"] for q in questions],
                labels=[q["ground_truth"] for q in questions])


def of_roll(q, row):
    return row | {key: value for key, value in q.items() if key != "id"}


class Function:
    """One of the user's, called as its parameters say."""

    def __init__(self, function):
        self.function = function
        self.parameters = inspect.signature(function).parameters
        named = list(self.parameters)
        self.takes_lists, self.give = next(((lists, give) for name, lists, give in (
            ("solution_str", False, of_verl), ("solution_strs", True, of_verl_batch), ("completions", True, of_trl), ("queries", True, of_openrlhf))
            if name in named), (False, of_roll))
        self.slime = named[1] if len(named) > 1 and named[0] == "args" and named[1] in ("sample", "samples") else ""
        self.takes_lists = self.takes_lists or self.slime == "samples"
        self.takes_all = any(p.kind is p.VAR_KEYWORD for p in self.parameters.values())
        self.wanted = [p.name for p in self.parameters.values() if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self.takes_many = self.takes_lists or inspect.iscoroutinefunction(function)

    def call(self, *given):
        if self.slime:
            samples = [Sample(q, row_of(q)) for q in (given[0] if self.takes_lists else given[:1])]
            return self.function(Args(), samples if self.takes_lists else samples[0])
        every = self.give(*given)
        absent = [name for name in self.wanted if name not in every]
        if absent:
            raise TypeError(f"its parameter {absent[0]} is nothing that a response has, nor a column of its row; there are {', '.join(every)}")
        return self.function(**(every if self.takes_all else {name: value for name, value in every.items() if name in self.parameters}))


def plain(given):
    while hasattr(given, "tolist"):
        given = given.tolist()
    return given


def shown(value):
    """What a detail may hold: a text, a whole or finite number, true or false; of all else its text."""
    value = plain(value)
    is_simple = isinstance(value, (str, int)) or isinstance(value, float) and math.isfinite(value)
    return value if is_simple else str(value)[:1000]


REWARD_KEYS = sys.argv[3:] or ["reward", "score", "rewards"]


def reward_in(given):
    return plain(next((given[key] for key in REWARD_KEYS if key in given), None))


def verdict(given, detail=None):
    """What a function gave for one response, as {"reward", "detail"}."""
    detail = detail or {}
    if isinstance(given, dict):
        detail = detail | {str(key): shown(value) for key, value in given.items() if isinstance(value, (str, int, float))}
        if sys.argv[3:] and sys.argv[3] not in given:
            raise ValueError(f"it gave no {sys.argv[3]}, which result_key names; it gave {', '.join(map(str, given))}")
        given = reward_in(given)
    elif sys.argv[3:]:
        raise ValueError(f"it gave {type(given).__name__} in place of a dict with {sys.argv[3]}, which result_key names")
    given = plain(given)
    if isinstance(given, (list, tuple)) and len(given) == 1:
        given = given[0]
    if isinstance(given, (list, tuple)):
        raise ValueError(f"it gave {len(given)} rewards for one response")
    if given is None:
        raise ValueError("it gave no reward")
    if not math.isfinite(float(given)):
        raise ValueError(f"it gave {float(given)}")
    return {"reward": float(given), "detail": detail}


def answer_of(make):
    try:
        return make()
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}


def fail(error):
    raise error


async def awaited(given):
    return await asyncio.gather(*given, return_exceptions=True)


def verdicts(function, questions, loop):
    if not function.takes_lists:
        given = [function.call(q, row_of(q)) for q in questions]
        if function.takes_many:
            given = loop.run_until_complete(awaited(given))
        return [answer_of(lambda: fail(one) if isinstance(one, BaseException) else verdict(one)) for one in given]
    details = [{} for _ in questions]
    given = function.call(questions, details)
    if inspect.isawaitable(given):
        given = loop.run_until_complete(given)
    if isinstance(given, dict):
        for name, values in (given.get("extra_logs") or {}).items():
            values = plain(values)
            for detail, value in zip(details, values if isinstance(values, (list, tuple)) else [values] * len(details)):
                detail[name] = shown(value)
        given = reward_in(given)
    given = plain(given)
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"it gave {type(given).__name__} in place of a list of rewards" if given is not None else "it gave no reward")
    if len(given) != len(questions):
        raise ValueError(f"it gave {len(given)} rewards for {len(questions)} response{'s' * (len(questions) > 1)}")
    return [answer_of(lambda: verdict(one, detail)) for one, detail in zip(given, details)]


def main():
    source, name = sys.argv[1:3]
    answer = take_output()
    function = Function(load(source, name))
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    sys.stdin.readline()
    answer({"many": function.takes_many})  # ready
    for line in sys.stdin:
        asked = json.loads(line)
        given = answer_of(lambda: {"answers": verdicts(function, asked["questions"], loop)})
        answer({"id": asked["id"]} | given)


main()
