import { get } from './api.js';
import { age, command, el, fill, name, rows, time } from './dom.js';
import { go, here, link } from './route.js';

const kinds = { node: ['node', 'nodes'], link: ['link', 'links'], answers: ['node answers or not', 'nodes answer or not'], state: ['state', 'states'],
  speed: ['speed', 'speeds'], avoided: ['port avoided or not', 'ports avoided or not'], lid: ['LID', 'LIDs'], pkeys: ['table of P_Keys', 'tables of P_Keys'],
  manager: ['manager', 'managers'], setting: ['setting', 'settings'], group: ['multicast group', 'multicast groups'], name: ['name', 'names'],
  routes: ['forwarding table', 'forwarding tables'], sls: ['SL', 'SLs'], lanes: ['table of lanes', 'tables of lanes'] };

// words is how many changes of a kind there are.
const words = (what, n) => `${n} ${(kinds[what] || [what, what])[n === 1 ? 0 : 1]}`;

// generations lists what has changed, and compares two generations.
export function generations(main, at) {
  const from = el('input', { id: 'from', inputMode: 'numeric', maxLength: 20 });
  const to = el('input', { id: 'to', inputMode: 'numeric', maxLength: 20 });
  const form = el('form', { class: 'bar', onsubmit: (e) => {
    e.preventDefault();
    go('generations', { from: from.value.trim(), to: to.value.trim() });
  } }, el('label', { for: 'from' }, 'From generation '), from, el('label', { for: 'to' }, 'to '), to, el('button', {}, 'Compare'));
  const body = el('div');
  main.append(el('h1', {}, 'What has changed'), form, body);
  let asked = null;

  async function update(now) {
    from.value = now.params.get('from') || '';
    to.value = now.params.get('to') || '';
    asked?.abort();
    asked = new AbortController();
    try {
      if (from.value || to.value) diff((await get('/v1/diff', { from: from.value, to: to.value }, asked.signal)).rows);
      else list((await get('/v1/generations', {}, asked.signal)).generations);
    } catch (e) {
      if (e.name !== 'AbortError') fill(body, el('p', { class: 'error' }, name(e.message)), el('p', {}, el('a', { href: link('generations') }, 'all generations')));
    }
  }

  function list(all) {
    const day = Date.now() - 86400000;
    const old = all.filter((g) => new Date(g.time) < day).pop() || all[0];
    fill(body, el('p', {}, command('ibsmctl generations'), ' ', age(Date.now(), 60000), ' ',
      old && old === all[all.length - 1] ? (new Date(old.time) < day ? 'Nothing has changed since yesterday.' : '') : old ? el('a', { href: link('generations', { from: old.generation, to: all[all.length - 1].generation }) },
        new Date(old.time) < day ? 'what has changed since yesterday' : 'what has changed since the manager has started') : ''),
    rows('Generations', ['generation', 'time', 'changes', 'forwarding entries', 'map'], all.slice(-500).reverse().map((g) => [
      el('a', { href: link('generations', { from: g.from || '', to: g.generation }) }, String(g.generation)), time(g.time),
      g.first ? 'the first of this master' : Object.entries(g.counts).map(([what, n]) => words(what, n)).join(', ') || 'routes alone',
      String(g.entries), g.from ? el('a', { href: link('map', { from_generation: g.from, to_generation: g.generation }), 'aria-label': `generation ${g.generation} on the map` }, 'on the map') : ''])));
  }

  function diff(lines) {
    const span = lines[0]?.span;
    const changes = lines.slice(1).map((r) => r.change).filter(Boolean);
    const kind = here().params.get('what') || '';
    const counts = {};
    for (const c of changes) counts[c.what] = (counts[c.what] || 0) + 1;
    const shown = kind ? changes.filter((c) => c.what === kind) : changes;
    // side is how something was or is; nothing on one side alone is something new, or something that has gone.
    const side = (text, p, other, none) => name(text || (p ? `${p.name} port ${p.port}` : other ? none : ''));
    fill(body, el('p', {}, el('a', { href: link('generations') }, 'all generations'), ' · ',
      el('a', { href: link('map', { from_generation: span.from, to_generation: span.to }) }, 'on the map'), ' ',
      command(`ibsmctl diff ${span.from} ${span.to}`), ' ', age(Date.now(), 60000)),
    el('p', {}, `Generation ${span.from} to ${span.to}, ${changes.length} changes, ${span.entries} entries of forwarding tables.`,
      span.missing ? ` ${span.missing} more are not stored.` : ''),
    el('p', { class: 'summary' }, Object.entries(counts).map(([what, n]) => el('a', { href: link('generations', { from: span.from, to: span.to, what: what === kind ? '' : what }),
      'aria-current': what === kind ? 'true' : null }, words(what, n) + (what === kind ? ' (show all)' : '')))),
    rows('Changes', ['what', 'where', 'before', 'after'], shown.slice(0, 2000).map((c) => [c.what,
      c.node ? el('a', { href: link('map', { sel: `${c.node}:${c.port || 0}` }) }, name(c.name), c.port ? ` port ${c.port}` : '') : name(c.name),
      side(c.from, c.from_peer, c.to, 'not there'), c.count ? `${c.count} entries` : side(c.to, c.to_peer, c.from, 'gone')])),
    shown.length > 2000 ? el('p', {}, `${shown.length - 2000} more are not shown`) : null);
  }

  update(at);
  const leave = () => asked?.abort();
  leave.update = () => update(here());
  return leave;
}
