#include "report/shown_responses.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/ranges.h"
#include "base/utf8.h"
#include "records/informative_groups.h"
#include "records/rollout_files.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// Calls `take` for each line of a JSON-lines file. Lines that are invalid JSON, or for which `take` throws, are
/// counted in `run.notes`.
void read_lines(RunRecord& run, const fs::path& file, const std::function<void(Json)>& take) {
  std::ifstream in = open_to_read(file);
  int64_t num_unreadable = 0;
  for (std::string text; std::getline(in, text);) {
    if (text.empty()) continue;
    try {
      take(parse_json(text, file.filename().string()));
    } catch (const UserError&) {
      ++num_unreadable;
    } catch (const nlohmann::json::exception&) {
      ++num_unreadable;
    }
  }
  if (num_unreadable > 0)
    run.notes.push_back(fmt::format("{} {} of {} could not be read.", num_unreadable,
                                    num_unreadable == 1 ? "line" : "lines", file.filename().string()));
}

/// Returns the records of a step ("step_") or validation ("val_"), sorted, without baselines.
std::vector<RolloutRecord> read_records(RunRecord& run, const fs::path& folder, const std::string& prefix,
                                        int64_t number) {
  std::vector<RolloutRecord> records;
  for (const fs::path& file : rollout_files(folder, prefix, number))
    read_lines(run, file, [&](const Json& line) {
      RolloutRecord record = record_from_json(line, file.filename().string());
      if (!record.is_baseline) records.push_back(std::move(record));
    });
  sort_records(records);
  return records;
}

constexpr size_t kShownBytes = 4000;  // per text

/// Returns the text; a long one as [begin, number of bytes left out, end].
Json shown_text(const std::string& text) {
  if (text.size() <= kShownBytes) return text;
  const std::string begin(whole_characters(text, kShownBytes / 2));
  const size_t tail = next_character(text, text.size() - kShownBytes / 2);
  return Json::array({begin, tail - begin.size(), text.substr(tail)});
}

/// Per-token values of each response (group, sample) in the run's samples/ folder; see step/token_samples.h.
using ResponseTokens = std::map<std::pair<int64_t, int64_t>, Json>;

ResponseTokens read_response_tokens(RunRecord& run, int64_t step) {
  ResponseTokens tokens;
  const fs::path file = numbered(run.folder / "samples", "step_", step, ".jsonl");
  if (!is_there(file)) return tokens;
  read_lines(run, file, [&](Json line) {
    const std::pair key{line.at("group_index").get<int64_t>(), line.at("sample_index").get<int64_t>()};
    const size_t count = line.at("tokens").size();
    Json columns;
    for (auto& [name, column] : line.items()) {
      if (!column.is_array() || column.size() != count) continue;
      if (count > kShownTokens) column.get_ref<Json::array_t&>().resize(kShownTokens);
      for (Json& x : column)
        if (x.is_number_float()) x = std::stod(fmt::format("{:.4g}", x.get<double>()));
      columns[name] = std::move(column);
    }
    tokens[key] = {{"columns", std::move(columns)}, {"num_tokens", count}};
  });
  return tokens;
}

Json response_json(const RolloutRecord& record, const ResponseTokens& tokens) {
  Json response{{"sample", record.sample_index},
                {"score", record.is_judged ? json_float(record.score) : Json()},
                {"reward", record.is_judged ? json_float(record.reward) : Json()},
                {"finish", record.finish_reason},
                {"length", record.num_model_tokens()},
                {"text", shown_text(record.response)}};
  for (const Turn& turn : record.turns)
    response["turns"].push_back({turn.num_tokens, turn.num_environment_tokens, turn.is_fresh});
  if (!record.reward_detail.empty()) response["detail"] = shown_text(to_line(record.reward_detail));
  if (const auto found = tokens.find({record.group_index, record.sample_index}); found != tokens.end())
    response["tokens"] = found->second;
  return response;
}

/// Responses sorted by score, best first. Large groups keep the best, the worst, and those with per-token values.
Json group_json(const GroupSummary& group, const std::vector<RolloutRecord>& records, const ResponseTokens& tokens) {
  std::vector<const RolloutRecord*> members;
  for (const RolloutRecord& record : records)
    if (record.group_index == group.group) members.push_back(&record);
  std::ranges::stable_sort(members, std::greater(), [](const RolloutRecord* record) {
    return record->is_judged ? record->score : -std::numeric_limits<double>::infinity();
  });
  const RolloutRecord& first = *members.front();
  Json json{{"group", group.group},
            {"prompt", shown_text(first.prompt)},
            {"truth", shown_text(first.ground_truth)},
            {"domain", first.domain},
            {"id", first.prompt_id},
            {"mean", json_float(group.mean)},
            {"size", members.size()},
            {"responses", Json::array()}};
  for (size_t i = 0; i < members.size(); ++i) {
    const bool is_extreme = i < kShownResponses / 2 || i + kShownResponses / 2 >= members.size();
    if (is_extreme || tokens.contains({group.group, members[i]->sample_index}))
      json["responses"].push_back(response_json(*members[i], tokens));
  }
  return json;
}

Json step_json(RunRecord& run, const fs::path& folder, int64_t step) {
  const std::vector<RolloutRecord> records = read_records(run, folder, "step_", step);
  std::vector<ScoredResponse> scored;
  for (const RolloutRecord& r : records) scored.push_back({r.group_index, r.score, r.is_judged});
  const std::vector<GroupSummary> groups = summarise_groups(scored);
  Json json{{"step", step}, {"num_groups", groups.size()}, {"groups", Json::array()}};
  if (groups.empty()) return json;
  const ResponseTokens tokens = read_response_tokens(run, step);
  const InformativeGroups informative = informative_groups(groups);
  std::vector<std::pair<size_t, std::string>> shown;
  for (size_t i = 0; i < std::min(kShownMixedGroups, informative.mixed.size()); ++i)
    shown.emplace_back(informative.mixed[i], "mixed");
  shown.emplace_back(informative.best, "best");
  shown.emplace_back(informative.worst, "worst");
  std::map<size_t, size_t> index_by_group;
  for (const auto& [group, why] : shown) {
    const auto [entry, is_new] = index_by_group.try_emplace(group, index_by_group.size());
    if (is_new) json["groups"].push_back(group_json(groups[group], records, tokens));
    json["groups"][entry->second]["why"].push_back(why);
  }
  return json;
}

/// Returns the steps with the lowest and the highest mean score.
std::vector<int64_t> extreme_steps(const RunRecord& run) {
  const auto found = run.metrics.find("score/mean");
  if (found == run.metrics.end() || found->second.steps.empty()) return {};
  const auto& [steps, values] = found->second;
  size_t low = 0, high = 0;
  for (size_t i = 1; i < steps.size(); ++i) {
    if (values[i] < values[low]) low = i;
    if (values[i] > values[high]) high = i;
  }
  return {steps[low], steps[high]};
}

/// Returns the steps or validations that can be shown. A resumed run may still have files of later steps, which it will
/// write again.
std::vector<int64_t> available_numbers(const RunRecord& run, const fs::path& folder, const std::string& prefix) {
  std::vector<int64_t> numbers = rollout_numbers(folder, prefix);
  if (run.num_steps > 0) std::erase_if(numbers, [&](int64_t step) { return step > run.last_step; });
  return numbers;
}

bool is_right(const RolloutRecord& record) {
  return record.is_judged && record.score >= 1;
}

const char* prompt_fate(const RolloutRecord& first, const RolloutRecord& last) {
  if (is_right(last)) return is_right(first) ? "right" : "learnt";
  return is_right(first) ? "lost" : "wrong";
}

Json answer_json(int64_t step, const RolloutRecord& record) {
  return {{"step", step},
          {"score", record.is_judged ? json_float(record.score) : Json()},
          {"finish", record.finish_reason},
          {"text", shown_text(record.response)}};
}

/// Returns the first response to each prompt.
std::map<int64_t, RolloutRecord> first_responses(std::vector<RolloutRecord> records) {
  std::map<int64_t, RolloutRecord> firsts;
  for (RolloutRecord& record : records) firsts.try_emplace(record.group_index, std::move(record));
  return firsts;
}

}  // namespace

std::vector<int64_t> chosen_steps(const std::vector<int64_t>& available, const std::vector<int64_t>& wanted,
                                  const std::vector<int64_t>& informative_steps, size_t max_steps) {
  std::set<int64_t> chosen(wanted.begin(), wanted.end());
  for (const int64_t step : informative_steps)
    if (std::ranges::binary_search(available, step)) chosen.insert(step);
  if (!available.empty()) chosen.insert({available.front(), available.back()});
  // Keep multiples of a round number, so that a growing run keeps most of its earlier choice.
  std::vector<int64_t> even = available;
  for (int64_t power = 1; even.size() > max_steps; power *= 10)
    for (const int64_t stride : {2 * power, 5 * power, 10 * power})
      if (even.size() > max_steps) std::erase_if(even = available, [&](int64_t step) { return step % stride != 0; });
  chosen.insert(even.begin(), even.end());
  return {chosen.begin(), chosen.end()};
}

Json shown_responses(RunRecord& run, const std::vector<int64_t>& wanted) {
  const fs::path folder = rollouts_folder(run);
  const std::vector<int64_t> available = available_numbers(run, folder, "step_");
  for (const int64_t step : wanted)
    if (!std::ranges::binary_search(available, step))
      throw user_error("--steps = {}: {} holds no such step; it holds {}", step, folder.string(),
                       available.empty() ? "none" : ranges_text({available.begin(), available.end()}));
  if (available.empty() && !run.is_sft)
    run.notes.push_back(fmt::format("There are no rollouts in {}.", folder.string()));
  Json steps = Json::array();
  for (const int64_t step : chosen_steps(available, wanted, extreme_steps(run), kShownSteps))
    steps.push_back(step_json(run, folder, step));
  return {{"available", available.size()}, {"steps", std::move(steps)}};
}

Json shown_validation(RunRecord& run) {
  const fs::path folder = run.folder / "rollouts";
  const std::vector<int64_t> available = available_numbers(run, folder, "val_");
  std::vector<std::pair<int64_t, std::map<int64_t, RolloutRecord>>> validations;
  for (const int64_t step : chosen_steps(available, {}, {}, kShownValidations))
    validations.emplace_back(step, first_responses(read_records(run, folder, "val_", step)));
  Json json{{"validations", Json::array()}, {"counts", Json::object()}, {"prompts", Json::array()}};
  for (const auto& [step, records] : validations) json["validations"].push_back(step);
  if (validations.empty()) return json;
  std::set<std::string> domains;
  for (const auto& [prompt, last] : validations.back().second) domains.insert(last.domain);
  const size_t max_per_domain = std::max<size_t>(1, kShownPrompts / std::max<size_t>(1, domains.size()));
  std::map<std::string, size_t> counts;
  std::map<std::pair<std::string, std::string>, size_t> num_shown;  // by fate and domain
  for (const auto& [prompt, last] : validations.back().second) {
    const auto first = validations.front().second.find(prompt);
    if (first == validations.front().second.end()) continue;
    const char* const fate = prompt_fate(first->second, last);
    ++counts[fate];
    if (++num_shown[{fate, last.domain}] > max_per_domain) continue;
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
