// All layers x heads as small pictures, one of them large, and the same head as lines between tokens. Everything is drawn on
// canvas: 144 heads of 256 x 256 weights would be nine million elements.
import { card, el, number, visible } from './dom.js';
import { colourBar, css, inkOn, palette } from './colour.js';

// The lower triangle as it was packed: sixteen bits a weight.
function unpack(text) {
  const bytes = atob(text);
  const out = new Uint16Array(bytes.length / 2);
  for (let i = 0; i < out.length; ++i) out[i] = bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8);
  return out;
}

const at = (w, i, j) => (j > i ? 0 : w[(i * (i + 1)) / 2 + j] / 65535);

// A T x T picture, one pixel a weight. Beyond the diagonal it stays empty: those weights do not exist.
function picture(w, T) {
  const canvas = el('canvas', { width: T, height: T });
  const c = canvas.getContext('2d');
  const image = c.createImageData(T, T);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0, k = 0; i < T; ++i) for (let j = 0; j <= i; ++j, ++k) pixels[i * T + j] = palette[w[k] >> 8];
  c.putImageData(image, 0, 0);
  return canvas;
}

export function attention(data) {
  const { length: T, layers } = data.attention;
  const tokens = data.text.characters.slice(0, T).map(visible);
  const L = layers.length;
  const H = layers[0].length;
  const cache = new Map();
  const weights = (l, h) => {
    const key = l * H + h;
    if (!cache.has(key)) cache.set(key, unpack(layers[l][h]));
    return cache.get(key);
  };
  const report = (l, h) => (data.heads ?? []).find((r) => r.layer === l && r.head === h);
  let chosen = [0, 0];
  let cell = [Math.min(T - 1, 24), Math.max(0, Math.min(T - 1, 24) - 1)]; // query, key
  let size = 'fit';

  // --- thumbnails ---
  const thumbs = el('div', { class: 'thumbs', style: `grid-template-columns: 22px repeat(${H}, minmax(0, 1fr))` });
  thumbs.append(el('span'));
  for (let h = 0; h < H; ++h) thumbs.append(el('span', { class: 'label' }, String(h)));
  const buttons = [];
  for (let l = 0; l < L; ++l) {
    thumbs.append(el('span', { class: 'label' }, String(l)));
    for (let h = 0; h < H; ++h) {
      const r = report(l, h);
      const name = `Layer ${l}, head ${h}${r ? `: ${r.type}` : ''}`;
      const b = el('button', { type: 'button', title: name, 'aria-label': name, onclick: () => choose(l, h) });
      buttons.push(b);
      thumbs.append(b);
    }
  }
  let next = 0; // a few at a time, so that the page answers meanwhile
  const drawSome = () => {
    const end = performance.now() + 12;
    while (next < L * H && performance.now() < end) {
      const l = Math.floor(next / H);
      buttons[next].append(picture(weights(l, next % H), T));
      ++next;
    }
    if (next < L * H) setTimeout(drawSome, 0);
  };

  // --- one head, large ---
  const title = el('h2');
  const kind = el('p', { class: 'note' });
  const readout = el('div', { class: 'readout', 'aria-live': 'polite' });
  const base = el('canvas');
  const over = el('canvas', { class: 'over', tabindex: 0, role: 'img', 'aria-label': 'Attention weights; arrow keys move the cell' });
  const stage = el('div', { class: 'stage' }, base, over);
  const box = el('div', { class: 'scroll', style: 'max-height: 760px' }, stage);
  const strongest = el('div');
  const margin = 34;
  let px = 10;
  let main = null;

  function prepare(canvas, w, h) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
    canvas.style.width = `${w}px`;
    canvas.style.height = `${h}px`;
    const c = canvas.getContext('2d');
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    return c;
  }
  const theme = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Cells smaller than this have no labels but that of the pointer's.
  const labelled = () => px >= 9;
  const labelFont = (weight) => `${weight} ${labelled() ? Math.min(13, Math.max(8, px * 0.85)) : 14}px ui-monospace, "DejaVu Sans Mono", monospace`;

  function drawBase() {
    const room = Math.max(240, Math.min(main.clientWidth - 330, 720) - margin - 14);
    px = size === 'fit' ? Math.min(28, Math.max(room / T, 1.5)) : Number(size);
    const side = Math.ceil(margin + px * T) + 2;
    const c = prepare(base, side, side);
    const w = weights(...chosen);
    c.imageSmoothingEnabled = false;
    c.drawImage(picture(w, T), margin, margin, px * T, px * T);
    c.font = labelFont('normal');
    c.textBaseline = 'middle';
    c.fillStyle = theme('--ink');
    for (let i = 0; labelled() && i < T; ++i) {
      c.textAlign = 'right';
      c.fillText(tokens[i], margin - 5, margin + (i + 0.5) * px);
      c.textAlign = 'center';
      c.fillText(tokens[i], margin + (i + 0.5) * px, margin - 10);
    }
    if (px >= 24) {
      c.font = '9px ui-monospace, "DejaVu Sans Mono", monospace';
      for (let i = 0; i < T; ++i)
        for (let j = 0; j <= i; ++j) {
          const v = at(w, i, j);
          c.fillStyle = inkOn(v);
          c.fillText(v.toFixed(2).replace(/^0/, ''), margin + (j + 0.5) * px, margin + (i + 0.5) * px);
        }
    }
    c.strokeStyle = theme('--line');
    c.strokeRect(margin - 0.5, margin - 0.5, px * T + 1, px * T + 1);
    prepare(over, side, side);
    drawOver();
  }

  function drawOver() {
    const [i, j] = cell;
    const c = over.getContext('2d');
    const side = parseFloat(over.style.width);
    c.clearRect(0, 0, side, side);
    const x = margin + j * px;
    const y = margin + i * px;
    c.strokeStyle = theme('--mark');
    c.lineWidth = px < 5 ? 0.75 : 1.5;
    c.strokeRect(margin, y, px * T, px); // the query's row
    c.strokeRect(x, margin, px, px * T); // the key's column
    c.lineWidth = px < 5 ? 1.5 : 3;
    c.strokeRect(x - 1, y - 1, px + 2, px + 2);
    // The labels of the cell, in place of the plain ones: no larger than those, so that they leave their neighbours alone.
    c.font = labelFont('bold');
    c.textBaseline = 'middle';
    const paper = theme('--card');
    const label = (text, lx, ly, align) => {
      const width = c.measureText(text).width;
      const height = labelled() ? px : 16;
      c.fillStyle = paper;
      c.fillRect(align === 'right' ? lx - width : lx - Math.max(width, height) / 2, ly - height / 2, Math.max(width, height), height);
      c.fillStyle = theme('--mark');
      c.textAlign = align;
      c.fillText(text, lx, ly);
    };
    label(tokens[i], margin - 5, y + px / 2, 'right');
    label(tokens[j], x + px / 2, margin - 10, 'center');
    const value = at(weights(...chosen), i, j);
    readout.replaceChildren(`query ${i} \u201c${tokens[i]}\u201d, key ${j} \u201c${tokens[j]}\u201d: `,
      el('b', {}, j > i ? 'the future, which is hidden' : value.toFixed(4)));
    readout.dataset.weight = j > i ? '' : value.toFixed(4);
  }

  function drawStrongest() {
    const [i] = cell;
    const w = weights(...chosen);
    const keys = Array.from({ length: i + 1 }, (_, j) => [at(w, i, j), j]).sort((a, b) => b[0] - a[0]).slice(0, 6);
    strongest.replaceChildren(el('table', {}, el('tbody', {}, keys.map(([v, j]) => el('tr', {},
      el('td', { class: 'mono' }, `${tokens[j]}`), el('td', {}, `key ${j}`), el('td', { class: 'mono' }, v.toFixed(4)),
      el('td', { class: 'text' }, el('span', { style: `display:inline-block;height:10px;width:${(v * 120).toFixed(0)}px;background:${css(0.55)}` })))))));
  }

  function move(i, j) {
    const query = cell[0];
    cell = [Math.min(T - 1, Math.max(0, i)), Math.min(T - 1, Math.max(0, j))];
    drawOver();
    if (cell[0] === query) return;
    drawStrongest();
    drawLines();
  }
  const place = (e) => {
    const r = over.getBoundingClientRect();
    return [Math.floor((e.clientY - r.top - margin) / px), Math.floor((e.clientX - r.left - margin) / px)];
  };
  over.addEventListener('mousemove', (e) => {
    const [i, j] = place(e);
    if (i >= 0 && j >= 0 && i < T && j < T && (i !== cell[0] || j !== cell[1])) move(i, j);
  });
  over.addEventListener('keydown', (e) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (!step) return;
    e.preventDefault();
    move(cell[0] + step[0], cell[1] + step[1]);
  });

  // --- lines between tokens ---
  const lines = el('canvas', { role: 'img', 'aria-label': 'Lines from each query to the keys it looks at' });
  const row = 18;
  const wide = 360;
  const right = wide - 76;
  function drawLines() {
    const c = prepare(lines, wide, T * row + 8);
    const w = weights(...chosen);
    c.font = '13px ui-monospace, "DejaVu Sans Mono", monospace';
    c.textBaseline = 'middle';
    const [query] = cell;
    const y = (i) => 4 + (i + 0.5) * row;
    const draw = (i, colour, least) => {
      for (let j = 0; j <= i; ++j) {
        const v = at(w, i, j);
        if (v < least) continue;
        c.strokeStyle = colour;
        c.globalAlpha = Math.min(1, 0.08 + v);
        c.lineWidth = 0.5 + 3 * v;
        c.beginPath();
        c.moveTo(46, y(i));
        c.lineTo(right - 6, y(j));
        c.stroke();
      }
      c.globalAlpha = 1;
    };
    for (let i = 0; i < T; ++i) if (i !== query) draw(i, theme('--line'), 0.1);
    draw(query, theme('--accent'), 0.005);
    for (let i = 0; i < T; ++i) {
      const v = at(w, query, i);
      c.fillStyle = i === query ? theme('--accent') : theme('--ink');
      c.textAlign = 'right';
      c.fillText(tokens[i], 38, y(i));
      c.textAlign = 'left';
      c.fillStyle = v >= 0.05 ? theme('--accent') : theme('--ink');
      c.fillText(v >= 0.05 ? `${tokens[i]} ${v.toFixed(2)}` : tokens[i], right, y(i));
    }
  }
  lines.addEventListener('click', (e) => {
    const i = Math.floor((e.clientY - lines.getBoundingClientRect().top - 4) / row);
    if (i >= 0 && i < T) move(i, cell[1]);
  });

  function choose(l, h) {
    chosen = [l, h];
    buttons.forEach((b, k) => b.setAttribute('aria-pressed', String(k === l * H + h)));
    title.textContent = `Layer ${l}, head ${h}`;
    const r = report(l, h);
    kind.textContent = r
      ? `Looks at: ${r.type}. Mean distance ${number(r.distance, 3)} characters; entropy ${number(r.entropy, 3)} of uniform.`
        + (r.loss_rise === null ? ' Its loss without this head was not measured (--ablation).' : ` Without it the loss rises by ${number(r.loss_rise, 3)} nats.`)
      : '';
    draw();
  }
  function draw() {
    drawBase();
    drawStrongest();
    drawLines();
  }
  const zoom = el('select', { 'aria-label': 'Size of a cell', onchange: (e) => { size = e.target.value; drawBase(); } },
    [['fit', 'fit'], ['4', '4 pixels'], ['10', '10 pixels'], ['16', '16 pixels'], ['26', '26 pixels, with numbers']].map(([v, t]) => el('option', { value: v }, t)));

  const root = el('div', {},
    el('p', { class: 'note' }, 'Every weight of every head on the text, after the softmax and before dropout: the model is read as it is used, '
      + 'with dropout off. A row is a query, a column a key; each row adds up to 1, and nothing looks ahead.'),
    el('div', { class: 'attention' },
      card('Layers (down) and heads (across)', null, thumbs),
      el('div', {},
        main = el('section', { class: 'card' }, title, kind, el('div', { class: 'bar' }, el('label', {}, 'Cell ', zoom), colourBar(0, 1)), readout,
          el('div', { style: 'display:flex;flex-wrap:wrap;gap:20px;align-items:flex-start' }, box,
            el('div', {}, el('p', { class: 'note', style: 'margin:0' }, 'The most weight of this query'), strongest))),
        card('From each query (left) to its keys (right)', 'Click a query. Its lines are coloured, those of the others above 0.1 are grey.',
          el('div', { class: 'scroll', style: 'max-height: 620px' }, lines)))),
    headTable());

  function headTable() {
    const heads = data.heads ?? [];
    if (!heads.length) return el('span');
    const rows = heads.map((r) => el('tr', {}, el('td', {}, `${r.layer}.${r.head}`), el('td', { class: 'text' }, r.type),
      el('td', {}, number(r.entropy, 3)), el('td', {}, number(r.distance, 3)), el('td', {}, r.loss_rise === null ? '\u2013' : number(r.loss_rise, 3))));
    return card('What each head looks at', 'Read off several windows of the text, as minigpt heads does it.',
      el('div', { class: 'scroll' }, el('table', {}, el('thead', {}, el('tr', {}, ['head', 'type', 'entropy', 'distance', 'loss rise without it'].map((t, i) =>
        el('th', { class: i === 1 ? 'text' : undefined }, t)))), el('tbody', {}, rows))));
  }

  return { root, show: () => { if (!next) { choose(0, 0); drawSome(); } else draw(); }, redraw: draw };
}
