import { get } from './api.js';
import { age, command, el, fill, name } from './dom.js';
import { go, here, link } from './route.js';

const end = (e) => `${e.desc.trim()}${e.port ? ` port ${e.port}` : ''}`;

// why shows why a port is not Active, or why one does not reach another.
export function why(main, at) {
  const port = el('input', { id: 'port', maxLength: 256, required: true });
  const other = el('input', { id: 'other', maxLength: 256 });
  const form = el('form', { class: 'bar', onsubmit: (e) => {
    e.preventDefault();
    go('why', { port: port.value.trim(), other: other.value.trim() });
  } }, el('label', { for: 'port' }, 'Host or port '), port, el('label', { for: 'other' }, 'does not reach '), other, el('button', {}, 'Why'));
  const body = el('div', { 'aria-live': 'polite' });
  main.append(el('h1', {}, 'Why a port does not work, or does not reach another'), form,
    el('p', { class: 'soft' }, 'A name such as host-001, host-001:1 for one of its ports, a GUID, LID or GID. Without the second one: why the port is not Active.'), body);
  let asked = null;

  async function update(now) {
    port.value = now.params.get('port') || '';
    other.value = now.params.get('other') || '';
    if (!port.value) {
      port.focus({ preventScroll: true });
      return;
    }
    asked?.abort();
    asked = new AbortController();
    try {
      show(await get('/v1/why', { port: port.value, other: other.value }, asked.signal), Date.now());
    } catch (e) {
      if (e.name !== 'AbortError') fill(body, el('p', { class: 'error' }, name(e.message)), e.hint ? el('p', {}, name(e.hint)) : null);
    }
  }

  function show(r, when) {
    const word = (t) => /^[\w.:-]+$/.test(t) ? t : `'${t.replaceAll("'", "'\\''")}'`;
    fill(body, el('p', {}, command(`ibsmctl why ${word(port.value)}${other.value ? ' ' + word(other.value) : ''}`), ' ', age(when, 60000)),
      r.diagnoses.map((d) => el('section', { class: 'panel' },
        el('h2', {}, name(end(d.port)), d.to ? [' to ', name(end(d.to))] : ''),
        el('p', {}, el('span', { class: `badge ${d.works ? 'good' : 'bad'}` }, d.works ? 'works' : 'does not work'), ' ',
          d.state, d.physical ? `, ${d.physical}` : '', ' ',
          el('a', { href: d.to ? link('map', { from: `${d.port.node}`, to: `${d.to.node}` }) : link('map', { sel: `${d.port.node}:${d.port.port}` }) }, d.to ? 'the path on the map' : 'on the map')),
        el('ul', {}, (d.reasons || []).map((x) => el('li', {}, name(x.text), x.do ? el('p', { class: 'soft' }, name(x.do)) : null))),
        d.routes ? el('p', { class: 'soft' }, 'Routes: ', name(d.routes)) : null)));
  }

  update(at);
  const leave = () => asked?.abort();
  leave.update = () => update(here());
  return leave;
}
