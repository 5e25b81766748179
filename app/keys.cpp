// roll keys and roll metrics: tables of all configuration keys and all metrics. roll explain: explains a key or metric.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "base/error.h"
#include "base/nearest.h"
#include "settings/config.h"
#include "settings/foreign_words.h"
#include "settings/key_lists.h"
#include "track/metric_reference.h"
#include "train/summary.h"

namespace roll {

namespace {

struct KeysFlags {
  std::string pattern;
  bool all = false, markdown = false, html = false;
};

std::string heading(const std::string& command, KeyFormat format) {
  if (format == KeyFormat::kHtml) return "<h2>" + command + "</h2>\n";
  return format == KeyFormat::kMarkdown ? "## " + command + "\n\n" : "# " + command + "\n";
}

std::vector<std::string> key_paths(const std::vector<SharedKey>& keys) {
  std::vector<std::string> paths;
  for (const SharedKey& key : keys)
    for (std::string& path : key.paths()) paths.push_back(std::move(path));
  return paths;
}

/// Returns "'lr' is a word of other trainers: here it is actor_train.training_args.learning_rate".
std::string describe_foreign(const std::string& word, const ForeignWord& foreign) {
  return fmt::format("'{}' is a name that other trainers use: {}", word, word_text(foreign));
}

bool is_one_of(const SharedKey& key, const std::vector<std::string>& paths) {
  return std::ranges::any_of(key.paths(), [&](const std::string& path) { return std::ranges::count(paths, path) > 0; });
}

/// Returns `found`, followed by the keys of `all` that `foreign` maps to.
std::vector<SharedKey> add_foreign_keys(std::vector<SharedKey> found, const std::vector<SharedKey>& all,
                                        const std::optional<ForeignWord>& foreign) {
  if (!foreign) return found;
  for (const SharedKey& key : all) {
    const auto is_same = [&](const SharedKey& other) { return other.name() == key.name(); };
    if (is_one_of(key, foreign->keys) && std::ranges::none_of(found, is_same)) found.push_back(key);
  }
  return found;
}

void list(const KeysFlags& flags) {
  const KeyFormat format = flags.html ? KeyFormat::kHtml : flags.markdown ? KeyFormat::kMarkdown : KeyFormat::kText;
  const bool shows_idle = flags.all || !flags.pattern.empty();
  const auto foreign = word_among(key_paths(all_keys()), flags.pattern);
  if (foreign) std::fprintf(stderr, "note: %s\n", describe_foreign(flags.pattern, *foreign).c_str());
  std::string text;
  for (const auto& [command, keys] : keys_by_command()) {
    const std::vector<SharedKey> found = add_foreign_keys(keys_with(flags.pattern, keys), keys, foreign);
    if (found.empty()) continue;
    text += (text.empty() ? "" : "\n") + heading("roll " + command, format) + key_table(found, format, shows_idle);
  }
  if (text.empty() && !foreign)
    throw user_error("no key's name or meaning contains '{}'; `roll keys` lists all keys", flags.pattern);
  if (format == KeyFormat::kHtml)
    text =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>roll: keys</title></head>\n<body>\n" +
        text + "</body></html>\n";
  std::fputs(text.c_str(), stdout);
}

void list_metrics(const std::string& pattern, bool markdown) {
  const std::string table = metric_table(pattern, markdown);
  if (table.empty())
    throw user_error("no metric's name or meaning contains '{}'; `roll metrics` lists all metrics", pattern);
  std::fputs(table.c_str(), stdout);
}

/// Returns the metric that a run's screen and log lines call `word`; "" if there is none.
std::string find_shown_metric(const std::string& word) {
  const RunFace face = describe_run(Config{}, "");
  std::vector<Shown> all{face.headline.goal};
  for (const auto* shown : {&face.headline.others, &face.curves}) all.insert(all.end(), shown->begin(), shown->end());
  for (const Shown& shown : all)
    if (lower_ascii(shown.word) == lower_ascii(word)) return shown.metric;
  return "";
}

/// Explains a metric, given its full name, its family ("score" for score/mean), or its word on the screen; else "".
std::string explain_metric(const std::string& name) {
  for (const std::string& known : {name, name + "/mean", find_shown_metric(name)})
    if (const MetricWords* metric = known.empty() ? nullptr : find_metric(known))
      return fmt::format("{}: a metric{}{}{}\n  {}\n", known, *metric->unit ? " in " : "", metric->unit,
                         known == metric->name ? "" : fmt::format(" (one of {})", metric->name), metric->words);
  return "";
}

/// Explains another trainer's word, followed by our keys for it.
std::string explain_foreign(const std::string& name, const ForeignWord& foreign, const std::vector<SharedKey>& keys) {
  std::string text = describe_foreign(name, foreign) + "\n";
  for (const std::string& key : foreign.keys) text += "\n" + explain_key(key, keys);
  return text;
}

/// Returns tables of all keys and metrics whose name or meaning contains `word`.
std::string list_mentions(const std::string& word, const std::vector<SharedKey>& keys) {
  const std::vector<SharedKey> found = keys_with(word, keys);
  std::string text = found.empty() ? "" : key_table(found, KeyFormat::kText, /*shows_idle=*/false);
  const std::string metrics = metric_table(word, /*markdown=*/false);
  if (!metrics.empty()) text += (text.empty() ? "# metrics\n" : "\n# metrics\n") + metrics;
  return text;
}

/// Explains a metric, a key, or both; for another word, lists what mentions it.
void explain(const std::string& name) {
  std::string text = explain_metric(name);
  if (text.empty() && name.find('/') != std::string::npos)
    throw user_error("{}: no such metric; `roll metrics` lists all metrics{}", name,
                     did_you_mean(name, metric_names()));
  const std::vector<SharedKey> keys = all_keys();
  const auto foreign = word_among(key_paths(keys), name.substr(name.rfind('.') + 1));
  try {
    text += (text.empty() ? "" : "\n") + explain_key(name, keys);
  } catch (const UserError& unknown) {
    const bool has_suggestion = std::string_view(unknown.what()).find("did you mean") != std::string_view::npos;
    if (foreign) text += explain_foreign(name, *foreign, keys);
    if (text.empty() && !has_suggestion) text = list_mentions(name, keys);
    if (text.empty()) throw;
  }
  std::fputs(text.c_str(), stdout);
}

void add_metrics(CLI::App& app) {
  auto* metrics = app.add_subcommand("metrics", "every metric of a run: unit and meaning");
  auto pattern = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  metrics->add_option("pattern", *pattern, "only metrics whose name or meaning contains this text");
  metrics->add_flag("--markdown", *markdown, "as a Markdown table");
  metrics->callback([=] { list_metrics(*pattern, *markdown); });
}

}  // namespace

void add_keys(CLI::App& app) {
  auto* keys = app.add_subcommand("keys", "every key of a configuration: default, allowed values, meaning");
  auto flags = std::make_shared<KeysFlags>();
  keys->add_option("pattern", flags->pattern, "only keys whose name or meaning contains this text");
  keys->add_flag("--all", flags->all, "also keys of ROLL that have no effect here or are refused, with the reason");
  auto* markdown = keys->add_flag("--markdown", flags->markdown, "as a Markdown table");
  keys->add_flag("--html", flags->html, "as a page")->excludes(markdown);
  keys->callback([=] { list(*flags); });

  add_metrics(app);
  auto* sub = app.add_subcommand("explain", "what a key or a metric means");
  auto name = std::make_shared<std::string>();
  sub->add_option("name", *name,
                  "e.g. pg_clip, training_args.learning_rate, group/mixed_ratio; or a word, such as lora")
      ->required();
  sub->callback([=] { explain(*name); });
}

}  // namespace roll
