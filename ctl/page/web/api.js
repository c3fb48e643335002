// Requests to the manager, and the stream of changes.

const keyName = 'ibsm-key';

// Failure is an error of the manager, or that nobody answers (status 0).
export class Failure extends Error {
  constructor(status, text, hint) {
    super(text);
    this.status = status;
    this.hint = hint;
  }
}

function headers() {
  const key = localStorage.getItem(keyName);
  return key ? { Authorization: `Bearer ${key}` } : {};
}

// begin exchanges the token of a link of ibsmctl page for a key.
export async function begin() {
  const token = /^#token=([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, '', '#/problems');
  const reply = await fetch('/session', { method: 'POST', body: token });
  if (reply.ok) localStorage.setItem(keyName, await reply.text());
  else if (!localStorage.getItem(keyName)) throw await failure(reply);
}

async function failure(reply) {
  let said = {};
  try {
    said = await reply.json();
  } catch { /* it is no reply of the manager */ }
  return new Failure(reply.status, said.error || `the server answers ${reply.status}`, said.hint);
}

async function open(path, params, signal) {
  const q = new URLSearchParams(Object.entries(params).filter(([, v]) => v !== '' && v !== undefined && v !== null)).toString();
  let reply;
  try {
    reply = await fetch(path + (q ? '?' + q : ''), { headers: headers(), signal, cache: 'no-store' });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new Failure(0, 'the manager does not answer');
  }
  if (!reply.ok) throw await failure(reply);
  return reply;
}

// get asks for a value.
export async function get(path, params = {}, signal) {
  return (await open(path, params, signal)).json();
}

// text asks for a text.
export async function text(path, params = {}, signal) {
  return (await open(path, params, signal)).text();
}

// Live is the stream of changes. It begins anew after a break where it ended, and rests while the page is not visible.
export class Live extends EventTarget {
  version = '';
  last = null; // the last change, with the time at which it came
  heard = 0; // when the manager was heard last, in milliseconds; 0 never
  lost = null; // the Failure since which nothing is heard

  start() {
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.stop?.abort();
      else if (this.resting) this.run();
    });
    this.run();
  }

  async run() {
    this.resting = false;
    let wait = 250;
    while (!document.hidden) {
      try {
        await this.read(() => { wait = 250; });
        throw new Failure(0, 'the manager has ended the connection');
      } catch (e) {
        if (document.hidden) break;
        const failed = e instanceof Failure ? e : new Failure(0, 'the connection to the manager broke');
        if (!this.lost) this.lostAt = Date.now();
        this.lost = failed;
        this.dispatchEvent(new Event('lost'));
        if (failed.status === 401 || failed.status === 403) return;
      }
      await new Promise((done) => setTimeout(done, wait));
      wait = Math.min(2 * wait, 5000);
    }
    this.resting = true;
  }

  async read(good) {
    this.stop = new AbortController();
    const reply = await open('/v1/changes', { since: this.version }, this.stop.signal);
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    let quiet;
    const watch = () => { // the manager sends something every ten seconds
      clearTimeout(quiet);
      quiet = setTimeout(() => this.stop.abort(), 25000);
    };
    watch();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        watch();
        good();
        this.heard = Date.now();
        if (this.lost) {
          this.lost = null;
          this.dispatchEvent(new Event('found'));
        }
        const parts = (rest + value).split('\n\n');
        rest = parts.pop();
        for (const part of parts) this.take(part);
        this.dispatchEvent(new Event('heard'));
      }
    } finally {
      clearTimeout(quiet);
    }
  }

  take(part) {
    const data = part.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
    if (!data) return;
    const change = JSON.parse(data);
    this.version = change.version;
    this.last = change;
    this.dispatchEvent(new CustomEvent('change', { detail: change }));
  }
}

export const live = new Live();
