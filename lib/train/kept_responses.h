// Saves the judged responses of an evaluation (evaluation.h), so that it can be resumed. A piece is the responses to
// some consecutive prompts of a validation set. Each piece has a file, which is whole or absent. Used by
// validation_sets.h, on the first rank only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/row_store.h"
#include "records/rollout_files.h"
#include "settings/sampling_plan.h"

namespace roll {

/// Returns a JSON object of everything but the model that a set's responses depend on: sampling settings, a hash of the
/// rows, and the prompts per piece.
Json describe_inputs(const SetPlan& set, const RowStore& rows, int64_t prompts_per_piece);

/// The saved responses in one run folder.
class KeptResponses {
 public:
  /// Writes made_with to evaluation.json in the run folder if that file is missing. If it exists with other content,
  /// the saved responses were made with other settings: throws UserError with a list of the differences. made_with:
  /// {"config": resolved YAML, "made_of": {"weights": weight_sums(), set: describe_inputs(), ...}}.
  KeptResponses(std::filesystem::path run_folder, const Json& made_with);
  /// Returns a saved piece of a set ("": the unnamed validation); nullopt if it is not saved. share: index (from 0) of
  /// the piece and number of pieces of the set. Throws UserError if a line of the file is not a rollout record.
  std::optional<std::vector<RolloutRecord>> piece(const std::string& set, Share share) const;
  /// Saves the responses of a piece; arguments as for piece(). Throws SystemError if the file cannot be written.
  void keep(const std::string& set, Share share, const std::vector<RolloutRecord>& records) const;

 private:
  std::filesystem::path rollouts_;
};

/// Returns the prefix of a set's response files: "val_SET_", or "val_" for the unnamed validation.
std::string validation_prefix(const std::string& set);

/// Returns the checksums of the safetensors files in a model folder, {file name: checksum}.
Json weight_sums(const std::filesystem::path& model_folder);

}  // namespace roll
