"""Writes a Hugging Face folder as GGUF, as ggml's converter does: with the package gguf, which also says the names of tensors."""
import json

import gguf
import numpy
from gguf import GGMLQuantizationType as Kind
from gguf import TokenType
from safetensors.numpy import load_file

ARCHITECTURES = dict(mistral="llama", mixtral="llama", qwen3_moe="qwen3moe", gemma3_text="gemma3", olmo3="olmo2", gpt_oss="gpt-oss")
REORDERED = {"llama", "smollm3", "granite"}
EXPERTS = dict(qwen3_moe=("mlp", ["gate_proj", "up_proj", "down_proj"]), mixtral=("block_sparse_moe", ["w1", "w2", "w3"]))  # by model_type


def architecture(config):
    name = config["model_type"]
    return ARCHITECTURES.get(name, name)


def reordered(rows, heads):
    """ggml turns neighbours of a head, Hugging Face its halves."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(rows.shape)


def num_experts(config):
    return config.get("num_experts") or config.get("num_local_experts")


def unwoven(tensors):
    """gpt-oss's stacks as ggml's converter cuts them: [experts, in, out] with gate and up in turns."""
    for tensor, numbers in tensors.items():
        stem, end = tensor.removesuffix("_bias"), ".bias" if tensor.endswith("_bias") else ".weight"
        if end == ".weight" and ".mlp.experts." in tensor:
            numbers = numbers.swapaxes(1, 2)
        if stem.endswith("gate_up_proj"):
            yield stem.replace("gate_up_proj", "gate_proj") + end, numbers[:, ::2]
            yield stem.replace("gate_up_proj", "up_proj") + end, numbers[:, 1::2]
        elif stem.endswith("down_proj"):
            yield stem + end, numbers
        else:
            yield tensor + ".weight" * tensor.endswith("sinks"), numbers


def stored_tensors(config, tensors):
    """(name, numbers) as in GGUF."""
    name, layers = architecture(config), config["num_hidden_layers"]
    names = gguf.get_tensor_name_map(next(arch for arch, text in gguf.MODEL_ARCH_NAMES.items() if text == name), layers)
    tensors = dict(unwoven(tensors) if name == "gpt-oss" else tensors)
    block, parts = EXPERTS.get(config["model_type"], ("", []))
    for layer in range(layers):
        for part in parts:
            prefix = f"model.layers.{layer}.{block}.experts"
            tensors[f"{prefix}.{part}.weight"] = numpy.stack([tensors.pop(f"{prefix}.{i}.{part}.weight") for i in range(num_experts(config))])
    for tensor, numbers in tensors.items():
        numbers = numbers.astype(numpy.float32)
        if name in REORDERED and ".q_proj." in tensor:
            numbers = reordered(numbers, config["num_attention_heads"])
        if name in REORDERED and ".k_proj." in tensor:
            numbers = reordered(numbers, config["num_key_value_heads"])
        if name.startswith("gemma") and tensor.endswith("norm.weight"):
            numbers = numbers + 1
        stored = names.get_name(tensor, try_suffixes=(".weight", ".bias"))
        assert stored, tensor
        yield stored, numbers


def rope_tensors(config):
    """Frequencies' divisors of Llama 3, and the factors of LongRoPE."""
    rope = config.get("rope_scaling") or {}
    if rope.get("rope_type") == "llama3":
        dim, context = config["head_dim"], rope["original_max_position_embeddings"]
        waves = 2 * numpy.pi * config["rope_theta"] ** (numpy.arange(0, dim, 2) / dim)
        low, high = context / rope["low_freq_factor"], context / rope["high_freq_factor"]
        blend = (context / waves - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
        between = 1 / ((1 - blend) / rope["factor"] + blend)
        yield "rope_freqs.weight", numpy.where(waves < high, 1, numpy.where(waves > low, rope["factor"], between)).astype(numpy.float32)
    if rope.get("rope_type") == "longrope":
        yield "rope_factors_long.weight", numpy.array(rope["long_factor"], numpy.float32)
        yield "rope_factors_short.weight", numpy.array(rope["short_factor"], numpy.float32)


def add_sizes(writer, config):
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(int(head_dim * config.get("partial_rotary_factor", 1)))
    writer.add_vocab_size(config["vocab_size"])
    if config.get("sliding_window"):
        writer.add_sliding_window(config["sliding_window"])
    if num_experts(config):
        writer.add_expert_count(num_experts(config))
        writer.add_expert_used_count(config["num_experts_per_tok"])
    if config.get("moe_intermediate_size"):
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if config["model_type"] == "gpt_oss":
        writer.add_expert_feed_forward_length(config["intermediate_size"])
    for key, add in dict(attention_multiplier=writer.add_attention_scale, embedding_multiplier=writer.add_embedding_scale,
                         residual_multiplier=writer.add_residual_scale, logits_scaling=writer.add_logit_scale,
                         attn_logit_softcapping=writer.add_attn_logit_softcapping,
                         final_logit_softcapping=writer.add_final_logit_softcapping,
                         rope_local_base_freq=writer.add_rope_freq_base_swa).items():
        if config.get(key):
            add(config[key])


def add_rope(writer, config):
    parameters = config.get("rope_parameters", {})
    parameters = parameters.get("full_attention", parameters)
    rope = parameters or config.get("rope_scaling") or {}
    if rope.get("rope_type") in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
    if rope.get("rope_type") == "yarn":
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        writer.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
        writer.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
    if rope.get("rope_type") == "longrope":
        writer.add_rope_scaling_orig_ctx_len(config["original_max_position_embeddings"])
        writer.add_rope_scaling_attn_factors(rope["attention_factor"])


def looks_special(text):
    return text.startswith("<|") and text.endswith("|>")


def add_tokenizer(writer, tokenizer, pre, rows, more=None, **ids):
    """`tokenizer`: tokenizer.json. pre: None for SentencePiece's kind. `more`: calls of the writer by name."""
    added = {token["id"]: token for token in tokenizer["added_tokens"]}
    texts = {index: text for text, index in tokenizer["model"]["vocab"].items()} | {i: token["content"] for i, token in added.items()}
    tokens, kinds, scores = [], [], []
    for index in range(rows):
        text, kind = texts.get(index, f"[PAD{index}]"), TokenType.NORMAL
        if index not in texts:
            kind = TokenType.UNUSED
        elif text == tokenizer["model"].get("unk_token"):
            kind = TokenType.UNKNOWN
        elif index in added:
            kind = TokenType.CONTROL if added[index]["special"] or looks_special(text) else TokenType.USER_DEFINED
            if kind == TokenType.USER_DEFINED:
                text = text.replace("▁", " ")
        elif pre is None and text.startswith("<0x"):
            kind = TokenType.BYTE
        tokens.append(text.encode())
        kinds.append(kind)
        scores.append(-1000.0 if index in added else -float(index))
    writer.add_tokenizer_model("gpt2" if pre else "llama")
    writer.add_tokenizer_pre(pre or "default")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    if pre:
        writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]])
    else:
        writer.add_token_scores(scores)
    for name, text in ids.items():
        getattr(writer, f"add_{name}_token_id")(next(index for index, known in texts.items() if known == text))
    for call, value in (more or {}).items():
        getattr(writer, call)(value)


def quantised(numbers, kind, random):
    """The bytes of a matrix. The package only dequantises K-quants; theirs are random blocks with scales that are finite."""
    if kind in (Kind.F32, Kind.F16):
        return numbers.astype(numpy.float32 if kind == Kind.F32 else numpy.float16)
    try:
        return gguf.quants.quantize(numbers, kind)
    except NotImplementedError:
        size, width = gguf.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (*numbers.shape[:-1], numbers.shape[-1] // size, width), numpy.uint8)
        halves = {Kind.Q2_K: (80, 82), Kind.Q3_K: (108,), Kind.Q4_K: (0, 2), Kind.Q5_K: (0, 2), Kind.Q6_K: (208,)}[kind]
        for place in halves:
            scales = random.uniform(-0.01, 0.01, blocks.shape[:-1]).astype(numpy.float16)
            blocks[..., place:place + 2] = scales[..., None].view(numpy.uint8)
        return blocks.reshape(*numbers.shape[:-1], -1)


def write(folder, file, kind_of=lambda name: Kind.F32, tokens=None, parts=0, extra=(), change=lambda writer: None):
    """`tokens`: arguments of add_tokenizer. `parts`: tensors in a part of a split model. Returns the numbers' bytes and kinds by name."""
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(file, architecture(config), split_max_tensors=parts)
    add_sizes(writer, config)
    add_rope(writer, config)
    if tokens:
        add_tokenizer(writer, json.loads((folder / "tokenizer.json").read_text()), rows=config["vocab_size"], **tokens)
    change(writer)
    random, stored = numpy.random.default_rng(3), {}
    for name, numbers in [*stored_tensors(config, load_file(folder / "model.safetensors")), *rope_tensors(config), *extra]:
        kind = kind_of(name) if numbers.ndim > 1 else Kind.F32
        stored[name] = (quantised(numbers, kind, random), kind)
        writer.add_tensor(name, stored[name][0], raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return stored
