#!/usr/bin/env bash
# Prefill and decoding against llama.cpp, the same weights, prompts' lengths and threads, in turn:
#   scripts/bench_llama.sh FILE.gguf [build/roll] [rounds] [dtype...]
# roll's fp32, bf16, int8 and int4 against llama.cpp's F32, BF16, Q8_0 and Q4_0, files that `roll export --gguf` makes. 1, 8 and 32
# sequences, 64 tokens in, 64 out, all sequences decode in every step. llama.cpp computes logits and draws no tokens; roll
# draws. Ratios are medians over the rounds, with the least and the largest; `limit` is roll's share of what memory
# bandwidth or matrix products allow. Needs a Python with llama_cpp, built on this machine so that it uses its processor:
#   pip install --no-binary llama-cpp-python llama-cpp-python     (BENCH_PYTHON). THREADS: 2.
# llama-cpp-python 0.3.36 crashes with Q8_0 on processors with AMX.
set -euo pipefail
given=$(realpath "$1")
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=${THREADS:-2}
exec "${BENCH_PYTHON:-python3}" - "$given" "${2:-build/roll}" "${3:-3}" "${@:4}" <<'PYTHON'
import ctypes, json, os, pathlib, random, statistics, subprocess, sys, tempfile, time

import llama_cpp

given, binary, rounds, wanted = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), int(sys.argv[3]), sys.argv[4:]
TYPES = {"fp32": "F32", "bf16": "BF16", "int8": "Q8_0", "int4": "Q4_0"}
BATCHES, PROMPT, NEW = (1, 8, 32), 64, 64
silent = llama_cpp.llama_log_callback(lambda *_: None)
llama_cpp.llama_log_set(silent, ctypes.c_void_p())


def ours(dtype):
    """By number of sequences: prefill and decoding in tokens a second, share of the limit in decoding."""
    out = subprocess.run([binary, "generate", "--bench", "--json", "--model", given, "--dtype", dtype, "--prompt-tokens", str(PROMPT),
                          "--max-new-tokens", str(NEW), *[word for batch in BATCHES for word in ("--batch", str(batch))]],
                         capture_output=True, text=True, check=True).stdout
    rows = map(json.loads, out.splitlines())
    return {row["batch"]: (row["prefill_tokens_per_s"], row["decode_tokens_per_s"], row["decode_share"]) for row in rows}


def decode(context, batch, tokens):
    """tokens: (id, position, sequence, whether its logits are wanted)."""
    batch.n_tokens = len(tokens)
    for i, (token, position, sequence, has_logits) in enumerate(tokens):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position, 1, has_logits
        batch.seq_id[i][0] = sequence
    assert llama_cpp.llama_decode(context, batch) == 0
    assert llama_cpp.llama_get_logits(context)  # waits until they are computed


def theirs(model, vocabulary, count):
    """Prefill and decoding in tokens a second."""
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_seq_max, params.n_batch, params.n_ubatch = count * (PROMPT + NEW + 1), count, count * PROMPT, count * PROMPT
    params.n_threads = params.n_threads_batch = int(os.environ["OMP_NUM_THREADS"])
    context = llama_cpp.llama_init_from_model(model, params)
    batch = llama_cpp.llama_batch_init(count * PROMPT, 0, 1)
    draw = lambda: random.randrange(300, vocabulary)
    decode(context, batch, [(draw(), 0, 0, True)])  # warms up
    llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
    start = time.perf_counter()
    decode(context, batch, [(draw(), i, s, i == PROMPT - 1) for s in range(count) for i in range(PROMPT)])
    middle = time.perf_counter()
    for i in range(NEW - 1):
        decode(context, batch, [(draw(), PROMPT + i, s, True) for s in range(count)])
    end = time.perf_counter()
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    return count * PROMPT / (middle - start), count * (NEW - 1) / (end - middle)


def ratio_text(pairs):
    ratios = [a / b for a, b in pairs]
    return (f"{statistics.median(a for a, _ in pairs):.0f} / {statistics.median(b for _, b in pairs):.0f} = "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} .. {max(ratios):.2f})")


with tempfile.TemporaryDirectory() as place:
    for dtype in wanted or TYPES:
        file = pathlib.Path(place) / f"{TYPES[dtype]}.gguf"
        subprocess.run([binary, "export", "--model", given, "--gguf", TYPES[dtype], "--out", file], check=True, capture_output=True)
        model = llama_cpp.llama_model_load_from_file(str(file).encode(), llama_cpp.llama_model_default_params())
        vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
        found = {batch: [] for batch in BATCHES}
        for _ in range(rounds):
            mine = ours(dtype)
            for batch in BATCHES:
                found[batch].append((mine[batch], theirs(model, vocabulary, batch)))
        for batch, pairs in found.items():
            prefill, decoding = ([(a[i], b[i]) for a, b in pairs] for i in (0, 1))
            limit = statistics.median(a[2] for a, _ in pairs)
            print(f"{dtype} / {TYPES[dtype]}, {batch} sequences, tokens/s: prefill {ratio_text(prefill)}, decoding {ratio_text(decoding)}; "
                  f"limit {limit:.2f}", flush=True)
        llama_cpp.llama_model_free(model)
PYTHON
