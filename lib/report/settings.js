// The configuration: what was changed, what differs between runs, and everything.

const valueOf = value => element("code", {}, value === null ? "not set" : value === "" ? "\"\"" : value);

function settingsView(data, state) {
  const parts = [];
  if (data.runs.length > 1)
    parts.push(fold("differences", `What differs between the runs: ${plural(data.differences.length, "key")}`, state,
      table(["key", ...data.runs.map(run => run.name)], data.differences.map(([key, ...values]) => [key, ...values.map(valueOf)]))));
  for (const run of data.runs) {
    if (run.settings.length === 0) continue;
    const changed = run.settings.filter(row => row.length > 2), of = data.runs.length > 1 ? `${run.name}: ` : "";
    parts.push(
      fold(`${run.name} changed`, `${of}other than the defaults, set or filled in: ${plural(changed.length, "key")}`, state,
        table(["key", "value", "default"], changed.map(([key, value, usual]) => [key, valueOf(value), valueOf(usual)]))),
      fold(`${run.name} all`, `${of}all ${plural(run.settings.length, "key")}`, state,
        table(["key", "value"], run.settings.map(([key, value]) => [key, valueOf(value)]))));
  }
  return parts.length ? parts : [element("p", {}, "The folder has no config.resolved.yaml.")];
}

// Stays open while the page is drawn again.
function fold(id, title, state, content) {
  state.open ??= new Set();
  const details = element("details", { class: "card", open: state.open.has(id), ontoggle: () => details.open ? state.open.add(id) : state.open.delete(id) },
    element("summary", {}, title), element("div", { class: "scroll" }, content));
  return details;
}
