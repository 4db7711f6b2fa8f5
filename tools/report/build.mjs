// Makes the page of `minigpt inspect`, without its data: node build.mjs NODE_MODULES OUT.html
// One file: esbuild bundles src/main.js with ECharts and Graphviz, and page.html takes it in, with styles and licences.
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const [modules, out] = process.argv.slice(2).map((p) => path.resolve(p));
const here = path.dirname(fileURLToPath(import.meta.url));
const esbuild = createRequire(path.join(modules, 'x.js'))('esbuild');
const text = (...parts) => readFileSync(path.join(...parts), 'utf8');

const bundle = esbuild.buildSync({
  entryPoints: [path.join(here, 'src/main.js')],
  bundle: true,
  minify: true,
  write: false,
  format: 'iife',
  target: 'es2020',
  charset: 'ascii', // the page's encoding plays no part
  legalComments: 'none', // the licences stand in full in the page
  nodePaths: [modules],
  define: { 'import.meta.url': '""', 'process.env.NODE_ENV': '"production"' },
}).outputFiles[0].text;

const licences = [
  ['Apache ECharts', text(modules, 'echarts/NOTICE') + '\n\n' + text(modules, 'echarts/LICENSE')],
  ['d3, parts of it in ECharts', text(modules, 'echarts/licenses/LICENSE-d3')],
  ['zrender', text(modules, 'zrender/LICENSE')],
  ['tslib', text(modules, 'tslib/LICENSE.txt')],
  ['viz-js', text(here, 'licences/viz-js.txt')],
  ['Graphviz', text(here, 'licences/graphviz.txt')],
  ['Expat', text(here, 'licences/expat.txt')],
];
const escaped = (s) => s.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const parts = {
  STYLE: text(here, 'src/style.css'),
  SCRIPT: bundle.replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--'),
  LICENCES: licences
    .map(([name, body]) => `<details><summary>${name}</summary><pre>${escaped(body.trim())}</pre></details>`)
    .join('\n'),
};
const page = text(here, 'src/page.html').replace(/\/\*(STYLE|SCRIPT)\*\/|<!--(LICENCES)-->/g, (_, a, b) => parts[a ?? b]);
writeFileSync(out, page);
