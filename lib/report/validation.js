// What became of the validation's prompts, and what was said to some of them as the run went on.

const FATES = [
  ["learnt", "wrong at first, right now"], ["lost", "right at first, wrong now"],
  ["wrong", "wrong at first and now"], ["right", "right at first and now"]];

// Neighbours that say the same, as one with several steps.
function withoutRepeats(answers) {
  const merged = [];
  for (const { step, ...said } of answers) {
    const last = merged.at(-1);
    if (last && JSON.stringify(last.said) === JSON.stringify(said)) last.steps.push(step);
    else merged.push({ steps: [step], said });
  }
  return merged;
}

function whenOf(steps) {
  const later = steps.filter(step => step > 0);
  const after = later.length > 0 && `after step${later.length === 1 ? "" : "s"} ${later.join(", ")}`;
  return [later.length < steps.length && "before training", after].filter(Boolean).join(" and ");
}

function answerView({ steps, said: { score, finish, text } }) {
  const verdict = scoreBadge(score);
  return element("div", { class: "response" },
    element("div", { class: "row" }, element("span", { class: "small" }, whenOf(steps)),
      element("span", { class: `badge ${verdict[1]}` }, verdict[0]),
      finish !== "stop" && element("span", { class: "badge warn" }, finish === "length" ? "truncated (length)" : finish)),
    element("pre", { tabindex: 0 }, shownText(text)));
}

function promptView({ prompt, truth, domain, answers }) {
  return element("div", { class: "card group" },
    domain && element("h3", {}, domain),
    element("pre", { tabindex: 0, "aria-label": "prompt" }, shownText(prompt)),
    truth && element("p", { class: "small" }, "expected: ", element("code", {}, shownText(truth))),
    withoutRepeats(answers).map(answerView));
}

// A line for each set of each run, with all that its last validation measured.
function setsView(runs) {
  const parts = runs.flatMap(run => Object.entries(run.metrics).flatMap(([name, raw]) => {
    const [, set, what] = name.match(/^val\/([\w-]+)\/([\w@]+)$/) ?? [], value = set && lastOf(openSeries(raw));
    const error = set && run.metrics[`${name}/se`];
    return value === undefined ? [] : [{ run, set, what, text: number(value) + (error ? ` ± ${number(lastOf(openSeries(error)), 2)}` : "") }];
  }));
  const lines = [...new Map(parts.map(part => [`${part.run.name}/${part.set}`, part])).values()];
  const order = what => ["avg", "pass", "maj"].indexOf(what.split("@")[0]) * 1e6 + Number(what.split("@")[1] ?? -1);
  const first = what => (order(what) < 0 ? Infinity : order(what));
  const columns = [...new Set(parts.map(part => part.what))].sort((a, b) => first(a) - first(b) || a.localeCompare(b));
  const cell = (line, what) => parts.find(part => part.run === line.run && part.set === line.set && part.what === what)?.text ?? "–";
  return lines.length === 0 ? [] : [element("div", { class: "card scroll sets", style: "margin-top: 10px" },
    table(["set", ...(runs.length > 1 ? ["run"] : []), ...columns.map(what => what.replaceAll("_", " "))],
      lines.map(line => [line.set, ...(runs.length > 1 ? [line.run.name] : []), ...columns.map(what => cell(line, what))])))];
}

function validationView(runs) {
  const withSome = runs.filter(run => run.validation.prompts.length > 0);
  return withSome.flatMap(run => {
    const { counts, prompts, validations } = run.validation, total = Object.values(counts).reduce((a, b) => a + b, 0);
    const parts = FATES.filter(([fate]) => counts[fate]).map(([fate, words]) => `${counts[fate]} ${words}`);
    return [withSome.length > 1 && element("h3", {}, run.name),
      element("p", { class: "small" }, `${plural(total, "prompt")}, first response to each, ${plural(validations.length, "validation")}: ${parts.join("; ")}.`),
      ...FATES.map(fate => [fate, prompts.filter(prompt => prompt.fate === fate[0])]).filter(([, some]) => some.length > 0).map(([fate, some]) =>
        element("details", { open: fate[0] === "learnt" }, element("summary", {}, `${fate[1]} (${some.length} of ${counts[fate[0]]} shown)`), some.map(promptView)))]
      .filter(Boolean);
  });
}
