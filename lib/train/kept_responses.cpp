#include "train/kept_responses.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_sum.h"
#include "run/run_folder.h"
#include "settings/config_change.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

void refuse_changes(const fs::path& file, const Json& before, const Json& now) {
  std::string changes;
  const auto add_change = [&](const std::string& key, const std::string& then, const std::string& today) {
    changes +=
        fmt::format("\n  {}: {} -> {}", key, then.empty() ? "(absent)" : then, today.empty() ? "(absent)" : today);
  };
  for (const auto& [key, then, today] :
       config_changes(before.at("config").get<std::string>(), file.string(), now.at("config").get<std::string>()))
    add_change(key, then, today);
  const Json then = before.at("made_of").flatten(), today = now.at("made_of").flatten();
  for (const auto& [key, value] : then.items())
    if (!today.contains(key) || today.at(key) != value)
      add_change(key, to_line(value), today.contains(key) ? to_line(today.at(key)) : "");
  for (const auto& [key, value] : today.items())
    if (!then.contains(key)) add_change(key, "", to_line(value));
  if (!changes.empty())
    throw user_error(
        "{}: the saved responses were made with other settings:{}\nrestore these settings, or start a new evaluation "
        "with --out or --new-run",
        file.string(), changes);
}

}  // namespace

std::string validation_prefix(const std::string& set) {
  return set.empty() ? "val_" : fmt::format("val_{}_", set);
}

Json describe_inputs(const SetPlan& set, const RowStore& rows, int64_t prompts_per_piece) {
  uint64_t sum = fnv1a("");
  for (int64_t i = 0; i < rows.size(); ++i) {
    const Row row = rows.at(i);
    sum = fnv1a(to_line({row.prompt_ids, row.raw, row.domain}), sum);
  }
  const SamplingSettings& s = set.sampling;
  return {{"num_return_sequences", set.num_samples},
          {"max_new_tokens", s.max_new_tokens},
          {"temperature", s.temperature},
          {"top_p", s.top_p},
          {"top_k", s.top_k},
          {"min_p", s.min_p},
          {"repetition_penalty", s.repetition_penalty},
          {"presence_penalty", s.presence_penalty},
          {"frequency_penalty", s.frequency_penalty},
          {"stop_strings", s.stop_strings},
          {"include_stop_str_in_output", s.include_stop_str_in_output},
          {"skip_special_tokens", s.skip_special_tokens},
          {"prompts", rows.size()},
          {"rows", fmt::format("{:016x}", sum)},
          {"prompts of a piece (--keep-every)", prompts_per_piece}};
}

Json weight_sums(const fs::path& model_folder) {
  Json sums = Json::object();
  for (const auto& entry : fs::directory_iterator(model_folder))
    if (entry.path().extension() == ".safetensors")
      sums[entry.path().filename().string()] = sum_of_file(entry.path()).xxh3;
  return sums;
}

KeptResponses::KeptResponses(fs::path run_folder, const Json& made_with) : rollouts_(run_folder / "rollouts") {
  const fs::path file = run_folder / kEvaluationFile;
  if (!is_there(file)) {
    write_file_atomic(file, to_line(made_with) + "\n");
    return;
  }
  const Json before = read_json(file);
  try {
    refuse_changes(file, before, made_with);
  } catch (const nlohmann::json::exception& error) {
    throw user_error("{}: does not describe the settings of an evaluation: {}", file.string(), error.what());
  }
}

std::optional<std::vector<RolloutRecord>> KeptResponses::piece(const std::string& set, Share share) const {
  const fs::path file = numbered(rollouts_, validation_prefix(set), 0, part_suffix(share));
  if (!is_there(file)) return std::nullopt;
  return records_from_lines(read_file(file), file.string());
}

void KeptResponses::keep(const std::string& set, Share share, const std::vector<RolloutRecord>& records) const {
  write_rollouts(rollouts_, validation_prefix(set), 0, records, share);
}

}  // namespace roll
