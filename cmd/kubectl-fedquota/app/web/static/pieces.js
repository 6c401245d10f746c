// What pages have in common.
import { html, useEffect, useState } from "./vendor/htm-preact.js";

const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

// ago says how long ago something was, in one unit.
export function ago(time) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, "s"];
  return Math.floor(seconds / size) + " " + unit;
}

// Ago shows how long ago something was, and goes with the time.
export function Ago({ time }) {
  const [, again] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => again((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return time ? html`<time datetime=${time} title=${new Date(time).toLocaleString()}>${ago(time)}</time>` : "";
}

const good = ["Settled", "True"], busy = ["Settling", "Draining", "Leaving"];

// State shows the state of a cluster or a child, or the status of a condition.
export function State({ state }) {
  const look = good.includes(state) ? "good" : busy.includes(state) ? "busy" : state ? "bad" : "";
  return html`<span class=${"state " + look}>${state || "–"}</span>`;
}

// Bar draws how much of a budget is used and granted.
export function Bar({ of }) {
  const used = Math.min(of.usedPercent, 100), granted = Math.min(of.grantedPercent ?? 0, 100);
  const look = of.usedPercent >= 100 ? "full" : of.usedPercent >= 80 ? "near" : "";
  return html`<span class=${"bar " + look} role="img" aria-label=${`${of.usedPercent}% used, ${of.grantedPercent ?? 0}% granted`}>
    <span class="granted" style=${{ width: granted + "%" }}></span><span class="used" style=${{ width: used + "%" }}></span></span>`;
}

// address returns the address of a page.
export const address = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");

// Search is a field that narrows a list; "/" leads to it.
export function Search({ label, value, onInput }) {
  useEffect(() => {
    const go = (event) => {
      if (event.key !== "/" || ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement?.tagName)) return;
      event.preventDefault();
      document.getElementById("search").focus();
    };
    addEventListener("keydown", go);
    return () => removeEventListener("keydown", go);
  }, []);
  return html`<label class="search">${label}
    <input id="search" type="search" value=${value} placeholder="/" onInput=${(e) => onInput(e.target.value)} /></label>`;
}

// matches says whether all words of a query are in a text.
export const matches = (query, text) => query.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));
