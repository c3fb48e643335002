import { get, live } from './api.js';
import { age, ago, command, el, fill, fresh, name, time } from './dom.js';
import { here, link } from './route.js';

const who = {
  everyone: 'hurts everyone',
  'cut off': 'cuts hosts off',
  slowed: 'slows hosts',
  spare: 'hurts nobody yet: fewer paths remain',
  risk: 'a risk',
  remark: 'a remark',
};
const one = { everyone: 'hurts everyone', 'cut off': 'cuts hosts off', slowed: 'slows hosts', spare: 'weakens the subnet', risk: 'risk', remark: 'remark' };
const many = { everyone: 'hurt everyone', 'cut off': 'cut hosts off', slowed: 'slow hosts', spare: 'weaken the subnet', risk: 'risks', remark: 'remarks' };

// hosts is whom a problem hurts, in words.
function hosts(p) {
  if (p.hosts === 0) return who[p.hurts];
  const n = p.partition ? `${p.hosts} member${p.hosts === 1 ? '' : 's'}` : `${p.hosts} host${p.hosts === 1 ? '' : 's'}`;
  return `${n} ${p.hurts === 'cut off' ? 'cut off' : 'slowed'}`;
}

function item(p) {
  const places = [];
  if (p.node && p.kind !== 'mirror') places.push(el('a', { href: link('map', { sel: `${p.node}:${p.port || 0}` }) }, 'on the map'));
  if (p.node && p.kind !== 'mirror') places.push(el('a', { href: link('why', { port: p.port ? `${p.node}:${p.port}` : p.node }) }, 'why'));
  if (p.partition) places.push(el('a', { href: link('partitions', {}, p.partition) }, 'the partition'));
  return el('li', { class: p.hurts.replace(' ', '') },
    el('h2', {}, name(p.where), el('span', { class: 'who' }, hosts(p))),
    el('p', {}, name(p.text)),
    p.do ? el('p', { class: 'do' }, name(p.do)) : null,
    el('p', { class: 'foot' }, places, command(p.shown), p.since ? el('span', { class: 'soft' }, 'since ', time(p.since)) : null));
}

const most = 200;
const alone = 12; // of a kind that are shown one by one

// grouped are the items, with many of a kind behind one.
function grouped(shown, counts) {
  const kinds = new Map();
  for (const p of shown) {
    const key = `${p.hurts}/${p.kind}`;
    if (!kinds.has(key)) kinds.set(key, []);
    kinds.get(key).push(p);
  }
  return [...kinds.values()].flatMap((of) => {
    if (of.length <= alone) return of.map(item);
    const same = counts.find((k) => k.hurts === of[0].hurts && k.kind === of[0].kind);
    return [el('li', { class: of[0].hurts.replace(' ', '') }, el('h2', {}, `${same.count} times: ${of[0].kind}`,
      el('span', { class: 'who' }, same.hosts ? `${same.hosts} hosts ${of[0].hurts}` : who[of[0].hurts])),
    el('p', {}, 'The first: ', name(of[0].where), ': ', name(of[0].text)), of[0].do ? el('p', { class: 'do' }, name(of[0].do)) : null,
    el('details', {}, el('summary', {}, of.length < same.count ? `the first ${of.length}` : 'all'), el('ul', { class: 'problems' }, of.map(item))),
    el('p', { class: 'foot' }, el('a', { href: link('tables', { filter: `kind:${of[0].kind.split(' ')[0]}` }, 'problems') }, 'as a table')))];
  });
}

// problems is the list of what is wrong.
export function problems(main) {
  const summary = el('div', { class: 'summary', role: 'status' });
  const list = el('ul', { class: 'problems', 'aria-label': 'Problems' });
  const rest = el('div');
  main.append(el('h1', {}, 'What is wrong'), summary, list, rest);
  let asked = null;
  let number = -1;

  async function read() {
    if (asked) return;
    asked = new AbortController();
    try {
      show(await get('/v1/problems', {}, asked.signal));
    } catch (e) {
      if (e.name === 'AbortError') return;
      fill(summary, el('span', { class: 'badge unknown' }, 'unknown'), name(e.message));
      number = -1;
    } finally {
      asked = null;
    }
  }

  function show(r) {
    const wanted = here().params.get('hurts') || '';
    const count = {};
    for (const k of r.kinds) count[k.hurts] = (count[k.hurts] || 0) + k.count;
    const hurting = (count.everyone || 0) + (count['cut off'] || 0) + (count.slowed || 0) + (count.spare || 0);
    const parts = [];
    if (!r.known) parts.push(el('span', { class: 'badge unknown' }, `unknown: this manager is ${r.state || 'waiting for its port'}`));
    else if (hurting === 0) parts.push(el('span', { class: 'badge good' }, 'Nothing is wrong'));
    readAt = new Date(r.time).getTime();
    for (const [hurts, text] of Object.entries(many)) {
      if (!count[hurts]) continue;
      const on = wanted === hurts;
      parts.push(el('a', { href: link('problems', { hurts: on ? '' : hurts }), 'aria-current': on ? 'true' : null }, `${count[hurts]} ${count[hurts] === 1 ? one[hurts] : text}${on ? ' (show all)' : ''}`));
    }
    parts.push(age(r.time));
    if (r.sweep) parts.push(el('span', { class: 'soft' }, `last heavy sweep ${ago(Date.now() - new Date(r.sweep))} ago`));
    if (r.known && !r.counters) parts.push(el('span', { class: 'age unknown' }, 'errors and congestion are unknown: counters are not read (perfmgr)'));
    fill(summary, parts);
    const calm = (p) => p.hurts === 'risk' || p.hurts === 'remark';
    const shown = r.problems.filter((p) => (wanted ? p.hurts === wanted : !calm(p)));
    const hidden = wanted ? [] : r.problems.filter(calm);
    const open = rest.querySelector('details')?.open;
    fill(rest, hidden.length ? el('details', { open }, el('summary', {}, `${(count.risk || 0) + (count.remark || 0)} that hurt nobody now: risks and remarks`), el('ul', { class: 'problems' }, hidden.map(item))) : null);
    const focus = document.activeElement?.closest?.('li');
    const at = focus ? [...list.children].indexOf(focus) : -1;
    fill(list, grouped(shown.slice(0, most), r.kinds));
    if (shown.length > most) list.append(el('li', {}, el('a', { href: link('tables', {}, 'problems') }, 'More are in the table of problems')));
    if (at >= 0) list.children[Math.min(at, list.children.length - 1)]?.querySelector('a,button')?.focus();
  }

  // wither takes green back where the last reading is old.
  let readAt = 0;
  const wither = () => {
    const good = summary.querySelector('.badge.good');
    if (good && (live.lost || Date.now() - readAt > fresh)) {
      good.className = 'badge unknown';
      good.textContent = 'unknown: nothing was wrong at the last reading';
    }
  };
  live.addEventListener('lost', wither);
  const withering = setInterval(wither, 1000);

  const changed = () => {
    const n = live.last?.problems;
    if (n !== number) {
      number = n;
      read();
    }
  };
  live.addEventListener('change', changed);
  const poll = setInterval(() => { if (!live.lost) read(); }, 5000);
  changed();
  read();
  const leave = () => {
    live.removeEventListener('change', changed);
    live.removeEventListener('lost', wither);
    clearInterval(poll);
    clearInterval(withering);
    asked?.abort();
  };
  leave.update = read;
  return leave;
}
