import { begin, live } from './api.js';
import { ago, command, el, fill, name } from './dom.js';
import { here, link } from './route.js';
import { finder } from './find.js';
import { problems } from './problems.js';
import { map } from './map.js';
import { tables } from './tables.js';
import { generations } from './generations.js';
import { partitions } from './partitions.js';
import { managers } from './managers.js';
import { why } from './why.js';

// A view gets the element to show itself in, the name and the parameters of the address. It returns what to call when
// another one is shown, with update where it can follow an address itself.
const views = {
  problems: ['Problems', problems],
  why: ['Why', why],
  map: ['Map', map],
  tables: ['Tables', tables],
  generations: ['Changes', generations],
  partitions: ['Partitions', partitions],
  managers: ['Managers', managers],
};

const main = document.getElementById('main');
const notice = document.getElementById('notice');
const state = document.getElementById('state');
const nav = document.getElementById('views');

let shown = { view: '', leave: null };

function show() {
  const at = here();
  const [title, view] = views[at.view] || views.problems;
  for (const a of nav.children) {
    if (a.dataset.view === at.view) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  document.title = `${title} - ibsm`;
  if (shown.view === at.view && shown.leave?.update) {
    shown.leave.update(at);
    return;
  }
  shown.leave?.();
  main.replaceChildren();
  main.className = '';
  const moved = shown.view !== '';
  shown = { view: at.view, leave: view(main, at) };
  if (moved && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
}

// badge shows what the manager is, and whether it is heard.
function badge() {
  const c = live.last;
  const silent = live.lost || Date.now() - live.heard > 20000;
  if (silent || !c) {
    state.className = 'badge unknown';
    state.textContent = c ? `unknown for ${ago(Date.now() - (live.heard || Date.now()))}` : 'unknown';
    return;
  }
  const n = c.counts;
  const bad = (n.everyone || 0) + (n['cut off'] || 0);
  const weak = (n.slowed || 0) + (n.spare || 0);
  state.className = `badge ${c.state !== 'MASTER' ? 'warn' : bad ? 'bad' : weak ? 'warn' : 'good'}`;
  state.textContent = c.state !== 'MASTER' ? c.state || 'no port' : bad ? `${bad} wrong` : weak ? `${weak} weakened` : 'nothing wrong';
}

let managersKnown = null;

export function rememberManagers(status) {
  managersKnown = status;
}

// say shows what the user must know wherever they are.
function say() {
  badge();
  if (live.lost) {
    const parts = [el('strong', {}, live.lost.message), ' '];
    if (live.lost.status === 401 || live.lost.status === 403) {
      if (live.lost.hint) parts.push(live.lost.hint);
      if (live.lost.status === 403 && here().view !== 'partitions') parts.push(el('a', { href: link('partitions') }, 'Your partitions'));
    } else {
      parts.push(`Since ${new Date(live.lostAt || Date.now()).toLocaleTimeString()} what is shown may be old. `);
      const next = managersKnown?.sms.slice(1).find((m) => m.next_master);
      const was = managersKnown?.sms[0];
      if (was) parts.push('The master was ', ...called(was), '. ');
      if (next) parts.push('The next master is ', ...called(next), ': on its host run ', command('ibsmctl page'));
    }
    fill(notice, parts);
    notice.hidden = false;
    return;
  }
  const c = live.last;
  if (c && c.state !== 'MASTER') {
    const master = managersKnown?.sms.find((m) => m.state === 'MASTER');
    fill(notice, el('strong', {}, `This manager is ${c.state || 'waiting for its port'}: it does not know the subnet. `),
      master ? ['The master is ', ...called(master), '. Managers do not know each other\u2019s URLs: on its host run ', command('ibsmctl page'), ', or from anywhere, with the URLs of all managers, ', command('ibsmctl --server URL,URL page'), ' '] : '',
      el('a', { href: link('managers') }, 'Managers'));
    notice.hidden = false;
    return;
  }
  notice.hidden = true;
}

// called is who a manager is, by the name of its host where that is known.
function called(m) {
  return [m.desc ? [name(m.desc), ', '] : '', `port ${m.guid}, LID ${m.lid}, priority ${m.priority}`];
}

async function askManagers() {
  const { get } = await import('./api.js');
  try {
    rememberManagers(await get('/v1/status'));
  } catch { /* a tenant may not, and nobody may answer */ }
  say();
}

async function start() {
  for (const [view, [title]] of Object.entries(views)) {
    const a = el('a', { href: link(view) }, title);
    a.dataset.view = view;
    nav.append(a);
  }
  try {
    await begin();
  } catch (e) {
    fill(notice, el('strong', {}, e.message));
    notice.hidden = false;
    return;
  }
  finder(document.getElementById('find'));
  window.addEventListener('hashchange', show);
  let before = '';
  live.addEventListener('change', (e) => {
    const { state, generation } = e.detail;
    if (`${state} ${generation}` !== before) askManagers();
    before = `${state} ${generation}`;
    say();
  });
  live.addEventListener('heard', badge);
  live.addEventListener('lost', say);
  live.addEventListener('found', () => {
    askManagers();
    say();
    if (shown.leave?.update) shown.leave.update(here()); // what was unknown is known again
  });
  setInterval(badge, 1000);
  show();
  live.start();
}

start();
