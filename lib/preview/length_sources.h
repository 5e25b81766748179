// Where `roll pack-stats` takes sequence lengths from: recorded rollouts, a list, or the configured data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "packing/shared_prompts.h"
#include "settings/config.h"

namespace roll {

/// Lengths (prompt + response, tokens) of one step's sequences, in data order; where they are known, their prompts.
struct StepLengths {
  int64_t step = 1;
  std::vector<int64_t> lengths;
  std::vector<int64_t> groups{}, prompts{};
  std::vector<std::vector<int64_t>> contexts{};  // of recorded ones

  SequenceSizes sizes() const {
    SequenceSizes sizes{lengths, groups, prompts};
    sizes.contexts = contexts;
    return sizes;
  }
};

struct LengthSource {
  std::string text;                // in words
  std::vector<std::string> notes;  // what was assumed or left out
  std::vector<StepLengths> steps;
};

/// The folder that holds recorded steps, and which: of a run folder, a folder of step_NNNNNN.jsonl, or one such file.
/// UserError: no such files.
struct RecordedSteps {
  std::filesystem::path folder;
  std::vector<int64_t> steps;
};
RecordedSteps recorded_steps(const std::filesystem::path& path);

/// The folder of recorded_steps(). UserError: it has no such step.
std::filesystem::path folder_with_step(const std::filesystem::path& rollouts, int64_t step);

/// The lengths of the first `max_steps` recorded steps (0: all). Read as rollout_replay reads them. UserError:
/// recorded_steps()'s and read_replay's.
LengthSource recorded_lengths(const std::filesystem::path& path, int64_t group_size, int64_t max_steps);

/// A line is a number of tokens, or a JSON object with "length", with "ids", or with "prompt_ids" and "response_ids".
/// Consecutive `per_step` lengths are a step; the rest is left out and noted. UserError "origin:line: ..."; fewer than
/// one step.
LengthSource listed_lengths(std::istream& in, const std::string& origin, int64_t per_step, int64_t max_steps);

/// Responses of a lognormal distribution, cut to 1..response_length.
struct ResponseModel {
  double mean = 0, std = 0;  // tokens, before the cut
};

/// A response by this model, to be drawn under this name, of 1..`longest` tokens.
int64_t modelled_length(const ResponseModel& model, int64_t longest, const RandomName& name);

/// The prompts that training would draw in its first `num_steps` steps, each with as many responses as a group has.
/// UserError: rows or tokenizer as in a training.
LengthSource modelled_lengths(const Config& config, const std::filesystem::path& model_folder, ResponseModel responses,
                              int64_t num_steps, Log& log);

}  // namespace roll
