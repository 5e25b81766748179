#!/usr/bin/env python3
"""roll new writes a configuration from a model and rows that trains as it is, by flags and by answers on a terminal; what
data check and validate-config say of rows is what a training makes of them. Argument: the roll binary."""
import importlib.util
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

binary = pathlib.Path(sys.argv[1]).resolve()
FORECAST = r"^time on this machine: about \S+ \S+.* a step \(.*training the actor .*\), .* for 200 steps, with responses of \d+ tokens: in a short trial, \d+ of 32 ended by themselves$"


def roll(folder, *arguments, exit_code=0):
    done = subprocess.run([binary, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    assert done.returncode == exit_code, f"{arguments}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def write_rows(file, columns, count=120):
    rows = []
    for n in range(count):
        prompt = f"{n}+{n}=" + " please" * (200 if n == count - 1 else 1)  # one is far longer than the others
        text = {"messages": [{"role": "user", "content": prompt}]} if columns == "messages" else {"prompt": prompt}
        rows.append({**text, "ground_truth": str(2 * n)})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def on_terminal(folder, arguments, answers):
    """Runs roll behind a terminal, where it asks; gives exit code and what it wrote."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(binary, [str(binary), *map(str, arguments)])
    os.write(fd, "".join(answer + "\n" for answer in answers).encode())
    said = b""
    while True:
        try:
            part = os.read(fd, 4096)
        except OSError:  # the terminal is closed
            break
        if not part:
            break
        said += part
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode(errors="replace")


def trained(folder, config, *overrides):
    done = roll(folder, "train", "--config", config, "--device", "cpu", "max_steps=1", "save_steps=0", *overrides)
    return done, [json.loads(line) for line in open(pathlib.Path(config).parent / "run/metrics.jsonl")]


def check_flags(folder):
    for algorithm, columns in (("grpo", "messages"), ("ppo", "prompt"), ("reinforce", "messages")):
        write_rows(folder / f"{columns}.jsonl", columns)
        new = roll(folder, "new", algorithm, "--model", "model", "--data", f"{columns}.jsonl", "--algorithm", algorithm, "--yes")
        config = (folder / algorithm / "config.yaml").resolve()
        assert f"\n  roll train --config {config}\n" in new.stdout, new.stdout
        assert "120 of 120 gold answers scored as right" in new.stdout, new.stdout
        assert "longer and are dropped" in new.stderr, new.stderr  # the longest one is far behind the others
        assert re.search(FORECAST, new.stdout, re.M), new.stdout
        seen = roll(folder, "validate-config", "--config", config)
        assert re.search(r"^training rows, math_rule: 120 rows; prompts in tokens: p50 \d+, .*; 1 dropped; 120 of 120 gold answers scored as right$", seen.stdout, re.M), seen.stdout
        assert re.search(FORECAST, seen.stdout, re.M), seen.stdout
        assert ("training the critic" in re.search(FORECAST, seen.stdout, re.M)[0]) == (algorithm == "ppo"), seen.stdout
        seen = roll(folder, "validate-config", "--config", config, "--no-time")
        assert "time on this machine" not in seen.stdout, seen.stdout
        done, metrics = trained(folder, config, "response_length=8", "critic_warmup=0")
        assert "1 of 120 dropped" in done.stdout, done.stdout
        assert len(metrics) == 1 and metrics[0]["rollout/finish_reason/length"] > 0.5, metrics
        print(f"roll new, {algorithm} on rows of {columns}: written, valid, and trained on")


def check_terminal(folder):
    answers = ["no_such_model", "", "model", "model/config.json", "messages.jsonl", "", "GRPO", "two", "1"]
    code, said = on_terminal(folder, ["new", "whole"], answers)
    assert code == 0 and "no_such_model" in said and "is written and valid" in said, said
    assert "an answer is needed" in said and "model/config.json: is JSON over several lines" in said and "did you mean 'grpo'" not in said, said
    assert said.count("--devices = two") == 1, said
    code, said = on_terminal(folder, ["new", "whole"], answers)
    assert code == 2 and "not an empty folder" in said, said
    _, metrics = trained(folder, (folder / "whole/config.yaml").resolve(), "response_length=8")
    assert metrics[0]["score/mean"] >= 0, metrics
    print("roll new on a terminal: asks again after a wrong answer, and writes")


def write_table(stem, columns):
    """The name of a Parquet file, where this build and this Python know such; else of JSON lines."""
    if importlib.util.find_spec("pyarrow") and binary.with_name("libroll_arrow.so").exists():
        import pyarrow
        import pyarrow.parquet
        pyarrow.parquet.write_table(pyarrow.table(columns), stem.with_suffix(".parquet"))
        return stem.name + ".parquet"
    print("SKIPPED: Parquet, because there is no pyarrow, or no Arrow in this build")
    stem.with_suffix(".jsonl").write_text("".join(json.dumps(dict(zip(columns, row))) + "\n" for row in zip(*columns.values())))
    return stem.name + ".jsonl"


def check_without_file(folder):
    """From a Parquet file of GSM8K's columns to steps, a resumed run on two ranks, and a page, without a file written by hand."""
    questions = dict(question=[f"What is {n} and {n}?" for n in range(60)], answer=[f"{n}+{n} is <<{n}+{n}={2 * n}>>{2 * n}.\n#### {2 * n}" for n in range(60)])
    data = write_table(folder / "train", questions)
    small = ["--device", "cpu", "response_length=8", "rollout_batch_size=4", "actor_train.training_args.train_batch_size=16"]
    command = ["train", "--model", "model", "--data", data, *small]
    told = roll(folder, *command, "max_steps=1", "--dry-run")
    assert re.search(FORECAST.replace("200 steps", "1 step"), told.stderr, re.M) and "4 prompts x 8 responses" in told.stderr, told.stderr
    done = roll(folder, *command, "max_steps=1")
    assert "grpo with the reward math_rule (60 of the first 60 rows have a number or LaTeX as the right answer)" in done.stdout, done.stdout
    assert f"{data}: read as GSM8K's: question: question, ground_truth: answer, ground_truth_part: after_hashes" in done.stdout, done.stdout
    assert "60 of 60 gold answers scored as right" in done.stdout, done.stdout
    run = folder / "output/model-train"
    said = roll(folder, *command, "max_steps=2", exit_code=2).stderr
    assert "output_dir = ./output/model-train: already holds a run" in said, said
    done = roll(folder, *command, "max_steps=2", "--resume", "-n", "2")
    assert done.stdout.count("without a configuration file") == 1 and "resuming after step 1" in done.stdout, done.stdout
    assert [json.loads(line)["step"] for line in open(run / "metrics.jsonl")] == [1, 2]
    # The configuration in the run's folder is the run's: it goes on with that, too, and differs from roll new's in its names only.
    done = roll(folder, "train", "--config", run / "config.resolved.yaml", "--device", "cpu", "max_steps=3", "--resume")
    assert "resuming after step 2" in done.stdout, done.stdout
    roll(folder, "report", run)
    assert (run / "report.html").stat().st_size > 1000
    roll(folder, "new", "beside", "--model", "model", "--data", data, "--yes")
    shown = lambda *words: roll(folder, "validate-config", "--print", *words).stdout.splitlines()
    made = (run / "checkpoints/step_000001/config.resolved.yaml").read_text().splitlines()
    new = shown("--config", "beside/config.yaml", *small[2:], "max_steps=1")
    differing = {line.split(":")[0] for line in set(made) ^ set(new)}
    assert differing == {"exp_name", "output_dir"}, differing
    # The ranks that are started are handed the configuration: a reward program sees it among its variables.
    (folder / "handed.py").write_text("import json, os, sys\nfor line in sys.stdin:\n    print(json.dumps(dict(reward=int('ROLL_MADE_CONFIG' in os.environ))), flush=True)\n")
    (folder / "more").mkdir()
    (folder / data).rename(folder / "more" / data)
    roll(folder, "train", "--model", "model", "--data", "more/train*", *small, "-n", "2", "max_steps=1", "rewards.math_rule.type=command",
         f"rewards.math_rule.command=[{sys.executable}, handed.py]")
    assert json.loads((folder / "output/model-train_/metrics.jsonl").read_text())["score/mean"] == 1
    print("roll train without a file: from Parquet to steps, resumed on two ranks and by the run's own file; as roll new's")


TRL_SCRIPT = """from trl import GRPOConfig, GRPOTrainer
from trl.rewards import accuracy_reward

args = GRPOConfig(output_dir="from-trl", learning_rate=1e-5, per_device_train_batch_size=8, num_generations=4, max_completion_length=8, max_steps=1)
GRPOTrainer(model="model", reward_funcs=accuracy_reward, args=args, train_dataset=dataset).train()
"""


def check_trl_script(folder):
    """Two commands from somebody's script and rows to the first step."""
    (folder / "grpo.py").write_text(TRL_SCRIPT)
    data = write_table(folder / "train", dict(question=["1 + 1?", "2 + 2?"] * 4, answer=["#### 2", "#### 4"] * 4))
    roll(folder, "convert-config", "grpo.py", "-n", "1", "--out", "mine.yaml")
    done = roll(folder, "train", "--config", "mine.yaml", "--device", "cpu", f"actor_train.data_args.file_name=[{data}]", "actor_train.data_args.messages=null")
    assert "read as GSM8K's" in done.stdout and (folder / "from-trl/metrics.jsonl").exists(), done.stdout
    print("a TRL script and rows: two commands to the first step")


def check_made_refusals(folder):
    for words, message in (([], "--config FILE.yaml, or --model M --data ROWS, is missing"),
                           (["--model", "model"], "--data: missing; give the training rows"),
                           (["--data", "messages.jsonl"], "--model: missing; give the model's folder"),
                           (["--config", "grpo/config.yaml", "--model", "model"], "--model M --data ROWS replace a configuration file, but grpo/config.yaml is given"),
                           (["--model", "absent/model", "--data", "messages.jsonl"], "--model = absent/model: "),
                           (["--model", "model", "--data", "absent.parquet"], "--data = absent.parquet: no such file"),
                           (["--model", "model", "--data", "messages.jsonl", "--reward", "math_rul"], "--reward = math_rul: "),
                           (["--model", "model", "--data", "messages.jsonl", "--reward", "regex"], "--reward = regex: needs other keys besides its name"),
                           (["--model", "model", "--data", "messages.jsonl", "--algorithm", "gripo"], "--algorithm = gripo: "),
                           (["--model", "model", "--data", "messages.jsonl", "--validation", "absent.jsonl"], "--validation = absent.jsonl: "),
                           (["--model", "model", "--data", "messages.jsonl", "rollout_batch_size=0"], "command line: rollout_batch_size = 0: ")):
        said = roll(folder, "train", *words, exit_code=2).stderr
        assert message in said, (message, said)


def check_guesses(folder):
    """What the rows hold to be right says who judges them, or that nobody can say."""
    rows = dict(multiple_choice=[dict(ground_truth=answer) for answer in ["A", "C", "B"]],
                math_rule=[dict(ground_truth=answer) for answer in ["12", "\\frac{1}{2}", "x^2", "3/4"]],
                ifeval=[dict(ground_truth=json.dumps(dict(func_name="validate_lowercase")))],
                code_sandbox=[dict(case_type="text", test_cases=["assert add(1, 1) == 2"])])
    for reward, some in rows.items():
        (folder / "guess.jsonl").write_text("".join(json.dumps(dict(messages=[dict(role="user", content=f"question {n}")]) | row) + "\n"
                                                    for n, row in enumerate(some)))
        said = roll(folder, "data", "check", "guess.jsonl").stderr
        assert f": --reward {reward} shows whether" in said, (reward, said)
    words = "".join(json.dumps(dict(question=f"Capital {n}?", answer=city)) + "\n" for n, city in enumerate(["Paris", "Rome", "7", "Oslo"]))
    (folder / "guess.jsonl").write_text(words)
    said = roll(folder, "train", "--model", "model", "--data", "guess.jsonl", exit_code=2).stderr
    assert "the right answers of 3 of the first 4 rows are neither numbers" in said and "guess.jsonl:1: Paris; type --reward exact_match" in said, said
    said = roll(folder, "new", "guessed", "--model", "model", "--data", "guess.jsonl", "--yes", exit_code=2).stderr
    assert "type --reward exact_match" in said and not (folder / "guessed").exists(), said
    assert "no reward given; for example, --reward math_rule shows" in roll(folder, "data", "check", "guess.jsonl").stderr
    (folder / "guess.jsonl").write_text(json.dumps(dict(messages=[dict(role="user", content="Capital?")], gold="Paris")) + "\n")
    said = roll(folder, "train", "--model", "model", "--data", "guess.jsonl", exit_code=2).stderr
    assert "guess.jsonl:1 has no ground_truth (its columns: messages, gold)" in said, said
    print("rewards are guessed by what rows hold to be right, and asked for where that does not tell")


def check_faults(folder):
    """A faulty row far behind the first ones."""
    rows = (folder / "messages.jsonl").read_text()
    (folder / "late.jsonl").write_text(rows * 200 + '{"prompt": "late"}\n')
    config = (folder / "grpo/config.yaml").resolve()
    late = f"late.jsonl:{120 * 200 + 1}"
    files = "actor_train.data_args.file_name=[late.jsonl]"
    seen = roll(folder, "validate-config", "--config", config, files, exit_code=2)
    assert late in seen.stderr and "actor_train.data_args.file_name" in seen.stderr, seen.stderr
    seen = roll(folder, "data", "check", "late.jsonl", "--reward", "math_rule", exit_code=2)
    assert f"1 of {120 * 200 + 1} rows cannot be used, the first: {late}: ground_truth: missing" in seen.stderr, seen.stderr
    roll(folder, "validate-config", "--config", config, files, "--no-data", "--no-time")
    seen = roll(folder, "validate-config", "--config", config, "prompt_length=4", exit_code=2)
    assert "prompt_length = 4: all 120 training rows of the domain math_rule are longer; the shortest has" in seen.stderr, seen.stderr
    print("a faulty row at the end of a file, and a prompt_length that no row fits, are found before a training")


def check_code_of_ones_own(folder):
    """A reward program is asked once."""
    (folder / "judge.py").write_text("import json, sys\nfor line in sys.stdin:\n    sys.exit('cannot read ' + json.loads(line)['ground_truth'])\n")
    config = (folder / "grpo/config.yaml").resolve()
    change = ["rewards.math_rule.type=command", f"rewards.math_rule.command=[{sys.executable}, judge.py]"]
    seen = roll(folder, "validate-config", "--config", config, *change, exit_code=2)
    assert "cannot read 0" in seen.stderr, seen.stderr
    roll(folder, "validate-config", "--config", config, *change, "--no-data", "--no-time")
    print("a reward program that fails is found before a training")


def check_sft(folder):
    for columns in ("messages", "prompt"):
        rows = [json.loads(line) for line in open(folder / f"{columns}.jsonl")]
        (folder / "sft.jsonl").write_text("".join(json.dumps(row | dict(response="it is " + row["ground_truth"])) + "\n" for row in rows))
        new = roll(folder, "new", f"sft_{columns}", "--sft", "--model", "model", "--data", "sft.jsonl", "--validation", "sft.jsonl", "--yes")
        config = (folder / f"sft_{columns}/config.yaml").resolve()
        assert f"\n  roll sft --config {config}\n" in new.stdout and re.search(r"^training rows: 1\d\d rows; tokens: p50", new.stdout, re.M), new.stdout
        roll(folder, "validate-config", "--config", config)
        roll(folder, "sft", "--config", config, "--device", "cpu", "max_steps=2")
        metrics = [json.loads(line) for line in open(config.parent / "run/metrics.jsonl")]
        assert {line["step"] for line in metrics} >= {1, 2}, metrics
        assert (config.parent / "run/checkpoints/latest/actor/config.json").exists(), "where the file says that the weights are"
    said = roll(folder, "new", "both", "--sft", "--model", "model", "--data", "sft.jsonl", "--reward", "math_rule", "--yes", exit_code=2).stderr
    assert "--reward = math_rule: does not apply to fine-tuning" in said and not (folder / "both").exists(), said
    said = roll(folder, "new", "none", "--sft", "--model", "model", "--data", "prompt.jsonl", "--yes", exit_code=2).stderr
    assert "prompt.jsonl:1" in said and "response" in said and not (folder / "none").exists(), said
    print("roll new --sft: written, valid, and trained on")


def check_examples(folder):
    """Programs and plug-ins of one's own, from what the program itself brings; those that are environments: environment_plugin_test.py."""
    roll(folder, "new", "own", "--examples")
    own = folder / "own"
    (own / "answers.jsonl").write_text('{"response": "it is 42", "ground_truth": "42"}\n{"response": "no", "ground_truth": "42"}\n')
    score = lambda *words: [json.loads(line)["reward"] for line in roll(own, "score", "--input", "answers.jsonl", *words).stdout.splitlines()]
    assert score("--reward", "command", "--", sys.executable, "reward.py") == [1, 0]
    subprocess.run(["bash", "build_plugin.sh", "my_reward.cpp"], cwd=own, check=True, timeout=300)
    assert score("--reward", "plugin", "--library", "libmy_reward.so", "--name", "contains") == [1, 0]
    done = subprocess.run(["bash", "build_plugin.sh", "my_loss.cpp"], cwd=own, env=dict(os.environ, ROLL_TORCH=str(folder)), capture_output=True, text=True)
    assert done.returncode == 2 and "no LibTorch headers in" in done.stderr, done.stderr
    print("examples of rewards of one's own are written, built and used")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    roll(folder, "init-model", "--arch", "qwen2", "--hidden", 32, "--intermediate", 48, "--layers", 2, "--heads", 4, "--kv-heads", 2,
         "--tokenizer", "builtin", "--out", "model")
    check_flags(folder)
    check_terminal(folder)
    check_without_file(folder)
    check_trl_script(folder)
    check_made_refusals(folder)
    check_guesses(folder)
    check_faults(folder)
    check_code_of_ones_own(folder)
    check_sft(folder)
    check_examples(folder)
