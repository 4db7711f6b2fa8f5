// YlOrRd, from light yellow to dark red (Cynthia Brewer, colorbrewer2.org): nine stops, straight lines between them.
const stops = ['ffffcc', 'ffeda0', 'fed976', 'feb24c', 'fd8d3c', 'fc4e2a', 'e31a1c', 'bd0026', '800026'].map((hex) =>
  [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));

export const stopColours = stops.map((s) => `rgb(${s.join(',')})`);

export function rgb(share) {
  const x = Math.min(1, Math.max(0, share || 0)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(x));
  return stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * (x - i)));
}

export const css = (share) => `rgb(${rgb(share).join(',')})`;
export const inkOn = (share) => (share > 0.6 ? '#fff' : '#1f2328');

// 256 colours as numbers for the pixels of an image (red lowest, as ImageData wants them).
export const palette = Uint32Array.from({ length: 256 }, (_, i) => {
  const [r, g, b] = rgb(i / 255);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
});

// The colour bar, so that a picture says what its colours mean.
export function colourBar(low, high) {
  const bar = document.createElement('canvas');
  bar.width = 180;
  bar.height = 12;
  bar.className = 'scale';
  const c = bar.getContext('2d');
  for (let x = 0; x < 180; ++x) {
    c.fillStyle = css(x / 179);
    c.fillRect(x, 0, 1, 12);
  }
  const box = document.createElement('span');
  box.append(`${low} `, bar, ` ${high}`);
  return box;
}
