#!/usr/bin/env python3
"""A loss plug-in from outside: installs roll, builds tests/loss_plugin against the installed package, trains with it, and
compares with the built-in losses that it spells out again. Argument: the roll binary, in its build folder."""
import pathlib
import subprocess
import sys
import tempfile

from replay import OF_STEP, binary, compare, record, train

HERE = pathlib.Path(__file__).resolve().parent
# kl_ppo's formula as keys: PPO's clip, k3 to the reference, no entropy.
SAME_AS_BUILT_IN = dict(use_kl_loss="true", kl_loss_coef=0.05, entropy_loss_coef=0)


def run(*command, expect=0):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    if done.returncode != expect:
        sys.exit(f"{command}\nexit code {done.returncode}, expected {expect}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout + done.stderr


def build(folder):
    run("cmake", "--install", binary.parent, "--prefix", folder / "installed")
    run("cmake", "-S", HERE.parent / "loss_plugin", "-B", folder / "plugin", f"-Droll_ROOT={folder / 'installed'}")
    run("cmake", "--build", folder / "plugin")
    return folder / "plugin/libmy_losses.so"


def plugin(library, name, **args):
    inner = ", ".join(f"{k}: {v}" for k, v in args.items())
    return f"{{library: {library}, name: {name}, args: {{{inner}}}}}"


def expect_text(text, *wanted):
    for part in wanted:
        assert part in text, f"{part!r} is not in\n{text}"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        library = build(folder)
        replay = dict(rollout_replay=record(folder))

        base = train(folder, "built_in", rows=8, accumulation=1, **replay, **SAME_AS_BUILT_IN)
        flags = {"actor_train.loss_func": plugin(library, "kl_ppo", beta=0.05), "entropy_loss_coef": 0}
        one = train(folder, "kl_ppo", rows=8, accumulation=1, **replay, **flags, use_kl_loss="true", kl_loss_coef=0.05)
        compare(one, base, "kl_ppo as plug-in and built in", only=("actor/lr", *OF_STEP))
        two = train(folder, "kl_ppo_2", ranks=2, rows=1, accumulation=4, **replay, **flags, use_kl_loss="true", kl_loss_coef=0.05)
        compare(two, one, "kl_ppo on two ranks")

        # Without a critic, which the mode would reach too, and with KL and entropy off, loss_agg_mode is the reducer's part alone.
        bare = dict(estimator="reinforce", use_kl_loss="false", entropy_loss_coef=0, rl_loss_coef=0.5)
        base = train(folder, "token_mean", mode="token-mean", rows=8, accumulation=1, **replay, **bare)
        reducer = {"actor_train.pg_loss_reducer": plugin(library, "token_mean")}
        run_ = train(folder, "reduced", rows=4, accumulation=2, **replay, **bare, **reducer)
        compare(run_, base, "token_mean as reducer and built in", only=("actor/pg_loss", "actor/lr"))
        weighted = bare | dict(length_loss_weight="true")
        base = train(folder, "weighted", mode="token-mean", rows=8, accumulation=1, **replay, **weighted)
        run_ = train(folder, "weighted_reduced", rows=4, accumulation=2, **replay, **weighted, **reducer)
        compare(run_, base, "token_mean as reducer and built in, with weights of sequences",
                only=("actor/pg_loss", "actor/weighted_pg_loss", "actor/lr"))

        config = folder / "built_in.yaml"
        check = lambda name, expect=0, **args: run(binary, "check-loss", "--config", config, "--rollouts", replay["rollout_replay"],
                                                   f"actor_train.loss_func={plugin(library, name, **args)}", expect=expect)
        expect_text(check("kl_ppo", first_tokens=3), "largest deviation from one batch in float64")
        expect_text(check("local_mean", expect=1), "the actor loss depends on the layout", "over the tolerance")
        expect_text(check("failing", expect=2), "actor_train.loss_func: the loss failed: there is no tensor no_such_tensor")
        expect_text(check("kl_ppo", expect=2, beta="much"), "args.beta = much: must be a number")
        expect_text(check("too_new", expect=2), "built for version 2 of roll/loss.h, but this program has version 1; rebuild it")
        expect_text(check("other_torch", expect=2), "built with LibTorch 1.0.0")
        expect_text(check("absent", expect=2), "has no symbol roll_loss_absent")
        print("wrong plug-ins are found out, and say why")


main()
