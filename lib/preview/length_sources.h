// Makes sequence lengths for `roll pack-stats` and `roll train --simulate`. They come from recorded rollouts, from a
// list of numbers, or from the prompts of the configured data with assumed response lengths.
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

/// Lengths in tokens of the B sequences of a step, in data order.
struct StepLengths {
  int64_t step = 1;                // number of the step
  std::vector<int64_t> lengths;    // [B] prompt + response
  std::vector<int64_t> groups{};   // [B] index of the prompt in the step; empty if unknown (listed_lengths())
  std::vector<int64_t> prompts{};  // [B] prompt; empty if unknown (listed_lengths())
  // [B]: each context of the sequence (packing/shared_prompts.h); empty except for recorded rollouts.
  std::vector<std::vector<int64_t>> contexts{};

  /// Returns the same lengths for planning micro-batches.
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

/// Steps with rollout files (step_NNNNNN.jsonl).
struct RecordedSteps {
  std::filesystem::path folder;  // contains the files
  std::vector<int64_t> steps;    // ascending
};
/// Finds the rollout files in `path`: a run folder (output_dir), a folder with rollout files, or one such file. Throws
/// UserError if it finds no file.
RecordedSteps recorded_steps(const std::filesystem::path& path);

/// Returns the folder of recorded_steps(rollouts). Throws UserError if there are no rollout files, or none of step
/// `step`.
std::filesystem::path folder_with_step(const std::filesystem::path& rollouts, int64_t step);

/// Returns the lengths of the first `max_steps` steps (0: all) that recorded_steps(path) finds. `group_size`: responses
/// per prompt. Throws UserError if there are no files, or if read_replay() (records/rollout_files.h) refuses them.
LengthSource recorded_lengths(const std::filesystem::path& path, int64_t group_size, int64_t max_steps);

/// Reads one sequence per line: a number of tokens, or a JSON object with "length", "ids", or "prompt_ids" and
/// "response_ids". Blank lines are skipped. Each `per_step` consecutive lengths form a step, up to `max_steps` steps
/// (0: all). Lengths that fill no step are left out, and a note says so. `origin`: name of the input. Throws UserError
/// "origin:line: ..." if a line is malformed, and UserError if there are fewer than `per_step` lengths.
LengthSource listed_lengths(std::istream& in, const std::string& origin, int64_t per_step, int64_t max_steps);

/// A lognormal distribution of response lengths.
struct ResponseModel {
  double mean = 0, std = 0;  // mean and standard deviation of the lengths, in tokens, before they are clipped
};

/// Returns a random response length, clipped to 1..`longest`. `name`: key of the random numbers; the same name gives
/// the same length.
int64_t modelled_length(const ResponseModel& model, int64_t longest, const RandomName& name);

/// Combines each prompt of the first `num_steps` training steps with num_return_sequences_in_group response lengths
/// drawn from `responses`. `model_folder`: has the tokenizer. Throws UserError if training would refuse the rows or
/// tokenizer.
LengthSource modelled_lengths(const Config& config, const std::filesystem::path& model_folder, ResponseModel responses,
                              int64_t num_steps, Log& log);

}  // namespace roll
