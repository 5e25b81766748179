#include "collect/reward_models.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/clock.h"
#include "checkpoint/hub_cache.h"
#include "collect/requests.h"
#include "experience/experience.h"
#include "model/device.h"
#include "model/model_folder.h"
#include "settings/placement.h"
#include "step/forward.h"
#include "step/step_settings.h"

namespace roll {

namespace {

/// Returns a batch of sequences without responses, for their values only.
Batch make_value_batch(const std::vector<ScorePrompt>& sequences) {
  StepFacts step;
  std::vector<int64_t> ids;
  for (const ScorePrompt& sequence : sequences) {
    step.responses.push_back({.group = step.num_sequences(), .prompt_length = std::ssize(sequence.ids)});
    ids.insert(ids.end(), sequence.ids.begin(), sequence.ids.end());
  }
  return make_experience(step, first_numbers(step.num_sequences()), at::tensor(ids, at::kLong));
}

}  // namespace

RewardModels::RewardModels(const std::vector<JudgingModel>& models, uint64_t seed, Meshes& meshes, at::Device device,
                           const Roles& roles, Log& log)
    : device_(device), log_(log) {
  for (const JudgingModel& model : models) {
    if (model.writes())
      load_judge(model, seed, meshes, roles);
    else
      load_scorer(model, meshes, roles);
  }
}

void RewardModels::load_scorer(const JudgingModel& judging, Meshes& meshes, const Roles& roles) {
  const WorkerConfig& worker = *judging.worker;
  const auto folder = model_folder(worker.model_args.model_name_or_path.value());
  require_value_head(folder);
  RoleMesh& mesh = meshes.of(worker.ranks, mesh_shape(worker));
  const ModelSpec spec = for_length(read_spec(folder), judging.longest_sequence);
  Scorer scorer{.mesh = mesh,
                .spec = spec,
                .rule = batch_rule(worker, Stage::kForward).with(make_workload(spec)),
                .model = {},
                .tokenizer = Tokenizer::load(folder),
                .chat_template = ChatTemplate::load(folder, worker.data_args.template_name.value_or(""),
                                                    worker.data_args.enable_thinking)};
  if (mesh.is_here()) {
    const at::ScalarType dtype = model_dtype(worker.model_args, device_);
    scorer.model = ValueModel::load(folder, device_, dtype, model_parallel(mesh.mesh()), architectures(), {},
                                    spec.lora ? roles.base_for(folder, dtype, mesh) : nullptr)
                       .for_length(judging.longest_sequence);
  }
  scorers_.emplace(judging.domains[0], std::move(scorer));
}

void RewardModels::load_judge(const JudgingModel& judge, uint64_t seed, Meshes& meshes, const Roles& roles) {
  const auto engine = std::make_shared<JudgeEngine>(judge, seed, meshes, device_, roles);
  for (size_t i = 0; i < judge.domains.size(); ++i) {
    const RuleContext context{.where = fmt::format("rewards.{}.", judge.domains[i])};
    judges_.emplace(judge.domains[i], Judge{.engine = engine, .rule = JudgeRule(*judge.judges[i], context)});
  }
}

void RewardModels::judge(std::map<std::string, HeldQueries>& held, int64_t step) {
  for (auto& [domain, scorer] : scorers_) score(scorer, held[domain]);
  for (auto& [domain, judge] : judges_) ask(judge, held[domain], step);
}

void RewardModels::score(Scorer& scorer, HeldQueries& held) {
  std::vector<ScorePrompt> local;
  std::vector<RewardQuery*> queries;
  for (auto& [response, query] : held) {
    Json messages = query.messages;
    messages.push_back({{"role", "assistant"}, {"content", scorer.tokenizer.disarmed(query.response)}});
    const auto ids = scorer.tokenizer.encode(scorer.chat_template.render(messages, /*add_generation_prompt=*/false),
                                             /*parse_special=*/true, /*add_special=*/false);
    if (std::ssize(ids) > scorer.spec.max_positions) continue;
    local.push_back({.ids = {ids.begin(), ids.end()}});
    queries.push_back(&query);
  }
  const Stopwatch watch;
  std::vector<Partition> plans;  // by data-parallel rank
  const auto share_out = [&](const std::vector<int64_t>& lengths) {
    if (lengths.empty()) return Partition(static_cast<size_t>(scorer.mesh.dp_size()));
    BatchRule rule = scorer.rule;
    rule.packing.budget = std::max(rule.packing.budget, std::ranges::max(lengths));
    plans = plan_ranks(lengths, rule, scorer.mesh.dp_size());
    return rank_sequences({plans});
  };
  const auto answer = [&](const std::vector<ScorePrompt>& conversations) {
    if (conversations.empty()) return std::vector<ScoreReply>();
    return scores(scorer, conversations, plans[scorer.mesh.mesh().place().dp]);
  };
  const auto replies =
      request_answers<ScorePrompt, ScoreReply>(local, scorer.mesh, {share_out, answer}, "conversations to score");
  for (size_t i = 0; i < queries.size(); ++i) {
    queries[i]->model_score = replies[i].value().score;
    queries[i]->model_s = watch.seconds();
  }
}

std::vector<ScoreReply> RewardModels::scores(Scorer& scorer, const std::vector<ScorePrompt>& conversations,
                                             const Partition& plan) {
  const Batch batch = make_value_batch(conversations);
  const at::Tensor values = forward_share(
      batch, share_indices(plan), device_, scorer.model->parallel(),
      [&](const Batch& part) { return scorer.model->values(part.tokens); }, {&log_, "reward model"},
      sharing_alignment(batch_lengths(batch), scorer.rule));
  std::vector<ScoreReply> results;
  for (size_t i = 0; i < conversations.size(); ++i)
    results.push_back({values[batch.tokens.cu_seqlens[i + 1] - 1].item<float>()});
  return results;
}

void RewardModels::ask(Judge& judge, HeldQueries& held, int64_t step) {
  std::vector<JudgeEngine::Question> questions;
  std::vector<RewardQuery*> queries;
  for (auto& [response, query] : held) {
    auto question = judge.rule.question(query);
    if (std::holds_alternative<RewardResult>(question)) continue;  // it cannot be asked; the reward says why
    questions.push_back({.messages = std::get<Json>(std::move(question)), .name = query.name});
    queries.push_back(&query);
  }
  const Stopwatch watch;
  const auto words = judge.engine->ask(questions, step);
  for (size_t i = 0; i < words.size(); ++i) {
    queries[i]->judge_words = words[i];
    queries[i]->model_s = watch.seconds();
  }
}

}  // namespace roll
