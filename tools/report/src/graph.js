// The recorded graph of one step, drawn by Graphviz and folded by module.
import { instance } from '@viz-js/viz';
import { bytes, card, el, fact, number, shape } from './dom.js';
import { fold, modulesTo } from './fold.js';

const quote = (s) => `"${String(s).replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`;
const sum = (list, key) => list.reduce((a, n) => a + (n[key] ?? 0), 0);

function dot({ boxes, edges }, norms) {
  const lines = ['digraph {', 'rankdir=BT; bgcolor="transparent"; nodesep=0.25; ranksep=0.35; fontname="DejaVu Sans"; fontsize=11;',
    'node [shape=box, fontname="DejaVu Sans", fontsize=11, height=0.3, margin="0.12,0.06"]; edge [fontname="DejaVu Sans", fontsize=9, arrowsize=0.6];'];
  const names = new Map(boxes.map((b, i) => [b.key, `n${i}`]));
  // Unfolded modules are frames around what is in them.
  const tree = { children: new Map(), boxes: [] };
  for (const b of boxes) {
    let at = tree;
    for (const p of b.inside) {
      if (!at.children.has(p)) at.children.set(p, { children: new Map(), boxes: [] });
      at = at.children.get(p);
    }
    at.boxes.push(b);
  }
  let frames = 0;
  const write = (node) => {
    for (const b of node.boxes) {
      const one = b.nodes[0];
      const label = b.module
        ? `${b.module.replace(/^transformer\./, '')}\n${b.nodes.length} ${b.nodes.length === 1 ? 'operation' : 'operations'}, ${bytes(sum(b.nodes, 'saved_bytes'))}`
        : `${one.op} ${shape(one.shape)}\n${bytes(one.saved_bytes ?? 0)}${one.parameters?.length ? `\n${one.parameters.map((p) => p.replace(/^transformer\./, '')).join('\n')}` : ''}`;
      lines.push(`${names.get(b.key)} [label=${quote(label)}, id=${quote(`box:${b.key}`)}, class=${b.module ? 'module' : 'op'}${b.module ? ', style=rounded' : ''}];`);
    }
    for (const [path, child] of node.children) {
      lines.push(`subgraph cluster_${frames++} { label=${quote(path.replace(/^transformer\./, ''))}; id=${quote(`frame:${path}`)}; labeljust=l; labelloc=b;`); // which is the upper end of a graph that grows upwards
      write(child);
      lines.push('}');
    }
  };
  write(tree);
  for (const e of edges) {
    const best = e.sources[e.sources.length - 1];
    const text = norms ? `${shape(best.shape)}\n|g| ${best.grad_norm === null || best.grad_norm === undefined ? '?' : number(best.grad_norm, 2)}` : '';
    lines.push(`${names.get(e.from)} -> ${names.get(e.to)} [label=${quote(text)}, tooltip=${quote(`${best.op} ${shape(best.shape)}`)}];`);
  }
  lines.push('}');
  return lines.join('\n');
}

export function graph(data) {
  const nodes = data.graph.nodes;
  const open = new Set(['transformer']);
  let norms = true;
  let chosen = null;
  let query = '';
  const drawing = el('div', { class: 'drawing', tabindex: 0, 'aria-label': 'The graph' });
  const details = el('div');
  const status = el('span', { class: 'note', 'aria-live': 'polite' });
  const matches = (n) => query && `${n.op} ${n.module} ${(n.parameters ?? []).join(' ')}`.toLowerCase().includes(query);
  let viz = null;
  let scale = 1;

  function describe(box) {
    chosen = box?.key ?? null;
    for (const g of drawing.querySelectorAll('.node')) g.classList.toggle('chosen', g.id === `box:${chosen}`);
    if (!box) { details.replaceChildren(el('p', { class: 'note' }, 'Click a module to unfold it, its frame to fold it again, an operation for its numbers.')); return; }
    const n = box.nodes[0];
    const rows = box.module
      ? [['module', box.module], ['operations', box.nodes.length], ['kept for backward', bytes(sum(box.nodes, 'saved_bytes'))], ['backward', `${number(sum(box.nodes, 'backward_ms'), 3)} ms`]]
      : [['operation', n.op], ['module', n.module || '\u2013'], ['node', n.id], ['output', `${shape(n.shape)} ${n.dtype ?? ''}`], ['kept for backward', bytes(n.saved_bytes ?? 0)],
        ['forward', n.forward_ms === undefined ? '\u2013' : `${number(n.forward_ms, 3)} ms`], ['backward', n.backward_ms === undefined ? '\u2013' : `${number(n.backward_ms, 3)} ms`],
        ['gradient norm', n.grad_norm === null || n.grad_norm === undefined ? 'none' : number(n.grad_norm)], ['inputs', n.inputs.map((i) => `${i}: ${nodes.find((m) => m.id === i).op}`).join(', ') || '\u2013'],
        ['parameters', (n.parameters ?? []).join(', ') || '\u2013']];
    details.replaceChildren(el('table', { id: 'node', 'aria-label': 'The chosen node' }, el('tbody', {}, rows.map(([k, v]) => el('tr', {}, el('td', {}, k), el('td', { class: 'text', style: 'white-space:normal;word-break:break-word' }, String(v)))))));
  }

  async function draw() {
    viz ??= await instance();
    const folded = fold(nodes, open);
    const svg = viz.renderSVGElement(dot(folded, norms));
    const [w, h] = ['width', 'height'].map((a) => parseFloat(svg.getAttribute(a)));
    const resize = () => { svg.setAttribute('width', `${w * scale}pt`); svg.setAttribute('height', `${h * scale}pt`); };
    resize();
    for (const t of svg.querySelectorAll('text')) t.removeAttribute('fill');
    for (const shapes of svg.querySelectorAll('polygon, path')) { shapes.removeAttribute('fill'); shapes.removeAttribute('stroke'); }
    svg.querySelector('.graph > polygon')?.remove();
    for (const p of svg.querySelectorAll('.edge path')) p.setAttribute('fill', 'none');
    const boxes = new Map(folded.boxes.map((b) => [`box:${b.key}`, b]));
    let found = 0;
    for (const g of svg.querySelectorAll('.node')) {
      const box = boxes.get(g.id);
      if (box.nodes.some(matches)) { g.classList.add('found'); ++found; }
      g.setAttribute('tabindex', 0);
      g.setAttribute('role', 'button');
      const act = () => { if (box.module) { open.add(box.module); describe(null); draw(); } else describe(box); };
      g.addEventListener('click', act);
      g.addEventListener('keydown', (e) => { if (e.key === 'Enter') act(); });
      g.addEventListener('mouseenter', () => { if (box.module) describe(box); });
    }
    for (const g of svg.querySelectorAll('.cluster'))
      g.addEventListener('click', () => {
        const path = g.id.slice(6);
        for (const p of [...open]) if (p === path || p.startsWith(`${path}.`)) open.delete(p);
        draw();
      });
    drawing.replaceChildren(svg);
    drawing.dataset.boxes = folded.boxes.length;
    status.textContent = query ? `${nodes.filter(matches).length} operations match, in ${found} boxes` : `${folded.boxes.length} boxes of ${nodes.length} operations`;
  }
  const all = () => { for (const p of modulesTo(nodes, () => true)) open.add(p); draw(); };
  const none = () => { open.clear(); open.add('transformer'); draw(); };
  const search = el('input', { type: 'search', placeholder: 'operation, module or parameter', 'aria-label': 'Search the graph', oninput: (e) => { query = e.target.value.trim().toLowerCase(); draw(); },
    onkeydown: (e) => { if (e.key === 'Enter' && query) { for (const p of modulesTo(nodes, matches)) open.add(p); draw().then(() => drawing.querySelector('.found')?.scrollIntoView({ block: 'center', inline: 'center' })); } } });
  const root = el('div', {},
    el('div', { class: 'facts' }, fact(String(nodes.length), 'operations'), fact(bytes(sum(nodes, 'saved_bytes')), 'kept for the backward pass'), fact(number(data.graph.loss, 5), 'loss')),
    card(null, null, el('div', { class: 'bar' }, search, el('span', { class: 'note' }, 'Enter unfolds the way there'), el('button', { type: 'button', onclick: none }, 'Fold'), el('button', { type: 'button', onclick: all }, 'Unfold all'),
      el('button', { type: 'button', onclick: () => { scale *= 1.25; draw(); } }, 'Larger'), el('button', { type: 'button', onclick: () => { scale /= 1.25; draw(); } }, 'Smaller'),
      el('label', {}, el('input', { type: 'checkbox', checked: true, onchange: (e) => { norms = e.target.checked; draw(); } }), ' shapes and gradient norms on the edges'), status),
    el('div', { class: 'graph' }, drawing, el('div', {}, el('h2', {}, 'Chosen'), details))));
  describe(null);
  return { root, show: draw, redraw: () => {} };
}
