// Where the time and the memory of a step go.
import { bytes, card, el, fact, number, table } from './dom.js';
import { chart } from './charts.js';

// Sums over the nodes of the graph, by block or other outer module.
function byModule(nodes) {
  const groups = new Map();
  for (const n of nodes) {
    const name = /^(?:transformer\.)?(h\.\d+(?:\.\w+)?|[^.]*)/.exec(n.module)?.[1] || 'loss';
    const entry = groups.get(name) ?? { name, saved: 0, backward: 0, forward: 0, timed: false, ops: 0 };
    entry.saved += n.saved_bytes ?? 0;
    entry.backward += n.backward_ms ?? 0;
    if (n.forward_ms !== undefined) { entry.forward += n.forward_ms; entry.timed = true; }
    entry.ops += 1;
    groups.set(name, entry);
  }
  return [...groups.values()];
}

export function cost(data) {
  const c = data.cost;
  const modules = byModule(data.graph.nodes);
  const timed = modules.some((m) => m.timed);
  const ops = c.ops.filter((o) => o.forward_ms + o.backward_ms > 0);
  const total = ops.reduce((a, o) => a + o.forward_ms + o.backward_ms, 0);
  const saved = new Map();
  for (const n of data.graph.nodes) saved.set(n.op, (saved.get(n.op) ?? 0) + (n.saved_bytes ?? 0));
  const shown = ops.slice(0, 14).reverse();
  const time = chart('Time by operation', () => ({ grid: { left: 150, right: 24, top: 30, bottom: 44 }, tooltip: { trigger: 'axis', axisPointer: { type: 'shadow' } }, xAxis: { type: 'value', name: 'ms a step' },
    yAxis: { type: 'category', data: shown.map((o) => o.op) }, series: [['forward', 'forward_ms', 'none'], ['backward', 'backward_ms', 'diagonal']].map(([name, key]) => ({ name, type: 'bar', stack: 'time', data: shown.map((o) => o[key]),
      itemStyle: key === 'backward_ms' ? { decal: { symbol: 'rect', dashArrayX: [1, 0], dashArrayY: [3, 4], rotation: Math.PI / 4, color: 'rgba(255,255,255,0.35)' } } : undefined })) }), { height: 60 + 26 * shown.length });
  const memory = chart('Memory by module', () => ({ legend: false, grid: { left: 90, right: 24, top: 12, bottom: 44 }, tooltip: { trigger: 'axis', axisPointer: { type: 'shadow' }, valueFormatter: (v) => `${number(v, 4)} MiB` }, xAxis: { type: 'value', name: 'MiB kept for the backward pass' },
    yAxis: { type: 'category', inverse: true, data: modules.map((m) => m.name) }, series: [{ type: 'bar', data: modules.map((m) => m.saved / 1024 / 1024) }] }), { height: Math.min(1000, 70 + 22 * modules.length) });
  const back = chart('Backward time by module', () => ({ legend: timed ? {} : false, grid: { left: 90, right: 24, top: timed ? 30 : 12, bottom: 44 }, tooltip: { trigger: 'axis', axisPointer: { type: 'shadow' } }, xAxis: { type: 'value', name: timed ? 'ms' : 'ms of the backward pass' },
    yAxis: { type: 'category', inverse: true, data: modules.map((m) => m.name) },
    series: [...(timed ? [{ name: 'forward', type: 'bar', stack: 't', data: modules.map((m) => m.forward) }] : []), { name: 'backward', type: 'bar', stack: 't', data: modules.map((m) => m.backward) }] }), { height: Math.min(1000, 70 + 22 * modules.length) });
  const root = el('div', {},
    el('div', { class: 'facts' }, fact(`${number(c.ms, 4)} ms`, `forward and backward of ${c.batch.join(' \u00d7 ')} characters`), fact(number(c.gflop, 3), 'GFLOP of matrix products'), fact(number(c.gflops, 3), 'GFLOP/s'),
      fact(c.share_of_peak === null ? 'unknown' : `${(100 * c.share_of_peak).toFixed(1)} %`, `of the multiply-add peak, ${number(c.peak_gflops, 4)} GFLOP/s`),
      fact(bytes(c.tensor_bytes), 'in tensors at most'), fact(String(c.threads), `threads, ${c.kernels} kernels`)),
    el('p', { class: 'note' }, 'Measured when this page was made: the mean of three steps without the optimiser. A busy machine makes every number larger.'),
    el('div', { class: 'columns' }, card('Time by operation', 'Hatched: backward.', time.box), card('Memory by module', 'Tensors that backward reads. Parameters are not counted; what two operations share counts for the older one.', memory.box), card('Time by module', null, back.box)),
    el('div', { style: 'height:16px' }),
    card('All operations', null, table([
      { title: 'operation', class: 'text mono', text: (o) => o.op }, { title: 'calls', text: (o) => number(o.calls, 4), sort: (o) => o.calls },
      { title: 'forward ms', text: (o) => number(o.forward_ms), sort: (o) => o.forward_ms }, { title: 'backward ms', text: (o) => number(o.backward_ms), sort: (o) => o.backward_ms },
      { title: 'share', text: (o) => `${(100 * (o.forward_ms + o.backward_ms) / total).toFixed(1)} %`, sort: (o) => o.forward_ms + o.backward_ms },
      { title: 'kept for backward', text: (o) => bytes(saved.get(o.op) ?? 0), sort: (o) => saved.get(o.op) ?? 0 }], ops, { label: 'Cost by operation' })));
  const draw = () => [time, memory, back].forEach((k) => k.draw());
  return { root, show: draw, redraw: draw };
}
