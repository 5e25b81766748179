#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/streams.h"
#include "base/error.h"
#include "reward/score_rows.h"

namespace roll {

namespace {

struct Flags {
  std::string type, input = "-", output = "-", format_pattern, pattern, reward_type = "soft";
  RewardArgs reward;
  int64_t response_length = 0;
};

RewardArgs reward_args(const Flags& flags) {
  RewardArgs args = flags.reward;
  if (flags.type.empty()) throw user_error("--type: missing; name the reward, as --type math_rule");
  args.type = flags.type;
  args.reward_type = flags.reward_type;
  if (!flags.format_pattern.empty()) args.format_pattern = flags.format_pattern;
  if (!flags.pattern.empty()) args.pattern = flags.pattern;
  return args;
}

void run(const Flags& flags) {
  RewardPool pool(reward_args(flags), flags.response_length, "--");
  Input input(flags.input);
  Output output(flags.output);
  score_rows(pool, input.stream(), input.name(), output.stream());
  output.close();
}

}  // namespace

void add_score(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  RewardArgs& reward = flags->reward;
  CLI::App* sub = app.add_subcommand(
      "score", "Rewards of given responses: {\"response\", \"ground_truth\"} -> {\"reward\", \"detail\"}");
  sub->add_option("--type", flags->type, "math_rule, exact_match, regex or command");
  sub->add_option("--input", flags->input, "JSON lines; - is standard input")->capture_default_str();
  sub->add_option("--output", flags->output, "JSON lines, in the order of the input; - is standard output")
      ->capture_default_str();
  sub->add_option("--format-pattern,--format_pattern", flags->format_pattern,
                  "PCRE2 expression that a response must match, else its reward is 0");
  sub->add_option("--reward-type,--reward_type", flags->reward_type,
                  "soft: the rule's number; hard: 1 from 0.5 on, else 0")
      ->check(CLI::IsMember({"soft", "hard"}))
      ->capture_default_str();
  sub->add_option("--response-length-penalty-coef,--response_length_penalty_coef", reward.response_length_penalty_coef,
                  "taken off: this x num_response_tokens / --response-length")
      ->capture_default_str();
  sub->add_option("--response-length,--response_length", flags->response_length, "tokens of the longest response");
  sub->add_option("--timeout-s,--timeout_s", reward.timeout_s, "seconds that one response may take")
      ->capture_default_str();
  sub->add_option("--world-size,--world_size", reward.world_size, "responses scored at the same time")
      ->capture_default_str();
  sub->add_option("--compare", reward.compare, "exact_match: whole, last_line or after_marker")->capture_default_str();
  sub->add_option("--marker", reward.marker, "exact_match: what stands before the answer")->capture_default_str();
  sub->add_flag("--ignore-case,--ignore_case", reward.ignore_case,
                "exact_match, regex: ASCII letters equal in either case");
  sub->add_option("--pattern", flags->pattern, "regex: its first group must equal ground_truth; 1 if it has none");
  sub->add_option("command", reward.command, "command: the program and its arguments, behind a bare --");
  sub->callback([flags] { run(*flags); });
}

}  // namespace roll
