import { get } from './api.js';
import { age, command, el, fill, name, rows, time } from './dom.js';
import { link } from './route.js';

const states = ['failed', 'held', 'pending', 'applied'];
const word = (t) => /^[\w.:-]+$/.test(t) ? t : `'${t.replaceAll("'", "'\\''")}'`;

// partitions shows partitions with the states of their members.
export function partitions(main, at) {
  const body = el('div');
  const title = el('h1', {}, 'Partitions');
  main.append(title, body);
  let asked = null;
  let now = at;

  async function read() {
    asked?.abort();
    asked = new AbortController();
    try {
      if (now.name) one(await get(`/v1/partition/${encodeURIComponent(now.name)}`, {}, asked.signal));
      else all((await get('/v1/partition', {}, asked.signal)).partitions);
    } catch (e) {
      if (e.name !== 'AbortError') fill(body, el('p', { class: 'error' }, name(e.message)));
    }
  }

  const counts = (p) => states.filter((s) => p.states?.[s]).map((s) => `${p.states[s]} ${s}`).join(', ');

  // standing is the state of a partition in a word, with its rank, 0 for the worst.
  function standing(p) {
    if (p.held) return { rank: 0, word: 'not in force' };
    if (p.states?.failed) return { rank: 1, word: 'failed' };
    if (!p.ready) return { rank: 2, word: 'waits' };
    if (p.states?.pending) return { rank: 3, word: `ready, ${p.states.pending} wait` };
    return { rank: 4, word: 'ready' };
  }

  function all(list) {
    fill(title, 'Partitions');
    const of = list.map((p) => ({ p, ...standing(p) })).sort((a, b) => a.rank - b.rank); // those that are not well first
    fill(body, el('p', {}, command('ibsmctl partitions show'), ' ', age(Date.now())), list.length ? rows('Partitions',
      ['name', 'P_Key', 'of', 'state', 'members', 'note'], of.map(({ p, rank, word }) => [
        el('a', { href: link('partitions', {}, p.name) }, name(p.name)), p.pkey, p.origin,
        el('span', { class: `badge ${['bad', 'bad', 'warn', 'warn', 'good'][rank]}` }, word),
        counts(p), name(p.held || p.note || '')])) : el('p', {}, 'No partition is configured: every port is in the default partition.'));
  }

  function one(p) {
    fill(title, 'Partition ', name(p.name));
    const members = [...(p.members || [])].sort((a, b) => states.indexOf(a.state) - states.indexOf(b.state));
    const wait = members.filter((m) => m.state !== 'applied');
    fill(body, el('p', {}, el('a', { href: link('partitions') }, 'all partitions'), ' · ',
      el('a', { href: link('map', { layer: 'partition', partition: p.name }) }, 'what it spans on the map'), ' ', age(Date.now())),
    el('p', {}, `P_Key ${p.pkey}, of ${p.origin === 'file' ? 'the file' : 'a caller'}${p.position ? ' (' + p.position + ')' : ''}. ${counts(p)}.`,
      p.all ? ` All ports of hosts are members: ${p.all}.` : '', p.held ? el('strong', {}, ` It is not in force: ${p.held}`) : ''),
    el('p', {}, command(`ibsmctl partitions show ${word(p.name)}`)),
    el('p', {}, wait.length ? `${wait.length} of ${members.length} members do not have the P_Key:` : `All ${members.length} listed members have the P_Key.`),
    rows('Members', ['member', 'membership', 'state', 'why', 'since'], members.slice(0, 1000).map((m) => [
      name(m.host || m.ports?.[0]?.desc || m.guid), m.membership + (m.index0 ? ', index 0' : ''),
      el('span', { class: `badge ${{ applied: 'good', failed: 'bad', held: 'bad' }[m.state] || 'warn'}` }, m.state || 'unknown'),
      name(m.why || ''), m.since ? time(m.since) : ''])),
    members.length > 1000 ? el('p', {}, `${members.length - 1000} more: `, command(`ibsmctl partitions show ${word(p.name)}`)) : null);
  }

  read();
  const poll = setInterval(read, 5000);
  const leave = () => {
    clearInterval(poll);
    asked?.abort();
  };
  leave.update = (next) => {
    now = next;
    read();
  };
  return leave;
}
