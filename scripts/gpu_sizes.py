"""What gpu_check.py runs, how large, and what that costs at least in bytes of memory and in FLOPs."""
import math

# `keeps_all`: nothing is computed again in the backward pass. Of the larger models, whose names say how large, no GRPO step is made.
MODELS = {
    "qwen3-0.6b": dict(shape=dict(arch="qwen3", hidden=1024, intermediate=3072, layers=28, heads=16, kv_heads=8, head_dim=128, vocab=151936, tie=True),
                       batches=(1, 64, 256), train=(32, 512), keeps_all="true", step=(8, 8, 256)),
    "qwen2.5-1.5b": dict(shape=dict(arch="qwen2", hidden=1536, intermediate=8960, layers=28, heads=12, kv_heads=2, head_dim=128, vocab=151936, tie=True),
                         batches=(64,), train=(32, 512), keeps_all="true", step=None),
    "qwen2.5-7b": dict(shape=dict(arch="qwen2", hidden=3584, intermediate=18944, layers=28, heads=28, kv_heads=4, head_dim=128, vocab=152064, tie=False),
                       batches=(64,), train=(16, 512), keeps_all="false", step=None),
    "qwen3-30b-a3b-4-layers": dict(shape=dict(arch="qwen3_moe", hidden=2048, layers=4, heads=32, kv_heads=4, head_dim=128, experts=128, experts_per_token=8,
                                              expert_intermediate=768, vocab=151936, tie=False),
                                   batches=(1, 64, 256), train=(32, 512), keeps_all="true", step=None)}
ON_GPU = dict(ceilings=(8192, 10), tests="[gpu]", decode=(1024, 128), peer_new=32, step_prompt=13)
ON_CPU = dict(shape=dict(arch="qwen3", hidden=64, intermediate=128, layers=2, heads=4, kv_heads=2, head_dim=16, vocab=512, tie=True),
              ceilings=(256, 1), tests="[#decode_kernels_test]", batches=(1, 4), decode=(32, 16), peer_new=16, train=(32, 32), keeps_all="true",
              step=(2, 2, 16), step_prompt=13)


def sizes_of(device, model):
    return ON_GPU | MODELS[model] if device == "cuda" else ON_CPU


def experts_of(s, tokens):
    """How many of a layer's experts so many tokens go through, which choose each as often."""
    return s["experts"] * (1 - (1 - s["experts_per_token"] / s["experts"]) ** tokens)


def parameters(s, tokens=math.inf):
    """Of the layers, and of the head, which may be the embedding too; of experts those that so many tokens go through."""
    attention = s["hidden"] * s["head_dim"] * (2 * s["heads"] + 2 * s["kv_heads"])
    inner = s["expert_intermediate"] * experts_of(s, tokens) if "experts" in s else s["intermediate"]
    router = s["hidden"] * s.get("experts", 0)
    return s["layers"] * (attention + 3 * s["hidden"] * inner + router), s["vocab"] * s["hidden"]


def forward_flops(s, count, begin, end):
    """Of `count` sequences' tokens [begin, end): products with weights, with keys and with values."""
    pairs = (end * (end + 1) - begin * (begin + 1)) / 2
    return count * (2 * sum(parameters(s, 1)) * (end - begin) + 4 * s["layers"] * s["heads"] * s["head_dim"] * pairs)


def decode_cost(s, count, begin, end):
    """Growing from `begin` to `end` tokens, one a step: weights, keys and values are read, of 2 bytes each."""
    cached = 2 * s["layers"] * s["kv_heads"] * s["head_dim"] * count
    return dict(bytes=2 * sum(sum(parameters(s, count)) + cached * length for length in range(begin, end)), flops=forward_flops(s, count, begin, end))


def attention_cost(s, count, length):
    """A layer's attention of one token of each of `count` sequences that have `length`."""
    return dict(bytes=4 * s["kv_heads"] * s["head_dim"] * count * length, flops=4 * s["heads"] * s["head_dim"] * count * length)


def train_cost(s, count, length):
    """An update: weights are read by the forward pass and twice by the backward one, float32 masters and both moments read and written,
    gradients written and read, weights written."""
    embedding = 0 if s["tie"] else parameters(s)[1]  # of which the passes read some rows
    return dict(bytes=3 * 2 * sum(parameters(s)) + (3 * 8 + 2 * 4 + 2) * (sum(parameters(s)) + embedding), flops=3 * forward_flops(s, count, 0, length))


def step_cost(s, count, prompt, new):
    """Sampling, then the reference's log-probs, then the update, whose forward pass gives the policy's."""
    sampled, trained = decode_cost(s, count, prompt, prompt + new), train_cost(s, count, prompt + new)
    judged = dict(bytes=2 * sum(parameters(s)), flops=forward_flops(s, count, 0, prompt + new))
    return {key: sampled[key] + judged[key] + trained[key] for key in ("bytes", "flops")}
