#!/usr/bin/env python3
"""GGUF files as results: gguf_export_test.py ROLL [part of a check's name]

Tiny models are exported with `roll export --gguf`. The program gives of the file what it gives of the folder; the package gguf reads
metadata and tensors, and its own quantisation gives the same bytes.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import gguf
    import numpy
    from gguf import GGMLQuantizationType as Kind
    from safetensors.numpy import load_file, save_file

    import gguf_files
    from gguf_models import SHAPES, binary, greedy, log_probs, make_model, roll
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
    import gguf_tokenizers
    from tokenizer_corpus import metaspace_style, random_strings
except ImportError as e:
    print(f"skipped: {e}; ROLL_PYTHON names a Python with tests/requirements.txt")
    sys.exit(77)


def notes_of(model, file):
    return subprocess.run([binary, "export", "--model", model, "--gguf", "Q8_0", "--out", file], capture_output=True, text=True, check=True).stderr


def export(model, file, kind="F32", *flags, code=0):
    return roll("export", "--model", model, "--gguf", kind, "--out", file, *flags, code=code)


def fields_of(reader):
    return {key: field.contents() for key, field in reader.fields.items() if not key.startswith("GGUF.")}


def stored_bytes(reader):
    return {tensor.name: (bytes(tensor.data), tensor.tensor_type) for tensor in reader.tensors}


def check_architectures(folder):
    """Of each architecture, log-probs within 1e-5; keys, names, shapes and numbers as the package writes them."""
    for name, (flags, changes) in SHAPES.items():
        model, file, other = folder / name / "model", folder / name / "model.gguf", folder / name / "other.gguf"
        model.parent.mkdir()
        make_model(model, flags, changes)
        export(model, file)
        gguf_files.write(model, other)
        difference = numpy.abs(log_probs(model) - log_probs(file)).max()
        assert difference < 1e-5, f"{name}: log-probs differ by {difference}"
        got, wanted = gguf.GGUFReader(file), gguf.GGUFReader(other)
        ours, theirs = fields_of(got), fields_of(wanted)
        for key in theirs:
            assert ours.get(key) == theirs[key], f"{name}: {key} = {ours.get(key)}, not {theirs[key]}"
        assert not {key for key in ours.keys() - theirs.keys() if not key.startswith("general.") and "swa" not in key and "pattern" not in key}, ours.keys() - theirs.keys()
        assert got.alignment == 32 and all(tensor.data_offset % 32 == 0 for tensor in got.tensors), f"{name}: tensors are not aligned"
        mine, others = ({tensor.name: tensor for tensor in reader.tensors} for reader in (got, wanted))
        assert mine.keys() == others.keys(), f"{name}: {mine.keys() ^ others.keys()}"
        for key, tensor in others.items():
            assert list(mine[key].shape) == list(tensor.shape), f"{name}: {key} has shape {mine[key].shape}"
            assert numpy.allclose(mine[key].data, tensor.data, rtol=1e-6, atol=0), f"{name}: {key} differs"


def check_numbers(folder):
    """Bytes of each type are the package's; K-quants, which it lacks, have small errors."""
    model = folder / "model"
    make_model(model, ["--arch", "qwen2", "--hidden", "256", "--intermediate", "512", "--layers", "2"])
    tensors = load_file(model / "model.safetensors")
    tensors["model.layers.0.mlp.up_proj.weight"][0, :96] = 0
    tensors["model.layers.0.mlp.up_proj.weight"][1, :64] = 0.125
    tensors["model.layers.0.mlp.up_proj.weight"][2] = 3e-8 * numpy.arange(-128, 128)  # subnormal in half precision
    tensors["model.layers.0.mlp.up_proj.weight"][3] = 1 + 2.0 ** -12 * numpy.arange(256)  # between two halves
    tensors["model.layers.0.mlp.up_proj.weight"][4] = -1 - 2.0 ** -9 * numpy.arange(256)  # between two of bfloat16
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})
    whole = {name: numbers for name, numbers in gguf_files.stored_tensors(json.loads((model / "config.json").read_text()), tensors)}
    errors = {}
    for kind in (Kind.F32, Kind.F16, Kind.BF16, Kind.Q8_0, Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.Q4_K, Kind.Q6_K):
        file, squares = folder / f"{kind.name}.gguf", 0.0
        export(model, file, kind.name)
        reader = gguf.GGUFReader(file)
        assert fields_of(reader)["general.file_type"] == gguf.LlamaFileType[{"F32": "ALL_F32", "Q4_K": "MOSTLY_Q4_K_S"}.get(kind.name, "MOSTLY_" + kind.name)]
        for name, (data, stored) in stored_bytes(reader).items():
            numbers = whole[name]
            assert stored == (kind if numbers.ndim > 1 else Kind.F32), f"{name} is {stored.name} in a file of {kind.name}"
            if stored not in (Kind.Q4_K, Kind.Q6_K):
                assert data == gguf.quants.quantize(numbers, stored).tobytes(), f"{name}: {kind.name} differs from the package's"
            if numbers.ndim > 1:
                raw = numpy.frombuffer(data, numpy.uint8).reshape(numbers.shape[0], -1)
                squares += ((gguf.quants.dequantize(raw, stored) - numbers) ** 2).sum()
        errors[kind] = squares ** 0.5
        assert numpy.isfinite(log_probs(file)).all()
    assert errors[Kind.Q4_K] < errors[Kind.Q4_1], errors
    assert errors[Kind.Q6_K] < 3.6 * errors[Kind.Q8_0] and errors[Kind.Q6_K] < 0.6 * errors[Kind.Q5_1], errors
    print("error relative to Q8_0:", {kind.name: round(float(error / errors[Kind.Q8_0]), 3) for kind, error in errors.items()})


def check_narrow_rows(folder):
    """Rows that are not whole blocks get llama.cpp's other types, and a note says so."""
    model = folder / "model"
    make_model(model, ["--arch", "qwen3_moe", "--experts", "3", "--expert-intermediate", "12", "--head-dim", "16"])
    done = {}
    for kind in ("Q4_K", "Q6_K", "Q4_0"):
        export(model, folder / f"{kind}.gguf", kind)
        done[kind] = {tensor.name: tensor.tensor_type for tensor in gguf.GGUFReader(folder / f"{kind}.gguf").tensors}
        assert done[kind]["blk.0.ffn_down_exps.weight"] == Kind.F16 and done[kind]["blk.0.ffn_gate_inp.weight"] == Kind.F32
        assert numpy.isfinite(log_probs(folder / f"{kind}.gguf")).all()
    noted = notes_of(model, folder / "noted.gguf")
    assert "3 tensors are F16: their rows are not whole blocks of Q8_0, which has 32 numbers" in noted and "has no tokenizer.json" in noted, noted
    make_model(folder / "mistral", *SHAPES["mistral"])
    assert "sliding_window = 6: llama.cpp ignores it" in notes_of(folder / "mistral", folder / "mistral.gguf")
    assert [done[kind]["token_embd.weight"] for kind in done] == [Kind.Q5_0, Kind.Q8_0, Kind.Q4_0]


def check_tokenizers(folder):
    """Ids and decoded texts stay equal; kinds, merges and the rule's name are the package's writer's."""
    for name, (tokenizer, tokens) in gguf_tokenizers.made().items():
        source, made, file, other = folder / f"{name}-source", folder / name, folder / f"{name}.gguf", folder / f"{name}-other.gguf"
        source.mkdir()
        tokenizer.save(str(source / "tokenizer.json"))
        names = {f"{kind}_token": tokens[kind] for kind in ("bos", "eos", "unk", "pad") if kind in tokens}
        (source / "tokenizer_config.json").write_text(json.dumps(names | dict(chat_template="{{ messages[0].content }}")))
        make_model(made, ["--arch", "phi3" if name == "phi3" else "llama", "--hidden", "16", "--layers", "1"], vocab=tokenizer.get_vocab_size() + 3, tokenizer=source)
        export(made, file, "Q8_0")
        gguf_files.write(made, other, tokens=tokens)
        ours, theirs = fields_of(gguf.GGUFReader(file)), fields_of(gguf.GGUFReader(other))
        for key in ("model", "pre", "tokens", "token_type", "merges", "bos_token_id", "eos_token_id", "unknown_token_id", "padding_token_id", "add_space_prefix"):
            if key == "add_space_prefix" and f"tokenizer.ggml.{key}" not in theirs:
                continue
            assert ours.get(f"tokenizer.ggml.{key}") == theirs.get(f"tokenizer.ggml.{key}"), f"{name}: {key} = {str(ours.get(f'tokenizer.ggml.{key}'))[:200]}"
        assert ours["tokenizer.ggml.add_bos_token"] == (name in ("llama3", "gemma", "llama2", "phi3")) and not ours["tokenizer.ggml.add_eos_token"]
        assert ours["tokenizer.chat_template"] == "{{ messages[0].content }}"
        texts = gguf_tokenizers.texts_for(name, random_strings(300, seed=9))
        for flag in ("--add-special", "--no-add-special"):
            got, wanted = (roll("tokenize", "--model", model, flag, stdin="".join(json.dumps(dict(text=text)) + "\n" for text in texts)).split("\n") for model in (file, made))
            for text, mine, other_line in zip(texts, got, wanted):
                assert mine == other_line, f"{name}: {text!r}: {mine[:300]}, not {other_line[:300]}"


def check_chat(folder):
    """A file, exported again, gives the same bytes but for its name; tokens generated are the folder's."""
    model, file, again = folder / "model", folder / "model.gguf", folder / "again.gguf"
    make_model(model, ["--arch", "llama", "--tie"], vocab=300, tokenizer="builtin")
    export(model, file)
    export(file, again)
    first, second = fields_of(gguf.GGUFReader(file)), fields_of(gguf.GGUFReader(again))
    assert first.pop("general.name") == "model" and second.pop("general.name")
    assert first == second, {key for key in first if first[key] != second.get(key)}
    assert stored_bytes(gguf.GGUFReader(file)) == stored_bytes(gguf.GGUFReader(again))
    row = json.dumps(dict(messages=[dict(role="user", content="1+1=")]))
    assert json.loads(roll("tokenize", "--model", file, stdin=row))["ids"] == json.loads(roll("tokenize", "--model", model, stdin=row))["ids"]
    assert greedy(file) == greedy(model)


def check_adapters(folder):
    """Of a run with adapters, and of its checkpoint, the merged model is written."""
    model = folder / "model"
    make_model(model, ["--arch", "llama", "--tie"], vocab=300, tokenizer="builtin")
    (folder / "rows.jsonl").write_text("".join(json.dumps(dict(question=f"{i}+1=", answer=str(i + 1))) + "\n" for i in range(8)))
    data = dict(file_name=[str(folder / "rows.jsonl")], prompt="question", response="answer")
    config = dict(exp_name="gguf", seed=3, output_dir=str(folder / "out"), pretrain=str(model), sequence_length=32, max_steps=2, save_steps=2,
                  sft_train=dict(data_args=data, model_args=dict(lora_rank=4, lora_alpha=8, lora_target="all-linear"),
                                 training_args=dict(learning_rate=0.05, per_device_train_batch_size=2, gradient_accumulation_steps=1)))
    (folder / "sft.yaml").write_text(json.dumps(config))
    roll("sft", "--config", folder / "sft.yaml", "--device", "cpu")
    run = next((folder / "out").rglob("adapter_config.json")).parent
    assert "holds adapters; give --merge" in export(run, folder / "no.gguf", code=2)
    export(run, folder / "merged.gguf", "F32", "--merge")
    roll("export", "--model", run, "--merge", "--out", folder / "merged")
    assert numpy.abs(log_probs(folder / "merged.gguf") - log_probs(model)).max() > 1e-2, "the adapters learnt nothing"
    assert numpy.abs(log_probs(folder / "merged.gguf") - log_probs(folder / "merged")).max() < 1e-5
    export(folder / "out", folder / "of_run.gguf", "F32", "--merge")
    assert numpy.array_equal(log_probs(folder / "of_run.gguf"), log_probs(folder / "merged.gguf"))


def check_refusals(folder):
    """Exit code 2 with the rule, and nothing is written."""
    def refused(words, model, kind="F32", *flags, file="out.gguf"):
        message = export(model, folder / file, kind, *flags, code=2)
        assert words in message, f"{words!r} is not in {message!r}"
        assert not (folder / file).exists() and not list(folder.glob(".*")), f"{words}: something is written"

    def model(name, flags, changes=None, **options):
        make_model(folder / name, flags, changes, **options)
        return folder / name

    llama = model("llama", ["--arch", "llama"])
    refused("--gguf = Q4_K_M: must be one of F32, F16", llama, "Q4_K_M")
    refused("with --gguf it must end with .gguf", llama, file="out.bin")
    refused("--dtype and --max-shard-size are about folders", llama, "F32", "--dtype", "bf16")
    refused("holds no adapters; leave --merge out", llama, "F32", "--merge")
    refused("model_type = qwen3_5_text: GGUF files are written of models of llama", model("other", ["--arch", "qwen3_5_text"]))
    refused("rope_scaling", model("dynamic", ["--arch", "llama"], dict(rope_scaling=dict(rope_type="dynamic", factor=2.0))))
    refused("query_pre_attn_scalar = 7", model("gemma", SHAPES["gemma2"][0], SHAPES["gemma2"][1] | dict(query_pre_attn_scalar=7)))
    refused("no_rope_layers", model("smollm3", SHAPES["smollm3"][0], dict(no_rope_layers=[0, 1, 1, 1, 1])))
    tensors = load_file(llama / "model.safetensors")
    tensors["model.norm.weight"][3] = 1e5
    save_file(tensors, llama / "model.safetensors", metadata={"format": "pt"})
    refused("holds 100000, which is infinite in fp16; use bf16", llama, "F16")
    export(llama, folder / "there.gguf")
    assert "there.gguf: exists; name a new file" in export(llama, folder / "there.gguf", code=2)
    tokenizer = folder / "tokenizer"
    tokenizer.mkdir()
    metaspace_style().save(str(tokenizer / "tokenizer.json"))
    spaced = model("spaced", ["--arch", "llama"], vocab=1100, tokenizer=tokenizer)
    refused("normalizer: is neither byte-level BPE nor", spaced)
    gguf_tokenizers.made()["qwen2"][0].save(str(tokenizer / "tokenizer.json"))
    description = json.loads((tokenizer / "tokenizer.json").read_text())
    description["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "[a-z]+"
    (tokenizer / "tokenizer.json").write_text(json.dumps(description))
    words = model("words", ["--arch", "llama"], vocab=1100, tokenizer=tokenizer)
    refused("pre_tokenizer: llama.cpp has no name for this way", words)


def main():
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = str(pathlib.Path(scratch) / "cache")
        for name, check in list(globals().items()):
            if name.startswith("check_") and wanted in name:
                folder = pathlib.Path(scratch) / name
                folder.mkdir()
                check(folder)
                print(f"{name}: ok", flush=True)


main()
