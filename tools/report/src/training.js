// How the run went: loss against what counting reaches, learning rate, gradient norm, speed.
import { card, el, fact, number } from './dom.js';
import { chart } from './charts.js';

// A running mean over 2 n + 1 steps, so that the trend can be seen through the noise.
function smooth(values, n) {
  return values.map((_, i) => {
    const part = values.slice(Math.max(0, i - n), i + n + 1).filter(Number.isFinite);
    return part.length ? part.reduce((a, b) => a + b, 0) / part.length : null;
  });
}

export function training(data) {
  const { steps, evaluations, ladder, grad_clip: clip } = data.training;
  const x = steps.step;
  const pairs = (values) => x.map((s, i) => [s, values[i]]);
  if (!x.length && !evaluations.length) {
    return { root: card('Training', 'The model folder has no metrics.jsonl: there is nothing to draw.'), show() {}, redraw() {} };
  }
  const rungs = ladder ? ladder.rows.map((r) => [r.order, Math.min(r.witten_bell, r.additive)]) : [];
  // Labels of rungs that lie close together are moved apart.
  const near = (i, k) => rungs[i + k] && Math.abs(rungs[i][1] - rungs[i + k][1]) < 0.16;
  const beside = (i) => (near(i, 1) ? -7 : near(i, -1) ? 7 : 0);
  const best = evaluations.reduce((a, e) => (e.val_loss !== null && (a === null || e.val_loss < a.val_loss) ? e : a), null);
  const clipped = x.filter((_, i) => clip > 0 && steps.grad_norm[i] > clip).length;
  const lowest = rungs.length ? Math.min(...rungs.map(([, v]) => v)) : null;
  const time = { type: 'value', name: 'step', min: 'dataMin', max: 'dataMax' };
  const line = (name, values, more = {}) => ({ name, type: 'line', showSymbol: false, lineStyle: { width: 1.6 }, data: values, sampling: 'lttb', ...more });

  const charts = [
    ['Loss', 'Nats per character. Dashed: what tables of counts reach on the validation part, the marks to beat.', chart('Loss by step', ({ soft }) => ({
      xAxis: time, yAxis: { type: 'value', name: 'nats per character', scale: true, nameGap: 40 }, grid: { left: 60, right: 96, top: 36, bottom: 44 },
      series: [
        line('each step', pairs(steps.loss), { lineStyle: { width: 0.9, opacity: 0.6 } }),
        line('mean of 21 steps', pairs(smooth(steps.loss, 10)), { lineStyle: { width: 2 } }),
        line('validation', evaluations.filter((e) => e.val_loss !== null).map((e) => [e.step, e.val_loss]), { showSymbol: true, symbolSize: 7, lineStyle: { width: 1.5 },
          markLine: { silent: true, symbol: 'none', lineStyle: { type: 'dashed', color: soft }, label: { color: soft, position: 'end', formatter: '{b}' },
            data: rungs.map(([n, v], i) => ({ name: `${n}-gram ${v.toFixed(2)}`, yAxis: v, label: { offset: [0, beside(i)] } })) } }),
      ],
    }), { height: 420 })],
    ['Gradient norm', clip > 0 ? `Before clipping; the limit is ${clip}. Crosses mark the ${clipped} steps that were clipped.` : 'Nothing was clipped: there is no limit.',
      chart('Gradient norm by step', ({ soft }) => ({
        xAxis: time, yAxis: { type: 'log', name: 'norm', nameGap: 44 },
        series: [line('gradient norm', pairs(steps.grad_norm).filter(([, v]) => v > 0), { markLine: clip > 0 ? { silent: true, symbol: 'none', lineStyle: { type: 'dashed', color: soft },
          label: { color: soft, formatter: 'limit', position: 'insideEndTop' }, data: [{ yAxis: clip }] } : undefined }),
        { name: 'clipped', type: 'scatter', symbol: 'path://M0,0L10,10M10,0L0,10', symbolSize: 7, itemStyle: { borderColor: '#b3261e', borderWidth: 1.5 }, data: pairs(steps.grad_norm).filter(([, v]) => clip > 0 && v > clip) }],
      }))],
    ['Learning rate', null, chart('Learning rate by step', () => ({ legend: false, xAxis: time, yAxis: { type: 'value', name: 'rate', nameGap: 48 }, series: [line('learning rate', pairs(steps.lr))] }))],
    ['Speed', 'Characters per second, evaluations and saves left out.', chart('Tokens per second by step', () => ({ legend: false, grid: { left: 72, right: 24, top: 16, bottom: 44 }, xAxis: time, yAxis: { type: 'value', name: 'per second', nameGap: 56 }, series: [line('tokens/s', pairs(steps.tokens_per_s))] }))],
  ];
  const rows = evaluations.map((e) => el('tr', {}, [e.step, e.train_loss, e.val_loss].map((v, i) => el('td', {}, i ? number(v, 5) : String(v)))));
  const root = el('div', {},
    el('div', { class: 'facts' },
      fact(String(x.length ? x[x.length - 1] + 1 : 0), 'steps'), best ? fact(number(best.val_loss, 5), `best validation loss, step ${best.step}`) : null,
      lowest !== null ? fact(number(lowest, 4), 'the best table of counts') : null,
      best && lowest !== null ? fact(best.val_loss < lowest ? 'yes' : 'no', 'better than counting?') : null, fact(String(clipped), 'clipped steps')),
    card(charts[0][0], charts[0][1], charts[0][2].box),
    el('div', { class: 'columns' }, charts.slice(1).map(([t, n, c]) => card(t, n, c.box)),
      card('Evaluations', null, el('div', { class: 'scroll', style: 'max-height:300px' }, el('table', {}, el('thead', {}, el('tr', {}, ['step', 'training loss', 'validation loss'].map((t) => el('th', {}, t)))), el('tbody', {}, rows))))));
  const draw = () => charts.forEach(([, , c]) => c.draw());
  return { root, show: draw, redraw: draw };
}
