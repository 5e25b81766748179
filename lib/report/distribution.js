// How rewards and advantages spread: a column for each step (or some steps together), darker where more values are, and
// beside it the bars of the one that is picked.

const SPREADS = [
  { name: "rewards", title: "Distribution of rewards", unit: "reward of each response in training", of: "responses" },
  { name: "advantages", title: "Distribution of advantages", unit: "of each response token, after whitening", of: "response tokens" },
];

// How dense values are in a bin, which may be wider than another. The square root shows few.
const densityOf = ([low, high, count]) => count / (high - low);
const sumOf = bins => bins.reduce((sum, [, , count]) => sum + count, 0);
const darkness = (share, most) => Math.sqrt(share / most);

function middleOf(bins) {
  let left = sumOf(bins) / 2;
  for (const [low, high, count] of bins)
    if ((left -= count) <= 0) return (low + high) / 2;
  return 0;
}

function describeSpread({ s, e, b }) {
  const of = i => `step ${s[i] === e[i] ? s[i] : `${s[i]} to ${e[i]}`}: from ${number(b[i][0][0])} to ${number(b[i].at(-1)[1])}, half of them below ${number(middleOf(b[i]))}`;
  return [...new Set([0, b.length - 1])].map(of).join("; ");
}

function spreadChart(spec, run) {
  const data = run.histograms?.[spec.name];
  if (!data || data.b.length === 0) return undefined;
  const place = placeOf(run), { s, e, b } = data, last = b.length - 1;
  const xs = s.map((step, i) => place((step + e[i]) / 2));
  const low = Math.min(...b.map(bins => bins[0][0])), high = Math.max(...b.map(bins => bins.at(-1)[1]));
  const most = Math.max(...b.flatMap(bins => bins.map(bin => densityOf(bin) / sumOf(bins))));
  let picked = last, edges = [];
  const plot = element("div", { class: "plot", tabindex: 0, role: "group", "aria-label": `${spec.title}: chart; arrow keys go through the steps`,
    onkeydown: move, onpointermove: point, onpointerdown: point, onpointerleave: () => show(last) });
  const legend = element("div", { class: "legend", role: "status" });
  const frame = { left: 52, right: 14, top: 8, bottom: 36, height: 230, bars: 110 };
  let y;

  function draw() {
    const width = Math.max(240, plot.clientWidth || 480), { left, right, top, bottom, height, bars } = frame, end = width - right - bars - 10;
    const from = xs[0], to = xs[last], x = at => left + (to === from ? 0.5 : (at - from) / (to - from)) * (end - left);
    y = value => height - bottom - (value - low) / (high - low) * (height - top - bottom);
    edges = xs.map((at, i) => [i === 0 ? left : (x(xs[i - 1]) + x(at)) / 2, i === last ? end : (x(at) + x(xs[i + 1])) / 2]);
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `${spec.title} by step. ${describeSpread(data)}` });
    for (const tick of ticksOf(low, high, 5))
      svg.append(element("svg:line", { class: "axis", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        element("svg:text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
    for (const tick of xTicks(from, to, (end - left) / 80))
      svg.append(element("svg:text", { x: x(tick), y: height - bottom + 17, "text-anchor": "middle" }, number(tick)));
    svg.append(element("svg:text", { x: (left + end) / 2, y: height - 3, "text-anchor": "middle" }, axisName()));
    b.forEach((bins, i) => bins.forEach(bin => svg.append(element("svg:rect", { class: "cell",
      x: edges[i][0], width: Math.max(1, edges[i][1] - edges[i][0]), y: y(bin[1]), height: Math.max(1.5, y(bin[0]) - y(bin[1])), opacity: darkness(densityOf(bin) / sumOf(bins), most).toFixed(3) }))));
    svg.append(element("svg:g", { class: "bars" }), element("svg:rect", { class: "chosen", y: top, height: height - top - bottom }));
    plot.replaceChildren(svg);
    show(picked);
  }

  function show(index) {
    picked = index;
    const bins = b[index], sum = sumOf(bins), width = Math.max(240, plot.clientWidth || 480), begin = width - frame.right - frame.bars;
    const tallest = Math.max(...bins.map(densityOf));
    plot.querySelector(".bars")?.replaceChildren(...bins.map(bin => element("svg:rect", { class: "cell", x: begin,
      width: Math.max(1, densityOf(bin) / tallest * frame.bars), y: y(bin[1]), height: Math.max(1.5, y(bin[0]) - y(bin[1]) - 0.5) })));
    const chosen = plot.querySelector(".chosen");
    chosen?.setAttribute("x", edges[index][0]);
    chosen?.setAttribute("width", Math.max(1, edges[index][1] - edges[index][0]));
    const [below, above, count] = bins.reduce((best, bin) => bin[2] > best[2] ? bin : best);
    legend.replaceChildren(element("span", {}, `${sum.toLocaleString("en")} ${spec.of}, from ${number(bins[0][0])} to ${number(bins.at(-1)[1])}; `,
      element("b", {}, `${number(100 * count / sum, 3)} %`), ` between ${number(below)} and ${number(above)}`),
      element("span", { class: "small" }, s[index] === e[index] ? `step ${s[index]}` : `steps ${s[index]}–${e[index]}`));
  }

  function point(event) {
    const at = event.clientX - plot.getBoundingClientRect().left;
    const found = edges.findIndex(([, right]) => at <= right);
    show(found < 0 ? last : found);
  }
  function move(event) {
    const to = { ArrowLeft: Math.max(0, picked - 1), ArrowRight: Math.min(last, picked + 1), Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(to);
  }

  new ResizeObserver(draw).observe(plot);
  draw();
  const together = Math.max(...s.map((step, i) => e[i] - step + 1));
  return element("figure", { class: "card spread-chart" }, element("h3", {}, spec.title),
    element("p", {}, `${spec.unit}. Darker cells hold more values; the bars show the selected step.${together > 1 ? ` A column covers up to ${together} steps.` : ""}`), plot, legend);
}

const spreadsOf = runs => runs.flatMap(run => SPREADS.map(spec => spreadChart(runs.length > 1 ? { ...spec, title: `${spec.title}: ${run.name}` } : spec, run))).filter(Boolean);
