#!/usr/bin/env python3
"""Beyond LongRoPE's original context all that a run computes turns by long_factor: it is, to the bit, what a model computes whose short_factor
that is. Commands, layouts, a judge, and what a run that goes on is told. Argument: the roll binary."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.request

import replay

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

SHORT, LONG = [1, 1.1, 1.3, 1.6], [1.2, 2, 4.5, 9]
ROPE = dict(rope_type="longrope", attention_factor=1.2)
IDS = [(i * i * 7 + i) % 200 for i in range(60)]


def with_rope(folder, name, original, **rope):
    """The weights of plain under other rotations."""
    shutil.copytree(folder / "plain", folder / name)
    file = folder / name / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | dict(original_max_position_embeddings=original, rope_scaling=ROPE | rope)))


def called(*arguments, text=None):
    """Exit code, standard output and error."""
    done = subprocess.run([replay.binary, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def check_commands(folder):
    _, out, _ = called("inspect", folder / "long")
    expect("longest sequence: 256 tokens; RoPE uses short_factor in runs of up to 16 tokens, the original context, and long_factor in longer ones" in out,
           f"inspect says which list: {out}")
    rows = "".join(json.dumps(dict(ids=ids)) + "\n" for ids in (IDS[:9], IDS))
    code, _, err = called("logprobs", "--model", folder / "long", text=rows)
    expect(code == 2 and "ids: 60 tokens: the model's original context has 16; give fewer tokens, or up to 256 with --max-length" in err, f"logprobs: {err}")
    code, _, err = called("logprobs", "--model", folder / "long", "--max-length", 257, text=rows)
    expect(code == 2 and "--max-length = 257: the model has only 256 positions" in err, f"logprobs: {err}")
    both = [called("logprobs", "--model", folder / name, "--max-length", 60, text=rows)[1] for name in ("long", "control")]
    expect(both[0] == both[1] and both[0].count("\n") == 2, "logprobs of a long and of a short row are long_factor's")
    within = [called("logprobs", "--model", folder / name, text=rows.splitlines()[0])[1] for name in ("long", "control")]
    expect(within[0] != within[1], "and within the original context short_factor's")

    prompt = json.dumps(dict(ids=IDS[:10])) + "\n"
    generate = lambda name, *flags: called("generate", "--model", folder / name, "--max-new-tokens", 40, "--ignore-eos", *flags, text=prompt)
    code, out, err = generate("long")
    expect(code == 0 and len(json.loads(out)["ids"]) == 6 and "note: sequences have up to 16 tokens; this is the limit of the model's original context; "
           "--max-length allows up to 256 tokens" in err, f"generate ends with the original context, and says so: {out} {err}")
    both = [generate(name, "--max-length", 50)[1] for name in ("long", "control")]
    expect(both[0] == both[1] and len(json.loads(both[0])["ids"]) == 40, "generate goes on behind it, by long_factor")
    code, _, err = called("generate", "--model", folder / "long", text=json.dumps(dict(ids=IDS)) + "\n")
    expect(code == 2 and "has 60 tokens; at most 15 leave room for a response; this is the limit of the model's original context" in err, f"a prompt that is too long: {err}")
    talk = [called("generate", "--model", folder / name, "--chat", "--template", "chatml", "--max-new-tokens", 20, "--max-length", 200,
                   text="Who are you, and how long is this?\n")[:2] for name in ("long", "control")]
    expect(talk[0] == talk[1] and talk[0][0] == 0, f"a conversation: {talk}")
    code, _, err = called("generate", "--model", folder / "long", "--bench", "--batch", 1, "--prompt-tokens", 30, "--max-new-tokens", 4)
    expect(code == 0, f"a benchmark asks for what it needs: {err}")


def check_serve(folder):
    answers = []
    for name in ("long", "control"):
        server = subprocess.Popen([replay.binary, "serve", "--model", folder / name, "--served-model-name", "m", "--port", "0", "--max-length", "60"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            body = dict(model="m", prompt="How long is this?", max_tokens=30, temperature=0, return_token_ids=True)
            request = urllib.request.Request(server.stdout.readline().strip() + "/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                answers.append(json.load(answer))
        finally:
            server.kill()
            server.wait()
    expect(answers[0]["choices"] == answers[1]["choices"] and answers[0]["usage"]["total_tokens"] > 16, f"roll serve goes on by long_factor: {answers}")


def check_training(folder):
    """Sampler, trainer, reference and critic."""
    run, control = [replay.train(folder, f"{name}_run", model=name) for name in ("long", "control")]
    replay.compare(run, control, "long_factor turns all roles", bound=0)
    lines = [[(line["response_ids"], line["log_probs"]) for line in rollout_lines(of, 3)] for of in (run, control)]
    expect(lines[0] == lines[1] and max(len(ids) for ids, _ in lines[0]) > 16, "and the sampler")
    code, out, err = called("validate-config", "--config", folder / "long_run.yaml")
    expect(code == 0 and "sequences of up to 72 tokens are longer than the model's original context (16): LongRoPE uses long_factor for all" in out + err,
           f"validate-config: {out}{err}")
    replay.give_rewards(run / "rollouts")
    flags = dict(model="long", rollout_replay=run / "rollouts")
    base = replay.train(folder, "replayed", **flags)
    for sizes in ("tp", "cp", "pp"):
        replay.compare(replay.train(folder, sizes, 2, **{sizes: 2}, **flags), base, f"{sizes} 2")


def check_judges(folder):
    """A reward model, and one that writes: what they read ends behind their original context."""
    scored = []
    for name in ("long", "control"):
        critic = folder / f"{name}_run/checkpoints/step_000003/critic"
        run = replay.train(folder, f"scored_by_{name}", estimator="grpo", model="plain", max_steps=1, **{
            "rewards.math_rule.type": "reward_model", "rewards.math_rule.model_args": f"{{model_name_or_path: {critic}}}",
            "rewards.math_rule.data_args": "{template: chatml}"})
        scored.append([line["score"] for line in rollout_lines(run, 1)])
    expect(scored[0] == scored[1] and len(set(scored[0])) > 8, f"a reward model reads by long_factor: {scored}")
    (folder / "template.txt").write_text("Q {question} R {response}")
    judged = {"rewards.math_rule.type": "llm_judge", "rewards.math_rule.judge_model_type": "inference", "rewards.math_rule.judge_score_max": 9,
              "rewards.math_rule.judge_score_pattern": "'([0-9])'", "rewards.math_rule.on_reward_error": "zero",
              "rewards.math_rule.judge_prompt_file": folder / "template.txt", "rewards.math_rule.data_args": "{template: chatml}",
              "rewards.math_rule.generating_args": "{max_new_tokens: 30, temperature: 0}", "max_steps": 1}
    said = []
    for name in ("long", "control"):
        run = replay.train(folder, f"judged_by_{name}", estimator="grpo", model="plain", **judged,
                           **{"rewards.math_rule.model_args": f"{{model_name_or_path: {folder / name}}}"})
        said.append([line["reward_detail"] for line in rollout_lines(run, 1)])
    words = lambda details: [{key: value for key, value in detail.items() if not key.endswith("_s")} for detail in details]
    expect(words(said[0]) == words(said[1]), f"a judge reads by long_factor: {said[0][:1]} {said[1][:1]}")
    expect(all("longer than" not in json.dumps(detail) for detail in said[0]), f"and has room for its answers: {said[0][:1]}")


def check_rows(folder):
    """Fine-tuning, preferences (with a reference of their own model), a distillation from that model and an evaluation."""
    sums = [dict(id=str(i), prompt=f"What is {i} and {i + 1}?", answer=f"It is {2 * i + 1}.", rejected=f"It may be {i}.") for i in range(8)]
    (folder / "sums.jsonl").write_text("".join(json.dumps(row | dict(chosen=row["answer"])) + "\n" for row in sums))
    training = dict(training_args=dict(learning_rate=1e-3, train_batch_size=4), data_args=dict(file_name=[str(folder / "sums.jsonl")], prompt="prompt"))
    made = {}
    for name in ("long", "control"):
        common = dict(exp_name="rows", pretrain=str(folder / name), sequence_length=64, max_steps=2)
        taught = training | dict(data_args=training["data_args"] | dict(response="answer"))
        of_dpo = dict(actor_train=training, reference=dict(model_args=dict(model_name_or_path=str(folder / name))), validation=dict(data_args={}))
        of_distill = dict(student=taught, teacher_pretrain=str(folder / name), pretrain=str(folder / "plain"))
        for command, keys in (("sft", dict(sft_train=taught)), ("dpo", of_dpo | dict(beta=0.3)), ("distill", of_distill)):
            out = folder / f"{command}_{name}"
            (folder / f"{command}.json").write_text(json.dumps(common | keys | dict(output_dir=str(out))))
            replay.roll(command, "--config", folder / f"{command}.json", "--device", "cpu")
            metrics = [json.loads(line) for line in open(out / "metrics.jsonl")]
            made[command, name] = [(out / "checkpoints/step_000002/actor/model.safetensors").read_bytes(),
                                   [{key: line[key] for key in line if key.startswith(command + "/")} for line in metrics]]
        out = folder / f"evaluated_{name}"
        replay.roll("evaluate", "--config", folder / f"{name}_run.yaml", "--out", out, f"validation.data_args={{file_name: {folder / 'rows.jsonl'}, prompt: prompt}}")
        made["evaluate", name] = [(line["response_ids"], line["log_probs"]) for line in rollout_lines(out, 0, "val_")]
    for command in ("sft", "dpo", "distill", "evaluate"):
        expect(made[command, "long"] == made[command, "control"] and made[command, "long"], f"roll {command} turns by long_factor")


def check_resumed(folder):
    with_rope(folder, "near", 80, short_factor=SHORT, long_factor=LONG)
    validation = dict(val_prompt_length=48, val_sequence_length=81)
    replay.train(folder, "resumed", model="near", max_steps=2)
    command = ["train", "--config", folder / "resumed.yaml", "--device", "cpu", "resume_from_checkpoint=true"]
    code, _, err = called(*command, *[f"{key}={value}" for key, value in validation.items()])
    expect(code == 2 and "(LongRoPE)" in err and "short_factor -> long_factor" in err and "--allow-config-change" in err, f"resumed otherwise: {code} {err}")
    code, _, err = called(*command, "val_prompt_length=48", "val_sequence_length=80")
    expect(code == 0, f"resumed within the original context: {err}")
    command = ["evaluate", "--config", folder / "resumed.yaml", "--out", folder / "evaluated", "--resume", "validation.generating_args.max_new_tokens=9",
               f"validation.data_args={{file_name: {folder / 'rows.jsonl'}, prompt: prompt}}"]
    replay.roll(*[word for word in command if word != "--resume"])
    code, _, err = called(*command, *[f"{key}={value}" for key, value in validation.items()])
    expect(code == 2 and '/LongRoPE: (absent) -> "long_factor"' in err, f"an evaluation goes on otherwise: {code} {err}")
    expect(called(*command)[0] == 0, "and as it was")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replay.make_model(folder, "plain", "phi3", "--max-positions", 256)
        with_rope(folder, "long", 16, short_factor=SHORT, long_factor=LONG)
        with_rope(folder, "control", 128, short_factor=LONG, long_factor=LONG)
        rows = [dict(id=str(i), prompt=f"{i}+{i * 3 % 7}=" + " " * (i % 11), ground_truth=str(i + i * 3 % 7), tag="sum") for i in range(40)]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        check_commands(folder)
        check_serve(folder)
        check_training(folder)
        check_judges(folder)
        check_rows(folder)
        check_resumed(folder)
    finish("contexts beyond LongRoPE's original one")


main()
