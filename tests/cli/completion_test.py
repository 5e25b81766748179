"""roll completion: what bash and zsh offer for words that are half typed; roll man: a page without warnings."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROLL = pathlib.Path(sys.argv[1]).resolve()


def printed(*words):
    return subprocess.run([ROLL, *words], capture_output=True, text=True, check=True).stdout


def bash_offers(script, line, folder):
    """What bash would put into COMPREPLY with the cursor at the end of `line`."""
    ask = (f'source {script}; COMP_LINE="$1"; COMP_POINT=${{#COMP_LINE}}; _roll; '
           'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "--norc", "-c", ask, "bash", line], cwd=folder, capture_output=True, text=True, check=True)
    assert not done.stderr, (line, done.stderr)
    return set(done.stdout.split("\n")) - {""}


# What is offered for a line, exactly; or with "...", among other things.
OFFERS = [
    ("roll tra", ["train"]),
    ("roll ", ["train", "sft", "convert-config", "quickstart", "--version", ...]),
    ("roll train --dev", ["--device"]),
    ("roll train --device ", ["auto", "cpu", "cuda"]),
    ("roll train --device=c", ["cpu", "cuda"]),
    ("roll train --config ", ["my.yaml", "folder"]),
    ("roll train --config m", ["my.yaml"]),
    ("roll train -n ", []),
    ("roll completion ", ["bash", "zsh"]),
    ("roll explain pg_cl", ["pg_clip", ...]),
    ("roll explain model_args.lora_r", ["model_args.lora_rank"]),
    ("roll explain sco", ["score", ...]),
    ("roll verify ", ["folder", "my.yaml"]),
    ("roll init-model --hidden ", []),
    ("roll train --config my.yaml adv_e", ["adv_estimator="]),
    ("roll train --config my.yaml adv_estimator=g", ["gae", "gdpo", "gdpo_verl", "gigpo", "grpo", "gpg", "gpg_verl"]),
    ("roll train --config my.yaml use_kl_loss=", ["true", "false"]),
    ("roll train --config my.yaml actor_tr", ["actor_train."]),
    ("roll train --config my.yaml actor_train.training_args.lea", ["actor_train.training_args.learning_rate="]),
    ("roll train --config my.yaml rewards.math_rule.typ", ["rewards.math_rule.type="]),
    ("roll sft --config my.yaml sft_train.model_args.dtype=b", ["bf16", "bfloat16"]),
    ("roll sft --config my.yaml adv_e", []),
    ("roll validate-config --config my.yaml sft_train.mod", ["sft_train.model_args."]),
    ("roll score --reward ma", ["math_rule"]),
    ("roll score --rew", ["--reward", "--reward-type"]),
]


def check_bash(folder):
    script = folder / "roll.bash"
    script.write_text(printed("completion", "bash"))
    work = folder / "work"
    (work / "folder").mkdir(parents=True)
    (work / "my.yaml").touch()
    # One completion leaves nothing behind for the next.
    asked = f'source {script}; for line in "roll data " "roll verify fo"; do COMP_LINE=$line COMP_POINT=${{#line}}; _roll; done; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "--norc", "-c", asked], cwd=work, capture_output=True, text=True, check=True)
    assert done.stdout == "folder\n" and not done.stderr, (done.stdout, done.stderr)
    for line, wanted in OFFERS:
        offered = bash_offers(script, line, work)
        known = {word for word in wanted if word is not ...}
        assert offered >= known if ... in wanted else offered == known, (line, sorted(offered), wanted)
    # Every flag of every subcommand, and of theirs, as --help lists them.
    commands = bash_offers(script, "roll ", work) - {"--help", "--version"}
    assert len(commands) >= 15, commands
    for command in sorted(commands):
        inner = set(re.findall(r"^  ([a-z][\w-]*)  ", printed(command, "--help").split("Subcommands:\n")[-1], re.M))
        if "Subcommands:" in printed(command, "--help"):
            assert bash_offers(script, f"roll {command} ", work) == inner, (command, inner)
            commands |= {f"{command} {name}" for name in inner}
    for command in commands:
        listed = set(re.findall(r"^  +(?:-\w,)?(--[\w-]+)", printed(*command.split(), "--help"), re.M))
        assert listed <= bash_offers(script, f"roll {command} --", work), (command, listed)


def check_zsh(folder):
    if not shutil.which("zsh"):
        print("zsh is not installed: its completion was not tried")
        return
    (folder / "_roll").write_text(printed("completion", "zsh"))
    subprocess.run(["zsh", "-n", folder / "_roll"], check=True)
    # A terminal of its own, in which the tab key is pressed; what is never shown is waited for in vain.
    ask = """
      zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell "PS1=; fpath=($1 \\$fpath); autoload -U compinit; compinit -D -u; LISTMAX=10000; print rea''dy"
      zpty -r shell seen '*ready*'
      zpty -w -n shell "$2"$'\\t'
      zpty -r shell seen "*$3*"
      print -r -- $seen
    """
    for line, wanted in [("roll vali", "roll validate-config "), ("roll train --devi", "--device"),
                         ("roll train --config x adv_esti", "adv_estimator="), ("roll train --config x adv_estimator=rem", "adv_estimator=remax"),
                         ("roll train --config x rewards.a.reward_ty", "rewards.a.reward_type=")]:
        done = subprocess.run(["zsh", "-f", "-c", ask, "zsh", folder, line, wanted], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "HOME": str(folder), "TERM": "dumb"})
        assert wanted in done.stdout, (line, done.stdout, done.stderr)


def check_man(folder):
    page = folder / "roll.1"
    page.write_text(printed("man"))
    text = page.read_text()
    for word in [".SS train", "adv_estimator", "communicator", ".SH EXIT STATUS", "sft_train"]:
        assert word in text, word
    checks = {"groff": ["groff", "-ww", "-man", "-Tutf8", "-z", page], "mandoc": ["mandoc", "-T", "lint", "-W", "warning", page]}
    for tool, command in checks.items():
        if not shutil.which(tool):
            print(f"{tool} is not installed: it has not read the manual page")
            continue
        done = subprocess.run(command, capture_output=True, text=True)
        said = [line for line in (done.stdout + done.stderr).splitlines() if "missing date" not in line]  # it is as old as the program
        assert not said, (tool, said[:10])


with tempfile.TemporaryDirectory() as base:
    check_bash(pathlib.Path(base))
    check_zsh(pathlib.Path(base))
    check_man(pathlib.Path(base))
print(f"bash offers what it should for {len(OFFERS)} half-typed lines; zsh and man read what they are given")
