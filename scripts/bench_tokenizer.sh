#!/usr/bin/env bash
# Encode throughput of `roll tokenize` against Hugging Face tokenizers on the same lines, one thread each:
#   scripts/bench_tokenizer.sh [build/roll] [lines]
# CPU seconds, so that other load on the machine does not count; ours include reading and writing JSON and the decoding,
# theirs only encode_batch. Needs a Python with tests/requirements.txt (ROLL_PYTHON).
set -euo pipefail
cd "$(dirname "$0")/.."
export TOKENIZERS_PARALLELISM=false RAYON_NUM_THREADS=1
exec "${ROLL_PYTHON:-python3}" - "${1:-build/roll}" "${2:-100000}" <<'PYTHON'
import json, pathlib, resource, subprocess, sys, tempfile, time

sys.path.insert(0, "tests/cli")
from tokenizer_corpus import SENTENCES, TOKENIZERS, random_strings

binary, count = sys.argv[1], int(sys.argv[2])
prose = [" ".join(SENTENCES[(i * 7 + k) % len(SENTENCES)] for k in range(4)) for i in range(count // 4)]
corpora = {"random and multilingual": random_strings(count), "sentences": prose,
           "English": [f"Sample {i}: " + " ".join(SENTENCES[(i + k) % 2] for k in range(6)) for i in range(count // 4)]}


def child_seconds(command, data):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, input=data, capture_output=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


def best(times, run):
    return min((run() for _ in range(times)), key=lambda r: r[0])


def hf_seconds(tokenizer, texts):
    start = time.process_time()
    ids = [e.ids for e in tokenizer.encode_batch(texts)]
    return time.process_time() - start, ids


worst = None
for name, make in TOKENIZERS.items():
    tokenizer = make()
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(str(pathlib.Path(folder) / "tokenizer.json"))
        for corpus, texts in corpora.items():
            size = sum(len(t.encode()) for t in texts) / 1e6
            data = "".join(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in texts).encode()
            ours, out = best(3, lambda: child_seconds([binary, "tokenize", "--model", folder], data))
            theirs, ids = best(3, lambda: hf_seconds(tokenizer, texts))
            assert [json.loads(line)["ids"] for line in out.split(b"\n") if line] == ids, "the ids differ"
            ratio = theirs / ours
            worst = min(worst or ratio, ratio)
            print(f"{name:7} {corpus:24} {size:6.1f} MB: roll {size / ours:6.1f} MB/s, HF {size / theirs:6.1f} MB/s, ratio {ratio:.1f}",
                  flush=True)
print(f"worst ratio {worst:.1f}")
PYTHON
