#!/usr/bin/env python3
"""Compares greedy `roll generate` with Hugging Face transformers in float32 on random-weight models.

By hand, with torch, transformers and tokenizers installed:  tests/oracles/check_hf_generate.py build/roll [VARIANT ...]
For every model of check_hf.py: 64 tokens on 20 prompts must be equal, with and without a repetition penalty, and log-probs
must agree within 2e-5 nats. End tokens end a response in both. The same tokens must come alone, in a batch of 256, with
other sizes of a KV page, from a cache so small that responses are evicted, and without shared prefixes. Two sampled runs
with one seed must be byte-equal, and the batch size must not matter.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig

from check_hf import LIMIT, VARIANTS, random_model, worst

NUM_PROMPTS, NUM_TOKENS = 20, 64
EOS = [5, 400]
LAYOUTS = [["--max-running-requests", 1], ["--max-running-requests", 256], ["--block-size", 8], ["--block-size", 32],
           ["--kv-cache-mib", 1], ["--no-prefix-caching"], ["--no-prefix-caching", "--block-size", 8, "--kv-cache-mib", 1]]


def write_tokenizer(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<end>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(["a small text to train on, and a little more of it"], trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": EOS}))


def roll(binary, folder, prompts, *flags):
    lines = "".join(json.dumps({"ids": ids}) + "\n" for ids in prompts)
    command = [binary, "generate", "--model", folder, "--max-new-tokens", str(NUM_TOKENS), *map(str, flags)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command} failed: {done.stderr}")
    return done.stdout, [json.loads(line) for line in done.stdout.splitlines()]


@torch.no_grad()
def hf(model, prompts, penalty):
    config = GenerationConfig(do_sample=False, max_new_tokens=NUM_TOKENS, eos_token_id=EOS, pad_token_id=0,
                              repetition_penalty=penalty, return_dict_in_generate=True, output_logits=True)
    for ids in prompts:
        done = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), generation_config=config)
        new = done.sequences[0, len(ids):]
        log_probs = torch.log_softmax(torch.stack(done.logits)[:, 0].float(), -1).gather(1, new[:, None])[:, 0]
        yield new.tolist(), log_probs


def check(binary, name, config, folder):
    torch.manual_seed(sum(map(ord, name)))
    model = random_model(config).float()
    model.save_pretrained(folder)
    write_tokenizer(pathlib.Path(folder))
    prompts = [torch.randint(0, config.get_text_config().vocab_size, (n,)).tolist() for n in torch.randint(1, 60, (NUM_PROMPTS,)).tolist()]
    equal, stopped, difference = 0, 0, 0.0
    for penalty in (1.0, 1.3):
        _, ours = roll(binary, folder, prompts, "--temperature", 0, "--repetition-penalty", penalty)
        for mine, (ids, log_probs) in zip(ours, hf(model, prompts, penalty)):
            equal += mine["ids"] == ids
            stopped += mine["finish_reason"] == "stop" and ids[-1] in EOS
            if mine["ids"] == ids:
                difference = max(difference, worst([torch.tensor(mine["log_probs"])], [log_probs]))
        if penalty == 1.0:
            expected = [mine["ids"] for mine in ours] * 13
    apart = sum([x["ids"] for x in roll(binary, folder, prompts * 13, "--temperature", 0, *layout)[1]] != expected for layout in LAYOUTS)
    once, sampled = roll(binary, folder, prompts, "--seed", 3, "--samples", 2)
    again, _ = roll(binary, folder, prompts, "--seed", 3, "--samples", 2)
    _, few = roll(binary, folder, prompts, "--seed", 3, "--samples", 2, "--max-running-requests", 3)
    same = [x["ids"] for x in sampled] == [x["ids"] for x in few]
    ok = equal == 2 * NUM_PROMPTS and difference <= LIMIT and once == again and same and apart == 0
    print(f"{'ok  ' if ok else 'FAIL'} {name}: {equal} of {2 * NUM_PROMPTS} greedy responses equal ({stopped} ended), "
          f"log-probs within {difference:.1e}, two runs equal: {once == again}, 3 slots equal: {same}, layouts that "
          f"give others: {apart} of {len(LAYOUTS)}", flush=True)
    return ok


def main():
    torch.set_num_threads(2)
    results = []
    for name in sys.argv[2:] or VARIANTS:
        config = VARIANTS[name][0]
        with tempfile.TemporaryDirectory() as folder:
            results.append(check(sys.argv[1], name, config, folder))
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
