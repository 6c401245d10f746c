// One budget, or one pool: how full it is, who waits and why, what each cluster or child has, and what moved.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { below } from "./stream.js";
import { Table } from "./table.js";
import { Timeline } from "./chart.js";
import { WhatIf } from "./whatif.js";
import { Replay } from "./replay.js";
import { Ago, Bar, Search, State, address, ago, matches } from "./pieces.js";

// Totals shows how full each resource is. One of them is looked at.
function Totals({ head, resource, choose }) {
  return html`<ul class="totals" aria-label="Resources">${head.resources.map((r) => html`<li key=${r.resource}>
    <button type="button" aria-pressed=${String(r.resource === resource)} onClick=${() => choose(r.resource)}>
      <span class="name">${r.resource}</span><${Bar} of=${r} />
      <span>${r.used || 0} used, ${r.granted || 0} granted of ${r.budget || 0}${r.demand && html`, <span class="waits">${r.demand} more asked for</span>`}</span>
      <span>${r.debt ? html`<span class="bad">debt ${r.debt}: no limit goes up</span>` : `${r.free || 0} free`}</span>
    </button></li>`)}</ul>`;
}

// Sentences say why a limit is what it is.
const Sentences = ({ limit }) => (limit?.sentences ?? []).map((sentence) => html`<p>${sentence}</p>`);

// Waits tells who asks for more than he has.
function Waits({ parts, resource, started, clusterOf }) {
  const waits = below(parts, `wait/${resource}/`).sort((a, b) => Date.parse(a.since) - Date.parse(b.since));
  if (waits.length === 0) return html`<p>Nobody waits for ${resource}.</p>`;
  const since = (w) => (Date.parse(w.since) - Date.parse(started) < 2000 ? `for ${ago(w.since)} at least` : `for ${ago(w.since)}`);
  return html`<ul class="waiting">${waits.slice(0, 20).map((w) => html`<li key=${w.key}>
      <a href=${clusterOf(w.cluster)}>${w.cluster}</a> asks for <strong>${w.demand}</strong> more, ${since(w)}.
      <${Sentences} limit=${parts[`limit/${resource}/${w.cluster}`]} /></li>`)}</ul>
    ${waits.length > 20 && html`<p>And ${waits.length - 20} more: see the table.</p>`}`;
}

const amountsOf = (row, resource) => row.resources.find((r) => r.resource === resource) ?? {};

function columnsOf(parts, resource) {
  const limit = (row) => parts[`limit/${resource}/${row.name}`];
  const amounts = (row) => amountsOf(row, resource);
  const [kind, path] = parts.head.kind === "QuotaPool" ? ["Child", childPath] : ["Cluster", (row) => address("cluster", row.name)];
  return [
    { head: kind, cell: (row) => html`<a href=${path(row)} onClick=${(e) => e.stopPropagation()}>${row.name}</a>` },
    { head: "State", cell: (row) => html`<${State} state=${row.state} />` },
    { head: "Limit", class: "number", cell: (row) => amounts(row).target },
    { head: "Used", class: "number", cell: (row) => amounts(row).used },
    { head: "Waits for", class: "number", cell: (row) => amounts(row).demand && html`<span class="waits">${amounts(row).demand}</span>` },
    { head: "Granted", class: "number far", cell: (row) => amounts(row).granted },
    { head: "Its part", class: "number far", cell: (row) => limit(row)?.part },
    { head: "Lends", class: "lends", cell: (row) => limit(row)?.lends ? html`<span class="good">lends ${limit(row).lends}</span>`
      : limit(row)?.lent && html`<span class="waits">has ${limit(row).lent} of others</span>` },
    { head: "Since", class: "far", cell: (row) => html`<${Ago} time=${row.since} />` },
  ];
}

const childPath = (row) => (row.name.includes("/") ? address("budget", ...row.name.split("/")) : address("pool", row.name));

// Why tells of the cluster that is selected.
function Why({ parts, row, resource }) {
  if (!row) return html`<p>Select a row to see why its limit is what it is.</p>`;
  const limit = parts[`limit/${resource}/${row.name}`];
  return html`<h3>${row.name}: why ${limit?.limit ?? amountsOf(row, resource).target ?? "no limit"}?</h3>
    ${row.message && html`<p class="bad">${row.message}</p>`}
    ${limit ? html`<${Sentences} limit=${limit} />` : html`<p>It is not known why${parts.unexplained && `: ${parts.unexplained}`}.</p>`}`;
}

const moveColumns = [
  { head: "When", cell: (m) => html`<${Ago} time=${m.time} /> ago` },
  { head: "Where", cell: (m) => m.cluster || "–" },
  { head: "What", cell: (m) => m.cluster ? `${m.resource} ${m.from} → ${m.to}` : m.reason },
  { head: "Why", class: "wide", cell: (m) => html`<span title=${m.words || m.message}>${m.words || m.message}</span>` },
];

// useNews tells those who do not see the page what has moved while they look.
function useNews(moves, announce) {
  const told = useRef();
  useEffect(() => {
    const news = moves.filter((m) => told.current && !told.current.has(m.key));
    told.current = new Set(moves.map((m) => m.key));
    if (news.length === 0) return;
    const words = news.slice(-3).map((m) => m.cluster ? `${m.cluster}: ${m.resource} from ${m.from} to ${m.to}` : `${m.reason}: ${m.message}`);
    announce(words.join("; ") + (news.length > 3 ? `; and ${news.length - 3} more` : ""));
  }, [moves.length && moves[0].key]);
}

function Facts({ head, parts }) {
  const facts = [
    ["Ready", head.summary && html`<${State} state=${head.summary.status} /> <span>${head.summary.reason}: ${head.summary.message}</span>`],
    ["Mode", head.mode === "Static" ? "Static: split by weight, min and max" : head.waitMilliseconds === undefined ? "Auto: limits follow demand"
      : `Auto: limits follow demand; a request that does not fit waits up to ${head.waitMilliseconds} ms for a raise`],
    ["Settled", head.settled], ["Placement", head.placement], ["Scopes", head.scopes?.join("; ")], ["Capacity", head.capacity],
    ["Pool", (head.pool ?? head.parent) && html`<a href=${address("pool", (head.pool ?? head.parent).name)}>${(head.pool ?? head.parent).name}</a>`],
    ["Not explained", parts.unexplained],
  ];
  return html`<dl>${facts.filter(([, what]) => what).map(([name, what]) => html`<div><dt>${name}</dt><dd>${what}</dd></div>`)}</dl>`;
}

const Conditions = ({ head }) => head.conditions && html`<section aria-label="Conditions"><h2>Conditions</h2>
  ${head.conditions.map((c) => html`<p><strong class="busy">${c.type}</strong> for <${Ago} time=${c.since} /> (${c.reason}): ${c.message}
    ${c.advice && html`<br />→ ${c.advice}`}</p>`)}</section>`;

export function Budget({ topic, parts, announce }) {
  const [query, setQuery] = useState(""), [past, setPast] = useState(false);
  const head = parts.head;
  const moves = below(parts, "move/").sort((a, b) => Date.parse(b.time) - Date.parse(a.time) || (a.key < b.key ? 1 : -1));
  useNews(moves, announce);
  if (!head) return html`<p class="empty">There is no such budget, or you may not see it.</p>`;
  const pool = head.kind === "QuotaPool";
  const at = pool ? ["pool", head.name] : ["budget", head.namespace, head.name];
  const fullest = head.resources.reduce((a, b) => (a && a.usedPercent >= b.usedPercent ? a : b), undefined)?.resource;
  const resource = head.resources.some((r) => r.resource === topic.resource) ? topic.resource : fullest;
  const go = (...rest) => { location.replace(address(...at, ...rest)); };
  const rows = below(parts, "cluster/").filter((row) => matches(query, `${row.name} ${row.state}`)).sort((a, b) => (a.name < b.name ? -1 : 1));
  const selected = rows.find((row) => row.name === topic.cluster);
  const ofResource = moves.filter((m) => !m.cluster || m.resource === resource);
  const samples = below(parts, "sample/").sort((a, b) => a.at - b.at);
  const what = pool ? "Children" : "Clusters";
  if (past) return html`<h1>${at.slice(1).join("/")}</h1><${Replay} head=${head} resource=${resource} choose=${(name) => go(name)} back=${() => setPast(false)} />`;
  return html`<h1>${at.slice(1).join("/")}</h1>
    ${!pool && html`<p><button type="button" id="replay" onClick=${() => setPast(true)}>Look back</button></p>`}
    <${Totals} head=${head} resource=${resource} choose=${(name) => go(name)} />
    <${Facts} head=${head} parts=${parts} />
    ${!pool && html`<section aria-label="Who waits"><h2>Who waits for ${resource}</h2>
      <${Waits} parts=${parts} resource=${resource} started=${parts.about.started} clusterOf=${(name) => address(...at, resource, name)} /></section>`}
    <${Conditions} head=${head} />
    <section aria-label=${what}><h2>${what}: ${resource}</h2>
      <div class="tools"><${Search} label=${"Search " + what.toLowerCase()} value=${query} onInput=${setQuery} /></div>
      <div class="beside"><${Table} label=${`${what} and what they have of ${resource}`} columns=${columnsOf(parts, resource)} rows=${rows}
        selected=${selected?.key} onSelect=${(row) => go(resource, row.name)} empty=${`No ${what.toLowerCase()}.`} />
      <div class="why" role="region" aria-live="polite" aria-label="Why"><${Why} parts=${parts} row=${selected} resource=${resource} /></div></div></section>
    <section aria-label="What if"><h2>What if?</h2>
      <${WhatIf} key=${resource} head=${head} resource=${resource} of=${selected?.name} /></section>
    ${!pool && html`<section aria-label="Time line"><h2>Time line: ${resource}</h2>
      <${Timeline} samples=${samples} moves=${ofResource.filter((m) => m.cluster)} resource=${resource} />
      <p class="small">Since you began to look, <${Ago} time=${parts.about.started} /> ago. Marks at the bottom are moves of limits.</p></section>
    <section aria-label="Moves"><h2>What moved</h2>
      <${Table} label="What moved, the latest first" columns=${moveColumns} rows=${ofResource} empty="Nothing that events tell of." /></section>`}`;
}
