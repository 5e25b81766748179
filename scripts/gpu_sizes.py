"""What gpu_check.py runs, how large, and what that costs at least in bytes of memory and in FLOPs."""

SIZES = {
    "cuda": dict(  # of Qwen3-0.6B's shape
        shape=dict(hidden=1024, intermediate=3072, layers=28, heads=16, kv_heads=8, head_dim=128, vocab=151936),
        ceilings=(8192, 10), tests="[gpu]", batches=(1, 64, 256), decode=(1024, 128), train=(32, 512), step=(8, 8, 256), step_prompt=13),
    "cpu": dict(
        shape=dict(hidden=64, intermediate=128, layers=2, heads=4, kv_heads=2, head_dim=16, vocab=512),
        ceilings=(256, 1), tests="[#decode_kernels_test]", batches=(1, 4), decode=(32, 16), train=(32, 32), step=(2, 2, 16), step_prompt=13)}


def parameters(s):
    """Of the layers, and of the embedding, which is the head too."""
    attention = s["hidden"] * s["head_dim"] * (2 * s["heads"] + 2 * s["kv_heads"])
    return s["layers"] * (attention + 3 * s["hidden"] * s["intermediate"]), s["vocab"] * s["hidden"]


def forward_flops(s, count, begin, end):
    """Of `count` sequences' tokens [begin, end): products with weights, with keys and with values."""
    pairs = (end * (end + 1) - begin * (begin + 1)) / 2
    return count * (2 * sum(parameters(s)) * (end - begin) + 4 * s["layers"] * s["heads"] * s["head_dim"] * pairs)


def decode_cost(s, count, begin, end):
    """Growing from `begin` to `end` tokens, one a step: weights, keys and values are read, of 2 bytes each."""
    cached = 2 * s["layers"] * s["kv_heads"] * s["head_dim"] * count
    return dict(bytes=2 * sum(sum(parameters(s)) + cached * length for length in range(begin, end)), flops=forward_flops(s, count, begin, end))


def train_cost(s, count, length):
    """An update: weights are read by the forward pass and twice by the backward one, float32 masters and both moments read and written,
    gradients written and read, weights written."""
    return dict(bytes=(3 * 2 + 3 * 8 + 2 * 4 + 2) * sum(parameters(s)), flops=3 * forward_flops(s, count, 0, length))


def step_cost(s, count, prompt, new):
    """Sampling, then the reference's log-probs, then the update, whose forward pass gives the policy's."""
    sampled, trained = decode_cost(s, count, prompt, prompt + new), train_cost(s, count, prompt + new)
    judged = dict(bytes=2 * sum(parameters(s)), flops=forward_flops(s, count, 0, prompt + new))
    return {key: sampled[key] + judged[key] + trained[key] for key in ("bytes", "flops")}
