// Clusters: in what states they are, what they hold of each budget, and what their nodes can run.
import { html, useState } from "./vendor/htm-preact.js";
import { below } from "./stream.js";
import { Table } from "./table.js";
import { Ago, Search, State, address, matches } from "./pieces.js";

const states = (row) => Object.entries(row.states).sort(([a], [b]) => (a < b ? -1 : 1));
const amount = (list, name) => list?.[name] ?? "–";

const columns = [
  { head: "Cluster", cell: (row) => html`<a href=${address("cluster", row.name)}>${row.name}</a>` },
  { head: "States", class: "wide", cell: (row) => states(row).map(([state, count]) => html`<${State} state=${state} /> ${count} `) },
  { head: "Waits in", class: "number", cell: (row) => row.waits > 0 && html`<span class="waits">${row.waits}</span>` },
  { head: "Nodes", class: "number", cell: (row) => row.nodes?.count ?? "–" },
  { head: "Unused CPU", class: "number far", cell: (row) => row.nodes ? `${amount(row.nodes.unused, "cpu")} of ${amount(row.nodes.allocatable, "cpu")}` : "–" },
  { head: "Unused memory", class: "number far", cell: (row) => row.nodes ? `${amount(row.nodes.unused, "memory")} of ${amount(row.nodes.allocatable, "memory")}` : "–" },
];

const unsettled = (row) => states(row).some(([state]) => state !== "Settled");

export function Clusters({ parts }) {
  const [query, setQuery] = useState(""), [only, setOnly] = useState("all");
  const kinds = { all: () => true, waiting: (row) => row.waits > 0, "not settled": unsettled };
  const all = below(parts, "cluster/").sort((a, b) => (a.name < b.name ? -1 : 1));
  const text = (row) => `${row.name} ${states(row).map(([s]) => s).join(" ")} ${Object.entries(row.labels ?? {}).map(([k, v]) => `${k}=${v}`).join(" ")}`;
  const rows = all.filter((row) => kinds[only](row) && matches(query, text(row)));
  return html`<h1>Clusters</h1>
    <div class="tools"><${Search} label="Search names, states and labels" value=${query} onInput=${setQuery} />
      <div role="group" aria-label="Which clusters">${Object.keys(kinds).map((kind) => html`<button type="button" aria-pressed=${String(kind === only)}
        onClick=${() => setOnly(kind)}>${kind} ${all.filter(kinds[kind]).length}</button>`)}</div></div>
    <${Table} label="Clusters" columns=${columns} rows=${rows} empty=${all.length ? "No cluster is like that." : "No budget that you may see has clusters."} />`;
}

// linesOf returns a row for each resource of each budget.
const linesOf = (parts) => below(parts, "budget/").sort((a, b) => (a.key < b.key ? -1 : 1))
  .flatMap((b) => b.resources.map((r) => ({ ...b, ...r, key: b.key + "/" + r.resource })));

const lines = (name) => [
  { head: "Budget", cell: (row) => html`<a href=${address("budget", row.namespace, row.budget, row.resource, name)}>${row.namespace}/${row.budget}</a>` },
  { head: "Resource", cell: (row) => row.resource },
  { head: "State", cell: (row) => html`<${State} state=${row.state} />` },
  { head: "Limit", class: "number", cell: (row) => row.target },
  { head: "Used", class: "number", cell: (row) => row.used },
  { head: "Waits for", class: "number", cell: (row) => row.demand && html`<span class="waits">${row.demand}</span>` },
  { head: "Granted", class: "number far", cell: (row) => row.granted },
  { head: "Since", class: "far", cell: (row) => html`<${Ago} time=${row.since} />` },
  { head: "What holds it back", class: "wide far", cell: (row) => html`<span title=${row.message}>${row.message}</span>` },
];

export function Cluster({ topic, parts }) {
  const [query, setQuery] = useState("");
  const head = parts.head;
  if (!head) return html`<p class="empty">There is no such cluster, or you may not see it.</p>`;
  const rows = linesOf(parts).filter((row) => matches(query, `${row.namespace}/${row.budget} ${row.resource} ${row.state}`));
  const nodes = head.nodes, names = Object.keys(nodes?.allocatable ?? {}).sort();
  return html`<h1>${head.name}</h1>
    <dl><div><dt>States</dt><dd>${states(head).map(([state, count]) => html`<${State} state=${state} /> in ${count} `)}</dd></div>
      ${head.labels && html`<div><dt>Labels</dt><dd>${Object.entries(head.labels).map(([k, v]) => `${k}=${v}`).join(", ")}</dd></div>`}
      ${!head.known && html`<div><dt>Cluster</dt><dd class="busy">No Cluster object of this name is shown: it is gone, or you may not see it.</dd></div>`}
      <div><dt>Nodes</dt><dd>${nodes ? html`${nodes.count ?? 0}, reported <${Ago} time=${nodes.reported} /> ago` : "nobody has told of them"}</dd></div></dl>
    ${names.length > 0 && html`<div class="scroll low" tabindex="0" role="region" aria-label="What nodes can run"><table><thead><tr><th scope="col">Nodes</th><th scope="col" class="number">Can run</th>
      <th scope="col" class="number">Unused</th></tr></thead><tbody>${names.map((name) => html`<tr><th scope="row">${name}</th>
      <td class="number">${nodes.allocatable[name]}</td><td class="number">${amount(nodes.unused, name)}</td></tr>`)}</tbody></table></div>`}
    <h2>Budgets</h2>
    <div class="tools"><${Search} label="Search budgets" value=${query} onInput=${setQuery} /></div>
    <${Table} label=${"What " + head.name + " has of each budget"} columns=${lines(head.name)} rows=${rows} empty="No budget that you may see is in this cluster." />`;
}
