#!/usr/bin/env python3
"""Adapters between `roll` and PEFT, both ways, with transformers' models in float32.

By hand, with torch, transformers and peft installed:  tests/oracles/check_peft.py build/roll
A folder that `roll sft` saved must open in peft and give the log-probs that `roll logprobs` gives of it; one that peft saved must open in
`roll` likewise; and what `roll export --merge` writes must give them as a plain model. So must adapters of mixtures, whose MLPs' names PEFT
takes for the experts', and PEFT's copies of a tied model's embedding and head. Of mixtures and of Gemma 4 float64 decides: with delta nets
transformers in float32 is up to 1.2e-4 from itself in float64, and we are at most twice as far as it is. The products that all-linear means are
PEFT's own in every dense architecture; those of mixtures are printed.
"""
import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import peft
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from check_config_keys import CONFIGS
from check_hf import VARIANTS as MODELS, random_model
from make_golden_delta_nets import in_float64
from make_golden_gemma4 import ROWS as GEMMA4
from make_golden_model import EAGER

LIMIT = 2e-5
NARROW, FARTHER = 2e-4, 3  # how far transformers may be from float64, and how many times as far we may be, where that is more
ROWS = [[1, 2, 3], [7, 11, 200, 4, 5, 99, 31], list(range(3, 90))]
VARIANTS = {"lora": {}, "rslora": dict(use_rslora=True, lora_target="q_proj,down_proj"), "dora": dict(use_dora=True),
            "saved": dict(additional_target="lm_head,embed_tokens"), "mixture": dict(lora_target="all-linear")}
MIXTURES = {name: MODELS[name][0] for name in ("qwen2 moe", "qwen3 moe", "glm4_moe", "qwen3_next", "qwen3_5_moe")}
MIXTURES |= {name: MODELS[name][0] for name in ("deepseek_v3",)} | {name: GEMMA4[name] for name in ("gemma4_mixture", "gemma4_inputs")}
TARGETS = {"all": dict(lora_target="all-linear"), "rslora": dict(lora_target="all-linear", use_rslora=True),
           "pairs": dict(lora_target="q_proj,gate_proj,up_proj"), "downs": dict(lora_target="down_proj"),
           "shared": dict(lora_target="shared_expert.gate_proj,shared_experts.up_proj,o_proj")}
TIED = {"embedding": dict(modules_to_save=["embed_tokens"]), "head": dict(modules_to_save=["lm_head"]),
        "both": dict(modules_to_save=["embed_tokens", "lm_head"]), "one": dict(modules_to_save=["embed_tokens"], ensure_weight_tying=True),
        "replaced": dict()}


def roll(*arguments, **options):
    return subprocess.run([sys.argv[1], *map(str, arguments)], check=True, capture_output=True, text=True, **options).stdout


@torch.no_grad()
def log_probs(model):
    found = []
    for ids in ROWS:
        logits = model(torch.tensor([ids])).logits[0, :-1].double()
        found += torch.log_softmax(logits, -1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()
    return found


def ours(folder):
    lines = roll("logprobs", "--model", folder, input="".join(json.dumps(dict(ids=ids)) + "\n" for ids in ROWS)).splitlines()
    return [x for line in lines for x in json.loads(line)["log_probs"]]


def gap(a, b):
    assert len(a) == len(b), (len(a), len(b))
    return max(abs(x - y) for x, y in zip(a, b))


def make_model(folder, *sizes):
    """Whose layers matter beside its embeddings."""
    roll("init-model", "--hidden", 64, "--layers", 2, "--heads", 4, "--kv-heads", 2, "--no-tie", "--tokenizer", "builtin", "--seed", 1, "--out", folder, *sizes)
    tensors = load_file(folder / "model.safetensors")
    save_file({n: t * 5 if t.dim() == 2 and "embed" not in n else t for n, t in tensors.items()}, folder / "model.safetensors", {"format": "pt"})


def trained(folder, name, keys, model):
    data = dict(data_args=dict(file_name=[str(folder / "rows.jsonl")], prompt="question", response="answer"))
    config = dict(exp_name=name, seed=3, output_dir=str(folder / name), pretrain=str(model), sequence_length=32, save_steps=0,
                  sft_train=data | dict(model_args=dict(lora_rank=4) | keys,
                                        training_args=dict(learning_rate=0.02, per_device_train_batch_size=2, lr_scheduler_type="constant")))
    (folder / "sft.yaml").write_text(json.dumps(config))
    roll("sft", "--config", folder / "sft.yaml", "--device", "cpu")
    return next((folder / name / "checkpoints").glob("step_*")) / "actor"


def saved_model(folder, name, config):
    config = copy.deepcopy(config)
    config.vocab_size = 512
    if "gemma4" in name:
        config.vocab_size_per_layer_input = 512
    model = folder / name.replace(" ", "_")
    torch.manual_seed(1)
    random_model(config).save_pretrained(model)
    for file in (folder / "dense").glob("*token*"):
        shutil.copy(file, model)
    return model


def check_lists(folder):
    """What all-linear means to PEFT and to us."""
    for name, config in CONFIGS.items():
        model = saved_model(folder, f"listed {name}", config)
        opened = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(model, **EAGER), peft.LoraConfig(target_modules="all-linear", task_type="CAUSAL_LM"))
        tensors = load_file(trained(folder, f"{model.name}_all", TARGETS["all"], model) / "adapter_model.safetensors")
        theirs, mine = ({key.removeprefix("base_model.model.").partition(".lora_A")[0] for key in keys if "lora_A" in key}
                        for keys in (dict(opened.named_parameters()), tensors))
        differing = [sorted({re.sub(r"\.\d+\.", ".N.", each) for each in some}) for some in (mine - theirs, theirs - mine)]
        print(f"{name:20} all-linear: {len(mine & theirs)} of both, ours alone {differing[0]}, PEFT's alone {differing[1]}", flush=True)
        assert mine == theirs or any("router" in key or "experts" in key for key in load_file(model / "model.safetensors")), name


def check_mixture(folder, name, config):
    """Ours in PEFT and in transformers: of each family's names."""
    model = saved_model(folder, name, config)
    base = log_probs(AutoModelForCausalLM.from_pretrained(model, **EAGER))
    for targets, keys in TARGETS.items():
        if targets == "shared":
            names = [n for n in keys["lora_target"].split(",") if any(n in key for key in load_file(model / "model.safetensors"))]
            keys = dict(lora_target=",".join(names))
        saved = trained(folder, f"{model.name}_{targets}", keys, model)
        opened = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model, **EAGER), saved).eval()
        with in_float64():
            exact = log_probs(peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model, dtype=torch.float64, **EAGER), saved).double().eval())
        roll("export", "--model", saved, "--merge", "--out", folder / f"{model.name}_{targets}_merged")
        mine = ours(saved)
        theirs = [gap(log_probs(each), exact) for each in (opened, AutoModelForCausalLM.from_pretrained(saved, **EAGER).eval())]
        gaps = [gap(mine, exact), gap(ours(folder / f"{model.name}_{targets}_merged"), exact)]
        print(f"{name:16} {targets:8} from float64: ours {gaps[0]:.1e}, merged {gaps[1]:.1e}, peft {theirs[0]:.1e}, transformers {theirs[1]:.1e}; "
              f"moved {gap(mine, base):.2f}", flush=True)
        assert max(theirs) <= NARROW and max(gaps) <= max(LIMIT, FARTHER * min(theirs)), (name, targets)


def check_tied(folder):
    """PEFT's in ours: copies of a tied model's ends."""
    model = folder / "tied"
    roll("init-model", "--hidden", 64, "--layers", 2, "--heads", 4, "--kv-heads", 2, "--intermediate", 96, "--arch", "qwen2", "--tokenizer", "builtin",
         "--seed", 2, "--out", model)
    worst = 0.0
    for name, options in TIED.items():
        torch.manual_seed(3)
        adapted = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(model),
                                      peft.LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM", **options))
        with torch.no_grad():
            for parameter in adapted.parameters():
                if parameter.requires_grad or name == "replaced":
                    parameter.add_(torch.randn(parameter.shape) * 0.1 if parameter.shape[0] > 100 or parameter.requires_grad else 0)
        adapted.save_pretrained(folder / name, **(dict(save_embedding_layers=True) if name == "replaced" else {}))
        theirs = log_probs(peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model), folder / name).eval())
        roll("export", "--model", folder / name, "--merge", "--out", folder / f"{name}_out")
        gaps = [gap(ours(folder / name), theirs), gap(log_probs(AutoModelForCausalLM.from_pretrained(folder / f"{name}_out")), theirs)]
        print(f"tied, {name:10} peft's in ours {gaps[0]:.1e}, merged and opened by transformers {gaps[1]:.1e}", flush=True)
        worst = max(worst, *gaps)
    return worst


def main():
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_model(folder / "dense", "--arch", "qwen3", "--intermediate", 96)
        make_model(folder / "experts", "--arch", "qwen3_moe", "--experts", 6, "--expert-intermediate", 40)
        (folder / "rows.jsonl").write_text("".join(json.dumps(dict(question=f"{i:02}+1=", answer=f"{i + 1:02}")) + "\n" for i in range(8)))
        for variant, keys in VARIANTS.items():
            model = folder / ("experts" if variant == "mixture" else "dense")
            base = log_probs(AutoModelForCausalLM.from_pretrained(model))
            saved = trained(folder, variant, keys, model)
            theirs = log_probs(AutoModelForCausalLM.from_pretrained(saved).eval())  # transformers reads it by peft
            opened = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model), saved).eval()
            again = folder / f"{variant}_peft"
            opened.save_pretrained(again)
            roll("export", "--model", saved, "--merge", "--out", folder / f"{variant}_merged")
            mine = ours(saved)
            # PEFT makes one adapter of all experts', which nobody reads as theirs.
            gaps = [gap(mine, log_probs(opened)), gap(mine, mine if variant == "mixture" else ours(again)), gap(mine, ours(folder / f"{variant}_merged"))]
            # transformers 5.24 reads no magnitudes; of PEFT's own folder it makes what it makes of ours.
            gaps.append(gap(theirs, log_probs(AutoModelForCausalLM.from_pretrained(again).eval()) if variant == "dora" else mine))
            moved = gap(mine, base)
            assert moved > 1e-2, f"{variant}: the adapters do nothing"
            print(f"{variant:8} peft {gaps[0]:.1e}, saved by peft {gaps[1]:.1e}, merged {gaps[2]:.1e}, transformers {gaps[3]:.1e}; moved {moved:.2f}")
            worst = max(worst, *gaps)
        worst = max(worst, check_tied(folder))
        for name, config in MIXTURES.items():
            check_mixture(folder, name, config)
        check_lists(folder)
    assert worst <= LIMIT, worst
    print(f"all within {worst:.1e}, or as near to float64 as transformers")


main()
