// The page: what it says first, its sections, and how it follows a run that is at work.

const lastOf = series => series && finite(series.v).at(-1);

// Mean over the last tenth of the run, at least 1 and at most 20 points: single steps are noisy.
function lately(series) {
  if (!series) return undefined;
  const known = finite(series.v), count = Math.min(20, Math.max(1, Math.floor(known.length / 10)));
  return known.length ? known.slice(-count).reduce((a, b) => a + b, 0) / count : undefined;
}

function bestOf(series, isLoss) {
  const known = series && finite(series.v);
  if (!known?.length) return undefined;
  const value = isLoss ? Math.min(...known) : Math.max(...known);
  return { value, step: series.first[series.v.indexOf(value)] };
}

function stateOf(run) {
  if (run.is_evaluation) return [run.is_at_work ? "evaluation, at work" : "evaluation", "good"];
  const of = run.wanted_steps ? ` of ${run.wanted_steps.toLocaleString("en")}` : "";
  if (run.is_at_work) return [`at work, ${run.last_step}${of} steps done`, "good"];
  if (run.wanted_steps && run.last_step < run.wanted_steps) return [`ended early: ${run.last_step}${of} steps`, "warn"];
  return [run.num_steps ? `finished: ${plural(run.last_step, "step")}` : "no step is done yet", run.num_steps ? "good" : "warn"];
}

// What people look for first: [name, text] pairs.
function figuresOf(run) {
  const get = name => openSeries(run.metrics[name]);
  const score = get("score/mean"), right = get("val_correct/all/mean"), loss = get("sft/loss") ?? get("distill/loss") ?? get("dpo/loss"), checked = get("val/loss");
  const best = bestOf(right ?? checked, !right), time = get("time/step_total"), tps = get("system/tps");
  const known = time && finite(time.v), mean = known?.length ? known.reduce((a, b) => a + b, 0) / known.length : undefined;
  const short = value => value === undefined ? "–" : number(value, 3);
  return [
    score && ["score: first step, lately", `${short(finite(score.v)[0])} → ${short(lately(score))}`],
    loss && ["loss: first step, lately", `${short(finite(loss.v)[0])} → ${short(lately(loss))}`],
    right && ["right in validation: first, last", `${short(finite(right.v)[0])} → ${short(lastOf(right))}`],
    checked && ["loss in validation: first, last", `${short(finite(checked.v)[0])} → ${short(lastOf(checked))}`],
    best && ["best validation", `${short(best.value)} at step ${best.step}`],
    run.metrics["kl"] && ["KL to the reference, lately", short(lately(get("kl")))],
    tps && ["tokens per second, lately", short(lately(tps))],
    mean !== undefined && ["a step takes, on average", `${short(mean)} s`],
  ].filter(Boolean);
}

function heading(data) {
  const [run] = data.runs, several = data.runs.length > 1;
  const name = run.settings.find(([key]) => key === "exp_name")?.[1];
  const title = several ? `${data.runs.length} runs` : name && name !== run.name ? `${name}: ${run.name}` : run.name;
  const parts = [element("h1", {}, title)];
  if (several) {
    const columns = [...new Set(data.runs.flatMap(each => figuresOf(each).map(([what]) => what)))];
    const swatch = r => element("span", { style: `color: ${colour(r)}`, "aria-hidden": "true" }, "■ ");
    parts.push(element("div", { class: "card scroll", style: "margin-top: 12px" }, table(["run", "state", ...columns],
      data.runs.map((each, r) => [element("span", {}, swatch(r), each.name), stateOf(each)[0], ...columns.map(what => figuresOf(each).find(([own]) => own === what)?.[1] ?? "–")]))));
  } else {
    const [text, kind] = stateOf(run);
    parts.push(element("p", {}, element("span", { class: `badge ${kind}` }, text), ` ${run.folder}`),
      element("div", { class: "tiles" }, figuresOf(run).map(([what, value]) => element("div", { class: "card tile" }, element("b", {}, value), element("span", {}, what)))));
  }
  return element("header", {}, parts, element("p", { class: "small", style: "margin-top: 8px" }, `Page created ${data.made}${data.is_live ? "; it follows the run" : ""}.`));
}

// Counts that should be 0, over the whole run.
const FAULTS = [...linesOfModels("skipped_updates").map(([name, label]) => [name, `updates ${label === "model" ? "" : `of the ${label} `}skipped because loss or gradient was not finite`]),
  ["actor/empty_mini_batches", "mini-batches without a token to learn from"], ["reward/errors", "responses whose reward failed"],
  ["reward/timeouts", "rewards that timed out"], ["rollout/groups_aborted", "groups aborted during sampling"], ["rollout/evictions", "responses evicted from the KV cache and computed again"]];

function problemsOf(run) {
  const problems = run.notes.map(text => ["note", text, "warn"]);
  for (const { text, last, count } of run.warnings)
    problems.push([count > 1 ? `warned ${count} times` : "warning", last ? `${text}\nlast: ${last}` : text, "warn"]);
  for (const [name, what] of FAULTS) {
    const series = openSeries(run.metrics[name]);
    const sum = series ? series.v.reduce((total, value, i) => total + (value ?? 0) * (series.last[i] - series.first[i] + 1), 0) : 0;
    if (sum > 0) problems.push(["count", `${number(Math.round(sum))} ${what} (${name})`, "warn"]);
  }
  for (const [name, raw] of Object.entries(run.metrics)) {
    const series = openSeries(raw), at = series.v.indexOf(null);
    if (at >= 0) problems.push(["not finite", `${name}, first at step ${series.first[at]}`, "bad"]);
  }
  return problems;
}

function problemsView(runs) {
  return runs.map(run => {
    const problems = problemsOf(run), name = runs.length > 1 ? `${run.name}: n` : "N";
    if (problems.length === 0) return element("p", {}, `${name}othing: no warning in log.txt, and all metrics are finite.`);
    return element("div", { class: "card", style: "margin-top: 10px" }, runs.length > 1 && element("h3", {}, run.name),
      element("ul", { class: "problems" }, problems.map(([kind, text, colouring]) => element("li", {}, element("span", { class: `badge ${colouring}` }, kind), " ", text))));
  });
}

function show(data) {
  const along = axisView(data.runs, change => {
    Object.assign(state, change);
    show(data);
  });
  const learning = chartsOf(KINDS.learning, data.runs, spreadsOf(data.runs));
  const sections = [
    ["learning", "Learning", "Is it learning?", learning.childElementCount > 0 ? [along, learning] : []],
    ["problems", "Problems", "What went wrong?", problemsView(data.runs)],
    ["policy", "Model", "How the model changes", [chartsOf(KINDS.policy, data.runs)]],
    ["speed", "Speed", "Where the time goes", [chartsOf(KINDS.speed, data.runs)]],
    ["metrics", "Any metric", "Any other metric", anyMetric(data.runs, state)],
    ["responses", "Responses", "Responses", [responsesSection(data)]],
    ["sets", "Sets", "Validation sets, latest results", setsView(data.runs)],
    ["validation", "Validation", "Validation, answer by answer", validationSection(data)],
    ["configuration", "Configuration", "Configuration", settingsView(data, state)],
  ].filter(([, , , content]) => content.some(part => part.childElementCount > 0 || part.textContent));
  const page = document.getElementById("page");
  page.replaceChildren(heading(data), element("nav", { "aria-label": "sections" }, sections.map(([id, short]) => element("a", { href: `#${id}` }, short))),
    ...sections.map(([id, , title, content]) => element("section", { "aria-labelledby": id }, element("h2", { id }, title), content)));
}

// Who reads a response keeps it while newer data comes.
function isRead(place) {
  const { top, bottom } = place.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

function validationSection(data) {
  if (state.answers && isRead(state.answers)) return [state.answers];
  const parts = validationView(data.runs);
  if (parts.length === 0) return [];
  state.answers = element("div", {}, parts);
  return [state.answers];
}

function responsesSection(data) {
  if (state.place && isRead(state.place)) return state.place;
  const place = state.place = element("div");
  const redraw = change => {
    Object.assign(state, change);
    place.replaceChildren(responsesView(data.runs, state, redraw));
  };
  redraw({});
  return place;
}

const data = JSON.parse(document.getElementById("data").textContent);
show(data);

// A page that roll report --serve sent looks for newer data.
const PAUSE_MS = 5000;
let shown = JSON.stringify({ ...data, made: "" });
async function follow() {
  try {
    const answer = await fetch("data.json"), newer = answer.ok ? await answer.json() : data;
    const text = JSON.stringify({ ...newer, made: "" });
    if (answer.ok && text !== shown) {
      shown = text;
      show(newer);
    }
  } catch { /* the server has ended: what is here stays */ }
}
if (data.is_live) setInterval(follow, PAUSE_MS);
