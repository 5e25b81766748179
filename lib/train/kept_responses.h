// Saves judged responses of an evaluation piece by piece, so that it can be resumed. Pieces are parts of the rollout
// files, stored with the settings that made them. Used on the first rank; a piece is whole or absent.
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

/// Returns everything that a set's responses depend on: sampling, rows, pieces.
Json describe_inputs(const SetPlan& set, const RowStore& rows, int64_t prompts_per_piece);

class KeptResponses {
 public:
  /// Writes `made_with`, {"config": resolved YAML, "made_of": {...}}, to evaluation.json of the run folder if the file
  /// is missing. UserError: an existing file differs (the message lists how).
  KeptResponses(std::filesystem::path run_folder, const Json& made_with);
  /// Returns a saved piece; nullopt if it is missing. UserError: a line is no rollout.
  std::optional<std::vector<RolloutRecord>> piece(const std::string& set, Share share) const;
  /// Writes the responses of a piece.
  void keep(const std::string& set, Share share, const std::vector<RolloutRecord>& records) const;

 private:
  std::filesystem::path rollouts_;
};

/// Returns the prefix of a set's response files: "val_SET_", or "val_" for the unnamed validation.
std::string validation_prefix(const std::string& set);

/// Returns the checksums of a model folder's weights, by file.
Json weight_sums(const std::filesystem::path& model_folder);

}  // namespace roll
