// What is shown is in the address: #/VIEW/NAME?PARAMETERS. A link shows the same to others, and Back goes back.

// here is the view, the name and the parameters of the address.
export function here(hash = location.hash) {
  const [path, query] = hash.replace(/^#\/?/, '').split('?');
  const [view, ...rest] = path.split('/');
  let name = '';
  try {
    name = decodeURIComponent(rest.join('/'));
  } catch { /* not written by this page */ }
  return { view: view || 'problems', name, params: new URLSearchParams(query || '') };
}

// link is the address of a view. Parameters that are "" or undefined are left out.
export function link(view, params = {}, name = '') {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(params)) {
    if (v !== '' && v !== undefined && v !== null && v !== false) q.set(k, v);
  }
  const text = q.toString();
  return `#/${view}${name ? '/' + encodeURIComponent(name) : ''}${text ? '?' + text : ''}`;
}

// go shows another view.
export function go(view, params, name) {
  location.hash = link(view, params, name);
}

// change changes parameters of this view, as a new entry of the history.
export function change(params) {
  const at = here();
  go(at.view, { ...Object.fromEntries(at.params), ...params }, at.name);
}

// note changes parameters without an entry of the history, and without showing the view again.
export function note(params) {
  const at = here();
  history.replaceState(null, '', link(at.view, { ...Object.fromEntries(at.params), ...params }, at.name));
}
