// How a scene looks on a canvas and in SVG.

import { clean } from './dom.js';

const ramp = { light: ['#c9d1d9', '#8fc1e3', '#3f8fc5', '#c77700', '#a12a00'], dark: ['#47515b', '#2f6f9f', '#5cb3ea', '#f0a13a', '#ff7a4d'] };

// palette reads the colours of the style sheet.
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const c = (name) => style.getPropertyValue(`--${name}`).trim();
  const q = matchMedia('(prefers-color-scheme: dark)').matches ? ramp.dark : ramp.light;
  return {
    active: c('map-line'), slow: c('map-slow'), avoid: c('map-avoid'), start: c('map-start'), down: c('map-down'), gone: c('map-down'),
    unknown: c('unknown'), path: c('map-path'), select: c('map-select'), plan: c('map-plan'), diff: c('map-plan'),
    box: c('map-box'), edge: c('map-edge'), block: c('map-block'), text: c('text'), soft: c('soft'), back: c('back'), bad: c('bad'),
    badBack: c('bad-back'), bundle: c('map-line'), q,
  };
}

const dashes = { down: [6, 4], gone: [2, 3], start: [10, 3], avoid: [8, 3, 2, 3], plan: [3, 3], diff: [3, 3], unknown: [1, 3] };
const widths = { down: 2.2, gone: 2.2, start: 2.2, avoid: 2.2, slow: 2, path: 4, select: 9, plan: 3, diff: 3, bundle: 1, active: 0.8, q0: 0.6, q1: 1, q2: 1.5, q3: 2.2, q4: 3 };
const order = ['bundle', 'unknown', 'active', 'q0', 'q1', 'q2', 'q3', 'q4', 'select', 'slow', 'avoid', 'start', 'gone', 'down', 'diff', 'plan', 'path'];

// lineStyle is how lines of a class look.
export function lineStyle(kind, p) {
  kind = bare(kind);
  const q = /^q(\d)$/.exec(kind);
  return { stroke: q ? p.q[q[1]] : p[kind] || p.unknown, width: widths[kind] || 1.5, dash: dashes[kind] || [] };
}

// boxStyle is how boxes of a class look. cross is set for what must differ in more than its colour.
export function boxStyle(kind, p) {
  const [what, state] = kind.split('-');
  if (what === 'block') return { fill: p.block, stroke: p.edge, width: 0.5 };
  if (what === 'blockbad') return { fill: p.badBack, stroke: p.bad, width: 1 };
  if (what === 'ring') return { stroke: p[state], width: 2.5 };
  if (what === 'switch') {
    if (!state) return { fill: p.box, stroke: p.edge, width: 1 };
    return { fill: p.box, stroke: p[state] || p.unknown, width: 2.5, cross: state === 'down' || state === 'gone' };
  }
  const q = /^q(\d)$/.exec(state);
  if (q) return { fill: p.q[q[1]] };
  if (state === 'active') return { fill: p.active };
  return { fill: state === 'gone' || state === 'down' ? p.box : p[state] || p.unknown, stroke: p[state] || p.unknown, width: 1.5, cross: state === 'down' };
}

const bare = (kind) => kind.replace('far ', '');
const byOrder = (a, b) => order.indexOf(bare(a[0])) - order.indexOf(bare(b[0]));
const isFar = ([kind]) => kind.startsWith('far ');
const isRing = ([kind]) => kind.startsWith('ring');

// paint draws a scene.
export function paint(ctx, scene, p, w, h) {
  ctx.fillStyle = p.back;
  ctx.fillRect(0, 0, w, h);
  const boxes = [...scene.boxes];
  const draw = (all) => {
    for (const [kind, list] of all) {
      const style = boxStyle(kind, p);
      if (style.fill) {
        ctx.fillStyle = style.fill;
        for (let i = 0; i < list.length; i += 4) ctx.fillRect(list[i], list[i + 1], list[i + 2], list[i + 3]);
      }
      if (!style.stroke) continue;
      ctx.strokeStyle = style.stroke;
      ctx.lineWidth = style.width;
      ctx.setLineDash([]);
      ctx.beginPath();
      for (let i = 0; i < list.length; i += 4) {
        const [x, y, w, h] = [list[i], list[i + 1], list[i + 2], list[i + 3]];
        ctx.rect(x, y, w, h);
        if (style.cross) {
          ctx.moveTo(x, y);
          ctx.lineTo(x + w, y + h);
          ctx.moveTo(x + w, y);
          ctx.lineTo(x, y + h);
        }
      }
      ctx.stroke();
    }
  };
  const lines = (all) => {
    for (const [kind, list] of all.sort(byOrder)) {
      const style = lineStyle(kind, p);
      ctx.strokeStyle = style.stroke;
      ctx.lineWidth = list.length > 6 * 500 ? style.width * 0.6 : style.width;
      ctx.setLineDash(style.dash);
      ctx.beginPath();
      for (let i = 0; i < list.length; i += 6) {
        ctx.moveTo(list[i], list[i + 1]);
        if (Number.isNaN(list[i + 4])) ctx.lineTo(list[i + 2], list[i + 3]);
        else ctx.quadraticCurveTo(list[i + 4], list[i + 5], list[i + 2], list[i + 3]);
      }
      ctx.stroke();
    }
  };
  lines([...scene.lines].filter(isFar));
  draw(boxes.filter(([kind]) => kind === 'block'));
  lines([...scene.lines].filter((l) => !isFar(l)));
  ctx.setLineDash([]);
  draw(boxes.filter((b) => b[0] !== 'block' && !isRing(b)));
  draw(boxes.filter(isRing));
  ctx.textBaseline = 'middle';
  const is = { font: '', align: '', fill: '' }; // to set a font takes long
  for (const [text, x, y, size, align, kind] of scene.texts) {
    const font = `${kind === 'bad' ? '600 ' : ''}${size}px system-ui, "DejaVu Sans", sans-serif`;
    if (is.font !== font) ctx.font = is.font = font;
    if (is.align !== align) ctx.textAlign = is.align = align;
    if (kind === 'count' || kind === 'bad') {
      const w = text.length * size * 0.6 + 6;
      ctx.fillStyle = is.fill = kind === 'bad' ? p.badBack : p.back;
      ctx.fillRect(x - w / 2, y - size * 0.65, w, size * 1.3);
    }
    const fill = kind === 'bad' ? p.bad : p.text;
    if (is.fill !== fill) ctx.fillStyle = is.fill = fill;
    ctx.fillText(clean(text), x, y);
  }
}

const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escape = (text) => clean(text).replace(/[&<>"]/g, (c) => escapes[c]);
const n = (x) => Math.round(x * 10) / 10;

// svg writes a scene as SVG.
export function svg(scene, p, w, h, title) {
  const out = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" font-family="DejaVu Sans, sans-serif">`,
    `<title>${escape(title)}</title>`, `<rect width="${w}" height="${h}" fill="${p.back}"/>`];
  const boxes = (all) => {
    for (const [kind, list] of all) {
      const s = boxStyle(kind, p);
      out.push(`<g fill="${s.fill || 'none'}"${s.stroke ? ` stroke="${s.stroke}" stroke-width="${s.width}"` : ''}>`);
      for (let i = 0; i < list.length; i += 4) {
        const [x, y, w, h] = list.slice(i, i + 4).map(n);
        out.push(`<rect x="${x}" y="${y}" width="${w}" height="${h}"/>`);
        if (s.cross) out.push(`<path d="M${x} ${y}l${w} ${h}m0-${h}l-${w} ${h}"/>`);
      }
      out.push('</g>');
    }
  };
  const lines = (all) => all.sort(byOrder).forEach(([kind, list]) => {
    const s = lineStyle(kind, p);
    let d = '';
    for (let i = 0; i < list.length; i += 6) {
      const [x1, y1, x2, y2, cx, cy] = list.slice(i, i + 6).map(n);
      d += `M${x1} ${y1}` + (Number.isNaN(cx) ? `L${x2} ${y2}` : `Q${cx} ${cy} ${x2} ${y2}`);
    }
    out.push(`<path fill="none" stroke="${s.stroke}" stroke-width="${s.width}"${s.dash.length ? ` stroke-dasharray="${s.dash.join(' ')}"` : ''} d="${d}"/>`);
  });
  lines([...scene.lines].filter(isFar));
  boxes([...scene.boxes].filter(([kind]) => kind === 'block'));
  lines([...scene.lines].filter((l) => !isFar(l)));
  boxes([...scene.boxes].filter((b) => b[0] !== 'block' && !isRing(b)));
  boxes([...scene.boxes].filter(isRing));
  for (const [text, x, y, size, align, kind] of scene.texts) {
    out.push(`<text x="${n(x)}" y="${n(y + size * 0.35)}" font-size="${size}" text-anchor="${align === 'center' ? 'middle' : 'start'}" fill="${kind === 'bad' ? p.bad : p.text}">${escape(text)}</text>`);
  }
  out.push('</svg>\n');
  return out.join('\n');
}
