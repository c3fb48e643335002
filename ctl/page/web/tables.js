import { get, text as getText } from './api.js';
import { age, el, fill, name, save } from './dom.js';
import { change, go, here, link, note } from './route.js';

const lists = ['nodes', 'ports', 'links', 'hosts', 'problems', 'counters', 'sick', 'pkeys', 'groups', 'members', 'services',
  'subscriptions', 'refusals', 'drained', 'cables', 'offenders', 'port-groups', 'managers'];
const size = 50;

// tables shows a list: filtered, sorted and paged by the manager.
export function tables(main, at) {
  const select = el('select', { id: 'list', onchange: () => go('tables', {}, select.value) },
    lists.map((l) => el('option', { value: l }, l.replaceAll('-', ' '))));
  const filter = el('input', { id: 'filter', type: 'search', maxLength: 256, placeholder: 'words, or state:down', oninput: () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      note({ filter: filter.value, offset: '' });
      update(here());
    }, 200);
  } });
  const csv = el('button', { type: 'button', onclick: download }, 'CSV');
  const copy = el('button', { type: 'button', onclick: paste }, 'Copy rows');
  const said = el('span', { role: 'status', class: 'soft' });
  const body = el('div');
  main.append(el('h1', {}, 'Tables'), el('div', { class: 'bar' },
    el('label', { for: 'list' }, 'List '), select, el('label', { for: 'filter' }, 'Filter '), filter, csv, copy, said), body);
  let typing;
  let asked = null;
  let shown = null;

  async function update(now) {
    const list = now.name || 'nodes';
    const p = now.params;
    select.value = list;
    if (document.activeElement !== filter) filter.value = p.get('filter') || '';
    asked?.abort();
    asked = new AbortController();
    try {
      shown = await get(`/v1/table/${encodeURIComponent(list)}`, { filter: p.get('filter'), sort: p.get('sort'),
        offset: p.get('offset'), count: size }, asked.signal);
      show(list, p);
    } catch (e) {
      if (e.name === 'AbortError') return;
      shown = null;
      fill(body, el('p', { class: 'error' }, name(e.message)));
    }
  }

  function heading(c, p) {
    const sort = p.get('sort') || '';
    const up = sort === c.name;
    const dir = up ? 'ascending' : sort === '-' + c.name ? 'descending' : 'none';
    return el('th', { scope: 'col', 'aria-sort': dir }, el('button', { type: 'button', onclick: () => change({ sort: up ? '-' + c.name : c.name, offset: '' }) },
      c.name + { ascending: ' ▲', descending: ' ▼', none: '' }[dir]));
  }

  function show(list, p) {
    const t = shown;
    const from = t.offset + 1;
    const to = t.offset + t.rows.length;
    const page = (offset) => link('tables', { ...Object.fromEntries(p), offset: offset > 0 ? offset : '' }, list);
    const places = t.rows.some((r) => r.node);
    fill(body, el('div', { class: 'summary' },
      el('span', {}, t.matched === 0 ? `none of ${t.total} rows matches` : `${from} to ${to} of ${t.matched}` + (t.matched < t.total ? ` that match, ${t.total} in all` : '')),
      t.offset > 0 ? el('a', { href: page(t.offset - size) }, 'previous') : null,
      to < t.matched ? el('a', { href: page(t.offset + size) }, 'next') : null,
      el('span', { class: 'soft' }, t.generation ? `generation ${t.generation}` : ''), age(t.time, 60000)),
    el('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': `Table of ${list}` }, el('table', {},
      el('caption', { class: 'hidden' }, list),
      el('thead', {}, el('tr', {}, places ? el('th', { scope: 'col' }, 'map') : null, t.columns.map((c) => heading(c, p)))),
      el('tbody', {}, t.rows.map((r) => el('tr', {},
        places ? el('td', {}, r.node ? el('a', { href: link('map', { sel: `${r.node}:${r.port || 0}` }), 'aria-label': `show ${r.cells[0]} on the map` }, 'show') : '') : null,
        r.cells.map((c, i) => el('td', { class: t.columns[i].number ? 'number' : c.length > 60 ? 'wrap' : '' }, name(c)))))))));
  }

  async function download() {
    const list = here().name || 'nodes';
    try {
      save(`${list}.csv`, 'text/csv', await getText(`/v1/table/${encodeURIComponent(list)}`, { filter: here().params.get('filter'), format: 'csv' }));
      said.textContent = 'saved';
    } catch (e) {
      fill(said, name(e.message));
    }
  }

  async function paste() {
    if (!shown) return;
    const lines = [shown.columns.map((c) => c.name), ...shown.rows.map((r) => r.cells)];
    try {
      await navigator.clipboard.writeText(lines.map((l) => l.map((c) => c.replace(/[\t\n]/g, ' ')).join('\t')).join('\n') + '\n');
      said.textContent = `${shown.rows.length} rows copied`;
    } catch {
      said.textContent = 'cannot be copied here';
    }
  }

  update(at);
  const leave = () => {
    clearTimeout(typing);
    asked?.abort();
  };
  leave.update = update;
  return leave;
}
