// The page: which part of the address shows what.
import { html, render, useEffect, useState } from "./vendor/htm-preact.js";
import { useParts } from "./stream.js";
import { Budgets } from "./budgets.js";
import { Budget } from "./budget.js";
import { Pools } from "./pools.js";
import { Cluster, Clusters } from "./clusters.js";
import { Enter, Leave, useViewer } from "./enter.js";

const pages = { budgets: Budgets, budget: Budget, pools: Pools, pool: Budget, clusters: Clusters, cluster: Cluster };

// topicOf takes the address apart: #/budget/team-a/compute/requests.cpu/east
function topicOf(hash) {
  const [page, ...rest] = hash.replace(/^#\//, "").split("/").map(decodeURIComponent);
  switch (page) {
    case "budget": return { page, namespace: rest[0], name: rest[1], resource: rest[2], cluster: rest[3] };
    case "pool": case "cluster": return { page, namespace: "", name: rest[0], resource: rest[1], cluster: rest[2] };
    default: return { page: pages[page] ? page : "budgets", namespace: "", name: "" };
  }
}

function Navigation({ page }) {
  const link = (to, words, of) => html`<a href=${"#/" + to} aria-current=${of.includes(page) ? "page" : undefined}>${words}</a>`;
  return html`<nav aria-label="Pages">
    ${link("budgets", "Budgets", ["budgets", "budget"])}${link("pools", "Pools", ["pools", "pool"])}${link("clusters", "Clusters", ["clusters", "cluster"])}
  </nav>`;
}

// Notice says what a reader has to know before he believes the page.
function Notice({ told }) {
  const missing = told.parts.about?.missing ?? [];
  if (told.live === false) {
    return html`<p class="notice bad" role="alert">The server does not answer: this is what it told last. If you have started it by kubectl fedquota view and it has ended, start it again.</p>`;
  }
  return missing.length > 0 && html`<ul class="notice" aria-label="What is not shown">
    ${missing.map((m) => html`<li><strong>${m.what}</strong>: ${m.why}</li>`)}</ul>`;
}

function App({ viewer, again }) {
  const [topic, setTopic] = useState(topicOf(location.hash));
  const [news, announce] = useState("");
  useEffect(() => {
    const go = () => setTopic(topicOf(location.hash));
    go(); // it may have changed before anybody listened
    addEventListener("hashchange", go);
    return () => removeEventListener("hashchange", go);
  }, []);
  const query = new URLSearchParams({ page: topic.page, namespace: topic.namespace, name: topic.name }).toString();
  const told = useParts(query, again);
  useEffect(() => { document.title = (topic.name ? topic.name + " – " : "") + "fedquota"; }, [topic.name]);
  const Page = pages[topic.page];
  return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById("main").focus(); }}>To the content</a>
    <header><strong>fedquota</strong><${Navigation} page=${topic.page} /><${Leave} viewer=${viewer} again=${again} /></header>
    <${Notice} told=${told} />
    <main id="main" tabindex="-1">
      ${told.live === undefined ? html`<p class="empty">Reading…</p>` : html`<${Page} key=${query} topic=${topic} parts=${told.parts} announce=${announce} />`}
    </main>
    <div class="unseen" role="status" aria-live="polite">${news}</div>`;
}

// Gate shows the page to who may see it.
function Gate() {
  const [viewer, again] = useViewer();
  if (viewer === null) return html`<header><strong>fedquota</strong></header><main id="main"><${Enter} again=${again} /></main>`;
  return viewer && html`<${App} viewer=${viewer} again=${again} />`;
}

render(html`<${Gate} />`, document.getElementById("app"));
