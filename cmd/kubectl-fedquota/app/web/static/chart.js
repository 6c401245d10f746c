// The time line of a budget.
import { html, useEffect, useRef } from "./vendor/htm-preact.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

// columnsOf returns samples of a resource as uPlot has them: seconds, used, used and asked for, granted, budget. The last
// sample holds until now. One that says nothing leaves a gap.
function columnsOf(samples, resource, now) {
  const columns = [[], [], [], [], []];
  for (const sample of samples) {
    const l = sample.levels?.find((level) => level.resource === resource);
    [sample.at / 1000, ...(l ? [l.used, l.used + l.demand, l.granted ?? null, l.budget] : [null, null, null, null])].forEach((value, i) => columns[i].push(value));
  }
  if (columns[0].length > 0) columns.forEach((column, i) => column.push(i === 0 ? now / 1000 : column.at(-1)));
  return columns;
}

// options are those of a chart, in the colours of the page. Moves are marked at the bottom, and the time that somebody has
// picked by a line. Of the past, the span that he looks at is drawn.
function options(width, moves, past) {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue("--" + name).trim();
  const stepped = uPlot.paths.stepped({ align: 1 });
  const line = (label, name, more) => ({ label, stroke: color(name), width: 2, paths: stepped, points: { show: false }, ...more });
  const axis = { stroke: color("text"), grid: { stroke: color("line"), width: 1 }, ticks: { stroke: color("line"), width: 1 } };
  return {
    width, height: 220, cursor: { drag: { x: true, y: false } },
    scales: { x: { range: (_, first, last) => (past.current ? [past.current.from, past.current.until] : [Math.min(first, last - 60), last]) }, y: { range: (_, low, high) => [0, Math.max(high * 1.05, 1)] } },
    series: [{ label: "time" }, line("used", "used", { fill: color("fill") }), line("used and asked for", "waits", { dash: [4, 4] }),
      line("granted", "granted"), line("budget", "text", { dash: [10, 4] })],
    axes: [axis, { ...axis, size: 60 }],
    hooks: { draw: [(chart) => {
      chart.ctx.fillStyle = color("accent");
      for (const move of moves.current) {
        const x = chart.valToPos(new Date(move.time) / 1000, "x", true);
        if (x >= chart.bbox.left && x <= chart.bbox.left + chart.bbox.width) chart.ctx.fillRect(x - 1, chart.bbox.top + chart.bbox.height - 12, 3, 12);
      }
      if (past.current) chart.ctx.fillRect(chart.valToPos(past.current.at, "x", true) - 1, chart.bbox.top, 2, chart.bbox.height);
    }] },
  };
}

// Timeline draws what a budget was of a resource: until now, or in a span of the past with the time that somebody has picked.
export function Timeline({ samples, moves, resource, past }) {
  const box = useRef(), chart = useRef(), marks = useRef(moves), known = useRef(samples), picked = useRef(past);
  marks.current = moves;
  known.current = samples;
  picked.current = past;
  useEffect(() => {
    const draw = () => {
      chart.current?.destroy();
      chart.current = new uPlot(options(box.current.clientWidth, marks, picked), columnsOf(known.current, resource, Date.now()), box.current);
    };
    draw();
    const observer = new ResizeObserver(() => chart.current.setSize({ width: box.current.clientWidth, height: 220 }));
    observer.observe(box.current);
    dark.addEventListener("change", draw);
    return () => { observer.disconnect(); dark.removeEventListener("change", draw); chart.current.destroy(); chart.current = null; };
  }, [resource]);
  useEffect(() => {
    const show = () => chart.current?.setData(columnsOf(samples, resource, Date.now()));
    show();
    const timer = setInterval(show, 2000);
    return () => clearInterval(timer);
  }, [samples, resource, past?.at, past?.from, past?.until]);
  return html`<div class="chart" ref=${box} role="img" aria-label=${"Time line of " + resource + ": used, asked for, granted and budget " + (past ? "in the past" : "since you began to look")}></div>`;
}
