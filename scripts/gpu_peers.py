#!/usr/bin/env python3
"""What gpu_check.py compares with, in PyTorch: `gpu_peers.py WORK SIZES`, where SIZES is its JSON of sizes. The model is that of transformers where it
is installed, else a plain one of the same shape that stands below. Prints lines of JSON."""
import gc
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

try:
    import transformers
except ImportError:
    transformers = None


class Plain(torch.nn.Module):
    """Like Qwen3: norms of queries and keys, grouped heads, SwiGLU, a head that is the embedding."""

    def __init__(self, s):
        super().__init__()
        self.s, queries, keys = s, s["heads"] * s["head_dim"], s["kv_heads"] * s["head_dim"]
        self.embedding = torch.nn.Embedding(s["vocab"], s["hidden"])
        torch.nn.init.normal_(self.embedding.weight, std=0.02)
        linear, norm = (lambda i, o: torch.nn.Linear(i, o, bias=False)), (lambda n: torch.nn.RMSNorm(n, eps=1e-6))
        self.layers = torch.nn.ModuleList(torch.nn.ModuleDict(dict(
            norm=norm(s["hidden"]), q=linear(s["hidden"], queries), kv=linear(s["hidden"], 2 * keys), q_norm=norm(s["head_dim"]),
            k_norm=norm(s["head_dim"]), o=linear(queries, s["hidden"]), mlp_norm=norm(s["hidden"]),
            gate_up=linear(s["hidden"], 2 * s["intermediate"]), down=linear(s["intermediate"], s["hidden"]))) for _ in range(s["layers"]))
        self.norm = norm(s["hidden"])

    def rotate(self, x, start):
        half = x.shape[-1] // 2
        angles = torch.arange(start, start + x.shape[2], device=x.device)[:, None] * 10000.0 ** (-torch.arange(half, device=x.device) / half)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def hidden(self, ids, cache=None, start=0):
        x, (batch, length), dim = self.embedding(ids), ids.shape, self.s["head_dim"]
        for number, layer in enumerate(self.layers):
            y = layer["norm"](x)
            split = lambda t: t.view(batch, length, -1, dim).transpose(1, 2)
            q, (k, v) = split(layer["q"](y)), map(split, layer["kv"](y).chunk(2, -1))
            q, k = self.rotate(layer["q_norm"](q), start), self.rotate(layer["k_norm"](k), start)
            if cache is not None:
                for held, new in zip(cache[number], (k, v)):
                    held[:, :, start:start + length] = new
                k, v = (held[:, :, :start + length] for held in cache[number])
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1, enable_gqa=True)
            x = x + layer["o"](mixed.transpose(1, 2).reshape(batch, length, -1))
            gate, up = layer["gate_up"](layer["mlp_norm"](x)).chunk(2, -1)
            x = x + layer["down"](F.silu(gate) * up)
        return self.norm(x)

    def forward(self, ids):
        return F.linear(self.hidden(ids), self.embedding.weight)

    def sample(self, ids, count):
        room = (ids.shape[0], self.s["kv_heads"], ids.shape[1] + count, self.s["head_dim"])
        cache = [[torch.empty(room, device=ids.device, dtype=self.embedding.weight.dtype) for _ in "kv"] for _ in self.layers]
        start, new = 0, ids
        for _ in range(count):
            logits = F.linear(self.hidden(new, cache, start)[:, -1], self.embedding.weight)
            start, new = start + new.shape[1], torch.multinomial(torch.softmax(logits.float(), -1), 1)
            ids = torch.cat([ids, new], 1)
        return ids


class HuggingFace(torch.nn.Module):
    def __init__(self, s):
        super().__init__()
        config, model = dict(qwen3=(transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
                             qwen2=(transformers.Qwen2Config, transformers.Qwen2ForCausalLM))[s["arch"]]
        self.model = model(config(
            hidden_size=s["hidden"], intermediate_size=s["intermediate"], num_hidden_layers=s["layers"], num_attention_heads=s["heads"],
            num_key_value_heads=s["kv_heads"], head_dim=s["head_dim"], vocab_size=s["vocab"], tie_word_embeddings=s["tie"],
            max_position_embeddings=32768, bos_token_id=None, eos_token_id=None, pad_token_id=None, attn_implementation="sdpa"))

    def forward(self, ids):
        return self.model(input_ids=ids, use_cache=False).logits

    def sample(self, ids, count):
        return self.model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=True, top_k=0, top_p=1.0, min_new_tokens=count,
                                   max_new_tokens=count, pad_token_id=0, use_cache=True)


class Peer:
    def __init__(self, sizes):
        self.sizes, self.device = sizes, torch.device(sizes["device"])
        torch.manual_seed(0)
        if transformers:
            transformers.logging.set_verbosity_error()
        self.name = f"transformers {transformers.__version__}" if transformers else f"plain PyTorch {torch.__version__}"

    def model(self, dtype):
        with self.device:
            return (HuggingFace if transformers else Plain)(self.sizes["shape"]).to(dtype)

    def seconds(self, work):
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start

    def ids(self, *shape):
        return torch.randint(self.sizes["shape"]["vocab"], shape, device=self.device)

    def say(self, **figure):
        print(json.dumps(dict(peer=self.name, **figure)), flush=True)

    def ceilings(self):
        """Bytes a second of a large copy, read and written, and FLOPs of a large product, on random numbers."""
        n, count = self.sizes["ceilings"]
        source = torch.randint(256, (n * n * 8,), dtype=torch.uint8, device=self.device)
        target, a, b = torch.empty_like(source), *(torch.randn(n, n, device=self.device).bfloat16() for _ in "ab")
        times = {}
        for name, work in (("copy", lambda: target.copy_(source)), ("product", lambda: a @ b)):
            self.seconds(work)
            times[name] = statistics.median(self.seconds(lambda work=work: [work() for _ in range(count)]) / count for _ in range(5))
        self.say(bytes_per_s=2 * source.numel() / times["copy"], flops_per_s=2 * n**3 / times["product"])

    @torch.no_grad()
    def decode(self):
        """The time of many tokens less that of one."""
        model, prompt, new = self.model(torch.bfloat16).eval(), self.sizes["decode"][0], self.sizes["peer_new"]
        for batch in self.sizes["batches"]:
            try:
                ids = self.ids(batch, prompt)
                model.sample(ids, 2)
                one, all_ = (self.seconds(lambda n=n: model.sample(ids, n)) for n in (1, new))
                self.say(batch=batch, tokens_per_s=batch * (new - 1) / (all_ - one))
            except torch.OutOfMemoryError:
                self.say(batch=batch, failed="out of memory")

    def update(self, model, optimizer, rows, loss_of, autocast):
        for chunk in rows:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=autocast):
                logits = model(chunk[:, :-1])
            loss_of(-F.cross_entropy(logits.float().flatten(0, 1), chunk[:, 1:].flatten(), reduction="none")).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    def trained(self, kind):
        model = self.model(torch.float32 if kind == "autocast" else torch.bfloat16).train()
        return model, torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)

    def train(self):
        """An update on sequences of one length, four at a time and 16; float32 weights under autocast, and bfloat16 weights."""
        count, length = self.sizes["train"]
        ids = self.ids(count, length)
        for kind in ("autocast", "bfloat16 weights"):
            try:
                model, optimizer = self.trained(kind)
                for together in (4, 16):
                    update = lambda rows=ids.split(together): self.update(model, optimizer, rows, lambda lp: -lp.sum() / (count * length), kind == "autocast")
                    update()
                    seconds = statistics.median(self.seconds(update) for _ in range(3))
                    self.say(kind=f"{kind}, {together} at a time", seconds=seconds, tokens_per_s=count * length / seconds)
            except torch.OutOfMemoryError:
                self.say(kind=kind, failed="out of memory")
            model = optimizer = update = None
            gc.collect()

    def step(self):
        """Sampling, the reference's log-probs, one update with a KL loss; bfloat16 weights."""
        prompts, responses, new = self.sizes["step"]
        model, optimizer = self.trained("bfloat16 weights")
        reference = self.model(torch.bfloat16).eval()
        ids = self.ids(prompts, self.sizes["step_prompt"]).repeat_interleave(responses, 0)

        def one(new):
            with torch.no_grad():
                rows = model.sample(ids, new).split(16)
                fixed = iter([-F.cross_entropy(reference(r[:, :-1]).float().flatten(0, 1), r[:, 1:].flatten(), reduction="none") for r in rows])

            def loss_of(lp):
                gap = next(fixed) - lp
                return (-(lp - lp.detach()).exp() * torch.randn_like(lp) + 0.04 * (gap.exp() - gap - 1)).mean() / len(rows)
            self.update(model, optimizer, rows, loss_of, False)
        one(8)
        seconds = self.seconds(lambda: one(new))
        self.say(seconds=seconds, tokens_per_s=prompts * responses * new / seconds)


if __name__ == "__main__":
    getattr(Peer(json.loads(sys.argv[2])), sys.argv[1])()
