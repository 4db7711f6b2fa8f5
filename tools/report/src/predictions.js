// Each character of the text by its loss; beside it what else the model thought of, layer by layer, and what the loss hangs on.
import { card, el, fact, number, visible } from './dom.js';
import { colourBar, css, inkOn } from './colour.js';

export function predictions(data) {
  const p = data.predictions;
  const characters = data.text.characters;
  const vocabulary = data.model.vocabulary;
  const name = (token) => (vocabulary[token] === '\\n' ? '\u21b5' : vocabulary[token] === ' ' ? '\u00b7' : vocabulary[token]);
  const T = p.loss.length;
  const worst = Math.max(...p.loss.filter(Number.isFinite), 1e-9);
  let chosen = Math.min(T - 1, 1);
  let mode = 'loss';

  const spans = characters.map((c, k) => {
    const span = el('span', { class: 'c', tabindex: k === 0 ? undefined : 0, role: k === 0 ? undefined : 'button' },
      c === '\n' ? '\u21b5\n' : c);
    if (k === 0) return span;
    const look = () => choose(k - 1);
    span.addEventListener('mouseenter', look);
    span.addEventListener('focus', look);
    return span;
  });
  const text = el('div', { class: 'prose', 'aria-label': 'The text, coloured' }, spans);
  const legend = el('span');

  // What is shown at character k, and the most it can be.
  function values() {
    if (mode === 'loss') return [[null, ...p.loss], worst, 'nats'];
    const row = mode === 'all' || !p.saliency_by_token ? p.saliency : p.saliency_by_token[chosen];
    const list = characters.map((_, k) => (k < row.length ? row[k] : null));
    return [list, Math.max(...row, 1e-30), ''];
  }
  function paint() {
    const [list, most] = values();
    spans.forEach((span, k) => {
      const v = list[k];
      const known = v !== null && v !== undefined;
      span.style.background = known ? css(v / most) : 'none';
      span.style.color = known ? inkOn(v / most) : 'inherit';
      span.dataset.n = known ? number(v, 2) : ' ';
      span.classList.toggle('chosen', k === chosen + 1);
    });
    legend.replaceChildren(colourBar(0, `${number(most, 3)} ${mode === 'loss' ? 'nats' : '(length of the gradient)'}`));
  }

  const side = el('div', { class: 'side' });
  function choose(i) {
    chosen = i;
    paint();
    const actual = data.text.tokens[i + 1];
    const probability = Math.exp(-p.loss[i]);
    const rank = p.top[i].findIndex(([t]) => t === actual);
    const bar = (v) => el('span', { style: `display:inline-block;height:10px;width:${Math.round(120 * v)}px;background:${css(0.55)}` });
    side.replaceChildren(card(null, null,
      el('div', { class: 'facts' }, fact(`\u201c${visible(characters[i + 1])}\u201d`, `character ${i + 1}`), fact(number(p.loss[i], 4), 'loss, nats'),
        fact(`${(100 * probability).toFixed(1)} %`, 'its probability'), fact(rank < 0 ? `> ${p.top[i].length}` : String(rank + 1), 'its rank')),
      el('h2', {}, 'The likeliest here'),
      el('table', { id: 'top', 'aria-label': 'The likeliest characters' }, el('tbody', {}, p.top[i].map(([t, v]) => el('tr', { class: t === actual ? 'chosen' : undefined },
        el('td', { class: 'mono' }, name(t)), el('td', {}, v.toFixed(4)), el('td', { class: 'text' }, bar(v)), el('td', { class: 'text' }, t === actual ? 'the text\u2019s own' : ''))))),
      el('h2', { style: 'margin-top:14px' }, 'If the model ended after this layer'),
      el('table', { 'aria-label': 'Logit lens at this character' }, el('thead', {}, el('tr', {}, ['layer', 'likeliest', 'with', 'the text\u2019s own'].map((t) => el('th', {}, t)))),
        el('tbody', {}, p.lens.map((layer, l) => el('tr', {}, el('td', {}, l === 0 ? 'embedding' : `block ${l - 1}`), el('td', { class: 'mono' }, name(layer.token[i])),
          el('td', {}, layer.probability[i].toFixed(3)), el('td', {}, layer.target[i].toFixed(3))))))));
    drawLens();
  }

  // --- the logit lens over the whole text ---
  const lens = el('canvas', { role: 'img', 'aria-label': 'Logit lens: layers by characters' });
  const w = 18;
  const h = 24;
  const left = 78;
  function drawLens() {
    const ratio = window.devicePixelRatio || 1;
    const L = p.lens.length;
    const [width, height] = [left + T * w + 2, (L + 1) * h + 2];
    lens.width = width * ratio;
    lens.height = height * ratio;
    lens.style.width = `${width}px`;
    lens.style.height = `${height}px`;
    const c = lens.getContext('2d');
    c.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    c.font = '13px ui-monospace, "DejaVu Sans Mono", monospace';
    c.textBaseline = 'middle';
    c.fillStyle = style.getPropertyValue('--ink');
    for (let r = 0; r <= L; ++r) {
      c.textAlign = 'left';
      c.fillStyle = style.getPropertyValue('--soft');
      c.fillText(r === L ? 'the text' : r === L - 1 ? 'embedding' : `block ${L - 2 - r}`, 0, (r + 0.5) * h);
      c.textAlign = 'center';
      for (let i = 0; i < T; ++i) {
        const layer = r < L ? p.lens[L - 1 - r] : null;
        if (layer) {
          c.fillStyle = css(layer.target[i]);
          c.fillRect(left + i * w, r * h, w - 1, h - 1);
        }
        c.fillStyle = layer ? inkOn(layer.target[i]) : style.getPropertyValue('--ink');
        c.fillText(layer ? name(layer.token[i]) : visible(characters[i + 1]), left + (i + 0.5) * w, (r + 0.5) * h);
      }
    }
    c.strokeStyle = style.getPropertyValue('--mark');
    c.lineWidth = 2;
    c.strokeRect(left + chosen * w - 1, 1, w + 1, height - 2);
  }
  lens.addEventListener('mousemove', (e) => {
    const i = Math.floor((e.clientX - lens.getBoundingClientRect().left - left) / w);
    if (i >= 0 && i < T && i !== chosen) choose(i);
  });

  const modes = [['loss', 'loss of each character'], ['all', 'what the mean loss hangs on'],
    ...(p.saliency_by_token ? [['one', 'what the loss of the chosen character hangs on']] : [])];
  const root = el('div', {},
    el('div', { class: 'facts' }, fact(number(p.mean_loss, 4), 'mean loss, nats'), fact(number(p.mean_loss / Math.LN2, 4), 'bits per character'),
      fact(String(T), 'characters predicted'), fact(number(Math.log(vocabulary.length), 4), 'loss of knowing nothing')),
    el('div', { class: 'predictions' },
      el('div', {},
        card('The text', 'Point at a character, or reach it with the tab key. The first one is given. Saliency is the length of the gradient of the loss '
          + 'with respect to the embedding of each character read.',
          el('div', { class: 'bar' }, el('label', {}, 'Colours ', el('select', { id: 'colours', onchange: (e) => { mode = e.target.value; paint(); } }, modes.map(([v, t]) => el('option', { value: v }, t)))),
            el('label', {}, el('input', { type: 'checkbox', onchange: (e) => text.classList.toggle('numbers', e.target.checked) }), ' numbers'), legend), text)),
      side),
    card('Logit lens', 'The final norm and the read-out applied to the residual stream after each block: what the model would say if it ended there. '
      + 'The letter is the likeliest one, the colour the probability of the text\u2019s own.', colourBar(0, 1), el('div', { class: 'scroll' }, lens)));
  return { root, show: () => choose(chosen), redraw: () => choose(chosen) };
}
