#!/usr/bin/env python3
"""One training step of minigpt's model in PyTorch, for timing both sides on one machine.

    tools/bench/pytorch_gpt.py [--preset nanogpt-cpu|nanogpt-baby] [--threads N] [--steps N] [--dtype f32|bf16] [--compile] [--json]

Prints milliseconds per step (median after warm-up). Written for this comparison: the same shapes, the same operations, AdamW and
clipping; weights and tokens are random, which changes no timing. bf16 is PyTorch's autocast. Works with PyTorch 1.13 and later, on
the CPU; --compile needs 2.0 or later.
"""
import argparse
import contextlib
import json
import math
import resource
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

PRESETS = {
    "nanogpt-cpu": dict(layers=4, heads=4, channels=128, block=64, batch=12, dropout=0.0),
    "nanogpt-baby": dict(layers=6, heads=6, channels=384, block=256, batch=64, dropout=0.2),
}
VOCABULARY = 65


class Layer(nn.Module):
    def __init__(self, p):
        super().__init__()
        c = p["channels"]
        self.heads, self.dropout = p["heads"], p["dropout"]
        self.norm1, self.norm2 = nn.LayerNorm(c), nn.LayerNorm(c)
        self.qkv, self.out = nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c, bias=False)
        self.up, self.down = nn.Linear(c, 4 * c, bias=False), nn.Linear(4 * c, c, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(p["block"], p["block"])).bool())

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(x).split(c, dim=2))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))
            scores = scores.masked_fill(~self.mask[:t, :t], float("-inf"))
            y = F.dropout(F.softmax(scores, dim=-1), self.dropout) @ v
        return F.dropout(self.out(y.transpose(1, 2).reshape(b, t, c)), self.dropout)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + F.dropout(self.down(F.gelu(self.up(self.norm2(x)))), self.dropout)


class Model(nn.Module):
    def __init__(self, p):
        super().__init__()
        c = p["channels"]
        self.tokens, self.positions = nn.Embedding(VOCABULARY, c), nn.Embedding(p["block"], c)
        self.layers = nn.ModuleList(Layer(p) for _ in range(p["layers"]))
        self.norm, self.dropout = nn.LayerNorm(c), p["dropout"]
        self.head = nn.Linear(c, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, x, y):
        h = F.dropout(self.tokens(x) + self.positions(torch.arange(x.shape[1])), self.dropout)
        for layer in self.layers:
            h = layer(h)
        return F.cross_entropy(self.head(self.norm(h)).view(-1, VOCABULARY), y.view(-1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", choices=PRESETS, default="nanogpt-cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model (PyTorch 2)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    a = parser.parse_args()
    if a.compile and not hasattr(torch, "compile"):
        parser.error(f"PyTorch {torch.__version__} has no torch.compile")
    p = PRESETS[a.preset]
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    model = Model(p)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    forward = torch.compile(model) if a.compile else model

    def precision():
        return torch.autocast("cpu", dtype=torch.bfloat16) if a.dtype == "bf16" else contextlib.nullcontext()

    times = []
    for step in range(a.steps + 3):
        x = torch.randint(VOCABULARY, (p["batch"], p["block"]))
        y = torch.randint(VOCABULARY, (p["batch"], p["block"]))
        start = time.perf_counter()
        with precision():
            loss = forward(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step >= 3:
            times.append(time.perf_counter() - start)
    ms = 1e3 * statistics.median(times)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    if a.json:
        print(json.dumps({"engine": "pytorch " + torch.__version__, "preset": a.preset, "dtype": a.dtype, "compile": a.compile,
                          "threads": a.threads, "ms_per_step": ms, "tokens_per_s": 1e3 * p["batch"] * p["block"] / ms,
                          "peak_mb": peak_mb}))
    else:
        print(f"pytorch {torch.__version__} {a.preset} {a.dtype}{' compiled' if a.compile else ''} {a.threads} threads: "
              f"{ms:.1f} ms/step, {peak_mb:.0f} MB at most")


if __name__ == "__main__":
    main()
