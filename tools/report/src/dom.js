// Small helpers for making elements and printing numbers. Text always goes in as text, never as HTML.

export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'style') node.style.cssText = value;
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return node;
}

export const card = (title, note, ...children) =>
  el('section', { class: 'card' }, title ? el('h2', {}, title) : null, note ? el('p', { class: 'note' }, note) : null, ...children);

export const fact = (value, label) => el('div', {}, el('b', {}, value), el('span', {}, label));

export function number(x, digits = 4) {
  if (x === null || x === undefined) return 'not finite';
  if (x === 0) return '0';
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return x.toExponential(Math.min(2, digits));
  return String(Number(x.toPrecision(digits)));
}

export function bytes(n) {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KiB`;
  return `${(n / 1024 / 1024).toFixed(1)} MiB`;
}

export const shape = (s) => (s.length ? `(${s.join(', ')})` : '()');

// A character as it can be seen: blanks and line ends have signs of their own.
export function visible(c) {
  const signs = { '\n': '\u21b5', '\r': '\u240d', '\t': '\u21e5', ' ': '\u00b7' };
  return signs[c] ?? (c < ' ' ? `\\u${c.codePointAt(0).toString(16).padStart(4, '0')}` : c);
}

// columns: {title, text, sort?, class?, cell?}; text(row) is what stands there, sort(row) what it is sorted by.
export function table(columns, rows, { onclick, label, chosen } = {}) {
  const body = el('tbody');
  let order = null;
  const heads = columns.map((column, i) =>
    el('th', { class: column.class, scope: 'col' },
      el('button', { type: 'button', onclick: () => sortBy(i) }, column.title)));
  const fill = (list) => {
    body.replaceChildren(...list.map((row) => {
      const tr = el('tr', onclick ? { class: 'click', tabindex: 0, onclick: () => pick(row, tr) } : {},
        columns.map((c) => el('td', { class: c.class }, c.cell ? c.cell(row) : c.text(row))));
      if (onclick) tr.addEventListener('keydown', (e) => { if (e.key === 'Enter') pick(row, tr); });
      if (chosen && chosen(row)) tr.classList.add('chosen');
      return tr;
    }));
  };
  const pick = (row, tr) => {
    for (const other of body.children) other.classList.toggle('chosen', other === tr);
    onclick(row);
  };
  const sortBy = (i) => {
    const key = columns[i].sort ?? columns[i].text;
    const down = !(order && order.i === i && order.down);
    order = { i, down };
    heads.forEach((h, k) => (k === i ? h.setAttribute('aria-sort', down ? 'descending' : 'ascending') : h.removeAttribute('aria-sort')));
    const worth = (row) => { const v = key(row); return typeof v === 'number' && !Number.isFinite(v) ? -Infinity : v ?? -Infinity; };
    fill([...rows].sort((a, b) => (worth(a) < worth(b) ? 1 : worth(a) > worth(b) ? -1 : 0) * (down ? 1 : -1)));
  };
  fill(rows);
  return el('div', { class: 'scroll' }, el('table', { 'aria-label': label }, el('thead', {}, el('tr', {}, heads)), body));
}

// A histogram of a few pixels, drawn with the colour of the text.
export function spark(hist, width = 96, height = 20) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('width', width);
  svg.setAttribute('height', height);
  svg.setAttribute('class', 'spark');
  const most = Math.log1p(Math.max(1, ...hist));
  const path = document.createElementNS(svg.namespaceURI, 'path');
  const step = width / hist.length;
  path.setAttribute('d', hist.map((n, i) => {
    const h = (Math.log1p(n) / most) * height;
    return `M${(i * step).toFixed(1)} ${height}v${-h.toFixed(1)}h${(step - 0.6).toFixed(1)}V${height}z`;
  }).join(''));
  path.setAttribute('fill', 'currentColor');
  svg.append(path);
  return svg;
}
