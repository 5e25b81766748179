// Sources of sequence lengths for `roll pack-stats`: recorded rollouts, a list, or the configured data.
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

/// Sequence lengths (prompt + response, tokens) of a step in data order, with prompt lengths if known.
struct StepLengths {
  int64_t step = 1;
  std::vector<int64_t> lengths;
  std::vector<int64_t> groups{}, prompts{};
  std::vector<std::vector<int64_t>> contexts{};  // recorded rollouts only: lengths of each sequence's contexts

  SequenceSizes sizes() const {
    SequenceSizes sizes{lengths, groups, prompts};
    sizes.contexts = contexts;
    return sizes;
  }
};

/// Sequence lengths of some steps, and a description of their source.
struct LengthSource {
  std::string text;                // description of the source
  std::vector<std::string> notes;  // assumptions and omissions
  std::vector<StepLengths> steps;
};

/// Recorded steps found by recorded_steps() in a run folder, a folder of step_NNNNNN.jsonl, or as one such file.
/// UserError: no such files.
struct RecordedSteps {
  std::filesystem::path folder;
  std::vector<int64_t> steps;
};
RecordedSteps recorded_steps(const std::filesystem::path& path);

/// Returns the folder of recorded_steps(). UserError: it lacks this step.
std::filesystem::path folder_with_step(const std::filesystem::path& rollouts, int64_t step);

/// Returns the lengths of the first `max_steps` recorded steps (0: all), read by read_replay(). UserError: as
/// recorded_steps() and read_replay().
LengthSource recorded_lengths(const std::filesystem::path& path, int64_t group_size, int64_t max_steps);

/// Reads one sequence per line: a number of tokens, or a JSON object with "length", "ids", or "prompt_ids" and
/// "response_ids". Each `per_step` consecutive lengths form a step; a rest is left out and noted. UserError:
/// "origin:line: ..." for a malformed line; the list is shorter than one step.
LengthSource listed_lengths(std::istream& in, const std::string& origin, int64_t per_step, int64_t max_steps);

/// Lognormal response lengths, clipped to 1..response_length.
struct ResponseModel {
  double mean = 0, std = 0;  // tokens, before clipping
};

/// Draws a response length in 1..`longest` with the random numbers of `name`.
int64_t modelled_length(const ResponseModel& model, int64_t longest, const RandomName& name);

/// Combines the prompts of the first `num_steps` training steps with a group of modelled responses each. UserError:
/// rows or tokenizer that training would refuse.
LengthSource modelled_lengths(const Config& config, const std::filesystem::path& model_folder, ResponseModel responses,
                              int64_t num_steps, Log& log);

}  // namespace roll
