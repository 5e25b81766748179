#include "report/shown_validation.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "records/rollout_files.h"
#include "report/rollout_lines.h"
#include "report/shown_responses.h"

namespace roll {

namespace {

bool is_right(const RolloutRecord& record) {
  return record.is_judged && record.score >= 1;
}

const char* fate_of(const RolloutRecord& first, const RolloutRecord& last) {
  if (is_right(last)) return is_right(first) ? "right" : "learnt";
  return is_right(first) ? "lost" : "wrong";
}

Json answer_json(int64_t step, const RolloutRecord& record) {
  return {{"step", step},
          {"score", record.is_judged ? json_float(record.score) : Json()},
          {"finish", record.finish_reason},
          {"text", shown_text(record.response)}};
}

/// The first response to each prompt.
std::map<int64_t, RolloutRecord> firsts_of(std::vector<RolloutRecord> records) {
  std::map<int64_t, RolloutRecord> firsts;
  for (RolloutRecord& record : records) firsts.try_emplace(record.group_index, std::move(record));
  return firsts;
}

}  // namespace

Json shown_validation(RunRecord& run) {
  const std::filesystem::path folder = run.folder / "rollouts";
  std::vector<int64_t> available = rollout_numbers(folder, "val_");
  // A run that was taken up earlier leaves later files, which it writes again.
  if (run.num_steps > 0) std::erase_if(available, [&](int64_t step) { return step > run.last_step; });
  std::vector<std::pair<int64_t, std::map<int64_t, RolloutRecord>>> validations;
  for (const int64_t step : chosen_steps(available, {}, {}, kShownValidations))
    validations.emplace_back(step, firsts_of(records_of(run, folder, "val_", step)));
  Json json{{"validations", Json::array()}, {"counts", Json::object()}, {"prompts", Json::array()}};
  for (const auto& [step, records] : validations) json["validations"].push_back(step);
  if (validations.empty()) return json;
  std::set<std::string> domains;
  for (const auto& [prompt, last] : validations.back().second) domains.insert(last.domain);
  const size_t most_of_domain = std::max<size_t>(1, kShownPrompts / std::max<size_t>(1, domains.size()));
  std::map<std::string, size_t> counts;
  std::map<std::pair<std::string, std::string>, size_t> num_shown;  // of fate and domain
  for (const auto& [prompt, last] : validations.back().second) {
    const auto first = validations.front().second.find(prompt);
    if (first == validations.front().second.end()) continue;
    const char* const fate = fate_of(first->second, last);
    ++counts[fate];
    if (++num_shown[{fate, last.domain}] > most_of_domain) continue;
    Json answers = Json::array();
    for (const auto& [step, records] : validations)
      if (const auto found = records.find(prompt); found != records.end())
        answers.push_back(answer_json(step, found->second));
    json["prompts"].push_back({{"fate", fate},
                               {"prompt", shown_text(last.prompt)},
                               {"truth", shown_text(last.ground_truth)},
                               {"domain", last.domain},
                               {"answers", std::move(answers)}});
  }
  json["counts"] = counts;
  return json;
}

}  // namespace roll
