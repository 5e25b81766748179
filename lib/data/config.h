// Configuration keys of a data set (data_args): files, columns, and domain shares. A domain is a kind of rows with its
// own reward. fields() in config.cpp declares each key with a help text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"

namespace roll {

class Keys;

/// The part of the ground-truth column that is the answer: the whole text, the text after the last ####, or the content
/// of the last \boxed{}.
enum class GroundTruthPart { kWhole, kAfterHashes, kLastBoxed };
constexpr auto enum_names(GroundTruthPart) {
  return std::to_array<Named<GroundTruthPart>>({{GroundTruthPart::kWhole, "whole"},
                                                {GroundTruthPart::kAfterHashes, "after_hashes"},
                                                {GroundTruthPart::kLastBoxed, "last_boxed"}});
}

/// The order of a domain's rows (prompt_stream.h): shuffled in each epoch; easy rows first; or shuffled, where rows
/// that the policy nearly always or never solves are skipped often.
enum class DataSampler { kShuffled, kDifficulty, kPassRate };
constexpr auto enum_names(DataSampler) {
  return std::to_array<Named<DataSampler>>({{DataSampler::kShuffled, "shuffled"},
                                            {DataSampler::kDifficulty, "difficulty"},
                                            {DataSampler::kPassRate, "pass_rate"}});
}

/// An entry of domain_interleave_schedule: the domain shares at a step, between which shares are interpolated.
struct ScheduledShares {
  int64_t step = 1;
  std::map<std::string, double> probs;  // share of a step's prompts, by domain

  void fields(Keys& v);
};

struct DataArgs {
  std::vector<std::string> file_name;                     // paths, globs, folders or data sets of the local Hub cache
  std::optional<std::string> split;                       // in folders and data sets: read only files of this split
  std::optional<std::string> template_name;               // chat template; unset: the model's
  std::optional<bool> enable_thinking;                    // variable of the chat template; unset: the template decides
  std::map<std::string, double> domain_interleave_probs;  // share of a step's prompts, by domain
  std::vector<ScheduledShares> domain_interleave_schedule;  // shares that change over steps
  DataSampler sampler = DataSampler::kShuffled;
  double sampler_floor = 0.1;  // kPassRate: least probability with which a row is not skipped

  // Columns with the prompt; unset ones are recognised (row_columns.h).
  std::optional<std::string> messages;                 // chat messages
  std::optional<std::string> question, query;          // text of the user; text added after the question
  std::optional<std::string> prompt;                   // raw text, used without a chat template
  std::optional<std::string> system, prompt_template;  // not columns: texts that are added to every prompt

  // Other columns.
  std::optional<std::string> response;      // fine-tuning: the answer to learn
  std::optional<std::string> ground_truth;  // right answer, for rewards; unset: column ground_truth
  GroundTruthPart ground_truth_part = GroundTruthPart::kWhole;
  std::optional<std::string> tag;     // kind of row, from which the domain follows (domains.h); unset: column tag
  std::optional<std::string> domain;  // reward domain; unset: column domain

  int64_t preprocessing_num_workers = 1;  // threads that tokenise rows

  /// True if a key names a column with the prompt.
  bool names_prompt() const { return messages || question || prompt; }

  void fields(Keys& v);
};

}  // namespace roll
