// A budget as it was: somebody picks a time, and sees how full it was and which limit each cluster had.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { Table } from "./table.js";
import { Timeline } from "./chart.js";
import { Ago, Bar, Search, address, matches } from "./pieces.js";

const spans = [[3600, "an hour"], [86400, "a day"], [7 * 86400, "a week"], [30 * 86400, "30 days"], [Infinity, "all that is known"]];
const seconds = (time) => Math.floor(Date.parse(time) / 1000);
const words = (at) => new Date(at * 1000).toLocaleString();
const within = (at, from, until) => Math.max(from, Math.min(at, until));

// useTold asks the server, and keeps its last answer until the next one comes.
function useTold(path) {
  const [told, setTold] = useState({});
  useEffect(() => {
    if (!path) return undefined;
    const asked = new AbortController();
    fetch(path, { signal: asked.signal })
      .then(async (response) => setTold(response.ok ? { answer: await response.json() } : { wrong: await response.text() }))
      .catch((wrong) => wrong.name === "AbortError" || setTold({ wrong: "The server does not answer." }));
    return () => asked.abort();
  }, [path]);
  return told;
}

// Exact says of which time amounts are, and what is not known.
function Exact({ past, denied }) {
  const between = past.start && `${words(seconds(past.start))}${past.end ? ` to ${words(seconds(past.end))}` : ""}`;
  return html`<ul class="notice" aria-label="How exact this is">
    ${past.basis === "seen" && html`<li>How much was used is as this page saw it at ${between}.</li>`}
    ${past.basis === "mean" && html`<li>How much was used is the <strong>mean</strong> from ${between}: no more is recorded.
      ${past.unobservedMinutes > 0 && html` For ${past.unobservedMinutes} minutes of it nobody looked: what was known before counts for them.`}</li>`}
    ${!past.basis && html`<li>How much was used then is <strong>not recorded</strong>: the hub manager writes it about once an hour.</li>`}
    <li>Limits are those that moves have led to, once they had come to rest.
      ${past.unlisted && html` <strong>Not all moves of that time are listed</strong>, so limits are missing that nothing tells of.`}</li>
    ${denied && html`<li>You lack the right to ${denied}: what is older than about an hour is not shown.</li>`}</ul>`;
}

// Totals shows how full each resource was.
function Totals({ past, resource, choose }) {
  return html`<ul class="totals" aria-label="Resources, then">${past.resources.map((r) => html`<li key=${r.resource}>
    <button type="button" aria-pressed=${String(r.resource === resource)} onClick=${() => choose(r.resource)}>
      <span class="name">${r.resource}</span><${Bar} of=${r} />
      <span>${r.used} used${r.granted && html`, ${r.granted} granted`} of ${r.budget}${r.demand && html`, <span class="waits">${r.demand} more asked for</span>`}</span>
      <span>${r.peak && html`at most ${r.peak} used`}${r.debt && html` <span class="bad">debt ${r.debt}</span>`}</span>
    </button></li>`)}</ul>`;
}

const columnsOf = (past) => [
  { head: "Cluster", cell: (c) => html`<a href=${address("cluster", c.name)}>${c.name}</a>` },
  { head: "Limit then", class: "number", cell: (c) => c.limit ?? "not known" },
  { head: "Since", cell: (c) => c.since && words(seconds(c.since)) },
  { head: "Why", class: "wide", cell: (c) => html`<span title=${c.why}>${c.why}</span>` },
  { head: `Used in ${new Date(past.at).toLocaleString(undefined, { month: "long", timeZone: "UTC" })}, mean`, class: "number far", cell: (c) => c.mean },
  { head: "At most", class: "number far", cell: (c) => c.peak },
];

const moveColumns = [
  { head: "When", cell: (m) => words(seconds(m.time)) },
  { head: "Where", cell: (m) => m.cluster || "–" },
  { head: "What", cell: (m) => m.cluster ? `${m.resource} ${m.from} → ${m.to}` : m.reason },
  { head: "Why", class: "wide", cell: (m) => html`<span title=${m.words || m.message}>${m.words || m.message}</span>` },
];

// Controls pick a time. The slider goes over a span of time, which is around that time.
function Controls({ film, at, past, pick, view, look, playing, play }) {
  const [from, until] = [seconds(film.from), seconds(film.until)];
  const zoom = (length) => {
    const size = Math.min(length, until - from), start = within(at - size / 2, from, until - size);
    look({ length, from: Math.floor(start), until: Math.ceil(start + size) });
  };
  const button = (to, text) => html`<button type="button" disabled=${to === undefined || to < from || to > until} onClick=${() => pick(to)}>${text}</button>`;
  const move = (time) => time && seconds(time);
  return html`<div class="tools">
      <label class="search slider">Time<input id="replay-at" type="range" min=${view.from} max=${view.until} step=${Math.max(1, Math.floor((view.until - view.from) / 400))}
        value=${at} aria-valuetext=${words(at)} onInput=${(e) => pick(Number(e.target.value))} /></label>
      <label class="search">Slider over<select id="replay-span" value=${String(view.length)} onChange=${(e) => zoom(Number(e.target.value))}>
        ${spans.map(([length, text]) => html`<option value=${String(length)}>${text}</option>`)}</select></label></div>
    <div role="group" aria-label="Steps">
      ${button(at - 3600, "− 1 hour")}${button(move(past?.earlier), "Move before")}
      <button type="button" aria-pressed=${String(playing)} disabled=${!playing && !past?.later} onClick=${() => play(!playing)}>${playing ? "Stop" : "Play moves"}</button>
      ${button(move(past?.later), "Move after")}${button(at + 3600, "+ 1 hour")}</div>`;
}

// Replay shows the past of a budget until somebody goes back to now.
export function Replay({ head, resource, choose, back }) {
  const [picked, setAt] = useState(), [looked, look] = useState(), [query, setQuery] = useState(""), [playing, play] = useState(false);
  const path = "replay?" + new URLSearchParams({ namespace: head.namespace, name: head.name });
  const whole = useTold(path), film = whole.answer;
  const from = film && seconds(film.from), until = film && seconds(film.until);
  const hourAgo = film && within(until - 3600, from, until);
  const at = picked ?? hourAgo, view = looked ?? { length: 3600, from: hourAgo, until };
  const told = useTold(film && `${path}&${new URLSearchParams({ at, resource })}`), past = told.answer;
  const pick = (to) => {
    setAt(to);
    if (to < view.from || to > view.until) { // the span goes with the time
      const size = view.until - view.from, start = within(to - size / 2, from, until - size);
      look({ ...view, from: Math.floor(start), until: Math.ceil(start + size) });
    }
  };
  useEffect(() => {
    if (!playing || !past) return undefined;
    if (!past.later || seconds(past.later) > until) { play(false); return undefined; }
    const timer = setTimeout(() => pick(seconds(past.later)), 1000);
    return () => clearTimeout(timer);
  }, [playing, past]);
  const wrong = whole.wrong ?? told.wrong;
  const rows = (past?.clusters ?? []).map((c) => ({ ...c, key: c.name })).filter((c) => matches(query, c.name));
  const moves = (past?.moves ?? []).map((m, i) => ({ ...m, key: String(i) }));
  return html`<section class="past" aria-label="The past">
    <div class="tools"><strong role="status">${film ? `This is the past: ${words(at)}` : "Reading records…"}</strong>
      ${film && html`<span class="small"><${Ago} time=${new Date(at * 1000).toISOString()} /> ago</span>`}
      <button type="button" id="replay-end" onClick=${back}>Back to now</button></div>
    ${wrong && html`<p class="bad" role="alert">${wrong}</p>`}
    ${film && html`<${Controls} film=${film} at=${at} past=${past} pick=${pick} view=${view} look=${look} playing=${playing} play=${play} />`}
    ${past && html`<${Exact} past=${past} denied=${film.denied} />
      <${Totals} past=${past} resource=${resource} choose=${choose} />
      <h2>Time line: ${resource}</h2>
      <${Timeline} samples=${film.samples} moves=${(film.marks[resource] ?? []).map((mark) => ({ time: mark }))} resource=${resource}
        past=${{ at, from: view.from, until: view.until }} />
      <h2>Clusters, then: ${resource}</h2>
      <div class="tools"><${Search} label="Search clusters" value=${query} onInput=${setQuery} /></div>
      <${Table} label=${`Clusters and their limits of ${resource}, then`} columns=${columnsOf(past)} rows=${rows} empty="Nothing is known of clusters then." />
      <h2>What had moved</h2>
      <${Table} label="What had moved, the latest first" columns=${moveColumns} rows=${moves} empty="Nothing that is recorded." />`}</section>`;
}
