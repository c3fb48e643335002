import { get } from './api.js';
import { age, ago, command, el, fill, name, rows, time } from './dom.js';
import { link } from './route.js';

const curves = '/page/third_party/uplot/uPlot.iife.min.js';

// uplot loads the curves when they are shown first.
function uplot() {
  return new Promise((done, failed) => {
    if (window.uPlot) {
      done(window.uPlot);
      return;
    }
    document.head.append(el('link', { rel: 'stylesheet', href: '/page/third_party/uplot/uPlot.min.css' }));
    document.head.append(el('script', { src: curves, onload: () => done(window.uPlot), onerror: failed }));
  });
}

const kept = 300; // samples

// managers shows who manages, how far the mirror is, and what subnet administration does.
export function managers(main) {
  const who = el('div');
  const rates = el('div');
  const plot = el('div');
  main.append(el('h1', {}, 'Managers'), who, el('section', { class: 'panel' }, el('h2', {}, 'Subnet administration'), rates, plot));
  const asked = new AbortController();
  let before = null;
  let chart = null;
  const samples = [[], []];

  function show(st) {
    const own = st.sms[0];
    fill(who, el('section', { class: 'panel' }, el('h2', {}, 'Who manages ', age(Date.now())),
      el('p', {}, el('span', { class: `badge ${st.state === 'MASTER' ? 'good' : 'warn'}` }, st.state || 'no port'), ' ',
        `ibsm ${st.version}, process ${st.pid}, on `, name(st.where), ', up for ' + ago(Date.now() - new Date(st.started)),
        st.waiting ? el('strong', {}, ' ' + st.waiting) : ''),
      st.engine ? el('p', {}, 'Routes: ', name(st.engine), st.fabric ? [', ', name(st.fabric)] : '') : null,
      st.sweep ? el('p', {}, `Last heavy sweep: ${st.sweep.up ? 'SUBNET UP' : 'with errors'}, `, time(st.sweep.ended), `, ${st.sweep.seconds.toFixed(2)} s`) : null,
      rows('Managers', ['manager', 'port', 'LID', 'priority', 'state', 'mirror'], st.sms.map((m) => [
        [m.desc ? el('a', { href: link('map', { sel: `${m.guid}:0` }) }, name(m.desc)) : '', m === own ? ' (this one)' : ''], m.guid, String(m.lid), String(m.priority), m.state + (m.next_master ? ', next master' : ''),
        m.ignored ? 'ignored' : m === own ? '' : !m.mirrors ? 'none' : m.incomplete ? 'incomplete: ' + m.incomplete : m.lag > 0 ? `incomplete for ${ago(1000 * m.lag)}` : 'complete'])),
      el('p', {}, command('ibsmctl sms'))));
  }

  function sum(list, field) {
    return (list || []).reduce((n, x) => n + (x[field] || 0), 0);
  }

  async function sa(stats) {
    const now = Date.now();
    const total = sum(stats.replies, 'count') || sum(stats.packets, 'count');
    if (before) {
      samples[0].push(now / 1000);
      samples[1].push(Math.max(0, (total - before.total) / ((now - before.now) / 1000)));
      if (samples[0].length > kept) samples.forEach((s) => s.shift());
    }
    before = { total, now };
    const lists = Object.entries(stats).filter(([, v]) => Array.isArray(v) && v.length);
    fill(rates, el('p', {}, `${total} replies since the start`, samples[1].length ? `, ${samples[1][samples[1].length - 1].toFixed(1)} a second` : '', ' ', age(now), ' ', command('ibsmctl sa-stats')),
      lists.map(([what, list]) => {
        const columns = Object.keys(list[0]).filter((k) => typeof list[0][k] !== 'object');
        return el('div', {}, el('h3', {}, what), rows(what, columns.map((c) => c.replaceAll('_', ' ')), list.slice(0, 40).map((x) => columns.map((c) => name(x[c] ?? '')))));
      }));
    if (samples[0].length < 2) return;
    if (!chart) {
      const make = await uplot();
      const style = getComputedStyle(document.documentElement);
      const colour = (v) => style.getPropertyValue(v).trim();
      const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line') }, ticks: { stroke: colour('--line') } };
      chart = new make({ width: Math.min(900, plot.clientWidth || 600), height: 180, legend: { show: false }, cursor: { show: false },
        axes: [axis, axis], series: [{}, { label: 'replies a second', stroke: colour('--accent'), width: 2 }] }, samples, plot);
      plot.append(el('p', { class: 'soft' }, 'Replies a second while this view is open.'));
    } else {
      chart.setData(samples);
    }
  }

  async function read() {
    try {
      show(await get('/v1/status', {}, asked.signal));
      await sa(await get('/v1/sa-stats', {}, asked.signal));
    } catch (e) {
      if (e.name === 'AbortError') return;
      fill(who, el('p', { class: 'error' }, name(e.message)));
    }
  }

  read();
  const poll = setInterval(read, 2000);
  return () => {
    clearInterval(poll);
    asked.abort();
    chart?.destroy();
  };
}
