#!/usr/bin/env python3
"""What ranks send is what the theory of each layout says, byte by byte: counts of a training step, and of weights on their way to
the sampler, against formulae (prints the README's table). And gradients travel while backward still runs. Argument: the roll binary."""
import json
import pathlib
import tempfile

from safetensors.numpy import load_file

from replay import PACKED, make_model, record, train

FLOAT = 4
SMALL = 16 << 10  # bytes up to which an all-reduce sends everything to everyone


class Model:
    """Sizes of replay.py's model and of a rank's part of it."""

    def __init__(self, folder, tp):
        config = json.load(open(folder / "model/config.json"))
        self.hidden, self.layers = config["hidden_size"], config["num_hidden_layers"]
        self.kv = max(1, config["num_key_value_heads"] // tp) * config["head_dim"]
        self.whole = self.shared = 0
        for name, tensor in load_file(folder / "model/model.safetensors").items():
            cut = any(part in name for part in ("embed_tokens", "q_proj", "k_proj", "v_proj", "o_proj.weight", "gate_proj", "up_proj", "down_proj.weight"))
            rows = -(-tensor.shape[0] // tp) if "embed_tokens" in name else tensor.shape[0] / tp  # rank 0 has the odd one
            self.whole += 0 if cut and tp > 1 else tensor.size
            self.shared += int(rows * tensor.size / tensor.shape[0]) if cut and tp > 1 else 0


def sequences(rollouts, step):
    for line in open(rollouts / f"step_{step:06}.jsonl"):
        row = json.loads(line)
        yield len(row["prompt_ids"]), len(row["response_ids"])


def slots(length, tp, cp):
    """Slots of a cp rank."""
    alignment = 2 * cp * tp if cp > 1 else tp
    return -(-length // alignment) * alignment // cp


def labels_of_first(prompt, response, tp, cp):
    """Response tokens that cp rank 0 predicts: chunks 0 and 2 cp - 1."""
    length = prompt + response
    if cp == 1:
        return response
    chunk = slots(length, tp, cp) // 2
    mine = [*range(chunk), *range((2 * cp - 1) * chunk, 2 * cp * chunk)]
    return sum(prompt - 1 <= t < length - 1 for t in mine)


def reduced(size, ranks):
    """Bytes that a rank sends in an all-reduce."""
    return (ranks - 1) * size if size <= SMALL else 2 * (ranks - 1) * size // ranks


def theory(folder, rollouts, step, tp, cp, updates, recomputes):
    """Bytes that rank 0 sends in the actor's training of a step when there is one data rank."""
    model, lengths = Model(folder, tp), list(sequences(rollouts, step))
    total = sum(slots(p + r, tp, cp) for p, r in lengths)
    block = (tp - 1) * total // tp * model.hidden * FLOAT  # one gathering or scattering of all activations
    passes = (4 + 2 * recomputes) * model.layers + 2       # per layer 2 in, 2 out, forward and backward; embedding, head
    gathered_rows = (tp - 1) * 4 * FLOAT * sum(labels_of_first(p, r, tp, cp) for p, r in lengths)
    kv = (cp - 1) * total * 2 * model.kv * FLOAT * model.layers
    found = {}
    if tp > 1:
        found["tp/all_gather"] = passes * block + gathered_rows
        found["tp/reduce_scatter"] = passes * block
        found["tp/all_reduce"] = updates * (reduced(model.whole * FLOAT, tp) + reduced(8, tp))
    if cp > 1:
        found["cp/all_gather"] = (1 + recomputes) * kv + 2 * (cp - 1) * total * FLOAT  # keys and values; log-probs and entropy
        found["cp/reduce_scatter"] = kv
    return found


# Where the policy is trained with how many tensor ranks, where it samples with how many, and what rank 0 then sends: whole models,
# halves of the cut tensors, sets of the others, messages.
UPDATES = {
    "apart, alike": ([0, 1], 2, [2, 3], 2, (0, 1, 1, 2)),  # of the uncut tensors each receiver has half from each sender
    "apart, data ranks": ([0, 1], 1, [2, 3], 1, (1, 0, 0, 1)),
    "apart, to parts": ([0], 1, [1, 2], 2, (1, 0, 1, 2)),
    "there, to whole models": ([0, 1], 2, [0, 1], 1, (0, 1, 0, 1)),
    "there, to parts": ([0, 1], 1, [0, 1], 2, (0, 0, 0, 0)),
    "there and elsewhere": ([0, 1], 1, [0, 1, 2, 3], 1, (1, 0, 0, 1)),
}


def check_updates(folder):
    """Weights on their way to a sampler with a copy of them; each message has a sum of 8 bytes."""
    one, half = Model(folder, 1), Model(folder, 2)
    for name, (trainer, tp, sampler, sampler_tp, (models, halves, uncut, messages)) in UPDATES.items():
        run = train(folder, f"update {name}", len({*trainer, *sampler}), rows=8 * tp // len(trainer), accumulation=1, tp=tp, sampler_tp=sampler_tp,
                    max_steps=2, **{"actor_train.device_mapping": str(trainer), "actor_infer.device_mapping": str(sampler)})
        expected = FLOAT * (models * one.whole + halves * half.shared + uncut * half.whole) + 8 * messages
        for step in (1, 2):
            show(f"{name}: tp {tp} on {trainer}, tp {sampler_tp} on {sampler}", "model_update/all_to_all", expected,
                 counted(run, step, "model_update").get("world/all_to_all", 0))


def state(folder, tp, shards):
    """Bytes of gradients reduced, or of parameters gathered, in one update."""
    model = Model(folder, tp)
    return (shards - 1) * (model.whole + model.shared) * FLOAT // shards


def rollout_bytes(rollouts, step, ranks):
    """Bytes that rank 0 sends when it alone samples, or reads, and all ranks share the model: facts of 72 bytes a response and the
    name of its domain behind the tag and version of the message, and a token's id and the sampler's log-prob."""
    lengths = list(sequences(rollouts, step))
    facts = 8 + 4 + (72 + len("math_rule")) * len(lengths)
    return {"world/all_gather_bytes": (ranks - 1) * facts, "world/all_to_all": (ranks - 1) * 8 * sum(p + r for p, r in lengths)}


def counted(run, step, phase):
    line = [json.loads(text) for text in open(run / "metrics.jsonl")][step - 1]
    prefix, suffix = f"comm/{phase}/", "_bytes"
    return {key[len(prefix) : -len(suffix)]: int(value) for key, value in line.items() if key.startswith(prefix) and key.endswith(suffix)}


def check_optimizer(layout, folder, run, tp, shards):
    """Two float32 moments for this rank's slices and nothing more: its part of the model / shards."""
    line = [json.loads(text) for text in open(run / "metrics.jsonl")][0]
    model = Model(folder, tp)
    expected, found = 2 * FLOAT * (model.whole + model.shared) // shards, line["memory/actor/optimizer_bytes"]
    assert found == expected, f"{layout}: {found} bytes of optimizer state, not {expected}"


def show(layout, key, expected, found):
    print(f"| {layout} | {key} | {expected:,} | {found:,} |", flush=True)
    assert found == expected, f"{layout} {key}: counted {found}, theory {expected}"


def check_overlap(folder, replay):
    """The trace of one update: buckets leave in the order of backward, and before its end."""
    make_model(folder, "deep", "qwen2", "--hidden", 128, "--layers", 8)
    run = train(folder, "overlap", 2, rows=4, accumulation=1, model="deep", dump_experience="true", **replay)
    events = json.load(open(run / "experience/trace_000001.json"))["traceEvents"]
    actor = next(e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"] == "actor")
    spans = [e for e in events if e["ph"] == "X" and e["pid"] == actor]
    backward_end = next(e["ts"] + e["dur"] for e in spans if e["name"] == "last backward")
    buckets = [e for e in spans if e["name"].startswith("bucket")]
    # When a bucket was ready is a matter of order; when its turn came also depends on what else the machine does.
    early = [e for e in buckets if e["ts"] - e["args"]["waited_us"] < backward_end]
    assert len(buckets) > 4 and len(early) > len(buckets) / 2, f"{len(early)} of {len(buckets)} buckets were sent before backward ended"
    numbers = [int(e["name"].split()[1]) for e in buckets]
    assert numbers[:-1] == sorted(numbers[:-1], reverse=True), numbers  # the last are the vectors of all layers
    line = [json.loads(text) for text in open(run / "metrics.jsonl")][0]
    assert 0 <= line["comm/actor/reduce_hidden_s"] <= line["comm/actor/reduce_s"]
    print(f"{len(early)} of {len(buckets)} buckets were sent while backward ran, {sum(e['ts'] < backward_end for e in buckets)} of them at once")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replay = dict(rollout_replay=record(folder))
        whole = {f"{role}.share_prompts": "false" for role in ("actor_train", "critic", "reference")}  # as the theory counts them
        recompute = {"actor_train.strategy_args.strategy_config.recompute_granularity": "full"}
        print("| dp x cp x tp | group/collective | bytes in theory | bytes counted |\n|---|---|---|---|")
        for dp, cp, tp, flags in ((1, 1, 2, {}), (1, 2, 1, {}), (1, 2, 2, {}), (1, 2, 2, recompute), (2, 1, 1, {}), (2, 2, 1, {}), (4, 1, 1, {})):
            run = train(folder, f"run_{dp}{cp}{tp}_{len(flags)}", dp * cp * tp, rows=8 // dp, accumulation=1, tp=tp, cp=cp,
                        packing=PACKED.format("load_balance", 100), **replay, **whole, **flags)
            found, updates = counted(run, 2, "train_actor"), 2
            layout = f"{dp} x {cp} x {tp}" + (", recomputed" if flags else "")
            if dp == 1:
                for key, expected in theory(folder, replay["rollout_replay"], 2, tp, cp, updates, bool(flags)).items():
                    show(layout, key, expected, found[key])
                for key, expected in rollout_bytes(replay["rollout_replay"], 2, tp).items() if cp == 1 else ():
                    show(layout, f"rollouts/{key}", expected, counted(run, 2, "rollouts")[key])
                assert counted(run, 2, "forwards").get("world/all_to_all", 0) == 0, "forwards move what is there already"
            shards = dp * cp
            check_optimizer(layout, folder, run, tp, shards)
            if shards > 1:
                norm = updates * reduced(8, shards)
                show(layout, "shards/reduce_scatter", updates * state(folder, tp, shards), found["shards/reduce_scatter"])
                show(layout, "shards/all_gather", updates * state(folder, tp, shards), found["shards/all_gather"])
                show(layout, "shards/all_reduce", norm, found["shards/all_reduce"])
        check_updates(folder)
        check_overlap(folder, replay)


main()
