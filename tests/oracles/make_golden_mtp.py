#!/usr/bin/env python3
"""Writes tests/golden/model/mtp_<name>.json for each row of ROWS: log-probs and gradients of a multi-token-prediction head.

By hand, with torch and transformers installed:  tests/oracles/make_golden_mtp.py [name ...]
transformers has no such heads. The layer and the norm behind it are those of its model with one layer and attention, whose
input is made here from the next token's embedding and the last hidden state, as DeepSeek-V3's report says (section 2.2). Of
the model itself the golden of the same name has the config, and make_golden_model.py's formula the weights; the head's follow
the same formula, numbered from 500 on.
"""
import json
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from make_golden_delta_nets import in_float64
from make_golden_model import EAGER, OUT, fill, rounded, rows, saved, weight

BESIDE = dict(head="mtp.", layer="mtp.layers.0.", projection="fc", embedding_norm="pre_fc_norm_embedding", hidden_norm="pre_fc_norm_hidden",
              norm="norm")
BEHIND = dict(projection="eh_proj", embedding_norm="enorm", hidden_norm="hnorm", norm="shared_head.norm")
ROWS = {"qwen3_5": BESIDE, "qwen3_5_moe": BESIDE, "qwen3_next": BESIDE, "glm4_moe": BEHIND, "deepseek_v3": BEHIND}
# Beside what a config has, of a layer with attention, and with experts if the model has some.
ONE_LAYER = dict(num_hidden_layers=1, layer_types=["full_attention"], first_k_dense_replace=0, mlp_layer_types=["sparse"])


def parameters_of(one, model, names, norms, projection, of):
    """Of the head's parameters by their names in a folder."""
    behind = f"model.layers.{model.config.num_hidden_layers}."
    head, layer = names.get("head", behind), names.get("layer", behind)
    found = {layer + name.removeprefix("model.layers.0."): tensor for name, tensor in saved(one, of).items() if ".layers.0." in name}
    own = {"projection": projection, "embedding_norm": norms[0], "hidden_norm": norms[1], "norm": one.model.norm.weight}
    return dict(sorted((found | {f"{head}{names[part]}.weight": of(tensor) for part, tensor in own.items()}).items()))


def fill_head(parameters):
    for k, (name, tensor) in enumerate(parameters.items()):
        scale = 0.3 if tensor.dim() == 1 else (3.0 / tensor.shape[1]) ** 0.5
        w = weight(500 + k, tensor.numel()).reshape(tensor.shape) * scale
        tensor.copy_((1.0 + w if "norm" in name else w).float())


def normed(x, scale, like):
    """As the model's own norms: some are around 0, others around 1."""
    module = type(like)(x.shape[-1], eps=getattr(like, "variance_epsilon", getattr(like, "eps", None))).double()
    del module.weight
    module.weight = scale
    return module(x)


def losses(name):
    written = json.loads((OUT / f"{name}.json").read_text())["config"]
    config = AutoConfig.for_model(**written)
    model = fill(AutoModelForCausalLM.from_config(config, dtype=torch.float64, **EAGER), "float32")
    one = AutoModelForCausalLM.from_config(AutoConfig.for_model(**written | {k: v for k, v in ONE_LAYER.items() if hasattr(config, k)}),
                                           dtype=torch.float64, **EAGER).eval()
    hidden = config.hidden_size
    norms = [torch.nn.Parameter(torch.empty(hidden, dtype=torch.float64)) for _ in range(2)]
    projection = torch.nn.Parameter(torch.empty(hidden, 2 * hidden, dtype=torch.float64))
    parts = one, model, ROWS[name], norms, projection
    parameters = parameters_of(*parts, lambda p: p.data)
    fill_head(parameters)
    result, loss = [], 0
    for ids in rows():
        chosen = torch.empty(0, dtype=torch.float64)
        if len(ids) > 2:
            ids = torch.tensor([ids])
            with torch.no_grad():
                states, embeddings = model.model(ids).last_hidden_state, model.get_input_embeddings()(ids)
            x = torch.cat([normed(embeddings[:, 1:], norms[0], one.model.norm), normed(states[:, :-1], norms[1], one.model.norm)], -1)
            y = one.model(inputs_embeds=x @ projection.T).last_hidden_state
            log_p = torch.log_softmax(y @ model.get_output_embeddings().weight.detach().T, -1)[0, :-1]
            chosen = log_p.gather(1, ids[0, 2:, None])[:, 0]
            loss = loss + (chosen * torch.cos(torch.arange(len(chosen), dtype=torch.float64))).sum()
        result.append(chosen.tolist())
    loss.backward()
    probes = {k: [g.norm().item(), (g.flatten() * weight(1000 + i, g.numel())).sum().item()]
              for i, (k, g) in enumerate(parameters_of(*parts, lambda p: p.grad).items()) if g is not None}
    shapes = {k: list(p.shape) for k, p in parameters.items()}
    return {"log_probs": result, "loss": loss.item(), "gradients": probes, "shapes": shapes}


def main():
    for name in sys.argv[1:] or ROWS:
        with in_float64():
            golden = {"made_by": "tests/oracles/make_golden_mtp.py"} | losses(name)
        (OUT / f"mtp_{name}.json").write_text(json.dumps(rounded(golden)) + "\n")
        print(name, "loss", golden["loss"], len(golden["gradients"]), "of", len(golden["shapes"]))


if __name__ == "__main__":
    main()
