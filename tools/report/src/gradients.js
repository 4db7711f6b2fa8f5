// Every parameter's gradient: of one backward pass, and over time where `minigpt train --watch` wrote it down.
import { card, el, fact, number, shape, spark, table } from './dom.js';
import { chart, dashes, heatColours } from './charts.js';

const count = (s) => s.reduce((a, b) => a * b, 1);

export function gradients(data) {
  const g = data.gradients;
  const watch = data.watch ?? [];
  const charts = [];
  const add = (c) => (charts.push(c), c.box);
  let parameter = g.parameters[0];
  const short = (name) => name.replace(/^transformer\./, '');

  // --- the chosen parameter ---
  const heading = el('h2');
  const facts = el('div', { class: 'facts' });
  const bars = chart('Histogram of the gradient', () => {
    const s = parameter.grad ?? parameter.weight;
    const step = (s.range[1] - s.range[0]) / s.hist.length;
    return { legend: false, tooltip: { trigger: 'axis' }, xAxis: { type: 'category', name: 'gradient', data: s.hist.map((_, i) => number(s.range[0] + (i + 0.5) * step, 2)) },
      yAxis: { type: 'log', name: 'elements', nameGap: 44, min: 0.5, axisLabel: { formatter: (v) => (v < 1 ? '' : String(v)) } },
      series: [{ type: 'bar', barCategoryGap: '10%', data: s.hist.map((n) => (n > 0 ? n : null)) }] };
  }, { height: 260 });
  const over = chart('Histogram of the gradient over time', () => {
    const lines = watch.map((w) => [w.step, w.parameters?.find((p) => p.name === parameter.name)?.grad]).filter(([, s]) => s?.hist);
    // One axis for all steps: each histogram's bins are laid onto it.
    const reach = Math.max(...lines.map(([, s]) => Math.max(Math.abs(s.min), Math.abs(s.max))), 1e-30);
    const bins = 41;
    const cells = [];
    lines.forEach(([, s], x) => {
      const column = new Array(bins).fill(0);
      const width = (s.max - s.min) / s.hist.length;
      s.hist.forEach((n, i) => { const v = s.min + (i + 0.5) * width; column[Math.min(bins - 1, Math.max(0, Math.floor(((v / reach + 1) / 2) * bins)))] += n; });
      const all = column.reduce((a, b) => a + b, 0) || 1;
      column.forEach((n, y) => { if (n > 0) cells.push([x, y, Math.log10(n / all)]); });
    });
    return { legend: false, tooltip: { trigger: 'item', formatter: ({ value: [x, y, v] }) => `step ${lines[x][0]}, gradient ${number(((y + 0.5) / bins * 2 - 1) * reach, 2)}: ${(100 * 10 ** v).toFixed(2)} %` },
      grid: { left: 70, right: 24, top: 12, bottom: 78 }, xAxis: { type: 'category', name: 'step', data: lines.map(([s]) => s) },
      yAxis: { type: 'category', name: 'gradient', nameGap: 54, data: Array.from({ length: bins }, (_, i) => number(((i + 0.5) / bins * 2 - 1) * reach, 2)) },
      visualMap: { min: -4, max: 0, calculable: false, orient: 'horizontal', left: 'center', bottom: 0, itemHeight: 90, itemWidth: 10, text: ['all', 'share 1e-4'], inRange: { color: heatColours }, textStyle: { color: 'inherit' } },
      series: [{ type: 'heatmap', data: cells, progressive: 5000 }] };
  }, { height: 360 });
  function choose(p) {
    parameter = p;
    heading.textContent = `${p.name} ${shape(p.shape)}`;
    const s = p.grad;
    facts.replaceChildren(...(s ? [fact(number(s.norm), 'gradient norm'), fact(number(p.weight.norm), 'weight norm'), fact(number(s.mean), 'mean'), fact(number(s.std), 'deviation'),
      fact(number(s.min), 'least'), fact(number(s.max), 'most'), fact(`${(100 * s.zeros).toFixed(1)} %`, 'zeros')] : [fact('none', 'gradient')]));
    bars.draw();
    if (watch.length) over.draw();
  }
  const of = (key) => (p) => p.grad?.[key] ?? null;
  const columns = [
    { title: 'parameter', class: 'text mono', text: (p) => p.name },
    { title: 'shape', text: (p) => shape(p.shape), sort: (p) => count(p.shape) },
    ...[['norm', 'norm'], ['mean', 'mean'], ['std', 'deviation'], ['min', 'least'], ['max', 'most']].map(([k, t]) => ({ title: t, text: (p) => (p.grad ? number(p.grad[k], 3) : '\u2013'), sort: of(k) })),
    { title: 'zeros', text: (p) => (p.grad ? `${(100 * p.grad.zeros).toFixed(1)} %` : '\u2013'), sort: of('zeros') },
    { title: 'distribution', class: 'text', text: () => '', cell: (p) => (p.grad ? spark(p.grad.hist) : '\u2013'), sort: of('std') },
    { title: 'weight norm', text: (p) => number(p.weight.norm, 3), sort: (p) => p.weight.norm },
    { title: 'gradient / weight', text: (p) => number(p.ratio, 3), sort: (p) => p.ratio },
  ];

  // --- by depth, and over time ---
  const matrices = g.parameters.filter((p) => p.shape.length > 1 && p.grad);
  const scales = matrices.map((p) => p.grad.norm / Math.sqrt(count(p.shape)) || null);
  const floor = 10 ** Math.floor(Math.log10(Math.min(...scales.filter((v) => v > 0), 1)) - 0.01); // bars on a logarithmic axis grow from here
  const depth = chart('Root mean square gradient of each matrix', () => ({ legend: false, grid: { left: 70, right: 20, top: 14, bottom: 120 }, tooltip: { trigger: 'axis', axisPointer: { type: 'shadow' } },
    xAxis: { type: 'category', data: matrices.map((p) => short(p.name)), axisLabel: { rotate: 55, interval: matrices.length > 30 ? 'auto' : 0, fontSize: 10, hideOverlap: matrices.length > 30 } },
    yAxis: { type: 'log', name: 'root mean square', nameGap: 52, min: floor, startValue: floor }, series: [{ type: 'bar', data: scales }] }), { height: 340 });
  add(depth);
  const time = [];
  if (watch.length) {
    const names = [...new Set(watch.flatMap((w) => (w.parameters ?? []).map((p) => p.name)))];
    const steps = watch.map((w) => w.step);
    const get = (w, name) => w.parameters?.find((p) => p.name === name);
    const heat = (label, value, unit, low, high) => chart(label, () => ({ legend: false, grid: { left: 210, right: 20, top: 8, bottom: 84 },
      tooltip: { trigger: 'item', formatter: ({ value: [x, y, v] }) => `step ${steps[x]}, ${names[y]}: ${(10 ** v).toExponential(2)}` },
      xAxis: { type: 'category', name: 'step', data: steps }, yAxis: { type: 'category', inverse: true, data: names.map(short), axisLabel: { fontSize: 10, interval: names.length > 60 ? 'auto' : 0 } },
      visualMap: { min: low, max: high, orient: 'horizontal', left: 'center', bottom: 0, itemHeight: 110, itemWidth: 10, text: [`1e${high}`, `${unit} 1e${low}`], inRange: { color: heatColours }, textStyle: { color: 'inherit' } },
      series: [{ type: 'heatmap', progressive: 5000, data: watch.flatMap((w, x) => names.map((n, y) => { const v = value(get(w, n)); return v > 0 ? [x, y, Math.log10(v)] : null; }).filter(Boolean)) }] }),
    { height: Math.min(900, 130 + 15 * names.length) });
    const layers = [...new Set(watch.flatMap((w) => (w.layers ?? []).map((l) => l.layer)))];
    const lines = (label, get, axis) => chart(label, () => ({ xAxis: { type: 'value', name: 'step' }, yAxis: { type: 'value', scale: true, name: axis, nameGap: 46 },
      series: layers.map((l, i) => ({ name: `layer ${l}`, type: 'line', showSymbol: false, lineStyle: { type: dashes(i) }, data: watch.map((w) => { const layer = w.layers?.find((q) => q.layer === l); return [w.step, layer ? get(layer) : null]; }) })) }));
    const mean = (list) => list.reduce((sum, v) => sum + v, 0) / list.length;
    const ratio = chart('Update to weight ratio of each block', () => {
      const groups = [...new Set(names.map((n) => /^transformer\.(h\.\d+)/.exec(n)?.[1] ?? 'rest'))];
      return { xAxis: { type: 'value', name: 'step' }, yAxis: { type: 'log', name: 'update / weight', nameGap: 48 }, series: groups.map((q, i) => ({ name: q, type: 'line', showSymbol: false, lineStyle: { type: dashes(i) },
        data: watch.map((w) => { const v = (w.parameters ?? []).filter((p) => (/^transformer\.(h\.\d+)/.exec(p.name)?.[1] ?? 'rest') === q && p.update_ratio > 0).map((p) => p.update_ratio).sort((a, b) => a - b); return [w.step, v.length ? v[v.length >> 1] : null]; }),
        markArea: i ? undefined : { silent: true, itemStyle: { color: '#2f7d32', opacity: 0.12 }, label: { show: true, position: 'insideTopLeft', color: '#2f7d32', formatter: 'healthy' }, data: [[{ yAxis: 3e-4 }, { yAxis: 3e-3 }]] } })) };
    });
    time.push(card('Update to weight ratio', 'The median over each block: by what share of itself a weight moves in a step. About one thousandth is healthy (shaded).', add(ratio)),
      card('Gradient norm of every parameter', 'Logarithmic colours; empty where it is 0.', add(heat('Gradient norms over time', (p) => p?.grad?.norm, 'norm', -5, 0))));
    if (layers.length) {
      time.push(el('div', { class: 'columns' },
        card('Residual stream', 'Its root mean square after each block: it grows as blocks add to it.', add(lines('Residual stream', (l) => l.residual, 'root mean square'))),
        card('What each block adds', 'The root mean square of the difference that a block makes.', add(lines('What each block adds', (l) => l.branch, 'root mean square'))),
        card('Inactive values', 'Share of hidden values of the MLP that pass almost no gradient on. About half is usual for a rectifier.', add(lines('Inactive share', (l) => l.inactive, 'share'))),
        card('Dead units', 'Share of hidden units of the MLP that are inactive at every position looked at.', add(lines('Dead share', (l) => l.dead, 'share'))),
        card('Entropy of attention', 'Mean over the heads of a layer; 1: all keys alike, 0: a single one.', add(lines('Entropy of attention', (l) => mean(l.entropy), 'share of uniform')))));
    }
  }
  const root = el('div', {},
    el('div', { class: 'facts' }, fact(number(g.norm), 'norm of all gradients'), fact(number(g.loss, 5), 'loss of the batch'), fact(g.batch.join(' \u00d7 '), 'texts \u00d7 characters'),
      fact(g.grad_clip > 0 ? String(g.grad_clip) : 'none', 'limit of the norm')),
    card('In words', null, g.verdicts.length ? g.verdicts.map((v) => el('div', { class: `verdict${v.id === 'clipped' || v.id === 'sparse' ? ' good' : ''}` }, el('code', {}, v.where), el('div', {}, v.text)))
      : el('div', { class: 'verdict good' }, 'Nothing stands out: every parameter has a finite gradient that is not zero, and the first and the last block\u2019s are within a factor of 30.')),
    card('One backward pass', 'Of the mean loss of one batch, without dropout. Click a heading to sort, a row for its histogram.', table(columns, g.parameters, { label: 'Gradients by parameter', onclick: choose, chosen: (p) => p === parameter })),
    el('div', { class: 'columns' }, el('section', { class: 'card' }, heading, facts, bars.box), card('By depth', 'In the order of the forward pass. Bars that shrink towards one end by orders of magnitude are vanishing gradients.', depth.box)),
    el('div', { style: 'height:16px' }),
    watch.length ? card('The chosen parameter over time', 'Each column is one recorded step.', over.box) : card('Over time', 'There is no watch.jsonl in the model folder: train with --watch 10 to record gradients as they change.'),
    time);
  const draw = () => { choose(parameter); charts.forEach((c) => c.draw()); };
  return { root, show: draw, redraw: draw };
}
