// A table of any length, of which only the visible rows are in the document.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";

const rowHeight = 36; // as style.css has it
const spare = 8; // rows beyond the visible ones, so that scrolling shows no gap

// Table shows rows. A column has a head, and a cell that returns what is shown of a row; the first one names the row.
// With onSelect, a row can be selected: by a click, or by the arrows and Home and End.
export function Table({ label, columns, rows, selected, onSelect, empty }) {
  const box = useRef(), [window_, setWindow] = useState({ top: 0, height: 600 });
  const look = () => box.current && setWindow({ top: box.current.scrollTop, height: box.current.clientHeight || 600 });
  useEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [rows.length === 0]);
  const first = Math.max(0, Math.min(Math.floor(window_.top / rowHeight), rows.length) - spare);
  const last = Math.min(rows.length, Math.ceil((window_.top + window_.height) / rowHeight) + spare);
  const move = (event) => {
    const at = rows.findIndex((row) => row.key === selected);
    const to = { ArrowDown: at + 1, ArrowUp: Math.max(at, 1) - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (!onSelect || to === undefined || !rows[to]) return;
    event.preventDefault();
    onSelect(rows[to]);
    const top = to * rowHeight, visible = box.current.clientHeight - 2 * rowHeight; // the head covers one row
    if (top < box.current.scrollTop) box.current.scrollTop = top;
    if (top > box.current.scrollTop + visible) box.current.scrollTop = top - visible;
  };
  if (rows.length === 0) return html`<p class="empty" ref=${box}>${empty}</p>`;
  return html`<div class="scroll" ref=${box} onScroll=${look} onKeyDown=${move} tabindex="0" role="region" aria-label=${label}>
    <table aria-rowcount=${rows.length + 1} aria-label=${label}>
      <thead><tr aria-rowindex="1">${columns.map((c) => html`<th scope="col" class=${c.class}>${c.head}</th>`)}</tr></thead>
      <tbody>
        ${first > 0 && html`<tr class="gap" aria-hidden="true"><td colspan=${columns.length} style=${{ height: first * rowHeight + "px" }}></td></tr>`}
        ${rows.slice(first, last).map((row, i) => html`<tr key=${row.key} aria-rowindex=${first + i + 2}
            class=${onSelect ? "pick" : ""} aria-current=${row.key === selected ? "true" : undefined}
            onClick=${onSelect && (() => onSelect(row))}>
          ${columns.map((c, j) => j === 0
            ? html`<th scope="row" class=${c.class}>${c.cell(row)}</th>`
            : html`<td class=${c.class}>${c.cell(row)}</td>`)}
        </tr>`)}
        ${last < rows.length && html`<tr class="gap" aria-hidden="true"><td colspan=${columns.length} style=${{ height: (rows.length - last) * rowHeight + "px" }}></td></tr>`}
      </tbody>
    </table>
  </div>`;
}
