"""Numbers that a rank holds of two large mixtures, from their config.json's on the Hub, for tests/settings/mixture_plans_test.cpp.

Prints for each stage: numbers of its layers that all data ranks hold, and of the experts that one of `ep` ranks holds."""

QWEN3_235B = dict(vocab=151936, hidden=4096, layers=94, heads=64, kv_heads=4, head_dim=128, experts=128, inner=1536, shared=0)
QWEN35_397B = dict(vocab=248320, hidden=4096, layers=60, heads=32, kv_heads=2, head_dim=256, experts=512, inner=1024, shared=1024,
                   delta=dict(key_heads=16, value_heads=64, dim=128, kernel=4, every=4))


def attention(m):
    q = m["heads"] * m["head_dim"] * (2 if "delta" in m else 1)  # with a gate for each number that o reads
    kv = m["kv_heads"] * m["head_dim"]
    return m["hidden"] * (q + 2 * kv) + m["heads"] * m["head_dim"] * m["hidden"] + 2 * m["head_dim"]  # norms of q and k


def delta_net(m):
    d = m["delta"]
    keys, values = d["key_heads"] * d["dim"], d["value_heads"] * d["dim"]
    inputs = m["hidden"] * (2 * keys + 2 * values + 2 * d["value_heads"])  # q, k, v, z, a, b
    return inputs + (2 * keys + values) * d["kernel"] + 2 * d["value_heads"] + d["dim"] + values * m["hidden"]


def shared(m, layer):
    """Of a layer, beside its experts."""
    is_delta = "delta" in m and (layer + 1) % m["delta"]["every"] != 0
    mixer = delta_net(m) if is_delta else attention(m)
    of_all = 3 * m["hidden"] * m["shared"] + (m["hidden"] if m["shared"] else 0)
    return mixer + 2 * m["hidden"] + m["hidden"] * m["experts"] + of_all


def stages(m, ep, layers_of_stage):
    experts = m["experts"] // ep * 3 * m["hidden"] * m["inner"]
    first = 0
    for number, count in enumerate(layers_of_stage):
        of_all = sum(shared(m, layer) for layer in range(first, first + count))
        of_all += m["vocab"] * m["hidden"] * (number == 0)
        of_all += (m["vocab"] + 1) * m["hidden"] * (number == len(layers_of_stage) - 1)  # the head and the last norm
        yield of_all, count * experts
        first += count
    assert first == m["layers"]


for name, m, ep, split in [("Qwen3-235B-A22B", QWEN3_235B, 8, [11] + [12] * 6 + [11]), ("Qwen3.5-397B-A17B", QWEN35_397B, 16, [15] * 4)]:
    whole = list(stages(m, 1, split))
    print(name, sum(a + b for a, b in whole))
    for stage in (0, 1, len(split) - 1):
        print(" ", stage, *list(stages(m, ep, split))[stage])
