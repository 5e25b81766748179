#include "train/reward_models.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "checkpoint/hub_cache.h"
#include "experience/experience.h"
#include "train/forward.h"
#include "train/roles.h"

namespace roll {

namespace {

/// Every rank's conversations, as token ids; which of them are this rank's begins at `first`.
struct Conversations {
  std::vector<std::vector<int64_t>> ids;
  size_t first = 0;
};

Conversations tell_all(const std::vector<std::vector<int64_t>>& mine, Communicator& world) {
  Conversations all;
  const std::vector<std::string> told = world.all_gather_bytes(to_line(Json(mine)), "conversations to score");
  for (int64_t rank = 0; rank < std::ssize(told); ++rank) {
    if (rank == world.rank()) all.first = all.ids.size();
    for (const Json& ids : parse_json(told[rank], "conversations of another rank"))
      all.ids.push_back(ids.get<std::vector<int64_t>>());
  }
  return all;
}

/// Sequences without a response: only their values are wanted.
Batch batch_of(const std::vector<std::vector<int64_t>>& sequences) {
  std::vector<Sample> samples;
  for (int64_t i = 0; i < std::ssize(sequences); ++i)
    samples.push_back({.prompt_ids = sequences[i], .response_ids = {}, .sequence_index = i, .group_index = i});
  return make_experience(samples);
}

}  // namespace

RewardModels::RewardModels(const Config& config, Meshes& meshes, at::Device device, Log& log)
    : device_(device), log_(log) {
  for (const auto& [domain, worker] : config.rewards) {
    if (!worker.has_model()) continue;
    const WorkerConfig& model = worker.model;
    const auto folder = model_folder(model.model_args.model_name_or_path.value());
    Mesh& mesh = meshes.of(mesh_shape(model));
    domains_.emplace(domain,
                     Scorer{.worker = model,
                            .mesh = mesh,
                            .model = ValueModel::load(folder, device, model_dtype(model.model_args, device),
                                                      model_parallel(mesh)),
                            .tokenizer = Tokenizer::load(folder),
                            .chat_template = ChatTemplate::load(folder, model.data_args.template_name.value_or(""))});
  }
}

std::vector<int64_t> RewardModels::ids_of(const Scorer& scorer, const RewardQuery& query) const {
  Json messages = query.messages;
  messages.push_back({{"role", "assistant"}, {"content", query.response}});
  return scorer.tokenizer.encode(scorer.chat_template.render(messages, /*add_generation_prompt=*/false),
                                 /*parse_special=*/true, /*add_special=*/false);
}

void RewardModels::score(DomainRewards& rewards, Communicator& world) {
  const at::NoGradGuard no_grad;
  for (auto& [domain, scorer] : domains_) {
    auto& held = rewards.held()[domain];
    std::vector<std::vector<int64_t>> mine;
    for (const auto& [response, query] : held) mine.push_back(ids_of(scorer, query));
    const Conversations all = tell_all(mine, world);
    if (all.ids.empty()) continue;
    const Batch batch = batch_of(all.ids);
    BatchRule rule = batch_rule(scorer.worker, Stage::kForward, scorer.model.spec());
    rule.packing.budget = std::max(rule.packing.budget, std::ranges::max(lengths_of(batch)));
    const at::Tensor values = forward_step(
        batch, rule, device_, 1, scorer.mesh,
        [&](const Batch& part) { return std::vector<at::Tensor>{scorer.model.values(part.tokens)}; },
        {&log_, "reward model"})[0];
    size_t sequence = all.first;
    for (auto& [response, query] : held)
      query.model_score = values[batch.tokens.cu_seqlens[++sequence] - 1].item<double>();
  }
  rewards.release();
}

}  // namespace roll
