// What would become of limits if the budget, or the weight, min or max of a cluster or child, were another one.
import { html, useState } from "./vendor/htm-preact.js";
import { Table } from "./table.js";

const columnsOf = (of) => [
  { head: of, cell: (l) => l.cluster ?? l.child },
  { head: "Resource", cell: (l) => l.resource },
  { head: "Limit", class: "number", cell: (l) => l.before },
  { head: "Planned", class: "number", cell: (l) => l.planned },
  { head: "Change", class: "number", cell: (l) => l.change },
  { head: "Finally", class: "number far", cell: (l) => l.finally },
  { head: "Note", class: "wide", cell: (l) => html`<span title=${l.note}>${l.note}</span>` },
];

function Answer({ answer }) {
  const [copied, setCopied] = useState("");
  const { plan, yaml } = answer;
  const rows = plan.limits.map((l) => ({ ...l, key: (l.cluster ?? l.child) + "/" + l.resource })).filter((l) => l.change || l.finally !== l.planned || l.note);
  const worries = (plan.conditions ?? []).filter((c) => !["Ready", "Reconciling"].includes(c.type) && c.status === "True");
  const copy = () => navigator.clipboard.writeText(yaml).then(() => setCopied("Copied."), () => setCopied("The browser does not let the page copy: select the text below."));
  return html`${plan.haltedReason && html`<p class="bad">The hub manager would not act on this (${plan.haltedReason}): ${plan.halted}</p>`}
    ${(plan.hints ?? []).map((hint) => html`<p class="busy">${hint}</p>`)}
    <${Table} label="Limits that would change" columns=${columnsOf(plan.kind === "QuotaPool" ? "Child" : "Cluster")} rows=${rows} empty="No limit would change." />
    ${worries.map((c) => html`<p><strong class="busy">${c.type}</strong>: ${c.message}</p>`)}
    <p><button type="button" onClick=${copy}>Copy YAML</button> <span role="status">${copied}</span></p>
    <details><summary>YAML, for kubectl apply or kubectl fedquota plan -f</summary><pre tabindex="0">${yaml}</pre></details>`;
}

// WhatIf asks what becomes of a change. Nothing is changed.
export function WhatIf({ head, resource, of }) {
  const [change, setChange] = useState({}), [told, setTold] = useState({});
  const ask = async (event) => {
    event.preventDefault();
    const query = new URLSearchParams({ kind: head.kind, namespace: head.namespace ?? "", name: head.name, resource, of: of ?? "" });
    for (const [field, value] of Object.entries(change)) {
      if (of || field === "hard") query.set(field, value.trim());
    }
    try {
      const response = await fetch("what-if?" + query);
      setTold(response.ok ? { answer: await response.json() } : { wrong: await response.text() });
    } catch {
      setTold({ wrong: "The command does not answer." });
    }
  };
  const input = (field, label) => html`<label class="search">${label}<input id=${"what-if-" + field} value=${change[field] ?? ""} placeholder="as it is"
    onInput=${(e) => setChange({ ...change, [field]: e.target.value })} /></label>`;
  return html`<form class="tools" onSubmit=${ask}>
      ${input("hard", `Budget of ${resource}`)}
      ${of && html`${input("weight", `Weight of ${of}`)}${input("min", "Its min")}${input("max", "Its max")}`}
      <button type="submit">What would change?</button></form>
    ${!of && html`<p class="small">Select a ${head.kind === "QuotaPool" ? "child" : "cluster"} above to try another weight, min or max.</p>`}
    <div aria-live="polite">${told.wrong && html`<p class="bad">${told.wrong}</p>`}${told.answer && html`<${Answer} answer=${told.answer} />`}</div>`;
}
