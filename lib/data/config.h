// Configuration keys of a data set: files, columns, and domain shares.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"

namespace roll {

class Keys;

/// The part of the ground-truth column that is the answer.
enum class GroundTruthPart { kWhole, kAfterHashes, kLastBoxed };
constexpr auto enum_names(GroundTruthPart) {
  return std::to_array<Named<GroundTruthPart>>({{GroundTruthPart::kWhole, "whole"},
                                                {GroundTruthPart::kAfterHashes, "after_hashes"},
                                                {GroundTruthPart::kLastBoxed, "last_boxed"}});
}

/// The order of a domain's rows (prompt_stream.h).
enum class DataSampler { kShuffled, kDifficulty, kPassRate };
constexpr auto enum_names(DataSampler) {
  return std::to_array<Named<DataSampler>>({{DataSampler::kShuffled, "shuffled"},
                                            {DataSampler::kDifficulty, "difficulty"},
                                            {DataSampler::kPassRate, "pass_rate"}});
}

/// Domain shares from a step on.
struct ScheduledShares {
  int64_t step = 1;
  std::map<std::string, double> probs;

  void fields(Keys& v);
};

struct DataArgs {
  std::vector<std::string> file_name;
  std::optional<std::string> split;
  std::optional<std::string> template_name;
  std::optional<bool> enable_thinking;
  std::map<std::string, double> domain_interleave_probs;
  std::vector<ScheduledShares> domain_interleave_schedule;
  DataSampler sampler = DataSampler::kShuffled;
  double sampler_floor = 0.1;
  std::optional<std::string> messages;
  std::optional<std::string> question, query;
  std::optional<std::string> prompt;
  std::optional<std::string> system, prompt_template;
  std::optional<std::string> response;
  std::optional<std::string> ground_truth;
  GroundTruthPart ground_truth_part = GroundTruthPart::kWhole;
  std::optional<std::string> tag;
  std::optional<std::string> domain;
  int64_t preprocessing_num_workers = 1;

  bool names_prompt() const { return messages || question || prompt; }

  void fields(Keys& v);
};

}  // namespace roll
