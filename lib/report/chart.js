// One chart over the steps: lines with the band between their extremes where a point stands for several steps, points,
// or stacked areas. Drawn in the pixels that it has, and again when these change.
//   { title, unit, help, lines: [{ label, colour, dots, series }], stacked, share, fromZero, log, quiet, wide, marks }
// series: { s: first steps, v: values, e: last steps, lo, hi } as report/series.h writes it, opened by openSeries(), with
// `error` where the values are means: their standard errors. `marks`: places on the axis with words.

const AXES = { steps: "step", tokens: "tokens", hours: "hours of training" };
const state = {};  // what the reader chose; it outlives a refresh
const axisName = () => AXES[state.axis ?? "steps"];

// Where a run's steps stand on the chosen axis: what the run recorded, and a line between its points and beyond them.
function placeOf(run) {
  const raw = run.axes?.[state.axis];
  if (!raw) return step => step;
  const { x, v } = openSeries(raw);
  const xs = [0, ...x], vs = [0, ...v];
  return step => {
    const right = Math.max(1, xs.findIndex(at => at >= step)), i = xs.at(-1) < step ? xs.length - 1 : right;
    return vs[i - 1] + (vs[i] - vs[i - 1]) * (step - xs[i - 1]) / (xs[i] - xs[i - 1] || 1);
  };
}

// Two at least, also where the chart is too narrow for more: round numbers far apart may all lie outside.
function xTicks(from, to, count) {
  if (to === from) return [from];
  const isWhole = !state.axis || state.axis === "steps";
  for (let wanted = Math.max(2, Math.min(8, count)); wanted <= 12; ++wanted) {
    const ticks = ticksOf(from, to, wanted).filter(tick => !isWhole || Number.isInteger(tick));
    if (ticks.length >= 2) return ticks;
  }
  return [from, to];
}

function openSeries(raw, place = step => step) {
  if (!raw) return undefined;
  const steps = (from, count) => Array.isArray(from) ? from : Array.from({ length: count }, (_, i) => from + i);
  const first = steps(raw.s, raw.v.length), last = raw.e ? steps(raw.e, raw.v.length) : first;
  return { first, last, x: first.map((step, i) => place((step + last[i]) / 2)), v: raw.v, lo: raw.lo ?? raw.v, hi: raw.hi ?? raw.v,
    isReduced: raw.e !== undefined };
}

const finite = values => values.filter(value => value !== null);

function describeLine(line) {
  const { v, lo, hi, first } = line.series, known = finite(v);
  if (known.length === 0) return `${line.label}: no finite number.`;
  const low = Math.min(...finite(lo)), high = Math.max(...finite(hi));
  return `${line.label}: first ${number(known[0])}, last ${number(known[known.length - 1])}, lowest ${number(low)} at step ` +
    `${first[lo.indexOf(low)]}, highest ${number(high)} at step ${first[hi.indexOf(high)]}.`;
}

// About `count` round numbers that cover low to high.
function ticksOf(low, high, count) {
  const raw = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
  const size = power * [1, 2, 5, 10].find(factor => factor * power >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / size - 1e-9); i * size <= high + size * 1e-9; ++i) ticks.push(Number((i * size).toPrecision(12)));
  return ticks;
}

// Powers of ten, some of many; of few, their doubles and fives too.
function logTicks(low, high) {
  const ticksWith = factors => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
      for (const factor of factors) ticks.push(Number((factor * 10 ** power).toPrecision(12)));
    return ticks.filter(tick => tick >= low * 0.999 && tick <= high * 1.001);
  };
  const powers = ticksWith([1]);
  if (powers.length > 3) return powers.filter((_, i) => i % Math.ceil(powers.length / 6) === 0);
  const thirds = ticksWith([1, 2, 5]);
  return thirds.length <= 6 ? thirds : ticksWith([1, 5]);
}

// Values on top of each other, step by step of the first line.
function stack(lines) {
  const below = new Map();
  return lines.map(line => {
    const base = line.series.x.map(x => below.get(x) ?? 0);
    const top = line.series.x.map((x, i) => base[i] + Math.max(0, line.series.v[i] ?? 0));
    line.series.x.forEach((x, i) => below.set(x, top[i]));
    return { ...line, base, top };
  });
}

function scaleOf(spec, lines, isLog) {
  const ends = ({ v, error }) => error ? v.flatMap((value, i) => value === null || error[i] === null ? [] : [value - error[i], value + error[i]]) : [];
  const values = spec.stacked ? lines.flatMap(line => line.top)
    : lines.flatMap(line => [...finite(line.series.lo), ...finite(line.series.hi), ...(isLog ? [] : ends(line.series))]);
  let low = Math.min(...values), high = Math.max(...values);
  if (!values.length) [low, high] = [0, 1];
  if (isLog) return { low, high: high > low ? high : low * 10, place: value => Math.log(value / low) / Math.log((high > low ? high : low * 10) / low) };
  if (spec.stacked || spec.fromZero) low = Math.min(0, low);
  if (spec.share) [low, high] = [Math.min(0, low), Math.max(1, high)];
  if (high === low) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1];
  const margin = spec.share || spec.stacked ? 0 : (high - low) * 0.04;
  const bottom = low === 0 ? 0 : low - margin;
  return { low: bottom, high: high + margin, place: value => (value - bottom) / (high + margin - bottom) };
}

// Path through points, interrupted where there is no number.
const path = (xs, ys) => xs.map((x, i) => ys[i] === null ? "" : `${i === 0 || ys[i - 1] === null ? "M" : "L"}${x.toFixed(1)} ${ys[i].toFixed(1)}`).join("");

function drawLine(line, x, y, numPoints) {
  const xs = line.series.x.map(x), at = values => values.map(value => value === null ? null : y(value));
  const parts = [];
  if (line.series.isReduced && !line.dots) {
    const hi = at(line.series.hi), lo = at(line.series.lo), there = xs.map((_, i) => i).filter(i => hi[i] !== null);
    const outline = [...there.map(i => [xs[i], hi[i]]), ...there.reverse().map(i => [xs[i], lo[i]])];
    parts.push(element("svg:polygon", { class: "band", fill: line.colour, points: outline.map(p => p.map(c => c.toFixed(1)).join(",")).join(" ") }));
  }
  const ys = at(line.series.v);
  parts.push(element("svg:path", { class: "curve", stroke: line.colour, d: path(xs, ys), "stroke-dasharray": line.dots ? "2 4" : undefined }));
  line.series.error?.forEach((error, i) => {
    if (ys[i] === null || !(error > 0)) return;
    const value = line.series.v[i], [low, high] = [y(value - error), y(value + error)].map(at => Number.isFinite(at) ? at : ys[i]);
    parts.push(element("svg:path", { class: "error", stroke: line.colour,
      d: `M${xs[i]} ${low}L${xs[i]} ${high}M${xs[i] - 4} ${low}h8M${xs[i] - 4} ${high}h8` }));
  });
  if (line.dots || numPoints <= 30)
    xs.forEach((px, i) => ys[i] !== null && parts.push(element("svg:circle", { cx: px, cy: ys[i], r: line.dots ? 4 : 2.5, fill: line.colour })));
  return parts;
}

function drawArea(line, x, y) {
  const xs = line.series.x.map(x), top = line.top.map(y), base = line.base.map(y);
  const wide = xs.length === 1 ? 12 : 0;  // one step alone would have no width
  const points = xs.length === 1 ? [[xs[0] - wide, top[0]], [xs[0] + wide, top[0]], [xs[0] + wide, base[0]], [xs[0] - wide, base[0]]]
    : [...xs.map((px, i) => [px, top[i]]), ...xs.map((px, i) => [px, base[i]]).reverse()];
  return [element("svg:polygon", { class: "area", fill: line.colour, points: points.map(p => p.map(c => c.toFixed(1)).join(",")).join(" ") })];
}

function swatchOf(line, isStacked) {
  return element("svg", { viewBox: "0 0 18 10", "aria-hidden": "true" }, isStacked
    ? element("svg:rect", { width: 18, height: 10, rx: 2, fill: line.colour })
    : element("svg:line", { x1: 0, x2: 18, y1: 5, y2: 5, stroke: line.colour, "stroke-width": 3, "stroke-dasharray": line.dots ? "3 3" : undefined }));
}

function chart(spec) {
  const lines = spec.lines.filter(line => line.series && line.series.v.length > 0);
  if (lines.length === 0 || (spec.quiet && lines.every(line => finite(line.series.hi).every(value => Math.abs(value) < 1e-6)))) return undefined;
  const all = lines.flatMap(line => [...finite(line.series.lo), ...finite(line.series.hi)]);
  const positive = !spec.stacked && !spec.share && Math.min(...all) > 0 && Math.max(...all) > 10 * Math.min(...all);
  let isLog = Boolean(spec.log && positive), picked;
  const xs = [...new Set(lines.flatMap(line => line.series.x))].sort((a, b) => a - b);
  const stacked = spec.stacked ? stack(lines) : lines;
  const plot = element("div", { class: "plot", tabindex: 0, role: "group",
    "aria-label": `${spec.title}: chart; arrow keys go through the steps`, onkeydown: move, onpointermove: point, onpointerdown: point,
    onpointerleave: () => show(undefined) });
  const legend = element("div", { class: "legend", role: "status" });
  const toggle = positive && element("button", { type: "button", "aria-pressed": String(isLog), onclick: () => {
    isLog = !isLog;
    toggle.setAttribute("aria-pressed", String(isLog));
    draw();
  } }, "log");
  const most = Math.max(...lines.map(line => Math.max(...line.series.last.map((last, i) => last - line.series.first[i] + 1))));
  const help = [spec.help, most > 1 && !spec.stacked && `A point is the mean of up to ${most} steps, the band their lowest and highest.`,
    most > 1 && spec.stacked && `A point is the mean of up to ${most} steps.`].filter(Boolean).join(" ");

  const frame = { left: 52, right: 14, top: 8, bottom: 36, height: 210 };
  let x;  // step -> pixels
  function draw() {
    const width = Math.max(240, plot.clientWidth || 480), { left, right, top, bottom, height } = frame;
    const scale = scaleOf(spec, stacked, isLog), [from, to] = [xs[0], xs[xs.length - 1]];
    x = step => left + (to === from ? 0.5 : (step - from) / (to - from)) * (width - left - right);
    const y = value => height - bottom - scale.place(value) * (height - top - bottom);
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `${spec.title}, ${spec.unit}, by ${axisName()}. ${lines.map(describeLine).join(" ")}` });
    for (const tick of isLog ? logTicks(scale.low, scale.high) : ticksOf(scale.low, scale.high, 5))
      svg.append(element("svg:line", { class: "axis", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        element("svg:text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
    for (const tick of xTicks(from, to, width / 80))
      svg.append(element("svg:text", { x: x(tick), y: height - bottom + 17, "text-anchor": "middle" }, axisName() === "step" ? String(tick) : number(tick)));
    svg.append(element("svg:text", { x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle" }, axisName()));
    for (const [at, words] of spec.marks ?? [])
      if (at >= from && at <= to) svg.append(element("svg:path", { class: "mark", d: `M${x(at).toFixed(1)} ${height - bottom}l-4 6h8z` }, element("svg:title", {}, words)));
    for (const line of stacked) svg.append(...(spec.stacked ? drawArea(line, x, y) : drawLine(line, x, y, xs.length)));
    svg.append(element("svg:line", { class: "cursor", y1: top, y2: height - bottom, x1: 0, x2: 0, visibility: "hidden" }));
    plot.replaceChildren(svg);
    show(picked);
  }

  // The legend says the values at the picked step; else the last ones.
  function show(index) {
    picked = index;
    const at = xs[index ?? xs.length - 1], cursor = plot.querySelector(".cursor");
    if (cursor) {
      cursor.setAttribute("visibility", index === undefined ? "hidden" : "visible");
      for (const side of ["x1", "x2"]) cursor.setAttribute(side, x(at));
    }
    const entries = lines.map(line => {
      const { series } = line, i = index === undefined ? series.v.length - 1 : line.dots ? series.x.findLastIndex(own => own <= at) : series.x.indexOf(at);
      const range = i >= 0 && series.isReduced && !spec.stacked && series.lo[i] !== null ? ` (${number(series.lo[i])} to ${number(series.hi[i])})` : "";
      const error = i >= 0 && series.error?.[i] > 0 ? ` ± ${number(series.error[i], 2)}` : "";
      const ended = index === undefined && i >= 0 && series.x[i] !== at ? ` at step ${series.last[i]}` : "";  // runs differ in length
      return element("span", {}, swatchOf(line, spec.stacked), `${line.label} `, element("b", {}, i < 0 ? "–" : number(series.v[i])), error, range, ended);
    });
    const any = lines.find(line => line.series.x.includes(at)).series, place = any.x.indexOf(at);
    const where = any.first[place] === any.last[place] ? `step ${any.first[place]}` : `steps ${any.first[place]}–${any.last[place]}`;
    legend.replaceChildren(...entries, element("span", { class: "small" }, where));
  }

  function point(event) {
    const left = plot.getBoundingClientRect().left, distance = step => Math.abs(x(step) - (event.clientX - left));
    show(xs.reduce((best, step, i) => distance(step) < distance(xs[best]) ? i : best, 0));
  }
  function move(event) {
    const last = xs.length - 1, now = picked ?? last;
    const to = { ArrowLeft: Math.max(0, now - 1), ArrowRight: Math.min(last, now + 1), Home: 0, End: last }[event.key];
    if (to === undefined && event.key !== "Escape") return;
    event.preventDefault();
    show(to);
  }

  new ResizeObserver(draw).observe(plot);
  draw();
  return element("figure", { class: `card${spec.wide ? " wide" : ""}` },
    element("div", { class: "row spread" }, element("h3", {}, spec.title), toggle || undefined),
    element("p", {}, [spec.unit, help].filter(Boolean).join(". ")), plot, legend);
}
