#!/usr/bin/env python3
"""Adapters do not depend on how ranks share data, sequences, weights and roles; a run of them resumes to the bit; each rollout line says what
it was sampled with. Argument: the roll binary."""
import json
import pathlib
import sys
import tempfile

import numpy
import replay
from safetensors.numpy import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from expecting import expect, finish
from rollouts import rollout_lines

BOUND = 1e-5  # B begins at 0, so all of it is learnt
SOME = dict(lora_target="q_proj,down_proj", use_rslora=True, lora_dropout=0.2)


def lora(**keys):
    return {f"{role}.model_args": json.dumps(dict(lora_rank=4) | keys) for role in ("actor_train", "critic")}


def check_layouts(folder, replayed):
    """DoRA needs most of ranks: lengths of rows that several of them share. The last one's run."""
    for kind, keys, meshes in (("dora", dict(use_dora=True), ("211", "112", "122")), ("int8", dict(quantise_base="int8", lora_dropout=0.3), ("112",)),
                               ("nf4", dict(quantise_base="nf4", lora_target="all-linear"), ()),
                               ("some", SOME, ("121",))):
        base = replay.train(folder, kind, rows=8, accumulation=1, **lora(**keys), **replayed)
        for mesh in meshes:
            dp, cp, tp = map(int, mesh)
            run = replay.train(folder, f"{kind}_{mesh}", dp * cp * tp, rows=8 // dp, accumulation=1, tp=tp, cp=cp, **lora(**keys), **replayed)
            replay.compare(run, base, f"{kind} dp {dp} cp {cp} tp {tp}", bound=BOUND)
    return base


def check_dropout(folder, base, replayed):
    """Masks are those of tokens, not of places."""
    shared = dict(packing=replay.PACKED.format("load_balance", 160)) | {f"{role}.share_prompts": "true" for role in ("actor_train", "critic", "reference")}
    run = replay.train(folder, "shared", 2, rows=4, accumulation=1, **shared, **lora(**SOME), **replayed)
    expect(replay.shared_of(run) > 0, "prompts are shared")
    replay.compare(run, base, "dropout, packed, shared prompts, dp 2", bound=BOUND)
    whole = replay.train(folder, "whole", rows=8, accumulation=1, **lora(**SOME | dict(lora_dropout=0)), **replayed)
    gap = max(numpy.abs(tensor - replay.weights(base)[name]).max() for name, tensor in replay.weights(whole).items())
    expect(gap > 1e-3, f"dropout changes what is learnt: {gap}")
    same = [[json.loads(line)[key] for key in ("kl", "critic/explained_variance") if key in json.loads(line)] for r in (whole, base) for line in open(r / "metrics.jsonl")][::3]
    expect(same[0] == same[1], f"and nothing of the first step's log-probs and values: {same}")


def check_resumed(folder, base, replayed):
    flags = lora(**SOME)
    replay.train(folder, "resumed", rows=8, accumulation=1, max_steps=2, **flags, **replayed)
    run = replay.train(folder, "resumed", rows=8, accumulation=1, resume_from_checkpoint="true", **flags, **replayed)
    for role in ("actor", "critic"):
        file = f"checkpoints/step_000003/{role}/adapter_model.safetensors"
        expect((run / file).read_bytes() == (base / file).read_bytes(), f"{role}: resumed to the bit")
    saved = load_file(base / "checkpoints/step_000003/actor/adapter_model.safetensors")
    expect(len(saved) == 8 and all(n.startswith("base_model.model.model.layers.") for n in saved), "the adapters alone are saved, by PEFT's names")
    optimizer = list((base / "checkpoints/step_000003/optimizer").glob("actor*.safetensors"))
    expect(all(".lora_" in n for file in optimizer for n in load_file(file)), "and nothing else has an optimizer's state")


def sums_of(run):
    """(base, adapters) that each step's lines say."""
    return [{tuple(line["weights_sum"].split(":")) for line in rollout_lines(run, step)} for step in (1, 2, 3)]


def check_sampled(folder):
    """The sampler apart gets the adapters alone, and samples what the shared one does."""
    flags = lora(use_dora=True) | {"max_len_mask": "false", "entropy_loss_coef": 0.1}  # else nothing is learnt of such responses
    shared = replay.train(folder, "sampled", rows=8, accumulation=1, estimator="grpo", **flags)
    apart = replay.train(folder, "apart", 2, rows=8, accumulation=1, estimator="grpo", **flags, **{
        "actor_train.device_mapping": "[0]", "actor_infer.device_mapping": "[1]", "reference.device_mapping": "[0]"})
    sums = sums_of(shared)
    expect(all(len(of_step) == 1 for of_step in sums), "all lines of a step were sampled with one set of weights")
    expect(len({base for of_step in sums for base, adapters in of_step}) == 1, "the base never changed")
    expect(len({adapters for of_step in sums for base, adapters in of_step}) == 3, "the adapters changed with each step")
    expect(sums_of(apart) == sums, "the sampler apart had the same weights")
    ids = lambda run: [line["response_ids"] for step in (1, 2, 3) for line in rollout_lines(run, step)]
    expect(ids(apart) == ids(shared), "and sampled the same")
    sent = json.loads(open(apart / "metrics.jsonl").readlines()[-1])["comm/model_update/world/all_to_all_bytes"]
    numel = sum(t.size for t in load_file(apart / "checkpoints/step_000003/actor/adapter_model.safetensors").values())
    expect(sent == 4 * numel + 8, f"adapters and a sum are sent, nothing else: {sent} bytes for {numel} numbers")
    return shared


def check_merged(folder, run):
    adapters = run / "checkpoints/step_000003/actor"
    replay.roll("export", "--model", adapters, "--out", folder / "merged", "--merge")
    base, merged = (load_file(path / "model.safetensors") for path in (folder / "model", folder / "merged"))
    expect(base.keys() == merged.keys(), "a merged folder has the model's tensors")
    changed = {name for name in base if not numpy.array_equal(base[name], merged[name])}
    expect(changed == {name for name in base if name.endswith("proj.weight")}, "merging changes the products with adapters")
    texts = [replay.roll("generate", "--model", model, "--prompt", "1+1=", "--max-new-tokens", 8, "--temperature", 0) for model in (adapters, folder / "merged")]
    expect(texts[0] == texts[1], "the merged model writes what the adapters do")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    replayed = dict(rollout_replay=replay.record(folder))
    base = check_layouts(folder, replayed)
    check_dropout(folder, base, replayed)
    check_resumed(folder, base, replayed)
    check_merged(folder, check_sampled(folder))
finish("adapters")
