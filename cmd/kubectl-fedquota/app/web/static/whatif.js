// What would become of limits if the budget, or the weight of a cluster, were another one.
import { html, useState } from "/vendor/htm-preact.js";
import { Table } from "/table.js";

const columns = [
  { head: "Cluster", cell: (l) => l.cluster },
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
  const rows = plan.limits.map((l) => ({ ...l, key: l.cluster + "/" + l.resource })).filter((l) => l.change || l.finally !== l.planned || l.note);
  const worries = (plan.conditions ?? []).filter((c) => !["Ready", "Reconciling"].includes(c.type) && c.status === "True");
  const copy = () => navigator.clipboard.writeText(yaml).then(() => setCopied("Copied."), () => setCopied("The browser does not let the page copy: select the text below."));
  return html`${plan.haltedReason && html`<p class="bad">The hub manager would not act on this (${plan.haltedReason}): ${plan.halted}</p>`}
    ${(plan.hints ?? []).map((hint) => html`<p class="busy">${hint}</p>`)}
    <${Table} label="Limits that would change" columns=${columns} rows=${rows} empty="No limit would change." />
    ${worries.map((c) => html`<p><strong class="busy">${c.type}</strong>: ${c.message}</p>`)}
    <p><button type="button" onClick=${copy}>Copy YAML</button> <span role="status">${copied}</span></p>
    <details><summary>YAML, for kubectl apply or kubectl fedquota plan -f</summary><pre tabindex="0">${yaml}</pre></details>`;
}

// WhatIf asks what becomes of a change. Nothing is changed.
export function WhatIf({ head, resource, cluster }) {
  const [hard, setHard] = useState(""), [weight, setWeight] = useState(""), [told, setTold] = useState({});
  const ask = async (event) => {
    event.preventDefault();
    const query = new URLSearchParams({ namespace: head.namespace, name: head.name, ["hard." + resource]: hard.trim() });
    if (cluster) query.set("weight." + cluster, weight.trim());
    try {
      const response = await fetch("/what-if?" + query);
      setTold(response.ok ? { answer: await response.json() } : { wrong: await response.text() });
    } catch {
      setTold({ wrong: "The command does not answer." });
    }
  };
  return html`<form class="tools" onSubmit=${ask}>
      <label class="search">Budget of ${resource}<input id="what-if-hard" value=${hard} placeholder="as it is" onInput=${(e) => setHard(e.target.value)} /></label>
      ${cluster && html`<label class="search">Weight of ${cluster}<input value=${weight} inputmode="numeric" placeholder="as it is" onInput=${(e) => setWeight(e.target.value)} /></label>`}
      <button type="submit">What would change?</button></form>
    ${!cluster && html`<p class="small">Select a cluster above to try another weight.</p>`}
    <div aria-live="polite">${told.wrong && html`<p class="bad">${told.wrong}</p>`}${told.answer && html`<${Answer} answer=${told.answer} />`}</div>`;
}
