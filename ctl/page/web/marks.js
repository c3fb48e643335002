import { get } from './api.js';
import { boxHeight, boxWidth } from './scene.js';

// Marks are what the map shows beside states: the selection, a path, differences from the plan or between generations.
export class Marks {
  select = null; // {kind, trunks, switches, squares}
  selected = null; // what the address selects
  path = null;
  pathMark = null;
  others = [];
  asked = null;
  known = '';

  all() {
    return [...this.others, this.pathMark, this.select].filter(Boolean);
  }

  // read finds what the address marks, and returns a place to show, or null. The selection that is there already is not
  // shown again.
  async read(model, p) {
    this.asked?.abort();
    this.asked = new AbortController();
    const { signal } = this.asked;
    const key = `${p.get('sel') || ''} ${p.get('from') || ''} ${p.get('to') || ''}`;
    const isNew = key !== this.known;
    this.known = key;
    this.others = [];
    this.path = null;
    this.pathMark = null;
    const at = await this.readSelection(model, p.get('sel') || '', signal);
    let place = at;
    if (p.get('from') && p.get('to')) place = (await this.readPath(model, p.get('from'), p.get('to'), signal)) || at;
    if (p.get('plan')) await this.readPlan(model, signal);
    if (p.get('from_generation')) await this.readDiff(model, p.get('from_generation'), p.get('to_generation') || '', signal);
    return isNew ? place : null;
  }

  async readSelection(model, sel, signal) {
    this.select = null;
    this.selected = null;
    if (!sel) return null;
    const [guid, port] = sel.split(':');
    const found = await locate(model, guid, Number(port) || 0, signal);
    this.selected = { guid, port: Number(port) || 0, ...found };
    if (found.switch === undefined) return null;
    const m = empty('select', '');
    const sw = model.map.switches[found.switch];
    let place = { x: sw.x + boxWidth / 2, y: sw.y + boxHeight / 2 };
    if (found.square !== undefined) {
      m.squares.add(`${found.switch} ${found.square}`);
      place = model.squareAt(found.switch, found.square);
    } else if (found.trunk !== undefined) {
      m.trunks.add(found.trunk);
      const l = model.lines[found.trunk];
      place = { x: (l.x1 + l.x2) / 2, y: (l.y1 + l.y2) / 2 };
    } else {
      m.switches.add(found.switch);
    }
    this.select = m;
    return place;
  }

  async readPath(model, from, to, signal) {
    this.path = await get('/v1/path', { from, to }, signal);
    const m = empty('path', `path from ${this.path.from.desc} to ${this.path.to.desc}`);
    let place = null;
    for (const h of this.path.hops) {
      const s = model.byGUID.get(h.node);
      if (s === undefined) continue;
      m.switches.add(s);
      place ||= model.map.switches[s];
      for (const port of [h.in, h.out]) {
        const at = port ? model.findPort(s, port) : null;
        if (at?.trunk !== undefined) m.trunks.add(at.trunk);
        if (at?.square !== undefined) m.squares.add(`${s} ${at.square}`);
      }
    }
    this.pathMark = m;
    return place;
  }

  async readPlan(model, signal) {
    const plan = await get('/v1/topology', {}, signal);
    const m = empty('plan', plan.plan ? `differs from the plan: ${plan.findings.length}` : 'there is no plan: set topo_config_file');
    const note = (e) => mark(model, m, e.node, e.port || 0);
    for (const f of plan.findings) {
      for (const c of [...(f.present || []), ...(f.planned || [])]) [c.from, c.to].forEach(note);
      [...(f.ports || []), ...(f.devices || [])].forEach(note);
    }
    for (const c of plan.held_back) [c.from, c.to].forEach(note);
    this.others.push(m);
  }

  async readDiff(model, from, to, signal) {
    const { rows } = await get('/v1/diff', { from, to }, signal);
    const m = empty('diff', `changed between generation ${from} and ${to || 'the newest'}: ${rows.length - 1}`);
    for (const { change: c } of rows) {
      if (!c?.node || c.what === 'routes') continue; // tables change at many switches
      mark(model, m, c.node, c.port || 0);
      for (const e of [c.from_peer, c.to_peer]) if (e) mark(model, m, e.node, e.port);
    }
    this.others.push(m);
  }
}

const empty = (kind, text) => ({ kind, text, trunks: new Set(), switches: new Set(), squares: new Set() });

// mark marks a port of a switch; ports of others are marked at the switch.
function mark(model, m, guid, port) {
  const s = model.byGUID.get(guid);
  if (s === undefined) return;
  const at = port ? model.findPort(s, port) : null;
  if (at?.square !== undefined) m.squares.add(`${s} ${at.square}`);
  else if (at?.trunk !== undefined) m.trunks.add(at.trunk);
  else m.switches.add(s);
}

// locate is where a port is on the map: of a host at its switch.
async function locate(model, guid, port, signal) {
  const s = model.byGUID.get(guid);
  if (s !== undefined) return { switch: s, ...(port ? model.findPort(s, port) || {} : {}) };
  const { found } = await get('/v1/find', { text: guid }, signal);
  const node = found.find((f) => f.node === guid) || found.find((f) => f.kind === 'port'); // which has another GUID
  if (!node) return {};
  const host = { node: node.node, desc: node.name };
  const l = (node.links || []).find((x) => x.port === port) || node.links?.[0];
  if (!l) return { host };
  const at = model.byGUID.get(l.switch);
  if (at === undefined) return { host };
  return { switch: at, host: { ...host, port: l.port }, ...(model.findPort(at, l.switch_port) || {}) };
}
