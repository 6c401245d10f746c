// All budgets, the fullest first.
import { html, useState } from "./vendor/htm-preact.js";
import { below } from "./stream.js";
import { Table } from "./table.js";
import { Bar, Search, State, address, matches } from "./pieces.js";

const name = (row) => row.namespace + "/" + row.name;
const waits = (row) => row.resources.filter((r) => r.demand).map((r) => `${r.resource}=${r.demand}`).join(", ");
const debts = (row) => row.resources.filter((r) => r.debt).map((r) => `${r.resource} ${r.debt}`).join(", ");
const marks = (row) => (row.conditions ?? []).map((c) => c.type).join(", ");

const columns = [
  { head: "Budget", cell: (row) => html`<a href=${address("budget", row.namespace, row.name)}>${name(row)}</a>` },
  { head: "Ready", cell: (row) => html`<${State} state=${row.summary?.status ?? "Unknown"} />` },
  { head: "Full", class: "wide", cell: (row) => row.tightest && html`<${Bar} of=${row.tightest} /> ${row.tightest.usedPercent}%` },
  { head: "Tightest", cell: (row) => row.tightest && `${row.tightest.resource} ${row.tightest.used || 0} of ${row.tightest.budget}` },
  { head: "Waits for", cell: (row) => waits(row) && html`<span class="waits">${waits(row)}</span>` },
  { head: "Debt", class: "far", cell: (row) => debts(row) && html`<span class="bad">${debts(row)}</span>` },
  { head: "Settled", class: "far", cell: (row) => row.settled },
  { head: "Conditions", class: "far", cell: marks },
];

// order is that of kubectl fedquota list.
const order = (a, b) => b.full - a.full || (a.namespace < b.namespace ? -1 : a.namespace > b.namespace ? 1 : a.name < b.name ? -1 : 1);

export function Budgets({ parts }) {
  const [query, setQuery] = useState(""), [only, setOnly] = useState("all");
  const all = below(parts, "row/").sort(order);
  const kinds = {
    all: () => true, waiting: (row) => waits(row) !== "", "in debt": (row) => debts(row) !== "", "not ready": (row) => row.summary?.status !== "True",
  };
  const text = (row) => `${name(row)} ${marks(row)} ${row.resources.map((r) => r.resource).join(" ")}`;
  const rows = all.filter((row) => kinds[only](row) && matches(query, text(row)));
  return html`<h1>Budgets${parts.about?.namespace && ` of namespace ${parts.about.namespace}`}</h1>
    <div class="tools"><${Search} label="Search" value=${query} onInput=${setQuery} />
      <div role="group" aria-label="Which budgets">${Object.keys(kinds).map((kind) => html`<button type="button" aria-pressed=${String(kind === only)}
        onClick=${() => setOnly(kind)}>${kind} ${all.filter(kinds[kind]).length}</button>`)}</div></div>
    <${Table} label="Budgets, the fullest first" columns=${columns} rows=${rows} empty=${all.length ? "No budget is like that." : "There are no budgets that you may see."} />`;
}
