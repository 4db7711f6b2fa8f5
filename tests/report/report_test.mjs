// V-01, V-02, V-08. Opens the page of `minigpt inspect` from disk in a browser and uses it: every tab is drawn, clicks and hovers work, nothing is
// written to the console, nothing is asked of the network. Leaves a screenshot of each tab in WORK/screenshots.
//
//   node report_test.mjs MINIGPT WORK          exit code 77: skipped, with the reason
import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [minigpt, work] = process.argv.slice(2).map((p) => path.resolve(p));
const here = path.dirname(fileURLToPath(import.meta.url));
const skip = (why) => { console.log(`skipped: ${why}`); process.exit(77); };

const browserPath = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => p && existsSync(p));
if (!browserPath) skip('no Chromium is installed (CHROMIUM=PATH names one)');
mkdirSync(work, { recursive: true });
if (!existsSync(path.join(work, 'node_modules/playwright-core'))) {
  for (const f of ['package.json', 'package-lock.json']) cpSync(path.join(here, f), path.join(work, f));
  try {
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: work, stdio: 'ignore', timeout: 180000 });
  } catch {
    skip('npm could not fetch playwright-core');
  }
}
const { chromium } = createRequire(path.join(work, 'x.js'))('playwright-core');

// --- a small model with a text that tries to break out of the page ---
const run = (...args) => execFileSync(minigpt, args, { cwd: work, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const evil = '</script><script>window.broken = 1</script><img src=x onerror="window.broken = 2">&amp;"DATA"';
const prose = readFileSync(path.join(here, 'report_test.mjs'), 'utf8').replace(/[^\x20-\x7e\n]/g, '');
writeFileSync(path.join(work, 'text.txt'), `${prose}\n${evil}\n`.repeat(3));
for (const f of ['model', 'screenshots']) rmSync(path.join(work, f), { recursive: true, force: true });
mkdirSync(path.join(work, 'screenshots'));
run('train', '--data', 'text.txt', '--out', 'model', '--layers', '3', '--heads', '4', '--channels', '32', '--block', '48', '--batch', '8', '--steps', '120', '--eval-every', '40',
  '--eval-batches', '2', '--seed', '1', '--threads', '1', '--watch', '10');
// As a crash may leave it.
appendFileSync(path.join(work, 'model/watch.jsonl'), '{"torn');
run('inspect', '--model', 'model', '--data', 'text.txt', '--text', evil.slice(0, 49), '--out', 'report.html', '--ablation', '--threads', '1');
const inspection = JSON.parse(run('inspect', '--model', 'model', '--data', 'text.txt', '--text', evil.slice(0, 49), '--json', '--threads', '1'));

let failures = 0;
const check = (ok, what) => { if (!ok) ++failures; console.log(`${ok ? 'ok  ' : 'FAIL'} ${what}`); };

// --- folding a graph: a -> (x in m.0) -> (y in m.0.in) -> z ---
const { ancestors, fold, modulesTo } = await import(pathToFileURL(path.join(here, '../../tools/report/src/fold.js')).href);
check(ancestors('t.h.0.attn').join(' ') === 't t.h.0 t.h.0.attn' && ancestors('').length === 0, 'fold: numbers belong to the name before them');
const small = [['a', ''], ['x', 'm.0'], ['y', 'm.0.in'], ['z', '']].map(([op, module], id) => ({ id, op, module, inputs: id ? [id - 1] : [] }));
const shut = fold(small, new Set());
check(shut.boxes.map((b) => b.key).join(' ') === '#0 m.0 #3' && shut.edges.map((e) => `${e.from}>${e.to}`).join(' ') === '#0>m.0 m.0>#3', 'fold: a folded module is one box');
const ajar = fold(small, new Set(['m.0']));
check(ajar.boxes.map((b) => b.key).join(' ') === '#0 #1 m.0.in #3' && ajar.boxes[2].inside.join() === 'm.0', 'fold: unfolded, its operations and modules stand in its frame');
check([...modulesTo(small, (n) => n.op === 'y')].join(' ') === 'm.0 m.0.in', 'fold: a search unfolds the way');

// --- the browser ---
const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] });
const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, colorScheme: 'light' });
const page = await context.newPage();
const errors = [];
const requests = [];
// But for the browser's advice about reading canvases back, which only this test does.
page.on('console', (m) => {
  if (['error', 'warning'].includes(m.type()) && !m.text().includes('willReadFrequently')) errors.push(m.text());
});
page.on('pageerror', (e) => errors.push(String(e)));
page.on('request', (r) => { if (!/^(file|data|blob):/.test(r.url())) requests.push(r.url()); });
const url = pathToFileURL(path.join(work, 'report.html')).href;
await page.goto(url);
const tab = async (name) => {
  await page.click(`#tab-${name.toLowerCase()}`);
  await page.waitForTimeout(400);
};
const shot = (name) => page.screenshot({ path: path.join(work, 'screenshots', `${name}.png`), fullPage: true });
// The number of different colours in a canvas or a screenshot of an element: 1 for one that was never drawn on.
const colours = (selector) => page.$$eval(selector, (list) => list.map((c) => {
  const data = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);
  return new Set(data).size;
}));

for (const [name, least] of [['Training', 4], ['Gradients', 3], ['Cost', 3]]) {
  await tab(name);
  const drawn = await colours('main .chart canvas');
  check(drawn.length >= least && drawn.every((n) => n > 3), `${name}: ${drawn.length} charts, colours ${drawn}`);
  await shot(name.toLowerCase());
}
await tab('Training');
await page.hover('main .chart canvas >> nth=0', { position: { x: 500, y: 200 } });
await page.waitForTimeout(200);
check((await page.locator('main .chart >> nth=0').innerText()).includes('validation') || (await page.locator('main .chart >> nth=0').innerText()).includes('each step'), 'Training: a hover shows the values');

await tab('Gradients');
await page.click('th >> text=norm');
const norms = await page.$$eval('main tbody tr td:nth-child(3)', (cells) => cells.map((c) => Number(c.textContent)).filter(Number.isFinite));
check(norms.length > 5 && norms.every((v, i) => i === 0 || v <= norms[i - 1]), 'Gradients: a click sorts the table');
await page.click('main tbody tr >> nth=2');
const picked = await page.$eval('main tbody tr.chosen td', (c) => c.textContent);
check((await page.locator('h2', { hasText: picked }).count()) === 1, 'Gradients: a click on a row shows its histogram');

await tab('Graph');
await page.waitForSelector('.drawing svg .node');
const boxes = Number(await page.$eval('.drawing', (d) => d.dataset.boxes));
check(boxes >= 6, `Graph: ${boxes} boxes at first`);
// One of several operations: a module of one would unfold into as many boxes.
await page.click('.node.module:has-text("operations") >> nth=0');
await page.waitForFunction((n) => Number(document.querySelector('.drawing').dataset.boxes) > n, boxes, { timeout: 20000 }).catch(() => {});
const more = Number(await page.$eval('.drawing', (d) => d.dataset.boxes));
check(more > boxes, `Graph: a click unfolds a module, ${more} boxes`);
await page.fill('input[type=search]', 'cross_entropy');
await page.waitForTimeout(300);
check((await page.locator('.node.found').count()) === 1, 'Graph: a search finds the loss');
await page.click('.node.found');
check((await page.locator('#node').innerText()).includes('cross_entropy'), 'Graph: a click shows an operation');
await page.fill('input[type=search]', '');
await page.waitForTimeout(300);
await shot('graph');

await tab('Attention');
await page.waitForFunction(() => document.querySelectorAll('.thumbs canvas').length === 12);
const thumbs = await colours('.thumbs canvas');
check(thumbs.every((n) => n > 3), `Attention: 12 thumbnails, colours ${thumbs}`);
await page.click('.thumbs button >> nth=6');
check((await page.locator('h2', { hasText: 'Layer 1, head 2' }).count()) === 1, 'Attention: a click chooses a head');
// The weight that the pointer shows is the one that --json has.
const packed = Buffer.from(inspection.attention.layers[1][2], 'base64');
const weight = (i, j) => packed.readUInt16LE(2 * ((i * (i + 1)) / 2 + j)) / 65535;
const geometry = await page.$eval('.stage canvas.over', (c) => ({ width: c.getBoundingClientRect().width }));
const cell = (geometry.width - 36) / inspection.attention.length;
for (const [i, j] of [[10, 3], [40, 40], [20, 0]]) {
  await page.hover('.stage canvas.over', { position: { x: 34 + (j + 0.5) * cell, y: 34 + (i + 0.5) * cell } });
  const shown = await page.$eval('.readout', (r) => r.dataset.weight);
  check(Math.abs(Number(shown) - weight(i, j)) < 6e-5, `Attention: weight ${i}, ${j} is ${shown}`);
}
check((await colours('.stage canvas.over'))[0] > 2, 'Attention: row and column are marked');
await page.focus('.stage canvas.over');
await page.keyboard.press('ArrowDown');
check((await page.locator('.readout').innerText()).startsWith('query 21 '), 'Attention: arrow keys move the cell');
// The marked label above the cells stays within its own column, with labels at every cell and without.
for (const [size, most] of [['10', 12], ['16', 18]]) {
  await page.selectOption('select[aria-label="Size of a cell"]', size);
  const width = await page.$eval('.stage canvas.over', (canvas) => {
    const ratio = window.devicePixelRatio || 1;
    const height = Math.round(30 * ratio);
    const data = canvas.getContext('2d').getImageData(Math.round(34 * ratio), 0, canvas.width - Math.round(34 * ratio), height).data;
    const painted = [];
    for (let k = 3; k < data.length; k += 4) if (data[k]) painted.push(((k - 3) / 4) % (canvas.width - Math.round(34 * ratio)));
    return painted.length ? (Math.max(...painted) - Math.min(...painted) + 1) / ratio : 0;
  });
  check(width > 2 && width <= most, `Attention: with cells of ${size} pixels the marked label is ${width} wide`);
}
await page.selectOption('select[aria-label="Size of a cell"]', 'fit');
await shot('attention');

await tab('Predictions');
const before = await page.locator('.side').innerText();
await page.hover('.prose span.c >> nth=12');
check((await page.locator('.side').innerText()) !== before, 'Predictions: a hover shows the alternatives');
const top = await page.locator('#top tr').count();
check(top === 5, `Predictions: ${top} alternatives`);
check(Math.abs(Number((await page.locator('.side .facts b >> nth=1').innerText())) - inspection.predictions.loss[11]) < 1e-3, 'Predictions: the loss is that of --json');
check((await colours('main canvas[role=img]'))[0] > 5, 'Predictions: the lens is drawn');
await page.selectOption('#colours', 'one');
await shot('predictions');

await page.click('#theme');
for (const name of ['Training', 'Gradients', 'Graph', 'Attention', 'Predictions', 'Cost']) {
  await tab(name);
  await shot(`${name.toLowerCase()}-dark`);
}
check(await page.evaluate(() => window.broken === undefined), 'text from outside stays text');
check(errors.length === 0, `console: ${errors.length} errors ${errors.slice(0, 3).join(' | ')}`);
check(requests.length === 0, `network: ${requests.length} requests ${requests.slice(0, 3).join(' ')}`);

// --- without scripts ---
const plain = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1000, height: 800 } });
const still = await plain.newPage();
await still.goto(url);
check((await still.locator('.plain table').count()) >= 6 && (await still.locator('.plain svg').count()) >= 5, 'without scripts there are tables, the losses and four heads as pictures');
await still.screenshot({ path: path.join(work, 'screenshots/plain.png') });
await browser.close();
console.log(`screenshots: ${path.join(work, 'screenshots')}`);
process.exit(failures ? 1 : 0);
