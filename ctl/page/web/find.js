import { get } from './api.js';
import { clean, el, fill } from './dom.js';
import { link } from './route.js';

// where is the address that shows what was found.
function where(f) {
  if (f.kind === 'partition') return link('partitions', {}, f.name);
  if (f.kind === 'group') return link('tables', { filter: f.name }, 'members');
  return link('map', { sel: `${f.node}:${f.port || 0}` });
}

// finder makes the box find.
export function finder(form) {
  const text = form.querySelector('input');
  const list = form.querySelector('ul');
  let asked = null;
  let timer;

  const close = () => {
    list.hidden = true;
    list.replaceChildren();
  };

  async function look() {
    asked?.abort();
    const wanted = text.value.trim();
    if (!wanted) {
      close();
      return;
    }
    asked = new AbortController();
    try {
      const { found } = await get('/v1/find', { text: wanted }, asked.signal);
      fill(list, found.length ? found.map((f) => el('li', {}, el('a', { href: where(f), onclick: close },
        el('bdi', {}, f.name), el('small', {}, f.text)))) : el('li', {}, 'nothing has this name, GUID, LID, GID or P_Key'));
      list.hidden = false;
    } catch (e) {
      if (e.name === 'AbortError') return;
      fill(list, el('li', { class: 'error' }, clean(e.message)));
      list.hidden = false;
    }
  }

  text.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(look, 150);
  });
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    clearTimeout(timer);
    await look();
    const first = list.querySelector('a');
    if (first) {
      location.hash = first.getAttribute('href');
      close();
    }
  });
  form.addEventListener('keydown', (e) => {
    if (e.key === 'Escape') {
      close();
      text.focus();
    }
    if (e.key !== 'ArrowDown' && e.key !== 'ArrowUp') return;
    const links = [...list.querySelectorAll('a')];
    if (!links.length) return;
    e.preventDefault();
    const at = links.indexOf(document.activeElement) + (e.key === 'ArrowDown' ? 1 : -1);
    if (at < 0) text.focus();
    else links[Math.min(at, links.length - 1)].focus();
  });
  document.addEventListener('keyup', (e) => { // keydown would have / typed
    if (e.key === '/' && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName || '')) {
      e.preventDefault();
      text.focus();
      text.select();
    }
  });
  document.addEventListener('click', (e) => { if (!form.contains(e.target)) close(); });
}
