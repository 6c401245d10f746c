// Pools, and what is below them.
import { html } from "./vendor/htm-preact.js";
import { below } from "./stream.js";
import { Table } from "./table.js";
import { State, address } from "./pieces.js";

// linesOf returns a row for each resource of a node and of all below it.
function linesOf(node, depth, key) {
  const at = `${key}/${node.kind}/${node.namespace ?? ""}/${node.name}`;
  const levels = node.resources.length > 0 ? node.resources : [{}];
  return [
    ...levels.map((level, i) => ({ ...level, node, depth, first: i === 0, key: at + "#" + (level.resource ?? "") })),
    ...(node.children ?? []).flatMap((child) => linesOf(child, depth + 1, at)),
  ];
}

const link = (node) => node.kind === "QuotaPool"
  ? html`<a href=${address("pool", node.name)}>${node.name}</a>`
  : html`<a href=${address("budget", node.namespace, node.name)}>${node.namespace}/${node.name}</a>`;

const columns = [
  { head: "Name", cell: (row) => html`<span style=${{ paddingLeft: row.depth * 20 + "px" }} title=${row.node.message}>
      <span class="unseen">level ${row.depth + 1}: </span>${row.first ? link(row.node) : html`<span class="unseen">${row.node.name}</span>`}</span>` },
  { head: "State", cell: (row) => row.first && html`<${State} state=${row.node.state ?? row.node.ready} />` },
  { head: "Resource", cell: (row) => row.resource },
  { head: "Used", class: "number", cell: (row) => row.used },
  { head: "Waits for", class: "number", cell: (row) => row.demand && html`<span class="waits">${row.demand}</span>` },
  { head: "Granted", class: "number", cell: (row) => row.granted },
  { head: "Budget", class: "number", cell: (row) => row.budget },
  { head: "Free", class: "number far", cell: (row) => row.debt ? html`<span class="bad">debt ${row.debt}</span>` : row.free },
  { head: "Its part", class: "number far", cell: (row) => row.part },
  { head: "Lends", class: "lends", cell: (row) => row.lends ? html`<span class="good">lends ${row.lends}</span>`
    : row.lent && html`<span class="waits">has ${row.lent} of others</span>` },
];

export function Pools({ parts }) {
  const rows = below(parts, "tree/").sort((a, b) => (a.key < b.key ? -1 : 1)).flatMap(({ key, ...node }) => linesOf(node, 0, key));
  return html`<h1>Pools</h1>
    <${Table} label="Pools, and what is below them" columns=${columns} rows=${rows} empty="There are no pools that you may see." />`;
}
