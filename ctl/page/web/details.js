import { get } from './api.js';
import { command, el, fill, name } from './dom.js';
import { link } from './route.js';

const words = { a: 'Active', s: 'Active, slower than most', v: 'Active, routes avoid it', i: 'Initialize or Armed', d: 'Down or gone', n: 'no answer', x: 'gone', u: 'unknown' };

const pairs = (list) => el('dl', {}, list.filter(([, v]) => v !== '' && v !== undefined && v !== null).map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]));

// number is a number of a layer in words.
function number(n, layer) {
  if (n === undefined) return '';
  if (n < 0) return 'unknown';
  if (layer.unit === 'share') return `${(100 * n).toFixed(n < 0.1 ? 1 : 0)} %`;
  if (layer.unit === 'members') return n === 1 ? 'full member' : n > 0 ? 'limited member' : 'no member';
  return `${n} ${layer.unit}`;
}

// inTable is a number of a layer where the unit is in the heading.
const inTable = (n, layer) => (n >= 0 && /^(routes|errors)$/.test(layer.unit) ? String(n) : number(n, layer));

// details are what there is to say of a selection, or of a path; null for nothing.
export function details(model, marks, layer, p) {
  const parts = [];
  if (marks.path) parts.push(path(model, marks.path, layer, p));
  if (marks.selected) parts.push(selection(model, marks.selected, layer));
  return parts.length ? parts : null;
}

function path(model, r, layer, p) {
  const lines = r.hops.map((h) => {
    const s = model.byGUID.get(h.node);
    const at = s === undefined || !h.out ? null : model.findPort(s, h.out);
    let load = '';
    if (layer && at?.trunk !== undefined) load = inTable(layer.trunks[at.trunk][at.cable], layer);
    if (layer && at?.square !== undefined) load = inTable(layer.hosts[s][at.square], layer);
    return el('tr', {}, el('td', {}, name(h.desc.trim())), el('td', {}, h.out ? String(h.out) : ''), el('td', {}, h.width ? `${h.width} ${h.speed}` : ''), el('td', {}, load));
  });
  return el('section', {}, el('h2', {}, 'Path'), el('p', {}, name(r.from.desc), ' to ', name(r.to.desc), `: ${r.result}, ${r.links} links, ${r.gbps} Gb/s, MTU ${r.mtu}, SL ${r.sl}`),
    el('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Hops' }, el('table', {}, el('thead', {}, el('tr', {}, ['node', 'out', 'link', layer ? layer.unit : 'load'].map((c) => el('th', { scope: 'col' }, c)))), el('tbody', {}, lines))),
    layer ? null : el('p', {}, el('a', { href: link('map', { ...Object.fromEntries(p), layer: 'load' }) }, 'with the load of each hop')),
    works(r),
    el('p', {}, command(`ibsmctl path ${r.from.node} ${r.to.node}`)));
}

// works says whether the ends of a path reach each other: routes are not all that it takes.
function works(r) {
  const into = el('p', {}, 'Do they reach each other? ');
  const all = el('a', { href: link('why', { port: r.from.node, other: r.to.node }) }, 'why');
  get('/v1/why', { port: r.from.node, other: r.to.node }).then(({ diagnoses: [d] }) => {
    fill(into, el('span', { class: `badge ${d.works ? 'good' : 'bad'}` }, d.works ? 'works' : 'does not work'), ' ',
      d.reasons?.length ? [name(d.reasons[0].text), ' '] : '', all);
  }, () => fill(into, all));
  return into;
}

function selection(model, sel, layer) {
  const m = model.map;
  const here = sel.port ? `${sel.guid}:${sel.port}` : sel.guid;
  const foot = el('p', {}, el('a', { href: link('why', { port: here }) }, 'why'), ' · ', el('a', { href: link('tables', { filter: sel.guid }, 'ports') }, 'ports'), ' ', command(`ibsmctl why ${here}`));
  const more = el('div');
  ask(more, model, sel);
  if (sel.switch === undefined) {
    return el('section', {}, el('h2', {}, sel.host ? name(sel.host.desc) : sel.guid), sel.host ? el('p', {}, 'It is on no switch.') : el('p', {}, 'The subnet has no such node, or it has no cable.'), more, foot);
  }
  const s = m.switches[sel.switch];
  if (sel.trunk !== undefined) {
    const t = m.trunks[sel.trunk];
    const [a, b] = [m.switches[t.a], m.switches[t.b]];
    return el('section', {}, el('h2', {}, name(a.name), ' to ', name(b.name)),
      el('p', {}, `${t.states.length} cable${t.states.length > 1 ? 's' : ''}, ${[...t.states].filter((c) => c === 'a').length} Active`),
      el('ul', {}, [...t.states].map((c, i) => el('li', {}, `port ${t.ports[2 * i]} to port ${t.ports[2 * i + 1]}: ${words[c]}${layer ? ', ' + number(layer.trunks[sel.trunk][i], layer) : ''}`,
        c === 'a' ? '' : [' ', el('a', { href: link('why', { port: `${a.guid}:${t.ports[2 * i]}` }) }, 'why')]))), more, foot);
  }
  if (sel.square !== undefined) {
    const far = sel.host;
    return el('section', {}, el('h2', {}, far ? name(far.desc) : ['Host at ', name(s.name), ` port ${s.ports[sel.square]}`]),
      pairs([['switch', el('a', { href: link('map', { sel: `${s.guid}:0` }) }, name(s.name), ` port ${s.ports[sel.square]}`)],
        ['link', words[s.states[sel.square + 1]]], [layer?.unit, layer && number(layer.hosts[sel.switch][sel.square], layer)]]), more,
      far ? el('p', {}, el('a', { href: link('map', { from: far.node, to: '', sel: sel.guid }) }, 'path from here')) : null, foot);
  }
  const bad = [...s.states.slice(1)].filter((c) => c !== 'a').length;
  const trunks = model.ofSwitch[sel.switch];
  const down = trunks.filter((i) => model.trunkWorst[i] !== 'a').length;
  return el('section', {}, el('h2', {}, name(s.name)), pairs([['GUID', el('span', { class: 'mono' }, s.guid)], ['state', words[s.states[0]]],
    ['hosts', s.ports.length ? `${s.ports.length} links, ${bad} not well` : ''], ['switches', `${trunks.length} neighbours, ${down} not well`]]), more, foot);
}

// placesOf says whether a problem is one of a selection: of the ends of its cables, or of a node with all its ports.
function placesOf(model, sel) {
  const nodes = new Set([sel.host?.node]);
  const ends = new Set();
  const { switches, trunks } = model.map;
  if (sel.trunk !== undefined) {
    const t = trunks[sel.trunk];
    t.ports.forEach((port, i) => ends.add(`${switches[i % 2 ? t.b : t.a].guid}:${port}`));
  } else if (sel.square !== undefined) {
    ends.add(`${switches[sel.switch].guid}:${switches[sel.switch].ports[sel.square]}`);
  } else {
    nodes.add(sel.guid);
  }
  return (p) => nodes.has(p.node) || ends.has(`${p.node}:${p.port || 0}`);
}

// ask adds what the manager knows of the node, and what is wrong there.
async function ask(into, model, sel) {
  const guid = sel.host?.node || sel.guid;
  try {
    const t = await get('/v1/table/nodes', { filter: `guid:${guid}`, count: 1 }); // has those that have gone
    if (!t.rows.length) return;
    const n = Object.fromEntries(t.columns.map((c, i) => [c.name, t.rows[0].cells[i]]));
    let far = '';
    const parts = [];
    if (!sel.host && sel.square !== undefined && sel.port) {
      const { links } = await get('/v1/links', { node: guid, absent: 1 });
      const l = links.find((x) => (x.from.node === guid && x.from.port === sel.port) || (x.to.node === guid && x.to.port === sel.port));
      const e = l && (l.from.node === guid ? l.to : l.from);
      if (e) far = el('a', { href: link('map', { sel: `${e.node}:${e.port}` }) }, name(e.desc));
    }
    parts.push(far ? pairs([['host', far]]) : pairs([['description', name(n.desc)], ['LID', String(n.lid)], ['ports', `${n.up} of ${n.ports} Active`], ['absent since', n.absent || '']]));
    const is = placesOf(model, sel);
    for (const p of (await get('/v1/problems')).problems) {
      if (p.node && is(p)) parts.push(el('p', {}, el('span', { class: 'badge warn' }, name(p.kind)), ' ', name(p.text)));
    }
    fill(into, parts);
  } catch { /* the rest is shown */ }
}
