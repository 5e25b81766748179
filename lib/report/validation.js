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
