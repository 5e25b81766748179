#include "preview/length_sources.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/ranges.h"
#include "records/rollout_files.h"
#include "step/step_index.h"
#include "text/tokenizer.h"
#include "train/prompts.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kLengthsEnd = int64_t{1} << 31;
constexpr const char* kLengthRule = "must be a whole number of tokens, at least 1 and below 2^31";

/// Returns 12 for "step_000012.jsonl" and for the first of its parts; 0 for any other name.
int64_t parse_step(const fs::path& file) {
  const std::string name = file.filename().string();
  const std::string_view prefix = "step_";
  if (!name.starts_with(prefix)) return 0;
  int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, step);
  if (error != std::errc() || !name.starts_with(numbered("", "step_", step, "").string())) return 0;
  const std::string_view rest(stop, end);
  return rest == ".jsonl" || (rest.starts_with("-00001-of-") && rest.ends_with(".jsonl")) ? step : 0;
}

std::vector<int64_t> list_steps(const fs::path& folder) {
  std::vector<int64_t> steps;
  if (!is_folder(folder)) return steps;
  for (const auto& entry : fs::directory_iterator(folder))
    if (const int64_t step = parse_step(entry.path()); step > 0) steps.push_back(step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

int64_t listed_object(const Json& json, const std::string& location) {
  const auto list_size = [&](const char* key) -> int64_t {
    if (!json.contains(key)) return -1;
    if (!json[key].is_array())
      throw user_error("{}: {} = {}: must be a list of token ids", location, key, to_line(json[key]).substr(0, 40));
    return static_cast<int64_t>(json[key].size());
  };
  if (json.contains("length")) {
    if (!json["length"].is_number_integer())
      throw user_error("{}: length = {}: {}", location, to_line(json["length"]), kLengthRule);
    return json["length"].get<int64_t>();
  }
  if (const int64_t ids = list_size("ids"); ids >= 0) return ids;
  const int64_t prompt = list_size("prompt_ids"), response = list_size("response_ids");
  if (prompt < 0 || response < 0)
    throw user_error("{}: needs \"length\", or \"ids\", or \"prompt_ids\" and \"response_ids\"", location);
  return prompt + response;
}

/// Returns the length in this line; 0 if it is blank.
int64_t listed_length(std::string_view line, const std::string& origin, int64_t number) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!line.empty() && blank(line.back())) line.remove_suffix(1);
  while (!line.empty() && blank(line.front())) line.remove_prefix(1);
  if (line.empty()) return 0;
  int64_t length = 0;
  const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), length);
  if (error != std::errc() || stop != line.data() + line.size()) {
    const std::string location = fmt::format("{}:{}", origin, number);
    if (line.front() != '{')
      throw user_error("{}: {}: {}, or a JSON object", location, line.substr(0, 40), kLengthRule);
    length = listed_object(parse_json(line, location), location);
  }
  if (length < 1 || length >= kLengthsEnd) throw user_error("{}:{}: {}: {}", origin, number, length, kLengthRule);
  return length;
}

}  // namespace

RecordedSteps recorded_steps(const fs::path& path) {
  if (!is_there(path))
    throw user_error("--rollouts = {}: there is no such folder; give a run's output_dir, or its folder rollouts",
                     path.string());
  if (!is_folder(path)) {
    const int64_t step = parse_step(path);
    if (step == 0)
      throw user_error(
          "--rollouts = {}: a single file must be named step_NNNNNN.jsonl; give the folder of the file instead",
          path.string());
    return {path.parent_path(), {step}};
  }
  for (const fs::path& folder : {path, path / "rollouts"})
    if (auto steps = list_steps(folder); !steps.empty()) return {folder, std::move(steps)};
  throw user_error("--rollouts = {}: neither this folder nor its folder rollouts contains step_NNNNNN.jsonl files",
                   path.string());
}

fs::path folder_with_step(const fs::path& rollouts, int64_t step) {
  const RecordedSteps recorded = recorded_steps(rollouts);
  if (std::ranges::find(recorded.steps, step) == recorded.steps.end())
    throw user_error("--rollouts = {}: step {} is not recorded there; the recorded steps are {}", rollouts.string(),
                     step, ranges_text({recorded.steps.begin(), recorded.steps.end()}));
  return recorded.folder;
}

int64_t modelled_length(const ResponseModel& model, int64_t longest, const RandomName& name) {
  // Mean and std are those of the lengths, not of their logarithms.
  const double ratio = model.std / model.mean;
  const double sigma = std::sqrt(std::log1p(ratio * ratio));
  const double mu = std::log(model.mean) - sigma * sigma / 2;
  const double length = std::exp(mu + sigma * random_normal(name));
  return static_cast<int64_t>(std::clamp(std::round(length), 1.0, static_cast<double>(longest)));
}

LengthSource recorded_lengths(const fs::path& path, int64_t group_size, int64_t max_steps) {
  auto [folder, steps] = recorded_steps(path);
  if (max_steps > 0 && std::ssize(steps) > max_steps) steps.resize(static_cast<size_t>(max_steps));
  LengthSource source{.text = fmt::format("recorded rollouts {}", path.string()), .notes = {}, .steps = {}};
  for (const int64_t step : steps) {
    StepLengths& lengths = source.steps.emplace_back();
    lengths.step = step;
    for (const auto& record : read_replay(folder, step, group_size)) {
      lengths.lengths.push_back(std::ssize(record.prompt_ids) + std::ssize(record.response_ids));
      lengths.groups.push_back(record.group_index);
      lengths.prompts.push_back(std::ssize(record.prompt_ids));
      lengths.contexts.push_back(
          context_lengths(std::ssize(record.prompt_ids), std::ssize(record.response_ids), record_turns(record)));
    }
  }
  return source;
}

LengthSource listed_lengths(std::istream& in, const std::string& origin, int64_t per_step, int64_t max_steps) {
  LengthSource source{.text = origin, .notes = {}, .steps = {}};
  std::vector<int64_t> lengths;
  std::string line;
  for (int64_t number = 1; next_line(in, line, origin, number); ++number)
    if (const int64_t length = listed_length(line, origin, number); length > 0) lengths.push_back(length);
  int64_t num_steps = std::ssize(lengths) / per_step;
  if (num_steps == 0)
    throw user_error(
        "{}: {} lengths are fewer than one step of {} (rollout_batch_size x num_return_sequences_in_group); list more, "
        "or lower rollout_batch_size",
        origin, lengths.size(), per_step);
  if (max_steps > 0) num_steps = std::min(num_steps, max_steps);
  for (int64_t step = 0; step < num_steps; ++step)
    source.steps.push_back({step + 1, {lengths.begin() + step * per_step, lengths.begin() + (step + 1) * per_step}});
  if (const int64_t rest = std::ssize(lengths) - num_steps * per_step; rest > 0)
    source.notes.push_back(fmt::format("the last {} lengths are ignored, because a step has {}", rest, per_step));
  return source;
}

LengthSource modelled_lengths(const Config& config, const fs::path& model_folder, ResponseModel responses,
                              int64_t num_steps, Log& log) {
  const auto tokenizer = Tokenizer::load(model_folder);
  const auto seed = static_cast<uint64_t>(config.seed);
  PromptStream stream = open_training_prompts(config, model_folder, tokenizer, log);
  const int64_t longest = config.response_length.value();
  LengthSource source{.text = "the prompts of the configured data", .notes = {}, .steps = {}};
  source.notes.push_back(fmt::format(
      "response lengths are assumed: lognormal, mean {} and standard deviation {} tokens, cut to {} (--mean, --std)",
      responses.mean, responses.std, longest));
  for (int64_t step = 1; step <= num_steps; ++step) {
    StepLengths& lengths = source.steps.emplace_back();
    lengths.step = step;
    for (int64_t group = 0; const auto& row : stream.next(stream.quota(config.prompts_per_step(), step))) {
      for (int64_t k = 0; k < config.num_return_sequences_in_group; ++k) {
        const RandomName name{.seed = seed,
                              .purpose = Purpose::kSample,
                              .step = static_cast<uint32_t>(step),
                              .sequence = lengths.lengths.size()};
        lengths.lengths.push_back(std::ssize(row->prompt_ids) + modelled_length(responses, longest, name));
        lengths.groups.push_back(group);
        lengths.prompts.push_back(std::ssize(row->prompt_ids));
      }
      ++group;
    }
  }
  return source;
}

}  // namespace roll
