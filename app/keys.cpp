// roll keys: every key of a configuration, as a table; roll explain: what one of them says.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>

#include "app/commands.h"
#include "base/error.h"
#include "settings/key_lists.h"

namespace roll {

namespace {

struct Flags {
  std::string pattern;
  bool all = false, markdown = false, html = false;
};

std::string heading(const std::string& command, KeyFormat format) {
  switch (format) {
    case KeyFormat::kText:
      return "# " + command + "\n";
    case KeyFormat::kMarkdown:
      return "## " + command + "\n\n";
    case KeyFormat::kHtml:
      return "<h2>" + command + "</h2>\n";
  }
  return "";
}

void list(const Flags& flags) {
  const KeyFormat format = flags.html ? KeyFormat::kHtml : flags.markdown ? KeyFormat::kMarkdown : KeyFormat::kText;
  const bool shows_idle = flags.all || !flags.pattern.empty();
  std::string text;
  for (const auto& [command, keys] : {std::pair{"roll train", rlvr_keys()}, std::pair{"roll sft", sft_keys()}}) {
    const std::vector<SharedKey> found = keys_with(flags.pattern, keys);
    if (found.empty()) continue;
    text += (text.empty() ? "" : "\n") + heading(command, format) + key_table(found, format, shows_idle);
  }
  if (text.empty()) throw user_error("no key's name or meaning holds '{}'; `roll keys` lists them all", flags.pattern);
  if (format == KeyFormat::kHtml)
    text =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>roll: keys</title></head>\n<body>\n" +
        text + "</body></html>\n";
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void add_keys(CLI::App& app) {
  auto* keys = app.add_subcommand("keys", "every key of a configuration: default, allowed values, meaning");
  auto flags = std::make_shared<Flags>();
  keys->add_option("pattern", flags->pattern, "only keys whose name or meaning holds this");
  keys->add_flag("--all", flags->all, "also keys of ROLL that mean nothing here or are refused, with the reason");
  auto* markdown = keys->add_flag("--markdown", flags->markdown, "as a Markdown table");
  keys->add_flag("--html", flags->html, "as a page")->excludes(markdown);
  keys->callback([=] { list(*flags); });

  auto* explain = app.add_subcommand("explain", "what a key means, its default and what it takes");
  auto key = std::make_shared<std::string>();
  explain->add_option("key", *key, "e.g. pg_clip, or training_args.learning_rate")->required();
  explain->callback([=] { std::fputs(explain_key(*key, all_keys()).c_str(), stdout); });
}

}  // namespace roll
