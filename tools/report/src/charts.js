// ECharts with only the parts that are used, in the colours of the page.
import * as echarts from 'echarts/core';
import { BarChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import { DataZoomComponent, GridComponent, LegendComponent, LegendScrollComponent, MarkAreaComponent, MarkLineComponent, TooltipComponent, VisualMapComponent } from 'echarts/components';
import { CanvasRenderer } from 'echarts/renderers';
import { el } from './dom.js';
import { stopColours } from './colour.js';

echarts.use([BarChart, HeatmapChart, LineChart, ScatterChart, DataZoomComponent, GridComponent, LegendComponent, LegendScrollComponent, MarkAreaComponent, MarkLineComponent,
  TooltipComponent, VisualMapComponent, CanvasRenderer]);

export const heatColours = stopColours;
// Told apart by lightness too, and lines by their dashes.
export const lineColours = () => (document.documentElement.dataset.theme === 'dark' 
  ? ['#ff9a5c', '#6cb2ff', '#8fd694', '#d7a6ff', '#ffe08a', '#7ee0d6'] : ['#a8430f', '#1668c7', '#2f7d32', '#7b3fb5', '#8a6d00', '#0b7a75']);
export const dashes = (i) => ['solid', 'dashed', 'dotted'][Math.floor(i / 2) % 3];

// A chart that is drawn when it is first seen, and again in other colours or another size. make() gives ECharts' options.
export function chart(label, make, { height = 300, onclick } = {}) {
  const box = el('div', { class: 'chart', role: 'img', 'aria-label': label, style: `height:${height}px` });
  let drawn = null;
  const draw = () => {
    const style = getComputedStyle(document.documentElement);
    const [ink, soft, line, paper] = ['--ink', '--soft', '--line', '--card'].map((n) => style.getPropertyValue(n).trim());
    drawn?.dispose();
    drawn = echarts.init(box, null, { renderer: 'canvas' });
    const options = make({ ink, soft, line, paper });
    const axis = (a) => ({ nameTextStyle: { color: soft }, nameLocation: 'middle', nameGap: 28, ...a, axisLabel: { color: soft, hideOverlap: true, ...a?.axisLabel },
      axisLine: { lineStyle: { color: line } }, axisTick: { lineStyle: { color: line } }, splitLine: { lineStyle: { color: line, opacity: 0.6 }, ...a?.splitLine } });
    const axes = (a) => (Array.isArray(a) ? a.map(axis) : axis(a));
    drawn.setOption({
      animation: false, color: lineColours(), textStyle: { color: ink, fontFamily: 'system-ui, "DejaVu Sans", sans-serif' },
      tooltip: { trigger: 'axis', backgroundColor: paper, borderColor: line, textStyle: { color: ink, fontSize: 12 }, confine: true },
      grid: { left: 60, right: 24, top: 36, bottom: 44 },
      ...options,
      legend: options.legend === false ? undefined : { type: 'scroll', pageIconColor: soft, pageTextStyle: { color: soft }, textStyle: { color: soft }, top: 0, ...options.legend },
      xAxis: axes(options.xAxis), yAxis: axes(options.yAxis),
    });
    if (onclick) drawn.on('click', onclick);
  };
  return { box, draw };
}
