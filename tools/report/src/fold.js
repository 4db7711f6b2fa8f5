// Folding a graph of operations by module: a pure function, so that it can be read and tested without a page.

// "transformer.h.0.attn" -> ["transformer", "transformer.h.0", "transformer.h.0.attn"]: numbers belong to the name before them.
export function ancestors(module) {
  if (!module) return [];
  const out = [];
  let path = '';
  for (const part of module.split('.')) {
    if (/^\d+$/.test(part) && out.length) {
      path += `.${part}`;
      out[out.length - 1] = path;
    } else {
      path = path ? `${path}.${part}` : part;
      out.push(path);
    }
  }
  return out;
}

// What is drawn while the modules in `open` are unfolded: boxes (a folded module or one operation) and the edges between them.
//   nodes: [{id, op, module, inputs, shape, saved_bytes, grad_norm, ...}]
export function fold(nodes, open) {
  const boxes = new Map();
  const boxOf = new Map();
  const byId = new Map(nodes.map((n) => [n.id, n]));
  for (const n of nodes) {
    const path = ancestors(n.module);
    const closed = path.find((p) => !open.has(p));
    const key = closed ?? `#${n.id}`;
    const inside = path.slice(0, closed ? path.indexOf(closed) : path.length);
    if (!boxes.has(key)) boxes.set(key, { key, module: closed ?? null, nodes: [], inside });
    boxes.get(key).nodes.push(n);
    boxOf.set(n.id, key);
  }
  const edges = new Map();
  for (const n of nodes)
    for (const input of n.inputs) {
      const from = boxOf.get(input);
      const to = boxOf.get(n.id);
      if (from === to) continue;
      const key = `${from}>${to}`;
      if (!edges.has(key)) edges.set(key, { from, to, sources: new Set() });
      edges.get(key).sources.add(byId.get(input));
    }
  return { boxes: [...boxes.values()], edges: [...edges.values()].map((e) => ({ ...e, sources: [...e.sources] })) };
}

// Every module above an operation that matches, so that a search can unfold the way to it.
export function modulesTo(nodes, matches) {
  return new Set(nodes.filter(matches).flatMap((n) => ancestors(n.module)));
}
