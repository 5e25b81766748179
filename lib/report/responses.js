// The responses of a step: the groups that tell most, and tokens coloured by what training knows of them.

// What a token's colour may mean; `of` takes the columns of a response (train/token_samples.h) and a place. The trainer's
// log-probs are those before the step's updates; where nobody computed these, those of the first update.
const before = columns => columns.old_log_probs ?? columns.log_probs;
const gap = (a, b, i) => a && b ? a[i] - b[i] : undefined;
const ratio = difference => difference === undefined ? undefined : Math.exp(difference);
const MEASURES = [
  { id: "advantage", label: "advantage", of: (columns, i) => columns.advantages?.[i] },
  { id: "gap", label: "log-prob, trainer less sampler", of: (columns, i) => gap(before(columns), columns.sampler_log_probs, i) },
  { id: "ratio", label: "ratio, trainer to sampler", of: (columns, i) => ratio(gap(before(columns), columns.sampler_log_probs, i)), middle: 1 },
  { id: "first", label: "ratio at the response's first update", of: (columns, i) => ratio(gap(columns.log_probs, columns.old_log_probs, i)), middle: 1 },
  { id: "reference", label: "log-prob, policy less reference", of: (columns, i) => gap(before(columns), columns.ref_log_probs, i) },
  { id: "reward", label: "token reward", of: (columns, i) => columns.token_rewards?.[i] },
  { id: "value", label: "the critic's value", of: (columns, i) => columns.values?.[i] },
  { id: "sampler", label: "log-prob, sampler", of: (columns, i) => columns.sampler_log_probs?.[i] },
];

const hasTokens = step => step.groups.some(group => group.responses.some(response => response.tokens));
const measuresOf = step => MEASURES.filter(measure => step.groups.some(group => group.responses.some(response =>
  response.tokens && measure.of(response.tokens.columns, 0) !== undefined)));

function shownText(text) {
  if (!Array.isArray(text)) return [text];
  return [text[0], element("span", { class: "left-out" }, ` [… ${plural(text[1], "byte")} left out …] `), text[2]];
}

// The distance from the middle that nine in ten tokens of the step's responses do not exceed, so that colours compare and
// one token alone does not pale all others; the largest where that is none.
function reach(step, measure) {
  const distances = [];
  for (const group of step.groups)
    for (const { tokens } of group.responses)
      tokens?.columns.tokens.forEach((_, i) => distances.push(Math.abs((measure.of(tokens.columns, i) ?? 0) - (measure.middle ?? 0))));
  distances.sort((a, b) => a - b);
  return distances[Math.ceil(0.9 * distances.length) - 1] || (distances.at(-1) ?? 0);
}

// Where a trajectory's turns begin, and what an environment said before them: from the place of its first token on.
function turnMarks(turns) {
  const marks = new Map();
  let place = 0;
  turns.forEach(([said, told], i) => {
    place += said;
    if (i + 1 < turns.length)
      marks.set(place, { end: place + told, text: turns[i + 1][2] ? `turn ${i + 2}, with a separate prompt: the model sees nothing of the text above` : `the environment's message after turn ${i + 1}, then turn ${i + 2}` });
    place += told;
  });
  return marks;
}

function tokenView(response, step, measure) {
  const { columns, num_tokens: count } = response.tokens, most = reach(step, measure);
  const readout = element("div", { class: "readout", role: "status" }, "Point at a token, or use the arrow keys.");
  const spans = columns.tokens.map((text, i) => {
    const value = measure.of(columns, i), distance = value === undefined ? 0 : value - (measure.middle ?? 0);
    const share = most > 0 ? 75 * Math.min(1, Math.abs(distance) / most) : 0;
    return element("span", { "data-place": i, style: `--hue: var(--${distance < 0 ? "minus" : "plus"}); --share: ${share.toFixed(1)}%` }, text);
  });
  let picked;
  const pick = i => {
    spans[picked]?.classList.remove("picked");
    picked = i;
    spans[i].classList.add("picked");
    const values = MEASURES.filter(each => each.of(columns, i) !== undefined).map(each => `${each.label} ${number(each.of(columns, i))}`);
    readout.textContent = `token ${i + 1} of ${count} ${JSON.stringify(columns.tokens[i])}: ${values.join("; ")}`;
  };
  const over = event => event.target.dataset.place !== undefined && pick(Number(event.target.dataset.place));
  const key = event => {
    const last = spans.length - 1, now = picked ?? -1;
    const to = { ArrowLeft: Math.max(0, now - 1), ArrowRight: Math.min(last, now + 1), Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    pick(to);
    spans[to].scrollIntoView({ block: "nearest" });
  };
  const marks = turnMarks(response.turns ?? []);
  for (const [place, { end }] of marks) spans.slice(place, end).forEach(span => span.classList.add("told"));
  const parts = spans.flatMap((span, i) => marks.has(i) ? [element("div", { class: "turn" }, marks.get(i).text), span] : [span]);
  const view = element("div", { class: "tokens", tabindex: 0, role: "group", "aria-label": "response, token by token", onpointerover: over, onclick: over, onkeydown: key }, parts);
  if (count > spans.length) view.append(element("span", { class: "left-out" }, ` [… ${plural(count - spans.length, "token")} left out …]`));
  return element("div", {}, view, readout);
}

// Only 0 and 1 are known to be wrong and right; other scores are on a scale of their own.
function scoreBadge(score) {
  return score === null ? ["not judged", "warn"] : [`score ${number(score)}`, { 0: "bad", 1: "good" }[score] ?? ""];
}

function responseView(response, group, step, state) {
  const measure = MEASURES.find(each => each.id === state.measure);
  const verdict = scoreBadge(response.score);
  const badges = [verdict, [response.finish === "length" ? "truncated (length)" : response.finish, response.finish === "stop" ? "" : "warn"], [plural(response.length, "token")]];
  if (response.turns) badges.push([plural(response.turns.length, "turn") + (response.turns.some(turn => turn[2]) ? ", each with a separate prompt" : ""), ""]);
  if (response.reward !== response.score && response.reward !== null) badges.splice(1, 0, [`reward ${number(response.reward)}`, ""]);
  return element("div", { class: "response" },
    element("div", { class: "row" }, element("span", { class: "small" }, `response ${response.sample + 1} of ${group.size}`),
      badges.map(([text, kind]) => element("span", { class: `badge ${kind ?? ""}` }, text))),
    measure && response.tokens ? tokenView(response, step, measure) : element("pre", { tabindex: 0 }, shownText(response.text)),
    response.detail && element("details", {}, element("summary", { class: "small" }, "verdict"), element("pre", { tabindex: 0 }, shownText(response.detail))));
}

function groupView(group, step, state) {
  const reasons = { best: "Best group", worst: "Worst group", mixed: "Group with disagreement" };
  const why = group.why.map((reason, i) => i === 0 ? reasons[reason] : reasons[reason].toLowerCase()).join(", ");
  const about = [`mean score ${number(group.mean)}`, group.domain, group.id && `prompt ${group.id}`].filter(Boolean).join(" · ");
  const left = group.size - group.responses.length;
  // A group is told by its extremes and by what has numbers per token.
  const isTelling = (response, i) => response.tokens || i === 0 || i === group.responses.length - 1;
  const telling = group.responses.filter(isTelling), others = group.responses.filter((response, i) => !isTelling(response, i));
  return element("div", { class: "card group" },
    element("div", { class: "row spread" }, element("h3", {}, why), element("span", { class: "small" }, about)),
    element("pre", { tabindex: 0, "aria-label": "prompt" }, shownText(group.prompt)),
    group.truth && element("p", { class: "small" }, "expected: ", element("code", {}, shownText(group.truth))),
    telling.map(response => responseView(response, group, step, state)),
    others.length > 0 && element("details", {}, element("summary", { class: "small" }, `${plural(others.length, "more response")}`),
      others.map(response => responseView(response, group, step, state))),
    left > 0 && element("p", { class: "small" }, `${plural(left, "response")} with middle scores ${left === 1 ? "is" : "are"} not shown; see the step's file in rollouts/.`));
}

function responsesView(runs, state, redraw) {
  const withSome = runs.filter(run => run.rollouts.steps.length > 0);
  if (withSome.length === 0) return element("p", {}, runs.every(run => run.is_sft) ? `roll ${["dpo", "distill"].find(kind => runs[0].metrics[kind + "/loss"]) ?? "sft"} does not sample responses.` : "This run has no rollouts to show.");
  const run = withSome.find(each => each.name === state.run) ?? withSome[0], { steps, available } = run.rollouts;
  const place = Math.max(0, steps.findIndex(step => step.step === state.step)), step = state.step === undefined ? steps[steps.length - 1] : steps[place];
  const now = steps.indexOf(step), go = to => redraw({ step: steps[to].step });
  const measures = measuresOf(step), wanted = state.measure ?? "advantage";
  const chosen = measures.some(measure => measure.id === wanted) ? wanted : "";
  const controls = element("div", { class: "row", style: "margin-top: 10px" },
    withSome.length > 1 && select("Run", withSome.map(each => [each.name, each.name]), run.name, value => redraw({ run: value, step: undefined })),
    element("button", { type: "button", disabled: now === 0, onclick: () => go(now - 1), "aria-label": "earlier step" }, "‹"),
    select("Step", steps.map(each => [each.step, String(each.step)]), step.step, value => redraw({ step: Number(value) })),
    element("button", { type: "button", disabled: now === steps.length - 1, onclick: () => go(now + 1), "aria-label": "later step" }, "›"),
    measures.length > 0 && select("Colour tokens by", [["", "nothing"], ...measures.map(measure => [measure.id, measure.label])], chosen, value => redraw({ measure: value })),
    chosen && legendOf(step, MEASURES.find(measure => measure.id === chosen)));
  return element("div", {}, controls,
    element("p", { class: "small" }, `${plural(step.num_groups, "group")} in this step; the most informative ones are shown. ` +
      (available > steps.length ? `${steps.length} of ${available.toLocaleString("en")} steps are shown; “roll report --steps N” adds others. ` : "") +
      (hasTokens(step) ? "" : "This step has no values per token.")),
    step.groups.map(group => groupView(group, step, { ...state, measure: chosen })));
}

function legendOf(step, measure) {
  const most = reach(step, measure), middle = measure.middle ?? 0;
  return element("span", { class: "row small" }, number(middle - most), element("span", { class: "scale", "aria-hidden": "true" }), `${number(middle + most)} and beyond`);
}
