// What the map shows of a part of the subnet, as lines, boxes and texts: painted on a canvas, or written as SVG.

export const boxWidth = 42;
export const boxHeight = 16;
const pitch = 48; // of switches
const columns = 6; // of squares for hosts
const square = 7;
const budget = 5000; // items of a picture

const rank = 'asvinudx'; // states, the worst last
const kinds = { a: 'active', s: 'slow', v: 'avoid', i: 'start', n: 'down', u: 'unknown', d: 'down', x: 'gone' };

// worst is the worst of some states.
export function worst(states) {
  let w = 0;
  for (const c of states) w = Math.max(w, rank.indexOf(c));
  return rank[w] || 'u';
}

export const kindOf = (state) => kinds[state] || 'unknown';

// Model is a map with what is found by index.
export class Model {
  constructor(map) {
    this.map = map;
    this.byGUID = new Map(map.switches.map((s, i) => [s.guid, i]));
    this.ofSwitch = map.switches.map(() => []);
    map.trunks.forEach((t, i) => {
      this.ofSwitch[t.a].push(i);
      this.ofSwitch[t.b].push(i);
    });
    this.columns = along(map.switches, (s) => s.x, (s) => s.y);
    this.rows = along(map.switches, (s) => s.y, (s) => s.x);
    this.lines = map.trunks.map((t) => this.line(t));
    this.top = Math.min(0, ...new Set(this.lines.map((l) => (Number.isNaN(l.cy) ? 0 : Math.floor((l.y1 + l.y2 + 2 * l.cy) / 4) - 4)))); // of bends
    this.bundles = this.bundle();
    this.refresh();
  }

  // refresh takes the states anew, after they have changed.
  refresh() {
    this.trunkWorst = this.map.trunks.map((t) => worst(t.states));
    this.switchWorst = this.map.switches.map((s) => s.states[0]);
    this.blockBad = this.map.blocks.map(() => 0);
    this.map.switches.forEach((s) => {
      if (s.block < 0) return;
      for (const c of s.states) if (c !== 'a') this.blockBad[s.block]++;
    });
    this.map.trunks.forEach((t) => {
      const block = this.map.switches[t.a].block;
      if (block < 0 || block !== this.map.switches[t.b].block) return;
      for (const c of t.states) if (c !== 'a') this.blockBad[block]++;
    });
    for (const b of this.bundles) {
      b.down = 0;
      b.worst = 'a';
      for (const t of b.trunks) {
        const w = this.trunkWorst[t];
        if (w !== 'a') {
          b.down++;
          if (rank.indexOf(w) > rank.indexOf(b.worst)) b.worst = w;
        }
      }
    }
  }

  // line is where the cables of a trunk are drawn: ends, and for those past other switches where they bend to.
  line(t) {
    const a = this.map.switches[t.a];
    const b = this.map.switches[t.b];
    const l = { x1: a.x + boxWidth / 2, y1: a.y + boxHeight / 2, x2: b.x + boxWidth / 2, y2: b.y + boxHeight / 2, cx: NaN, cy: NaN };
    if (b.y > a.y + boxHeight) {
      l.y1 = a.y + boxHeight;
      l.y2 = b.y;
    } else if (a.y > b.y + boxHeight) {
      l.y1 = a.y;
      l.y2 = b.y + boxHeight;
    }
    const dx = l.x2 - l.x1;
    const dy = l.y2 - l.y1;
    const far = Math.hypot(dx, dy);
    if ((Math.abs(dx) < 1 && between(this.columns.get(a.x), a.y, b.y)) || (Math.abs(dy) < 1 && between(this.rows.get(a.y), a.x, b.x))) {
      const bend = 0.1 * far + 12;
      l.cx = (l.x1 + l.x2) / 2 + (dy / far) * bend;
      l.cy = (l.y1 + l.y2) / 2 - (dx / far) * bend;
    }
    return l;
  }

  // bundle puts the trunks between two blocks together.
  bundle() {
    const at = new Map();
    this.map.trunks.forEach((t, i) => {
      const a = this.map.switches[t.a].block;
      const b = this.map.switches[t.b].block;
      if (a < 0 || b < 0 || a === b) return;
      const key = `${Math.min(a, b)} ${Math.max(a, b)}`;
      if (!at.has(key)) {
        const [p, q] = [this.map.blocks[Math.min(a, b)], this.map.blocks[Math.max(a, b)]];
        const l = { x1: p.x + p.w / 2, y1: p.y + p.h / 2, x2: q.x + q.w / 2, y2: q.y + q.h / 2, cx: NaN, cy: NaN };
        if (q.y > p.y + p.h) {
          l.y1 = p.y + p.h;
          l.y2 = q.y;
          l.x1 = Math.min(Math.max(l.x2, p.x + 8), p.x + p.w - 8);
        }
        at.set(key, { trunks: [], line: l });
      }
      at.get(key).trunks.push(i);
    });
    return [...at.values()];
  }

  // squareAt is the place of the square of a host.
  squareAt(s, index) {
    const sw = this.map.switches[s];
    const n = sw.ports[index] - 1 - sw.base;
    return { x: sw.x + (n % columns) * square, y: sw.y + boxHeight + 3 + Math.floor(n / columns) * square };
  }

  // findPort is what is at a port of a switch: a trunk with the number of the cable, or a square.
  findPort(s, port) {
    const square = this.map.switches[s].ports.indexOf(port);
    if (square >= 0) return { square };
    for (const i of this.ofSwitch[s]) {
      const t = this.map.trunks[i];
      for (let c = t.a === s ? 0 : 1; c < t.ports.length; c += 2) {
        if (t.ports[c] === port) return { trunk: i, cable: c >> 1 };
      }
    }
    return null;
  }

  // hit is what is at a point of the map; near is how far beside it may be.
  hit(x, y, near) {
    const all = this.map.switches;
    for (let s = 0; s < all.length; s++) {
      const sw = all[s];
      if (x < sw.x - 1 || x > sw.x + boxWidth + 1 || y < sw.y - 1 || y > sw.y + 400) continue;
      if (y <= sw.y + boxHeight) return { switch: s };
      for (let i = 0; i < sw.ports.length; i++) {
        const at = this.squareAt(s, i);
        if (x >= at.x && x <= at.x + square && y >= at.y && y <= at.y + square) return { switch: s, square: i };
      }
    }
    let best = null;
    let least = near;
    this.lines.forEach((l, i) => {
      const d = Number.isNaN(l.cx) ? distance(x, y, l.x1, l.y1, l.x2, l.y2)
        : Math.min(distance(x, y, l.x1, l.y1, (l.x1 + l.x2 + 2 * l.cx) / 4, (l.y1 + l.y2 + 2 * l.cy) / 4),
          distance(x, y, (l.x1 + l.x2 + 2 * l.cx) / 4, (l.y1 + l.y2 + 2 * l.cy) / 4, l.x2, l.y2));
      if (d < least) {
        least = d;
        best = { trunk: i };
      }
    });
    return best;
  }
}

// along are the places of switches in one direction, by those in the other one.
function along(switches, key, value) {
  const at = new Map();
  for (const s of switches) {
    if (!at.has(key(s))) at.set(key(s), []);
    at.get(key(s)).push(value(s));
  }
  for (const list of at.values()) list.sort((a, b) => a - b);
  return at;
}

// between says whether a place of a sorted list is between two others.
function between(list, a, b) {
  const [least, most] = [Math.min(a, b), Math.max(a, b)];
  let [low, high] = [0, list.length];
  while (low < high) {
    const mid = (low + high) >> 1;
    if (list[mid] > least + 1) high = mid;
    else low = mid + 1;
  }
  return list[low] < most - 1;
}

function distance(x, y, x1, y1, x2, y2) {
  const dx = x2 - x1;
  const dy = y2 - y1;
  const t = Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x1 - t * dx, y - y1 - t * dy);
}

// bucket is the class of a number of a layer, of which most is the greatest: q0 for none up to q4.
export function bucket(n, layer) {
  if (n < 0) return 'unknown';
  if (n === 0) return 'q0';
  const share = layer.unit === 'share' ? n : layer.unit === 'errors' ? Math.log1p(n) / Math.log1p(layer.most) : n / layer.most;
  return `q${Math.min(4, 1 + Math.floor(share * 3.999))}`;
}

// Scene collects what is drawn, in pixels.
class Scene {
  constructor() {
    this.lines = new Map(); // by class: x and y of both ends and of the bend, NaN for a straight line
    this.boxes = new Map(); // by class: x, y, w, h
    this.texts = [];
    this.items = 0;
    this.left = 0; // links that are not drawn
  }

  line(kind, l, v, shift = 0) {
    this.items++;
    let list = this.lines.get(kind);
    if (!list) this.lines.set(kind, list = []);
    let nx = 0;
    let ny = 0;
    if (shift) {
      const dx = l.x2 - l.x1;
      const dy = l.y2 - l.y1;
      const far = Math.hypot(dx, dy) || 1;
      nx = (-dy / far) * shift;
      ny = (dx / far) * shift;
    }
    list.push(l.x1 * v.k + v.x + nx, l.y1 * v.k + v.y + ny, l.x2 * v.k + v.x + nx, l.y2 * v.k + v.y + ny,
      l.cx * v.k + v.x, l.cy * v.k + v.y);
  }

  box(kind, x, y, w, h, v) {
    let list = this.boxes.get(kind);
    if (!list) this.boxes.set(kind, list = []);
    list.push(x * v.k + v.x, y * v.k + v.y, w * v.k, h * v.k);
    this.items++;
  }

  text(text, x, y, v, size, align = 'center', kind = 'label') {
    this.texts.push([text, x * v.k + v.x, y * v.k + v.y, size, align, kind]);
    this.items++;
  }
}

// tail is so much of the end of a name as there is room for, whole words if that is possible.
export function tail(name, width, size) {
  const room = Math.floor(width / (0.58 * size));
  if (name.length <= room) return name;
  for (let i = name.length - room; i < name.length - 1; i++) {
    if (/[-_ ./:]/.test(name[i - 1])) return name.slice(i);
  }
  const number = /\d+$/.exec(name)?.[0] || '';
  if (number && number.length <= room) return number;
  return room < 3 ? '' : '…' + name.slice(-(room - 1));
}

// scene draws what is visible. v is {x, y, k, w, h}: the map's zero in pixels, pixels for each unit, and the size of
// the picture. o has layer (or null) and marks: {trunks: Set, squares: Set of "switch index", switches: Set}.
export function scene(model, v, o) {
  const s = new Scene();
  const { map } = model;
  const left = -v.x / v.k;
  const top = -v.y / v.k;
  const right = left + v.w / v.k;
  const bottom = top + v.h / v.k;
  const isIn = (x, y, w, h) => x + w >= left && x <= right && y + h >= top && y <= bottom;
  const visible = [];
  let ports = 0;
  map.switches.forEach((sw, i) => {
    if (!isIn(sw.x, sw.y, boxWidth, boxHeight + 12 * square)) return;
    visible.push(i);
    ports += sw.ports.length;
  });
  const inBlocks = pitch * v.k < 13 && map.blocks.length > 0;
  for (const b of map.blocks) {
    if (!isIn(b.x, b.y, b.w, b.h)) continue;
    s.box('block', b.x - 8, b.y - 8, b.w + 16, b.h + 16, v);
    if (!inBlocks && b.w * v.k > 90 && !b.name.includes(' … ')) s.text(tail(b.name, b.w * v.k, 10), b.x - 7, b.y - 8 - 7 / v.k, v, 10, 'left');
  }
  trunks(s, model, v, o, visible, inBlocks, isIn);
  if (inBlocks) blocks(s, model, v, isIn);
  else switches(s, model, v, o, visible, ports);
  marks(s, model, v, o);
  return s;
}

function trunks(s, model, v, o, visible, inBlocks, isIn) {
  const { map } = model;
  const seen = new Uint8Array(map.switches.length);
  for (const i of visible) seen[i] = 1;
  const all = [];
  const passing = []; // by what is visible
  const most = 2000;
  for (let i = 0; i < map.trunks.length; i++) {
    const t = map.trunks[i];
    if (seen[t.a] || seen[t.b]) {
      all.push(i);
    } else {
      const l = model.lines[i];
      if (isIn(Math.min(l.x1, l.x2), Math.min(l.y1, l.y2), Math.abs(l.x2 - l.x1), Math.abs(l.y2 - l.y1))) passing.push(i);
    }
  }
  if (all.length + passing.length <= most) all.push(...passing);
  else s.left += passing.length;
  const many = inBlocks || all.length > most;
  if (many && map.blocks.length) {
    for (const b of model.bundles) {
      const l = b.line;
      if (isIn(Math.min(l.x1, l.x2), Math.min(l.y1, l.y2), Math.abs(l.x2 - l.x1), Math.abs(l.y2 - l.y1))) s.line('far bundle', l, v);
    }
  }
  const odds = many ? all.filter((i) => model.trunkWorst[i] !== 'a') : [];
  if (odds.length > 1500 && map.blocks.length) { // single ones would hide that there are many
    s.left = all.length;
    const drawn = new Set();
    for (const i of odds) for (const n of [map.trunks[i].a, map.trunks[i].b]) drawn.add(map.switches[n].block);
    for (const b of drawn) {
      if (b < 0) continue;
      const k = map.blocks[b];
      s.box('blockbad', k.x - 8, k.y - 8, k.w + 16, k.h + 16, v);
      if (!inBlocks && k.w * v.k > 60) s.text(`${model.blockBad[b]} not well`, k.x + k.w / 2, k.y + k.h / 2, v, 11, 'center', 'bad');
    }
    return;
  }
  const cables = !many && v.k >= 2.2 && all.length <= 300;
  const numbers = [];
  let room = many ? 1500 : most;
  const plain = many && !map.blocks.length ? 1500 : 0;
  let drawn = 0;
  const kind = (i, c) => (o.layer ? bucket(c === undefined ? o.layer.worst[i] : o.layer.trunks[i][c], o.layer)
    : kindOf(c === undefined ? model.trunkWorst[i] : map.trunks[i].states[c]));
  for (const i of all) {
    const t = map.trunks[i];
    const l = model.lines[i];
    const odd = model.trunkWorst[i] !== 'a' || (o.layer && o.layer.unit !== 'routes' && o.layer.worst[i] > 0);
    if (many && !odd && drawn >= plain) {
      s.left++;
      continue;
    }
    if (room-- <= 0) {
      s.left++;
      continue;
    }
    drawn++;
    if (cables) {
      const n = t.states.length;
      for (let c = 0; c < n; c++) {
        const shift = (c - (n - 1) / 2) * 5;
        s.line(kind(i, c), l, v, shift);
        if (all.length <= 80) {
          s.text(String(t.ports[2 * c]), l.x1 + (l.x2 - l.x1) * 0.04 + shift / v.k, l.y1 + (l.y2 - l.y1) * 0.04, v, 10, 'center', 'port');
          s.text(String(t.ports[2 * c + 1]), l.x2 - (l.x2 - l.x1) * 0.04 + shift / v.k, l.y2 - (l.y2 - l.y1) * 0.04, v, 10, 'center', 'port');
        }
      }
      continue;
    }
    const k = kind(i);
    const far = map.switches[t.a].block !== map.switches[t.b].block && /^(active|q\d)$/.test(k); // beneath other blocks
    s.line(far ? `far ${k}` : k, l, v);
    if (t.states.length > 1) numbers.push([i, odd]);
  }
  const few = numbers.length <= 150;
  for (const [i, odd] of numbers) {
    const t = map.trunks[i];
    const l = model.lines[i];
    const up = [...t.states].filter((c) => c === 'a').length;
    if (!(few && v.k > 0.6) && !(odd && !o.layer && (few || up > 0))) continue;
    let at = 0.3 + 0.4 * ((i * 0.618) % 1); // apart from those beside it
    for (let tries = 0; tries < 4 && few && onSwitch(map, visible, l.x1 + (l.x2 - l.x1) * at, l.y1 + (l.y2 - l.y1) * at); tries++) at = 0.2 + ((at + 0.03) % 0.6);
    s.text(up === t.states.length ? String(up) : `${up}/${t.states.length}`, l.x1 + (l.x2 - l.x1) * at, l.y1 + (l.y2 - l.y1) * at, v, 11, 'center', up === t.states.length ? 'count' : 'bad');
  }
}

// onSwitch says whether a number at a place would hide the name of a switch.
function onSwitch(map, visible, x, y) {
  return visible.some((i) => {
    const sw = map.switches[i];
    return x > sw.x - 8 && x < sw.x + boxWidth + 8 && y > sw.y - 8 && y < sw.y + boxHeight + 8;
  });
}

function blocks(s, model, v, isIn) {
  model.map.blocks.forEach((b, i) => {
    if (!isIn(b.x, b.y, b.w, b.h)) return;
    const bad = model.blockBad[i];
    if (bad) s.box('blockbad', b.x, b.y + b.h - 18, Math.min(b.w, Math.max(60, b.w * Math.min(1, bad / 40))), 18, v);
    const name = tail(b.name, b.w * v.k, 12);
    if (name && b.h * v.k > 12) s.text(name, b.x + b.w / 2, b.y + b.h / 2, v, 12);
    if (bad && b.w * v.k > 24) s.text(`${bad} not well`, b.x + b.w / 2, b.y + b.h - 6, v, 11, 'center', 'bad');
  });
  for (const b of model.bundles) {
    if (!b.down) continue;
    s.line(kindOf(b.worst), b.line, v);
    s.text(`${b.trunks.length - b.down}/${b.trunks.length}`, (b.line.x1 + b.line.x2) / 2, (b.line.y1 + b.line.y2) / 2, v, 11, 'center', 'bad');
  }
}

function switches(s, model, v, o, visible, ports) {
  const { map } = model;
  const each = square * v.k >= 3.2 && ports <= 2200;
  const size = Math.min(14, Math.max(8, 8 * v.k));
  const labels = boxWidth * v.k >= 30 && visible.length <= 500;
  for (const i of visible) {
    const sw = map.switches[i];
    const kind = kindOf(sw.states[0]);
    s.box(kind === 'active' ? 'switch' : `switch-${kind}`, sw.x, sw.y, boxWidth, boxHeight, v);
    if (labels) s.text(tail(sw.name, boxWidth * v.k - 4, size), sw.x + boxWidth / 2, sw.y + boxHeight / 2, v, size);
    if (!sw.ports.length) continue;
    if (!each) {
      bar(s, model, v, o, i);
      continue;
    }
    for (let p = 0; p < sw.ports.length; p++) {
      const at = model.squareAt(i, p);
      const kind = o.layer ? bucket(o.layer.hosts[i][p], o.layer) : kindOf(sw.states[p + 1]);
      s.box(`host-${kind}`, at.x, at.y, square - 1, square - 1, v);
      if (v.k >= 3 && ports < 400) s.text(String(sw.ports[p]), at.x + 3, at.y + 3, v, 9, 'center', 'port');
    }
  }
}

// bar stands for the hosts of a switch: as much of it is of a colour as there are such hosts.
function bar(s, model, v, o, i) {
  const sw = model.map.switches[i];
  const counts = new Map();
  for (let p = 0; p < sw.ports.length; p++) {
    const kind = o.layer ? bucket(o.layer.hosts[i][p], o.layer) : kindOf(sw.states[p + 1]);
    counts.set(kind, (counts.get(kind) || 0) + 1);
  }
  let x = sw.x;
  for (const [kind, n] of counts) {
    const w = (boxWidth * n) / sw.ports.length;
    s.box(`host-${kind}`, x, sw.y + boxHeight + 3, w, 12, v);
    x += w;
  }
}

function marks(s, model, v, o) {
  for (const m of o.marks) {
    for (const i of m.trunks) {
      if (s.items < budget) s.line(m.kind, model.lines[i], v);
    }
    for (const i of m.switches) {
      const sw = model.map.switches[i];
      if (s.items < budget) s.box(`ring-${m.kind}`, sw.x - 2, sw.y - 2, boxWidth + 4, boxHeight + 4, v);
    }
    for (const key of m.squares) {
      const [i, p] = key.split(' ').map(Number);
      const at = model.squareAt(i, p);
      if (s.items < budget) s.box(`ring-${m.kind}`, at.x - 2, at.y - 2, square + 3, square + 3, v);
    }
  }
}
