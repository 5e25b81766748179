#include "collect/judge_engine.h"

#include "checkpoint/hub_cache.h"
#include "collect/requests.h"
#include "model/device.h"
#include "model/model_folder.h"
#include "rollout/engine.h"
#include "settings/placement.h"
#include "step/roles.h"

namespace roll {

namespace {

std::filesystem::path judge_folder(const JudgingModel& judge) {
  return model_folder(judge.worker->model_args.model_name_or_path.value());
}

}  // namespace

JudgeEngine::JudgeEngine(const JudgingModel& judge, uint64_t seed, Meshes& meshes, at::Device device,
                         const Roles& roles)
    : sampling_(sampling_settings(*judge.generating_args)),
      cache_(cache_settings(judge.worker->strategy_args.strategy_config)),
      seed_(seed),
      mesh_(meshes.of(judge.worker->ranks, {.cp = 1, .tp = mesh_shape(*judge.worker).tp})),
      spec_(for_length(read_spec(judge_folder(judge)), judge.longest_sequence)),
      tokenizer_(Tokenizer::load(judge_folder(judge))),
      chat_template_(ChatTemplate::load(judge_folder(judge), judge.worker->data_args.template_name.value_or(""),
                                        judge.worker->data_args.enable_thinking)) {
  if (!mesh_.is_here()) return;
  const at::ScalarType dtype = model_dtype(judge.worker->model_args, device);
  model_ = Transformer::load(judge_folder(judge), device, dtype, model_parallel(mesh_.mesh()), architectures(), {},
                             roles.base_for(judge_folder(judge), dtype, mesh_))
               .for_length(judge.longest_sequence);
  for (auto& [name, tensor] : model_->parameters()) tensor.set_requires_grad(false);
}

JudgeRequest JudgeEngine::judge_prompt(const Question& question) const {
  Json messages = question.messages;
  for (Json& message : messages) message["content"] = tokenizer_.disarmed(message["content"]);
  const auto ids = tokenizer_.encode(chat_template_.render(messages, /*add_generation_prompt=*/true),
                                     /*parse_special=*/true, /*add_special=*/false);
  return {.name = question.name, .ids = {ids.begin(), ids.end()}};
}

std::vector<std::optional<JudgeWords>> JudgeEngine::ask(const std::vector<Question>& local, int64_t step) {
  std::vector<JudgeRequest> prompts;
  for (const Question& question : local) prompts.push_back(judge_prompt(question));
  const int64_t max_prompt_length = spec_.max_positions - sampling_.max_new_tokens;
  const auto share_out = [&](const std::vector<int64_t>& lengths) {
    Partition shares(static_cast<size_t>(mesh_.dp_size()));
    size_t next_share = 0;
    for (int64_t question = 0; question < std::ssize(lengths); ++question)
      if (lengths[question] <= max_prompt_length) shares[next_share++ % shares.size()].push_back(question);
    return shares;
  };
  const auto answer = [&](const std::vector<JudgeRequest>& prompts) {
    std::vector<JudgeResponse> replies;
    for (const Generation& generation : generate(prompts, step))
      replies.push_back({.text = generation.text, .is_cut = generation.finish_reason == FinishReason::kLength});
    return replies;
  };
  std::vector<std::optional<JudgeWords>> answers;
  for (auto& reply :
       request_answers<JudgeRequest, JudgeResponse>(prompts, mesh_, {share_out, answer}, "questions to a judge"))
    answers.push_back(reply ? std::optional(JudgeWords{.text = std::move(reply->text), .is_cut = reply->is_cut})
                            : std::nullopt);
  return answers;
}

std::vector<Generation> JudgeEngine::generate(const std::vector<JudgeRequest>& prompts, int64_t step) {
  if (prompts.empty()) return {};
  std::vector<GenerationRequest> requests;
  for (const JudgeRequest& prompt : prompts)
    requests.push_back({.prompt_ids = {prompt.ids.begin(), prompt.ids.end()}, .sequence_id = prompt.name});
  SamplingParams params{.generating = sampling_,
                        .eos_ids = tokenizer_.eos_ids(),
                        .seed = seed_,
                        .purpose = Purpose::kJudge,
                        .step = static_cast<uint32_t>(step)};
  EngineLimits limits = limits_for(requests, params);
  limit_cache(limits, cache_, *model_, mesh_.mesh().tp());
  return Engine(*model_, tokenizer_, limits).generate(requests, params);
}

}  // namespace roll
