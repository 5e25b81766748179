#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/field_flags.h"
#include "app/streams.h"
#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "config/load.h"
#include "reward/score_rows.h"
#include "settings/config.h"

namespace roll {

namespace {

struct Flags {
  std::string type, config, domain, input = "-", output = "-", format_pattern, pattern;
  RewardArgs reward;
  int64_t response_length = 0;
};

/// A reward and what opens its error messages.
struct Wanted {
  RewardArgs args;
  int64_t response_length = 0;
  std::string where;
};

Wanted from_flags(const Flags& flags) {
  if (flags.type.empty())
    throw user_error(
        "--type: missing; name the reward, as --type math_rule, or a file, as --config rlvr.yaml --domain math");
  Wanted wanted{flags.reward, flags.response_length, "--"};
  wanted.args.type = flags.type;
  if (!flags.format_pattern.empty()) wanted.args.format_pattern = flags.format_pattern;
  if (!flags.pattern.empty()) wanted.args.pattern = flags.pattern;
  return wanted;
}

/// The reward of --domain in --config; the only one if no domain is named.
Wanted from_config(const Flags& flags) {
  const Config config = load_yaml<Config>(read_file(flags.config), flags.config).config;
  std::vector<std::string> domains;
  for (const auto& [name, worker] : config.rewards) domains.push_back(name);
  const std::string domain = flags.domain.empty() && domains.size() == 1 ? domains[0] : flags.domain;
  const auto found = config.rewards.find(domain);
  if (found == config.rewards.end())
    throw user_error("--domain = {}: not among the rewards of {}; it has {}{}", domain, flags.config,
                     domains.empty() ? "none" : fmt::format("{}", fmt::join(domains, ", ")),
                     did_you_mean(domain, domains));
  const int64_t rest = config.sequence_length.value_or(config.prompt_length) - config.prompt_length;
  return {found->second.reward, config.response_length.value_or(rest),
          fmt::format("{}: rewards.{}.", flags.config, domain)};
}

void run(const Flags& flags) {
  const Wanted wanted = flags.config.empty() ? from_flags(flags) : from_config(flags);
  RewardPool pool(wanted.args, wanted.response_length, wanted.where);
  Input input(flags.input);
  Output output(flags.output);
  score_rows(pool, input.stream(), input.name(), output.stream());
  output.close();
}

void add_reward_flags(CLI::App& sub, Flags& flags) {
  RewardArgs& reward = flags.reward;
  sub.add_option("--format-pattern,--format_pattern", flags.format_pattern,
                 "PCRE2 expression that a response must match, else its reward is 0");
  add_field_flags(sub, reward,
                  {"worker_cls", "type", "tag_included", "format_pattern", "response_length_penalty_coef",
                   "query_filter_config", "pattern", "marker", "ignore_case", "command", "timeout_s", "world_size"});
  sub.add_option("--response-length-penalty-coef,--response_length_penalty_coef", reward.response_length_penalty_coef,
                 "taken off: this x num_response_tokens / --response-length")
      ->capture_default_str();
  sub.add_option("--response-length,--response_length", flags.response_length, "tokens of the longest response");
  sub.add_option("--timeout-s,--timeout_s", reward.timeout_s, "seconds that one response may take")
      ->capture_default_str();
  sub.add_option("--world-size,--world_size", reward.world_size, "responses scored at the same time")
      ->capture_default_str();
  sub.add_option("--marker", reward.marker, "exact_match: what stands before the answer")->capture_default_str();
  sub.add_flag("--ignore-case,--ignore_case", reward.ignore_case,
               "exact_match, regex: ASCII letters equal in either case");
  sub.add_option("--pattern", flags.pattern, "regex: its first group must equal ground_truth; 1 if it has none");
  sub.add_option("command", reward.command, "command: the program and its arguments, behind a bare --");
}

}  // namespace

void add_score(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  CLI::App* sub = app.add_subcommand(
      "score", "Rewards of given responses: {\"response\", \"ground_truth\"} -> {\"reward\", \"detail\"}");
  CLI::Option* type = sub->add_option("--type", flags->type, "math_rule, exact_match, regex or command");
  CLI::Option* config = sub->add_option("--config", flags->config, "YAML of a training run: scores as it does");
  config->excludes(type);
  sub->add_option("--domain", flags->domain, "which of the rewards in --config")->needs(config);
  sub->add_option("--input", flags->input, "JSON lines; - is standard input")->capture_default_str();
  sub->add_option("--output", flags->output, "JSON lines, in the order of the input; - is standard output")
      ->capture_default_str();
  add_reward_flags(*sub, *flags);
  sub->callback([flags] { run(*flags); });
}

}  // namespace roll
