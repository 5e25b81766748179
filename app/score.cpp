#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "app/cli/reward_flags.h"
#include "app/cli/streams.h"
#include "app/commands.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/nearest.h"
#include "collect/reward_models.h"
#include "config/flag.h"
#include "config/load.h"
#include "dist/mesh.h"
#include "dist/single.h"
#include "model/device.h"
#include "reward/reward_pool.h"
#include "reward/score_rows.h"
#include "settings/complete.h"
#include "settings/config.h"
#include "settings/foreign_words.h"

namespace roll {

namespace {

struct ScoreFlags {
  std::string config, domain, input = "-", output = "-", device = "auto";
  std::optional<std::string> judge_model;
  bool bench = false;
  Node reward;  // keys of FlaggedReward
};

constexpr const char* kDomain = "score";  // domain of the configuration made from flags

/// A configuration with one reward, and the prefix of its error messages.
struct RewardSetup {
  Config config;
  std::string where;
};

RewardSetup setup_from_flags(const ScoreFlags& flags) {
  FlaggedReward args;
  read_flags(flags.reward, args);
  if (!args.reward.type)
    throw user_error(
        "--reward: missing; name the reward, such as --reward math_rule, or a file, such as --config rlvr.yaml "
        "--domain math");
  Config config;
  config.response_length = args.response_length;
  RewardWorkerConfig& worker = config.rewards[kDomain];
  worker.reward = args.reward;
  if (worker.shares_model())
    throw user_error(
        "--judge-model-type = cluster: shares one model among several rewards, but here is only one reward; write "
        "inference");
  if (worker.has_own_model() != flags.judge_model.has_value())
    throw flags.judge_model
        ? user_error(
              "--judge-model = {}: this reward has no judging model, or calls one on a server; leave the flag out",
              *flags.judge_model)
        : UserError("--judge-model: missing; name the judging model's folder or Hub name, or use --config");
  worker.model.model_args.model_name_or_path = flags.judge_model;
  return {std::move(config), "--"};
}

/// Returns the reward of --domain in --config; without --domain, the only reward.
RewardSetup setup_from_config(const ScoreFlags& flags) {
  if (!flags.reward.map.empty())
    throw user_error("--{}: --config describes the reward; leave this flag out",
                     reward_flag(flags.reward.map.front().key));
  if (flags.judge_model) throw user_error("--judge-model: --config describes the reward; leave this flag out");
  Config config = load_yaml<Config>(read_file(flags.config), flags.config, {}, foreign_advice<Config>).config;
  std::vector<std::string> domains;
  for (const auto& [name, worker] : config.rewards) domains.push_back(name);
  const std::string domain = flags.domain.empty() && domains.size() == 1 ? domains[0] : flags.domain;
  const auto found = config.rewards.find(domain);
  if (found == config.rewards.end())
    throw user_error("--domain = {}: not among the rewards of {}; it has {}{}", domain, flags.config,
                     domains.empty() ? "none" : fmt::format("{}", fmt::join(domains, ", ")),
                     did_you_mean(domain, domains));
  config.rewards = {*found};
  if (!config.response_length)
    config.response_length = config.sequence_length.value_or(config.prompt_length) - config.prompt_length;
  return {std::move(config), fmt::format("{}: rewards.{}.", flags.config, domain)};
}

/// Completes the configuration for one rank; a judge that would share a model gets its own.
Config complete_for_one_rank(Config config, const std::string& where) {
  complete_judging_models(config);
  RewardWorkerConfig& worker = config.rewards.begin()->second;
  if (worker.shares_model()) {
    auto& judge = std::get<LlmJudgeArgs>(*worker.reward.type);
    judge.judge_model_type = JudgeModelType::kInference;
    judge.generating_args = config.reward_model.generating_args;
    worker.model = config.reward_model;
  }
  if (!worker.has_own_model()) return config;
  worker.model.strategy_args = {};
  if (!worker.model.model_args.model_name_or_path)
    throw user_error("{}model_args.model_name_or_path: missing; set it to the judging model's folder", where);
  return config;
}

at::Device use_named_device(const std::string& name) {
  const at::Device device = parse_device(name, "--device");
  use_device(device);
  return device;
}

/// Scores responses outside of a run, with the worker threads of a reward and its judging model, if any.
class Scorer {
 public:
  /// config: has one domain. where: prefix of error messages. UserError: as RewardPool and the model loaders.
  Scorer(Config config, const std::string& where, const std::string& device);

  /// Returns the results in the order of the queries, whose names select a judge's random numbers.
  std::vector<RewardResult> score(std::vector<RewardQuery> queries);

 private:
  Config config_;
  std::unique_ptr<Communicator> world_;
  Meshes meshes_;
  Log log_;
  RewardPool pool_;
  RewardModels models_;
};

Scorer::Scorer(Config config, const std::string& where, const std::string& device)
    : config_(complete_for_one_rank(std::move(config), where)),
      world_(make_single_communicator()),
      meshes_(*world_),
      log_(std::cerr, std::cerr, {}),
      pool_(config_.rewards.begin()->second.reward, config_.response_length.value_or(0), where, 1, &log_),
      models_(judging_models(config_), static_cast<uint64_t>(config_.seed), meshes_, use_named_device(device), {},
              log_) {}

std::vector<RewardResult> Scorer::score(std::vector<RewardQuery> queries) {
  if (!models_.empty()) {
    std::map<std::string, std::map<int64_t, RewardQuery>> queries_by_domain;
    auto& local = queries_by_domain[config_.rewards.begin()->first];
    for (RewardQuery& query : queries) local.emplace(std::ssize(local), std::move(query));
    models_.judge(queries_by_domain, /*step=*/0);
    queries.clear();
    for (auto& [index, query] : local) queries.push_back(std::move(query));
  }
  pool_.submit(std::move(queries));
  return pool_.collect();
}

void run(const ScoreFlags& flags) {
  auto [config, where] = flags.config.empty() ? setup_from_flags(flags) : setup_from_config(flags);
  Scorer scorer(std::move(config), where, flags.device);
  Input input(flags.input);
  Output output(flags.output, input);
  const Stopwatch watch;
  const auto [num_rows, faults] =
      score_rows([&](std::vector<RewardQuery> queries) { return scorer.score(std::move(queries)); },
                 input.rows(names_right_answer), output.stream());
  const double taken_s = watch.seconds();
  output.close();
  if (faults.total() > 0) std::cerr << fmt::format("warning: of the rewards, {}\n", faults.text());
  if (flags.bench)
    std::cerr << fmt::format("{} answers in {:.3f} s: {:.1f} answers/s\n", num_rows, taken_s,
                             static_cast<double>(num_rows) / taken_s);
}

void add_command_words(CLI::App& sub, Node& reward) {
  const auto set_command = [&reward](const std::vector<std::string>& words) {
    Node list;
    list.kind = Node::Kind::kList;
    for (const std::string& word : words) {
      list.list.push_back(flag_scalar(word));
      list.list.back().literal = true;  // ${x} is passed on to the program
    }
    list.place = flag_scalar("").place;
    set_flag(reward, "command", std::move(list));
  };
  sub.add_option_function<std::vector<std::string>>(
      "command", set_command, "for --reward command: the program and its arguments, after a bare --");
}

}  // namespace

void add_score(CLI::App& app) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App* sub = app.add_subcommand(
      "score", "Rewards of given responses: {\"response\", \"ground_truth\"} -> {\"reward\", \"detail\"}");
  CLI::Option* config = sub->add_option("--config", flags->config,
                                        "YAML of a training run, whose reward is used instead of the flags below");
  sub->add_option("--domain", flags->domain, "name of the reward in --config")->needs(config);
  sub->add_option("--input", flags->input, kRowInput)->capture_default_str();
  sub->add_option("--out", flags->output, "JSON lines, in the order of the input; - is standard output")
      ->capture_default_str();
  sub->add_option("--judge-model", flags->judge_model,
                  "folder or Hub name of the model that judges in this program: type reward_model, or llm_judge with "
                  "--judge-model-type inference");
  sub->add_option("--device", flags->device, "cpu, cuda, cuda:N, or auto: cuda if there is a GPU; for that model")
      ->capture_default_str();
  sub->add_flag("--bench", flags->bench, "print on standard error how many answers were judged per second");
  add_reward_flags(*sub, flags->reward);
  add_command_words(*sub, flags->reward);
  sub->callback([flags] {
    if (flags->config.empty()) return with_flag_names([&] { run(*flags); });
    run(*flags);
  });
}

}  // namespace roll
