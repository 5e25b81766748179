// Which metrics are drawn where, in the order in which people ask. A chart without numbers is left out, a
// quiet one also where all of them are 0.

// Models that runs train: the prefix of their metrics, and what they are called.
const MODELS = [["actor", "policy"], ["critic", "critic"], ["sft", "model"], ["dpo", "model"], ["distill", "model"]];
const linesOfModels = metric => MODELS.map(([prefix, label]) => [`${prefix}/${metric}`, label]);

const KINDS = {
  learning: [
    { title: "Score", unit: "the reward's verdict, mean of the step's responses", wide: true, fromZero: true,
      lines: [["score/mean", "training"]], dots: [["val_score/all/mean", "validation"]] },
    { title: "Right responses", unit: "share in validation with a score of 1 or more", share: true, dots: [["val_correct/all/mean", "all"]], unless: "val_score/all/mean" },
    { title: "Score by domain", unit: "mean score in training", fromZero: true, family: "score/mean" },
    { title: "Right responses by tag", unit: "share in validation", share: true, pattern: /^val_correct\/(?!all\/)(.+)\/mean$/, asDots: true },
    { title: "Right responses by validation set", unit: "share of samples, avg@k", share: true, pattern: /^val\/(.+\/avg@\d+)$/, asDots: true, evenOne: true },
    { title: "pass@k by validation set", unit: "probability that at least one of k samples is right", share: true, pattern: /^val\/(.+\/pass@\d+)$/, asDots: true, evenOne: true },
    { title: "maj@k by validation set", unit: "probability that the most frequent answer of k samples is right", share: true, pattern: /^val\/(.+\/maj@\d+)$/, asDots: true, evenOne: true },
    { title: "Groups", unit: "share of the step's prompts", share: true, stacked: true,
      help: "A group whose rewards differ teaches; where they agree there is nothing to compare.",
      colours: [2, 0, 1], lines: [["group/all_correct_ratio", "agree, score above 0"], ["group/mixed_ratio", "differ"], ["group/all_incorrect_ratio", "agree, score 0 or less"]] },
    { title: "Success in environments", unit: "share of the step's trajectories", share: true, family: "environment/success" },
    { title: "Turns", unit: "turns of the model in a trajectory", fromZero: true, lines: [["environment/turns", "turns"]] },
    { title: "Tool calls", unit: "calls in a trajectory", fromZero: true, lines: [["environment/tool_calls", "all"], ["environment/tool_errors", "answered by an error"]] },
    { title: "Loss", unit: "nats per token", lines: [["sft/loss", "training"], ["distill/loss", "training"], ["distill/distill_loss", "divergence from the teacher"], ["dpo/loss", "training, of a pair"]], dots: [["val/loss", "validation"]], wide: true, log: 50 },
    { title: "Right preferences", unit: "share of pairs whose chosen response has the larger reward", share: true, lines: [["rewards/accuracies", "training"]], dots: [["val/rewards/accuracies", "validation"]] },
    { title: "Rewards of pairs", unit: "beta x log-ratio to the reference", lines: [["rewards/chosen", "chosen"], ["rewards/rejected", "rejected"], ["rewards/margins", "margin"]] },
    { title: "Reward after penalties", unit: "mean, KL in the reward included", lines: [["rewards/mean", "reward"]], quiet: true },
  ],
  policy: [
    { title: "KL to the reference", unit: "nats per token", lines: [["kl", "in the reward's measure"], ["actor/kl_loss", "in the loss's measure"], ["teacher_kl", "to the teachers, weighted"]] },
    { title: "Entropy", unit: "nats per token", lines: [["actor/entropy", "policy"]], fromZero: true },
    { title: "Response length", unit: "tokens", fromZero: true,
      lines: [["token/response_length/mean", "mean"], ["token/response_length/max", "longest"], ["token/response_length/min", "shortest"]],
      dots: [["val_response_length/mean", "validation, mean"]] },
    { title: "How responses end", unit: "share", share: true, stacked: true, help: "“length” is truncation.",
      colours: [0, 2, 1, 3], lines: [["rollout/finish_reason/stop", "stop"], ["rollout/finish_reason/stop_string", "stop string"],
        ["rollout/finish_reason/length", "length"], ["rollout/finish_reason/abort", "aborted"]] },
    { title: "Response length by domain", unit: "tokens, mean", fromZero: true, family: "token/response_length/mean" },
    { title: "Gradient norm", unit: "before clipping, mean of the step's updates", log: 50, lines: linesOfModels("grad_norm") },
    { title: "Distance from the step's first policy", unit: "nats per token, approximate KL over its updates", fromZero: true, lines: [["actor/approxkl", "KL"]] },
    { title: "Clipped tokens", unit: "share of the trained ones", fromZero: true,
      lines: [["actor/clipfrac", "clipped"], ["actor/ppo_ratio_high_clipfrac", "ratio above the range"], ["actor/ppo_ratio_low_clipfrac", "ratio below"]] },
    { title: "Sampler and trainer", unit: "nats between their log-probs of a token", log: 50,
      lines: [["actor/sampler_log_prob_gap/mean", "mean"], ["actor/sampler_log_prob_gap/max", "largest"]] },
    { title: "Policy loss", unit: "as configured", lines: [["actor/pg_loss", "policy term"], ["actor/total_loss", "all terms"]] },
    { title: "Critic's loss", unit: "squared error of values", lines: [["critic/loss", "loss"]], log: 50 },
    { title: "Critic's explained variance", unit: "1: values predict the returns; 0: no better than their mean", lines: [["critic/explained_variance", "explained"]] },
    { title: "Learning rate", unit: "per update", fromZero: true, lines: linesOfModels("lr") },
  ],
  speed: [
    { title: "Time of a step", unit: "seconds by phase", stacked: true, wide: true, times: true },
    { title: "Validation and checkpoints", unit: "seconds beside the steps", fromZero: true, lines: [], dots: [["time/validate", "validation"], ["time/checkpoint", "waiting for a checkpoint"]] },
    { title: "Tokens per second", unit: "of all ranks", fromZero: true,
      lines: [["system/tps", "a step's tokens over its time"], ["rollout/tokens_per_s", "while sampling"]] },
    { title: "Model FLOPs utilisation", unit: "share of the measured GEMM peak, in training", fromZero: true, lines: [["perf/mfu", "training"]] },
    { title: "Memory", unit: "bytes of optimizer states on a rank", fromZero: true, pattern: /^memory\/(.+)\/optimizer_bytes$/ },
    { title: "Memory by phase", unit: "bytes of host memory of a rank's process, maximum", fromZero: true,
      help: "Measured every 50 ms, on the rank with most.", pattern: /^memory\/(.+)\/resident_bytes$/ },
    { title: "Packing: fill", unit: "useful tokens over the budget", share: true, pattern: /^packing\/(?:(.+)\/)?fill$/, unnamed: "policy" },
    { title: "Packing: imbalance of ranks", unit: "largest over mean, less 1", fromZero: true, quiet: true, pattern: /^packing\/(?:(.+)\/)?imbalance$/, unnamed: "policy" },
    { title: "Staleness", unit: "age of the weights that sampled a token, in steps", fromZero: true, quiet: true, lines: [["rollout/staleness/mean", "mean"], ["rollout/staleness/max", "largest"]] },
    { title: "Sampler", unit: "share in use", share: true, lines: [["rollout/slots_busy", "slots"], ["rollout/kv_pages_used", "KV pages, at most"], ["rollout/prefix_hits", "shared prompt tokens"]] },
  ],
};

const PHASES = [["time/step_model_update", "weights to the sampler"], ["time/step_generate", "sampling"], ["time/step_generate_wait", "waiting for sampling"],
  ["time/step_rewards", "waiting for rewards"], ["time/ref_log_probs", "reference"], ["time/old_log_probs", "old log-probs"], ["time/values", "values"],
  ["time/advantages", "advantages"], ["time/step_train", "updates"]];

// Phases that take a hundredth of the step or more; all else together.
function phasesOf(run) {
  const total = seriesOf(run, "time/step_total");
  if (!total) return [];
  const sum = series => series.v.reduce((all, value) => all + (value ?? 0), 0);
  const shown = PHASES.map(([name, label]) => ({ name, label, series: seriesOf(run, name) }))
    .filter(({ series }) => series && series.v.length === total.v.length && sum(series) >= sum(total) / 100);
  const rest = total.v.map((value, i) => Math.max(0, shown.reduce((left, { series }) => left - (series.v[i] ?? 0), value ?? 0)));
  return [...shown, { label: shown.length ? "all else" : "the step", series: { ...total, v: rest } }].map((line, i) => ({ ...line, colour: colour(i) }));
}

// A metric of a run on the chosen axis. What a validation measures has its standard error.
function seriesOf(run, name) {
  const series = openSeries(run.metrics[name], placeOf(run)), [, mean] = name.match(/^(val_(?:correct|score)\/.+)\/mean$/) ?? [];
  const error = (mean || name.match(/^val\/.+\/.+@\d+$/)) && run.metrics[`${mean ?? name}/se`];
  if (series && error?.v.length === series.v.length) series.error = error.v;
  return series;
}

// [metric, label] pairs of a chart in a run.
function linesOf(kind, run) {
  const names = Object.keys(run.metrics);
  if (kind.family) {
    const found = names.filter(name => name.endsWith("/" + kind.family)).map(name => [name, name.slice(0, -kind.family.length - 1)]);
    return found.length > 1 ? found : [];  // of one domain it is the chart of all
  }
  if (kind.pattern) {
    const found = names.map(name => [name, name.match(kind.pattern)]).filter(([, match]) => match);
    return found.map(([name, match]) => [name, (match[1] ?? kind.unnamed).replaceAll("_", " ").replace(/ bytes$/, "")]);
  }
  return [...(kind.lines ?? []), ...(kind.dots ?? [])];
}

const isDotted = (kind, name) => Boolean(kind.asDots || kind.dots?.some(([dotted]) => dotted === name));
const same = (a, b) => a && b && JSON.stringify(a) === JSON.stringify(b);

// Lines that lie on each other become one with both names; zeros beside others say nothing.
function distinct(kind, run, found) {
  const lines = [];
  for (const line of found) {
    const raw = run.metrics[line.name], twin = !kind.stacked && lines.find(other => same(run.metrics[other.name], raw));
    if (twin) twin.label += `, ${line.label}`;
    else if (found.length < 2 || !raw.v.every(value => value === 0)) lines.push({ ...line });
  }
  return lines.length ? lines : found.slice(0, 1);
}

function chartOfRun(kind, run) {
  if (kind.times) return chart({ ...kind, lines: phasesOf(run) });
  const found = linesOf(kind, run).map(([name, label], i) => ({ name, label, colour: colour(kind.colours?.[i] ?? i), dots: isDotted(kind, name), series: seriesOf(run, name) }));
  if (kind.unless && same(run.metrics[found[0].name], run.metrics[kind.unless])) return undefined;
  if (kind.asDots && !kind.evenOne && found.length < 2) return undefined;
  const lines = distinct(kind, run, found.filter(line => line.series));
  return chart({ ...kind, lines, log: isLogOf(kind, lines), marks: marksOf(run) });
}

const marksOf = run => run.checkpoints.map(step => [placeOf(run)(step), `checkpoint of step ${step}`]);
const isLogOf = (kind, lines) => kind.log && lines.some(line => line.series && spans(line.series, kind.log));

// Whether a logarithmic axis shows more.
function spans(series, factor) {
  const values = finite(series.hi).filter(value => value > 0).sort((a, b) => a - b);
  return values.length > 2 && values[values.length - 1] > factor * values[values.length >> 1];
}

// Several runs: a colour each; of a chart with several lines its first one, and what is dotted.
function chartOfRuns(kind, runs) {
  const shown = kind.lines?.length ? [kind.lines[0], ...(kind.dots ?? [])] : kind.dots ?? [];
  const lines = runs.flatMap((run, r) => shown.map(([name, label]) => ({ name, colour: colour(r), dots: isDotted(kind, name), series: seriesOf(run, name),
    label: shown.length > 1 ? `${run.name}, ${label}` : run.name })));
  const what = kind.lines?.length > 1 && shown.length === 1 ? `: ${shown[0][1]}` : "";
  return chart({ ...kind, stacked: false, title: kind.title + what, lines, log: isLogOf(kind, lines) });
}

function chartsOf(kinds, runs, more = []) {
  const drawn = kinds.flatMap(kind => {
    if (runs.length === 1) return [chartOfRun(kind, runs[0])];
    if (kind.times) return runs.map(run => chartOfRun({ ...kind, wide: false, title: `${kind.title}: ${run.name}` }, run));
    if (!kind.family && !kind.pattern) return [chartOfRuns(kind, runs)];
    // A chart for each domain, or whatever the pattern names.
    const all = new Map(runs.flatMap(run => linesOf(kind, run)).filter(([, label]) => !kind.unnamed || label === kind.unnamed));
    if (kind.asDots && !kind.evenOne && all.size < 2) return [];
    return [...all].map(([name, label]) => chartOfRuns({ ...kind, title: `${kind.title}: ${label}`, lines: kind.asDots ? [] : [[name, label]], dots: kind.asDots ? [[name, label]] : [] }, runs));
  });
  return element("div", { class: "grid" }, drawn.filter(Boolean), more.filter(Boolean));
}

// What the charts are drawn along, and what their marks mean.
function axisView(runs, redraw) {
  const known = Object.keys(AXES).filter(axis => axis === "steps" || runs.every(run => run.axes?.[axis]));
  const [run] = runs, marks = runs.length === 1 && run.checkpoints.length > 0 && element("span", { class: "small" },
    `▲ saved checkpoints: ${run.checkpoints.length > 8 ? `${run.checkpoints.length}, the last of step ${run.checkpoints.at(-1)}` : `step ${run.checkpoints.join(", ")}`}`);
  if (!known.includes(state.axis)) delete state.axis;
  return element("div", { class: "row" }, known.length > 1 && select("Along", known.map(axis => [axis, axis]), state.axis ?? "steps", axis => redraw({ axis })), marks);
}

// Any metric by its name.
function anyMetric(runs, state) {
  const names = [...new Set(runs.flatMap(run => Object.keys(run.metrics)))].sort();
  const place = element("div", { class: "grid" });
  const draw = name => {
    state.metric = name;
    const drawn = chart({ title: name, unit: "as metrics.jsonl has it", wide: true,
      lines: runs.map((run, r) => ({ label: run.name, colour: colour(r), series: seriesOf(run, name) })) });
    place.replaceChildren(...(drawn ? [drawn] : []));
  };
  if (state.metric) draw(state.metric);
  return [element("div", { class: "row" }, select("Name", [["", "choose one"], ...names.map(name => [name, name])], state.metric ?? "", draw)), place];
}
