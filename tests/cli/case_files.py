"""The files of a case in cases/*.json: what its contents stand for (run_broken.py lists the forms), and their writing."""
import json
import math
import pathlib
import struct

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


def zero_weights(config):
    """Safetensors of a qwen2 with tied embeddings, all zeros."""
    hidden, inner, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    narrow = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    shapes = {"model.embed_tokens.weight": [vocab, hidden], "model.norm.weight": [hidden]}
    for layer in range(config["num_hidden_layers"]):
        rows = {"self_attn.q_proj": hidden, "self_attn.k_proj": narrow, "self_attn.v_proj": narrow}
        parts = {f"{name}.{part}": [size, hidden] if part == "weight" else [size] for name, size in rows.items() for part in ("weight", "bias")}
        parts |= {"self_attn.o_proj.weight": [hidden, hidden], "mlp.gate_proj.weight": [inner, hidden], "mlp.up_proj.weight": [inner, hidden],
                  "mlp.down_proj.weight": [hidden, inner], "input_layernorm.weight": [hidden], "post_attention_layernorm.weight": [hidden]}
        shapes |= {f"model.layers.{layer}.{name}": shape for name, shape in parts.items()}
    header, end = {}, 0
    for name, shape in shapes.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + 2 * math.prod(shape)]}
        end = header[name]["data_offsets"][1]
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


def small_tokenizer(text):
    tokenizer = json.loads((SOURCE / "tests/golden/rollout/model/tokenizer.json").read_text())
    last = tokenizer["added_tokens"][-1]
    tokenizer["added_tokens"].append(last | {"id": last["id"] + 1, "content": text})
    return json.dumps(tokenizer).encode()


def content_bytes(name, content, base):
    if isinstance(content, str):
        return content.encode()
    if "hex" in content:
        return bytes.fromhex(content["hex"])
    if "nested" in content:
        return b"[" * content["nested"] + b"]" * content["nested"]
    if "text" in content:
        return content["text"].encode() * content.get("times", 1)
    if "zeros_of" in content:
        weights = zero_weights(json.loads(base[content["zeros_of"]]))
        return weights[:len(weights) - content.get("cut", 0)]
    if "tokenizer" in content:
        return small_tokenizer(content["tokenizer"])
    if "as" in content:
        return content_bytes(content["as"], base[content["as"]], base)
    if "copy" in content:
        return (SOURCE / content["copy"]).read_bytes()
    text = content_bytes(name, base[name], {}).decode()
    pairs = content["replace"]
    for old, new in zip(pairs[::2], pairs[1::2]):
        if old not in text:
            raise ValueError(f"{name} of the base does not hold {old!r}")
        text = text.replace(old, new)
    return text.encode()


def write_files(folder, files, base):
    for name, content in {**base, **files}.items():
        path = folder / name
        if content is None:
            continue
        if isinstance(content, dict) and content.get("folder"):
            path.mkdir(parents=True)
            continue
        if isinstance(content, dict) and "link" in content:
            path.symlink_to(content["link"])
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content_bytes(name, content, base))


def base_files(table):
    """{name: bytes} of a table's base."""
    return {name: content_bytes(name, content, table["base"]) for name, content in table["base"].items()}
