#!/usr/bin/env python3
"""GGUF files as models: gguf_test.py ROLL [part of a check's name]

Tiny models of the program are written as GGUF by the package gguf. The program then gives of the file what it gives of the folder:
log-probs, tokens, token ids; and what it dequantises is what the package does, bit by bit. Damaged files are refused by name.
"""
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import gguf
    import numpy
    from gguf import GGMLQuantizationType as Kind
    from safetensors.numpy import load_file

    import gguf_files
    from gguf_models import SHAPES, binary, greedy, log_probs, make_model, roll
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
    import gguf_tokenizers
    from tokenizer_corpus import random_strings
except ImportError as e:
    print(f"skipped: {e}; ROLL_PYTHON names a Python with tests/requirements.txt")
    sys.exit(77)

def same_config(name, model, file):
    """Keys of both configurations are equal, but for what GGUF does not say: Llama 3's context, of which only ratios have an effect."""
    made = max((pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "roll/gguf").glob(f"{file.stem}-*"), key=lambda folder: folder.stat().st_mtime_ns)
    got, wanted = json.loads((made / "config.json").read_text()), json.loads((model / "config.json").read_text())
    for key in (got.keys() & wanted.keys()) - {"torch_dtype"}:
        same = abs(got[key] - wanted[key]) < 1e-6 if isinstance(wanted[key], float) else got[key] == wanted[key]
        assert same or (wanted.get("rope_scaling") or {}).get("rope_type") == "llama3", f"{name}: {key} = {got[key]}, not {wanted[key]}"
    missing = {"sliding_window", "rope_scaling", "original_max_position_embeddings", "head_dim", "rope_theta", "architectures"} & wanted.keys() - got.keys()
    assert not [key for key in missing if wanted[key]], f"{name}: has no {missing}"


def check_architectures(folder):
    """The same configuration, and log-probs within 1e-5."""
    for name, (flags, changes) in SHAPES.items():
        model, file = folder / name / "model", folder / name / "model.gguf"
        model.parent.mkdir()
        make_model(model, flags, changes)
        gguf_files.write(model, file)
        difference = numpy.abs(log_probs(model) - log_probs(file)).max()
        same_config(name, model, file)
        assert difference < 1e-5, f"{name}: log-probs differ by {difference}"


def check_numbers(folder):
    """What is exported of every format is what the package computes of its bytes, to the bit."""
    kinds = [Kind.F32, Kind.F16, Kind.BF16, Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.Q8_0, Kind.Q2_K, Kind.Q3_K, Kind.Q4_K, Kind.Q5_K, Kind.Q6_K, Kind.MXFP4]
    model, file = folder / "model", folder / "kinds.gguf"
    make_model(model, ["--arch", "qwen2", "--hidden", "256", "--intermediate", "512", "--layers", "2"])
    order = {}
    stored = gguf_files.write(model, file, kind_of=lambda name: order.setdefault(name, kinds[len(order) % len(kinds)]))
    assert {kind for _, kind in stored.values()} == set(kinds)
    roll("export", "--model", file, "--out", folder / "out")
    exported = load_file(folder / "out/model.safetensors")
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, 2)
    for name, numbers in exported.items():
        data, kind = stored[names.get_name(name, try_suffixes=(".weight", ".bias"))]
        wanted = gguf.quants.dequantize(data, kind)
        assert numbers.tobytes() == wanted.astype(numpy.float32).tobytes(), f"{name} ({kind.name}) differs"
    assert numpy.array_equal(log_probs(file), log_probs(folder / "out")), "the exported folder is another model"


def check_tokenizers(folder):
    """Ids and decoded texts of Hugging Face's tokenizers."""
    for name, (tokenizer, tokens) in gguf_tokenizers.made().items():
        model, file = folder / name, folder / f"{name}.gguf"
        model.mkdir()
        tokenizer.save(str(model / "tokenizer.json"))
        made = folder / f"{name}-model"
        make_model(made, ["--arch", "phi3" if name == "phi3" else "llama", "--hidden", "16", "--layers", "1"], vocab=tokenizer.get_vocab_size() + 3, tokenizer=model)
        gguf_files.write(made, file, tokens=tokens)
        texts = gguf_tokenizers.texts_for(name, random_strings(400, seed=7))
        for flag, special in (("--add-special", True), ("--no-add-special", False)):
            lines = roll("tokenize", "--model", file, flag, stdin="".join(json.dumps(dict(text=text)) + "\n" for text in texts)).split("\n")
            for text, line in zip(texts, lines):
                wanted = tokenizer.encode(text, add_special_tokens=special).ids
                got = json.loads(line)
                assert got["ids"] == wanted, f"{name}: {text!r}: {got['ids']}, not {wanted}"
                assert got["text"] == tokenizer.decode(wanted, skip_special_tokens=False), f"{name}: {text!r} is decoded to {got['text']!r}"


def check_chat(folder):
    """Chat template, end tokens, and a saved model that reads like the file: roll sft without a step's effect."""
    model, file = folder / "model", folder / "chat.gguf"
    make_model(model, ["--arch", "llama", "--tie"], vocab=300, tokenizer="builtin")
    template = json.loads((model / "tokenizer_config.json").read_text())["chat_template"]
    tokens = dict(pre="gpt-2", eos="<|endoftext|>", bos="<|endoftext|>", more=dict(add_chat_template=template, add_eot_token_id=258))
    gguf_files.write(model, file, tokens=tokens)
    out = roll("inspect", file)
    assert "llama" in out and "258" in out and "chat template: its own" in out, out
    row = json.dumps(dict(messages=[dict(role="user", content="1+1=")]))
    assert json.loads(roll("tokenize", "--model", file, stdin=row))["ids"] == json.loads(roll("tokenize", "--model", model, stdin=row))["ids"]
    assert greedy(file) == greedy(model)
    (folder / "rows.jsonl").write_text("".join(json.dumps(dict(question=f"{i}+1=", answer=str(i + 1))) + "\n" for i in range(8)))
    data = dict(file_name=[str(folder / "rows.jsonl")], prompt="question", response="answer")
    config = dict(exp_name="gguf", seed=3, output_dir=str(folder / "out"), pretrain=str(file), sequence_length=32, max_steps=2, save_steps=2,
                  sft_train=dict(data_args=data, training_args=dict(learning_rate=0.0, per_device_train_batch_size=2, gradient_accumulation_steps=1)))
    (folder / "sft.yaml").write_text(json.dumps(config))
    roll("validate-config", "--config", folder / "sft.yaml")
    roll("sft", "--config", folder / "sft.yaml", "--device", "cpu")
    saved = next((folder / "out").rglob("model.safetensors")).parent
    assert numpy.array_equal(log_probs(saved), log_probs(file)), "a model that learnt nothing differs from its file"
    assert json.loads(roll("tokenize", "--model", saved, stdin=row)) == json.loads(roll("tokenize", "--model", file, stdin=row))


def check_parts(folder):
    """A split model is read by any of its parts; one that lacks a part is refused."""
    model = folder / "model"
    make_model(model, ["--arch", "llama"])
    gguf_files.write(model, folder / "whole.gguf")
    gguf_files.write(model, folder / "split.gguf", parts=9)
    parts = sorted(folder.glob("split-*.gguf"))
    assert len(parts) > 2, parts
    for part in (parts[0], parts[2]):
        assert numpy.array_equal(log_probs(part), log_probs(folder / "whole.gguf"))
    parts[1].unlink()
    assert f"{parts[1]}: no such file; fetch all parts of the model" in roll("logprobs", "--model", parts[0], code=2)


def check_refusals(folder):
    """What a file says and nothing here computes is refused by name."""
    model = folder / "model"
    make_model(model, ["--arch", "llama"])
    extra_tensor = [("blk.0.attn_sinks.weight", numpy.zeros(4, numpy.float32))]
    cases = {
        "attn_sinks.weight: a tensor that models of llama": dict(extra=extra_tensor),
        "llama.attention.clamp_kqv = 8: a key that may change": dict(change=lambda writer: writer.add_clamp_kqv(8.0)),
        "llama.expert_used_count: missing; a whole number is needed": dict(change=lambda writer: writer.add_expert_count(4)),
        "rope.scaling.type = longlong": dict(change=lambda writer: writer.add_string("llama.rope.scaling.type", "longlong")),
        "rope_freqs.weight: no scaling": dict(extra=[("rope_freqs.weight", numpy.array([1, 2, 1, 8], numpy.float32))]),
        "tokenizer.ggml.model = t5": dict(change=lambda writer: writer.add_tokenizer_model("t5")),
        "is of an unknown type, 77": None,
    }
    for index, (words, arguments) in enumerate(cases.items()):
        file = folder / f"{index}.gguf"
        gguf_files.write(model, file, **(arguments or {}))
        if arguments is None:
            name = b"blk.0.attn_q.weight"
            data = bytearray(file.read_bytes())
            place = data.index(name) + len(name) + 4 + 16
            data[place:place + 4] = (77).to_bytes(4, "little")
            file.write_bytes(data)
            words = "its numbers are of an unknown type, 77"
        message = roll("inspect", file, code=2)
        assert words in message and str(file) in message, f"{words!r} is not in {message!r}"
    assert f"has no config.json; give a Hugging Face model folder, or the GGUF file {folder}/0.gguf" in roll("logprobs", "--model", folder, code=2)
    other = folder / "other.gguf"
    writer = gguf.GGUFWriter(other, "lama")
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file(), writer.close()
    assert "general.architecture = lama: of GGUF files, models of llama, qwen2" in roll("inspect", other, code=2)


def check_mutations(folder, count=500):
    """Bytes of the head are changed, and the file is cut: exit code 2 with the file's name, or a reading."""
    model = folder / "model"
    make_model(model, ["--arch", "llama", "--layers", "1"], tokenizer="builtin", vocab=300)
    gguf_files.write(model, folder / "sound.gguf", tokens=dict(pre="gpt-2", eos="<|endoftext|>"))
    sound = (folder / "sound.gguf").read_bytes()
    head = sound.index(b"output_norm.weight") + 100
    rng = random.Random(11)

    def try_one(number):
        data, file = bytearray(sound), folder / f"{number}.gguf"
        if number % 10 == 0:
            data = data[:rng.randrange(len(data))]
        for _ in range(0 if number % 10 == 0 else rng.choice([1, 1, 2, 5])):
            data[rng.randrange(head if number % 2 else 400)] = rng.choice([0, 1, 127, 255, rng.randrange(256)])
        file.write_bytes(data)
        done = subprocess.run([binary, "inspect", file], capture_output=True, text=True, errors="replace", timeout=60)
        file.unlink()
        assert done.returncode in (0, 2), f"mutation {number}: exit code {done.returncode}: {done.stderr[-500:]}"
        assert done.returncode == 0 or ".gguf" in done.stderr or "roll/gguf" in done.stderr, f"mutation {number}: {done.stderr[-500:]}"
        return done.returncode

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        codes = list(threads.map(try_one, range(count)))
    assert codes.count(2) > count / 4, "few mutations are noticed"
    print(f"{codes.count(2)} of {count} mutations are refused, the others are read")


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
