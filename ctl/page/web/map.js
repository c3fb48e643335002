import { get, live } from './api.js';
import { age, el, fill, name, save } from './dom.js';
import { change, here, link, note } from './route.js';
import { Model, scene } from './scene.js';
import { lineStyle, paint, palette, svg } from './paint.js';
import { Marks } from './marks.js';
import { details } from './details.js';

const layers = { '': 'state', load: 'load', errors: 'errors' };
const keys = {
  active: 'Active', slow: 'slower than most', avoid: 'routes avoid it', start: 'Initialize or Armed', down: 'Down, gone, or no answer', unknown: 'unknown',
};

// map shows the subnet. Its places are the server's: zoom and selection are in the address.
export function map(main, at) {
  main.className = 'wide';
  const layer = el('select', { id: 'layer', onchange: () => change({ layer: layer.value, partition: layer.value === 'partition' ? now.params.get('partition') : '' }) },
    Object.entries(layers).map(([value, text]) => el('option', { value }, text)));
  const from = el('input', { id: 'from', maxLength: 256, size: 14, placeholder: 'host' });
  const to = el('input', { id: 'to', maxLength: 256, size: 14, placeholder: 'host' });
  const plan = el('input', { id: 'plan', type: 'checkbox', onchange: () => change({ plan: plan.checked ? '1' : '' }) });
  const button = (text, label, act) => el('button', { type: 'button', 'aria-label': label, title: label, onclick: act }, text);
  const bar = el('form', { class: 'bar', onsubmit: (e) => {
    e.preventDefault();
    change({ from: from.value.trim(), to: to.value.trim() });
  } }, el('label', { for: 'layer' }, 'Layer '), layer,
  button('+', 'zoom in', () => zoom(1.4)), button('−', 'zoom out', () => zoom(1 / 1.4)), button('fit', 'fit: show all', () => fit(true)),
  el('details', { class: 'more', open: innerWidth > 700 || Boolean(at.params.get('from')) }, el('summary', {}, 'path, plan, SVG'), el('div', { class: 'bar' },
    el('label', { for: 'from' }, 'Path from '), from, el('label', { for: 'to' }, 'to '), to, el('button', {}, 'Show'),
    el('label', {}, plan, ' differences from the plan'), button('SVG', 'save as SVG', saveSVG))));
  const canvas = el('canvas', { tabIndex: 0, role: 'application',
    'aria-label': 'Map of the subnet. Arrow keys move, plus and minus zoom, 0 shows all, n selects the next link or node that is not well, Escape ends the selection. Tables show the same as text.' });
  const side = el('aside', { class: 'side', 'aria-live': 'polite', hidden: true });
  const key = el('div', { class: 'key', role: 'group', tabIndex: 0, 'aria-label': 'Key' });
  const said = el('span', { class: 'hidden', role: 'status' });
  const stage = el('div', { class: 'stage' }, canvas, side);
  main.append(el('h1', { class: 'hidden' }, 'Map'), bar, stage, key, said);

  const ctx = canvas.getContext('2d', { alpha: false });
  const v = { x: 0, y: 0, k: 1, w: 0, h: 0 };
  let colours = palette();
  let model = null;
  let readAt = 0;
  let shownLayer = null;
  let now = at;
  let due = false;
  let gone = false;
  const marks = new Marks();
  const times = [];

  function redraw() {
    if (due || gone) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      if (gone || !model || !v.w) return;
      const began = performance.now();
      const s = scene(model, v, { layer: shownLayer, marks: marks.all() });
      const ratio = devicePixelRatio || 1;
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      paint(ctx, s, colours, v.w, v.h);
      if (!times.length) performance.mark('first-map');
      times.push(performance.now() - began);
      if (times.length > 200) times.shift();
      canvas.dataset.items = s.items;
      canvas.dataset.left = s.left;
      canvas.dataset.ms = times[times.length - 1].toFixed(2);
      canvas.dataset.frames = 1 + Number(canvas.dataset.frames || 0);
      left.textContent = s.left ? `${s.left} links are not drawn one by one: zoom in` : '';
    });
  }

  let fitted = true; // all is shown, also in another window
  const left = el('span', { class: 'soft' });

  function size() {
    const r = stage.getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    const before = { w: v.w, h: v.h };
    v.w = Math.max(1, Math.round(r.width));
    v.h = Math.max(1, Math.round(r.height));
    canvas.width = v.w * ratio;
    canvas.height = v.h * ratio;
    if (fitted && model) {
      fit(false);
    } else if (before.w) {
      v.x += (v.w - before.w) / 2;
      v.y += (v.h - before.h) / 2;
    }
    redraw();
  }

  let noting;
  function moved(all = false) {
    fitted = all;
    redraw();
    clearTimeout(noting);
    noting = setTimeout(() => {
      if (gone) return;
      const mid = { x: (v.w / 2 - v.x) / v.k, y: (v.h / 2 - v.y) / v.k };
      note({ x: Math.round(mid.x), y: Math.round(mid.y), z: v.k.toFixed(3) });
      now = here();
    }, 250);
  }

  function centre(x, y, k) {
    v.k = Math.min(8, Math.max(0.02, k));
    v.x = v.w / 2 - x * v.k;
    v.y = v.h / 2 - y * v.k;
  }

  function fit(note) {
    if (!model) return;
    const m = model.map;
    centre(m.width / 2 - 3, (m.height + model.top) / 2, Math.min((v.w - 40) / Math.max(m.width, 1), (v.h - 40) / Math.max(m.height - model.top, 1), 2.5));
    if (note) moved(true);
    else redraw();
  }

  function zoom(by, x = v.w / 2, y = v.h / 2) {
    const k = Math.min(8, Math.max(0.02, v.k * by));
    v.x = x - ((x - v.x) * k) / v.k;
    v.y = y - ((y - v.y) * k) / v.k;
    v.k = k;
    moved();
  }

  function showKey() {
    const entries = [];
    const swatch = (kind, text) => {
      const c = el('canvas', { width: 52, height: 24, 'aria-hidden': 'true' });
      const g = c.getContext('2d');
      g.scale(2, 2);
      const s = lineStyle(kind, colours);
      g.strokeStyle = s.stroke;
      g.lineWidth = Math.max(1.5, s.width);
      g.setLineDash(s.dash);
      g.moveTo(1, 6);
      g.lineTo(25, 6);
      g.stroke();
      entries.push(el('span', {}, c, text));
    };
    if (!shownLayer) {
      for (const [kind, text] of Object.entries(keys)) swatch(kind, text);
      entries.push(el('span', {}, 'a number on a line: its parallel links; 3/4: one of four is down; a crossed box: down or gone'));
    } else if (shownLayer.unit === 'members') {
      swatch('q4', `full member of ${now.params.get('partition')}, and links between such switches`);
      swatch('q2', 'limited member');
      swatch('q0', 'no member');
    } else {
      const most = shownLayer.most;
      const word = shownLayer.unit === 'share' ? (i) => ['none', 'up to 25 %', 'up to 50 %', 'up to 75 %', 'more'][i]
        : shownLayer.unit === 'errors' ? (i) => (i ? `up to ${Math.round(Math.expm1((i / 4) * Math.log1p(most)))}` : 'none')
          : (i) => (i ? `up to ${Math.round((i / 4) * most)}` : 'none');
      for (let i = 0; i < 5; i++) swatch(`q${i}`, word(i));
      swatch('unknown', 'unknown');
      entries.push(el('span', {}, name(shownLayer.text)));
    }
    for (const m of marks.all()) if (m.text) { swatch(m.kind, ''); entries[entries.length - 1].append(name(m.text)); }
    entries.push(age(shownLayer && shownLayer.age ? Date.now() - 1000 * shownLayer.age : readAt, shownLayer?.age ? 600000 : 20000), left);
    fill(key, entries);
  }

  async function load() {
    const m = await get('/v1/map');
    if (gone) return;
    const first = !model;
    const same = model && model.map.layout === m.layout;
    model = new Model(m);
    readAt = Date.now();
    canvas.dataset.layout = m.layout;
    if (first) place();
    else if (!same) shownLayer = null;
    redraw();
  }

  // place shows the part of the map that the address names, or all.
  function place() {
    const p = now.params;
    fitted = !p.get('z');
    if (p.get('z')) centre(Number(p.get('x')), Number(p.get('y')), Number(p.get('z')) || 1);
    else fit(false);
  }

  function showAt(x, y) {
    const sx = x * v.k + v.x;
    const sy = y * v.k + v.y;
    if (v.k < 0.8 || sx < 60 || sy < 40 || sx > v.w - 60 || sy > v.h - 60) {
      centre(x, y, Math.max(v.k, 1.2));
      fitted = false;
    }
  }

  async function update(next) {
    const before = now;
    now = next;
    const p = now.params;
    layer.querySelector('[value=partition]')?.remove();
    if (p.get('layer') === 'partition') layer.append(el('option', { value: 'partition' }, `partition ${p.get('partition')}`));
    layer.value = layers[p.get('layer')] || p.get('layer') === 'partition' ? p.get('layer') : '';
    from.value = p.get('from') || '';
    to.value = p.get('to') || '';
    plan.checked = p.get('plan') === '1';
    try {
      if (!model) await load();
      if (p.get('z') && (p.get('x') !== before.params.get('x') || p.get('y') !== before.params.get('y') || p.get('z') !== before.params.get('z'))) place();
      await showLayer(p);
      const found = await marks.read(model, p);
      if (gone || now !== next) return;
      if (found && !(p.get('z') && before === next)) showAt(found.x, found.y);
      showSide(p);
      showKey();
      redraw();
    } catch (e) {
      if (gone || e.name === 'AbortError') return;
      side.hidden = false;
      fill(side, el('p', { class: 'error' }, name(e.message)), e.hint ? el('p', {}, name(e.hint)) : null,
        p.get('from') && p.get('to') ? el('p', {}, el('a', { href: link('why', { port: p.get('from'), other: p.get('to') }) }, 'why one does not reach the other')) : null);
      showKey();
      redraw();
    }
  }

  async function showLayer(p) {
    const wanted = p.get('layer') || '';
    if (!wanted) {
      shownLayer = null;
      return;
    }
    let l = await get(`/v1/map/${encodeURIComponent(wanted)}`, { partition: p.get('partition') });
    if (l.layout !== model.map.layout) {
      await load();
      l = await get(`/v1/map/${encodeURIComponent(wanted)}`, { partition: p.get('partition') });
    }
    l.worst = l.trunks.map((all) => Math.max(...all));
    shownLayer = l.layout === model.map.layout ? l : null;
  }

  function showSide(p) {
    const close = el('button', { type: 'button', onclick: () => {
      change({ sel: '', from: '', to: '', from_generation: '', to_generation: '', plan: '' });
      canvas.focus();
    } }, 'close');
    const about = details(model, marks, shownLayer, p);
    side.hidden = !about;
    if (about) fill(side, about, el('p', {}, close));
  }

  // changed takes changes into the map: as many as there are between two pictures are one redraw.
  function changed(e) {
    const c = e.detail;
    if (!model) {
      if (c.layout) update(here());
      return;
    }
    if (c.reset || (c.layout && c.layout !== model.map.layout)) {
      load().then(() => update(here())).catch(() => {});
      return;
    }
    readAt = Date.now();
    for (const [i, states] of Object.entries(c.switches || {})) model.map.switches[i].states = states;
    for (const [i, states] of Object.entries(c.trunks || {})) model.map.trunks[i].states = states;
    if (c.switches || c.trunks) {
      model.refresh();
      redraw();
      if (!side.hidden) showSide(now.params);
    }
    showKey();
  }

  const heard = () => {
    readAt = live.heard;
    if (!shownLayer) showKey();
  };

  function select(hit) {
    if (!hit) {
      change({ sel: '' });
      return;
    }
    const m = model.map;
    if (hit.trunk !== undefined) {
      const t = m.trunks[hit.trunk];
      const bad = Math.max(0, [...t.states].findIndex((c) => c !== 'a'));
      change({ sel: `${m.switches[t.a].guid}:${t.ports[2 * bad]}` });
    } else {
      const s = m.switches[hit.switch];
      change({ sel: `${s.guid}:${hit.square === undefined ? 0 : s.ports[hit.square]}` });
    }
  }

  // step selects the next link or node that is not well, in the order of the map.
  let stepped = -1;
  function step(by) {
    const m = model.map;
    const all = [];
    m.switches.forEach((s, i) => [...s.states].forEach((c, n) => { if (c !== 'a') all.push(n ? { switch: i, square: n - 1 } : { switch: i }); }));
    m.trunks.forEach((t, i) => { if (model.trunkWorst[i] !== 'a') all.push({ trunk: i }); });
    if (!all.length) {
      said.textContent = 'all links and nodes are well';
      return;
    }
    stepped = (stepped + by + all.length) % all.length;
    said.textContent = `${stepped + 1} of ${all.length} that are not well`;
    select(all[stepped]);
  }

  const point = (e) => ({ x: (e.offsetX - v.x) / v.k, y: (e.offsetY - v.y) / v.k });
  const pointers = new Map();
  let dragged = 0;
  canvas.addEventListener('pointerdown', (e) => {
    canvas.setPointerCapture(e.pointerId);
    pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    if (pointers.size === 1) dragged = 0;
  });
  canvas.addEventListener('pointermove', (e) => {
    const was = pointers.get(e.pointerId);
    if (!was) return;
    const is = { x: e.offsetX, y: e.offsetY };
    if (pointers.size === 2) { // two fingers zoom
      const other = [...pointers].find(([id]) => id !== e.pointerId)[1];
      const d0 = Math.hypot(was.x - other.x, was.y - other.y);
      const d1 = Math.hypot(is.x - other.x, is.y - other.y);
      if (d0 > 0 && d1 > 0) zoom(d1 / d0, (is.x + other.x) / 2, (is.y + other.y) / 2);
      dragged = 99;
    } else {
      v.x += is.x - was.x;
      v.y += is.y - was.y;
      dragged += Math.abs(is.x - was.x) + Math.abs(is.y - was.y);
      moved();
    }
    pointers.set(e.pointerId, is);
  });
  const up = (e) => {
    const was = pointers.delete(e.pointerId);
    if (was && e.type === 'pointerup' && dragged < 6 && model) {
      const at = point(e);
      select(model.hit(at.x, at.y, 6 / v.k));
    }
  };
  canvas.addEventListener('pointerup', up);
  canvas.addEventListener('pointercancel', up);
  canvas.addEventListener('wheel', (e) => {
    e.preventDefault();
    zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0016)), e.offsetX, e.offsetY);
  }, { passive: false });
  canvas.addEventListener('dblclick', (e) => zoom(2, e.offsetX, e.offsetY));
  canvas.addEventListener('keydown', (e) => {
    const far = e.shiftKey ? 200 : 60;
    const acts = {
      ArrowLeft: () => { v.x += far; moved(); }, ArrowRight: () => { v.x -= far; moved(); },
      ArrowUp: () => { v.y += far; moved(); }, ArrowDown: () => { v.y -= far; moved(); },
      '+': () => zoom(1.4), '=': () => zoom(1.4), '-': () => zoom(1 / 1.4), 0: () => fit(true),
      n: () => step(1), p: () => step(-1), Escape: () => change({ sel: '' }),
      Enter: () => { // what is in the middle
        if (model) select(model.hit((v.w / 2 - v.x) / v.k, (v.h / 2 - v.y) / v.k, 30 / v.k));
      },
    };
    if (!acts[e.key] || e.ctrlKey || e.metaKey || e.altKey || !model) return;
    e.preventDefault();
    acts[e.key]();
  });

  function saveSVG() {
    if (!model) return;
    const m = model.map;
    const all = { x: 20, y: 20 - model.top, k: 1, w: m.width + 40, h: m.height - model.top + 40 };
    save('subnet.svg', 'image/svg+xml', svg(scene(model, v.k < 0.27 ? v : all, { layer: shownLayer, marks: marks.all() }), colours, v.k < 0.27 ? v.w : all.w, v.k < 0.27 ? v.h : all.h, `Subnet, generation ${m.generation}`));
  }

  const theme = matchMedia('(prefers-color-scheme: dark)');
  const themed = () => {
    colours = palette();
    showKey();
    redraw();
  };
  theme.addEventListener('change', themed);
  live.addEventListener('change', changed);
  live.addEventListener('heard', heard);
  const watch = new ResizeObserver(size);
  watch.observe(stage);
  size();
  update(at);
  const refresh = setInterval(() => { // layers are numbers that change all the time
    if (!live.lost && shownLayer && !document.hidden) {
      showLayer(now.params).then(() => { showKey(); redraw(); }).catch(() => {});
    }
  }, 15000);

  const leave = () => {
    gone = true;
    clearTimeout(noting);
    clearInterval(refresh);
    watch.disconnect();
    theme.removeEventListener('change', themed);
    live.removeEventListener('change', changed);
    live.removeEventListener('heard', heard);
  };
  leave.update = update;
  return leave;
}
