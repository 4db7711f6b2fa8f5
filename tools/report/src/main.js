// The page: reads its data, makes one tab after the other when it is first opened, and switches between light and dark.
import { el } from './dom.js';
import { attention } from './attention.js';
import { cost } from './cost.js';
import { gradients } from './gradients.js';
import { graph } from './graph.js';
import { predictions } from './predictions.js';
import { training } from './training.js';

const data = JSON.parse(document.getElementById('data').textContent);
const config = data.model.config;
document.getElementById('subject').textContent =
  `${data.model.folder}: ${config.n_layer} layers, ${config.n_head} heads, ${config.n_embd} channels, ${data.model.parameters.toLocaleString('en')} parameters`;

const parts = [
  ['Training', training],
  ['Gradients', gradients],
  ['Graph', graph],
  ['Attention', attention],
  ['Predictions', predictions],
  ['Cost', cost],
];
const tabs = document.getElementById('tabs');
const main = document.getElementById('main');
const made = new Map();
let open = null;

function show(name) {
  open = name;
  for (const b of tabs.children) {
    b.setAttribute('aria-selected', String(b.textContent === name));
    b.tabIndex = b.textContent === name ? 0 : -1;
  }
  const fresh = !made.has(name);
  if (fresh) made.set(name, parts.find(([n]) => n === name)[1](data));
  const part = made.get(name);
  main.replaceChildren(part.root);
  part.show();
  history.replaceState(null, '', `#${name.toLowerCase()}`);
}

for (const [name] of parts) tabs.append(el('button', { type: 'button', role: 'tab', id: `tab-${name.toLowerCase()}`, onclick: () => show(name) }, name));
tabs.addEventListener('keydown', (e) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
  if (!step) return;
  const i = (parts.findIndex(([n]) => n === open) + step + parts.length) % parts.length;
  show(parts[i][0]);
  tabs.children[i].focus();
});

const button = document.getElementById('theme');
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  button.textContent = theme === 'dark' ? 'Light' : 'Dark';
  if (open) made.get(open).redraw(theme);
}
button.addEventListener('click', () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
let waiting = 0;
addEventListener('resize', () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => made.get(open)?.redraw(), 120);
});
const wanted = parts.find(([n]) => `#${n.toLowerCase()}` === location.hash);
show((wanted ?? parts[0])[0]);
