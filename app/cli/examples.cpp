#include "app/cli/examples.h"

#include <array>
#include <string>
#include <string_view>

#include "base/error.h"

namespace roll {

namespace {

struct Example {
  std::string_view command, rest;
};

constexpr std::array kExamples = {
    Example{"quickstart", ""},
    Example{"new", "mine --model Qwen/Qwen2.5-0.5B-Instruct --data rows.jsonl"},
    Example{"data check", "rows.parquet --reward math_rule --model Qwen/Qwen2.5-0.5B-Instruct"},
    Example{"data convert", "rows.parquet --out rows.jsonl"},
    Example{"convert-config", "run_grpo.sh --out mine.yaml"},
    Example{"validate-config", "--config mine/config.yaml -n 2"},
    Example{"train", "--config mine/config.yaml -n 2 rollout_batch_size=64"},
    Example{"sft", "--config sft.yaml"},
    Example{"dpo", "--config dpo.yaml actor_train.training_args.learning_rate=5.0e-7"},
    Example{"distill", "--config distill.yaml"},
    Example{"report", "mine/run other/run --out both.html"},
    Example{"inspect", "mine/run"},
    Example{"verify", "mine/run"},
    Example{"serve-environment", "--port 7000 -- python3 game.py"},
    Example{"keys", "train"},
    Example{"explain", "pg_clip"},
    Example{"metrics", ""},
    Example{"pack-stats", "--config mine/config.yaml --rollouts mine/run"},
    Example{"check-loss", "--config mine/config.yaml"},
    Example{"doctor", ""},
    Example{"generate", "--model mine/run --prompt \"1 + 1 =\" --max-new-tokens 16"},
    Example{"serve", "--model mine/run --port 8000"},
    Example{"evaluate", "--model mine/run --data aime24=rows.parquet --samples 8"},
    Example{"score", "--reward math_rule --input responses.jsonl"},
    Example{"logprobs", "--model mine/run --input ids.jsonl"},
    Example{"tokenize", "--model mine/run --input texts.jsonl"},
    Example{"init-model", "--arch qwen3 --hidden 256 --layers 8 --out tiny"},
    Example{"export", "--model mine/run --out model"},
    Example{"completion", "bash > ~/.local/share/bash-completion/completions/roll"},
    Example{"man", "> roll.1"},
};

std::string find_example(const std::string& command) {
  for (const Example& example : kExamples)
    if (example.command == command) return std::string(example.rest);
  throw Bug(fmt::format("roll {} has no example", command));
}

void add_examples(CLI::App& app, const std::string& parent) {
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string command = parent + sub->get_name();
    if (!sub->get_subcommands([](const CLI::App*) { return true; }).empty()) {
      add_examples(*sub, command + " ");
      continue;
    }
    const std::string footer = sub->get_footer();
    sub->footer(fmt::format("{}{}Example:\n  roll {} {}", footer, footer.empty() ? "" : "\n\n", command,
                            find_example(command)));
  }
}

}  // namespace

void add_examples(CLI::App& app) {
  add_examples(app, "");
}

}  // namespace roll
