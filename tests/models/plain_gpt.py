#!/usr/bin/env python3
"""Reads a model folder and prints the logits of a text, one position a line, with nothing but Python's standard library.

    plain_gpt.py MODEL TEXT

A second, independent statement of what the files hold: weights are stored as (outputs, inputs), row by row, in little-endian
float32 or float64; y = W x + b. c_attn holds queries, keys and values one below the other, and heads lie side by side in each.
"""
import json
import math
import struct
import sys


def read_safetensors(path):
    """Name -> (shape, flat list). 8 bytes of header length, the header as JSON, the data."""
    with open(path, 'rb') as file:
        data = file.read()
    length, = struct.unpack_from('<Q', data)
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name == '__metadata__':
            continue
        begin, end = entry['data_offsets']
        code, size = {'F32': ('f', 4), 'F64': ('d', 8)}[entry['dtype']]
        values = struct.unpack_from(f'<{(end - begin) // size}{code}', data, 8 + length + begin)
        tensors[name] = (entry['shape'], values)
    return tensors


class Gpt:
    def __init__(self, folder):
        with open(f'{folder}/config.json') as file:
            self.config = json.load(file)
        self.tensors = read_safetensors(f'{folder}/model.safetensors')
        self.channels, self.heads = self.config['n_embd'], self.config['n_head']

    def row(self, name, index):
        shape, values = self.tensors[name]
        return values[index * shape[1]:(index + 1) * shape[1]]

    def linear(self, name, x):
        """y_n = sum_k W_nk x_k + b_n;   W: (N, K), b: (N) or absent."""
        (n, k), weight = self.tensors[name + '.weight']
        _, bias = self.tensors.get(name + '.bias', (None, [0.0] * n))
        return [sum(w * v for w, v in zip(weight[i * k:(i + 1) * k], x)) + bias[i] for i in range(n)]

    def norm(self, name, x):
        mean = sum(x) / len(x) if self.config['norm'] == 'layer' else 0.0
        scale = 1 / math.sqrt(sum((v - mean) ** 2 for v in x) / len(x) + 1e-5)
        _, gain = self.tensors.get(name + '.weight', (None, [1.0] * len(x)))
        _, bias = self.tensors.get(name + '.bias', (None, [0.0] * len(x)))
        return [(v - mean) * scale * g + b for v, g, b in zip(x, gain, bias)]

    def activation(self, x):
        kind = self.config['activation']
        if kind == 'gelu':
            return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))
        if kind == 'gelu_tanh':
            return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
        if kind == 'silu':
            return x / (1 + math.exp(-x))
        return max(x, 0.0) ** (2 if kind == 'relu_squared' else 1)

    def prepared(self, head, position):
        """A query or key of one head, normalised and turned by its position as far as the model does either."""
        if self.config.get('qk_norm'):
            scale = 1 / math.sqrt(sum(v * v for v in head) / len(head) + 1e-5)
            head = [v * scale for v in head]
        if self.config.get('positions') != 'rotary':
            return head
        half = len(head) // 2
        turned = list(head)
        for i in range(half):
            angle = position * 10000 ** (-2 * i / len(head))
            turned[i] = math.cos(angle) * head[i] - math.sin(angle) * head[i + half]
            turned[i + half] = math.sin(angle) * head[i] + math.cos(angle) * head[i + half]
        return turned

    def attention(self, name, rows):
        """Causal attention over all rows, (T, C) -> (T, C)."""
        size = self.channels // self.heads
        projected = [self.linear(name + '.c_attn', row) for row in rows]
        out = [[] for _ in rows]
        for h in range(self.heads):
            part = lambda row, which: row[which * self.channels + h * size:which * self.channels + (h + 1) * size]
            queries = [self.prepared(part(row, 0), t) for t, row in enumerate(projected)]
            keys = [self.prepared(part(row, 1), t) for t, row in enumerate(projected)]
            for t, query in enumerate(queries):
                scores = [sum(a * b for a, b in zip(query, key)) / math.sqrt(size) for key in keys[:t + 1]]
                weights = [math.exp(s - max(scores)) for s in scores]
                for i in range(size):
                    mixed = sum(w * part(projected[s], 2)[i] for s, w in enumerate(weights))
                    out[t].append(mixed / sum(weights))
        return [self.linear(name + '.c_proj', row) for row in out]

    def logits(self, tokens):
        """(T) token ids -> (T, V)."""
        rows = [list(self.row('transformer.wte.weight', token)) for token in tokens]
        if 'transformer.wpe.weight' in self.tensors:
            rows = [[a + b for a, b in zip(row, self.row('transformer.wpe.weight', t))] for t, row in enumerate(rows)]
        for layer in range(self.config['n_layer']):
            block = f'transformer.h.{layer}'
            added = self.attention(block + '.attn', [self.norm(block + '.ln_1', row) for row in rows])
            rows = [[a + b for a, b in zip(*pair)] for pair in zip(rows, added)]
            for row in rows:
                hidden = self.linear(block + '.mlp.c_fc', self.norm(block + '.ln_2', row))
                added = self.linear(block + '.mlp.c_proj', [self.activation(z) for z in hidden])
                row[:] = [a + b for a, b in zip(row, added)]
        # A tied read-out is stored once, as the embedding.
        if 'lm_head.weight' not in self.tensors:
            self.tensors['lm_head.weight'] = self.tensors['transformer.wte.weight']
        return [self.linear('lm_head', self.norm('transformer.ln_f', row)) for row in rows]


if __name__ == '__main__':
    if len(sys.argv) != 3:
        print('usage: plain_gpt.py MODEL TEXT', file=sys.stderr)
        sys.exit(2)
    folder, text = sys.argv[1:]
    with open(f'{folder}/tokenizer.json', encoding='utf-8') as file:
        characters = json.load(file)['characters']
    for row in Gpt(folder).logits([characters.index(c) for c in text]):
        print(*(f'{v:.9g}' for v in row))
