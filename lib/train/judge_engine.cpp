#include "train/judge_engine.h"

#include "checkpoint/hf_folder.h"
#include "checkpoint/hub_cache.h"
#include "rollout/engine.h"
#include "train/roles.h"
#include "train/told.h"

namespace roll {

namespace {

std::filesystem::path folder_of(const JudgingModel& judge) {
  return model_folder(judge.worker->model_args.model_name_or_path.value());
}

}  // namespace

JudgeEngine::JudgeEngine(const JudgingModel& judge, uint64_t seed, Meshes& meshes, at::Device device)
    : judge_(judge),
      seed_(seed),
      mesh_(meshes.of(judge.worker->ranks, {.cp = 1, .tp = mesh_shape(*judge.worker).tp})),
      spec_(parse_spec(HfFolder::read_config(folder_of(judge)), (folder_of(judge) / "config.json").string())),
      tokenizer_(Tokenizer::load(folder_of(judge))),
      chat_template_(ChatTemplate::load(folder_of(judge), judge.worker->data_args.template_name.value_or(""))) {
  if (!mesh_.is_here()) return;
  model_ = Transformer::load(folder_of(judge), device, model_dtype(judge.worker->model_args, device),
                             model_parallel(mesh_.mesh()));
  for (auto& [name, tensor] : model_->parameters()) tensor.set_requires_grad(false);
}

/// The name first, so that all ranks can put questions in one order.
std::vector<int64_t> JudgeEngine::ids_of(const Question& question) const {
  Json messages = question.messages;
  for (Json& message : messages) message["content"] = tokenizer_.disarmed(message["content"]);
  std::vector<int64_t> ids = tokenizer_.encode(chat_template_.render(messages, /*add_generation_prompt=*/true),
                                               /*parse_special=*/true, /*add_special=*/false);
  ids.insert(ids.begin(), static_cast<int64_t>(question.name));
  return ids;
}

std::vector<std::optional<JudgeWords>> JudgeEngine::ask(const std::vector<Question>& mine, int64_t step,
                                                        Communicator& world) {
  std::vector<std::vector<int64_t>> own;
  for (const Question& question : mine) own.push_back(ids_of(question));
  const ToldIds told = tell_ids(own, world, "questions to a judge");
  const int64_t longest = spec_.max_positions - judge_.generating_args->max_new_tokens.value();
  std::vector<GenerationRequest> requests;
  std::vector<size_t> asked;  // places of the requests among all questions
  int64_t turn = 0;
  for (size_t i = 0; i < told.ids.size(); ++i) {
    const auto& ids = told.ids[i];
    if (!mesh_.is_here() || std::ssize(ids) - 1 > longest) continue;
    if (turn++ % mesh_.dp_size() != mesh_.mesh().place().dp) continue;
    requests.push_back({.prompt_ids = {ids.begin() + 1, ids.end()}, .sequence_id = static_cast<uint64_t>(ids[0])});
    asked.push_back(i);
  }
  Json answers = Json::array();
  const std::vector<Generation> generations = generate(requests, step);
  for (size_t i = 0; i < generations.size() && mesh_.mesh().is_leader(); ++i)
    answers.push_back({asked[i], generations[i].text, generations[i].finish_reason == FinishReason::kLength});
  std::vector<std::optional<JudgeWords>> words(mine.size());
  for (const std::string& line : world.all_gather_bytes(to_line(answers), "answers of a judge"))
    for (const Json& answer : parse_json(line, "answers of another rank")) {
      const size_t place = answer.at(0).get<size_t>() - told.first;  // wraps round before this rank's
      if (place < words.size()) words[place] = {.text = answer.at(1), .is_cut = answer.at(2)};
    }
  return words;
}

std::vector<Generation> JudgeEngine::generate(const std::vector<GenerationRequest>& requests, int64_t step) {
  if (requests.empty()) return {};
  SamplingParams params{.generating = *judge_.generating_args,
                        .eos_ids = tokenizer_.eos_ids(),
                        .seed = seed_,
                        .purpose = Purpose::kJudge,
                        .step = static_cast<uint32_t>(step)};
  EngineLimits limits = limits_for(requests, params);
  limit_cache(limits, judge_.worker->strategy_args.strategy_config, *model_, mesh_.mesh().tp());
  return Engine(*model_, tokenizer_, limits).generate(requests, params);
}

}  // namespace roll
