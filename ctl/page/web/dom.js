// Elements of the page. Every text becomes a text node: what a host or a user calls itself is never markup.

// clean shows characters that have no form, or that turn others around, as U+FFFD.
export function clean(text) {
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g, '\ufffd');
}

// el makes an element. Properties that begin with "on" are listeners, "class" and those with "-" attributes.
export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'class') e.className = value;
    else if (name.includes('-') || name === 'for' || name === 'role' || name === 'href' || name === 'scope' || name === 'colspan') e.setAttribute(name, value === true ? 'true' : value);
    else e[name] = value;
  }
  add(e, children);
  return e;
}

function add(e, children) {
  for (const c of children) {
    if (Array.isArray(c)) add(e, c);
    else if (c instanceof Node) e.append(c);
    else if (c !== undefined && c !== null && c !== false) e.append(clean(c));
  }
}

// fill replaces what is in an element.
export function fill(e, ...children) {
  e.replaceChildren();
  add(e, children);
  return e;
}

// name is a text that others chose: it keeps its direction to itself.
export const name = (text) => el('bdi', {}, text);

// ago is how long ago a time was, in words.
export function ago(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 90) return `${s} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} days`;
}

// time is a point in time.
export function time(at) {
  const t = new Date(at);
  const two = (n) => String(n).padStart(2, '0');
  return el('time', { dateTime: t.toISOString(), title: t.toISOString() }, `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`);
}

// fresh is how old data may be, in milliseconds, before it is shown as unknown.
export const fresh = 15000;

const ages = new Set();

// age shows how old data is. It turns into the colour of the unknown when it is old.
export function age(at, limit = fresh) {
  const e = el('span', { class: 'age' });
  const shown = { e, at: new Date(at).getTime(), limit };
  shown.show = () => {
    const old = Date.now() - shown.at;
    const text = `read ${ago(old)} ago`;
    if (e.textContent !== text) e.textContent = text;
    e.classList.toggle('stale', old > shown.limit);
  };
  shown.show();
  ages.add(shown);
  return e;
}

setInterval(() => {
  for (const a of ages) {
    if (a.e.isConnected) a.show();
    else ages.delete(a);
  }
}, 1000);

// command is a line of ibsmctl that can be copied.
export function command(line) {
  const said = el('span', { class: 'hidden', role: 'status' });
  return el('span', { class: 'command' }, el('code', {}, line),
    el('button', { type: 'button', class: 'copy', title: 'copy', 'aria-label': `copy ${clean(line)}`, onclick: async () => {
      try {
        await navigator.clipboard.writeText(line);
        said.textContent = 'copied';
      } catch {
        said.textContent = 'cannot be copied here';
      }
    } }, 'copy'), said);
}

// panel is a part of a view with a heading.
export function panel(heading, ...children) {
  const h = el('h2', {}, heading);
  return el('section', { class: 'panel' }, h, children);
}

// rows is a table of texts or elements.
export function rows(caption, columns, lines) {
  return el('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': caption }, el('table', {},
    el('caption', { class: 'hidden' }, caption),
    el('thead', {}, el('tr', {}, columns.map((c) => el('th', { scope: 'col' }, c)))),
    el('tbody', {}, lines.map((line) => el('tr', {}, line.map((c) => el('td', {}, c)))))));
}

// save gives the user a file.
export function save(file, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = el('a', { href: url, download: file });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
