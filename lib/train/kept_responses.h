// Judged responses of an evaluation that was cut short: kept piece by piece, as parts of the rollout files of its sets,
// with what they were made with. On the first rank; a piece is whole or absent.
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

/// What says whether a set's responses would come out as they did: sampling, rows, pieces.
Json description_of(const SetPlan& set, const RowStore& rows, int64_t prompts_of_piece);

class KeptResponses {
 public:
  /// `made_with`: {"config": resolved YAML, "made_of": {...}}. Written to
  /// evaluation.json of the run folder, where there is none. UserError: the one that is there differs; with what.
  KeptResponses(std::filesystem::path run_folder, const Json& made_with);
  /// nullopt: it is not there yet. UserError: a line that is no rollout.
  std::optional<std::vector<RolloutRecord>> piece(const std::string& set, Share share) const;
  void keep(const std::string& set, Share share, const std::vector<RolloutRecord>& records) const;

 private:
  std::filesystem::path rollouts_;
};

/// Of the files of a set's responses: "val_SET_", and "val_" of the validation's own.
std::string validation_prefix(const std::string& set);

/// The sums of a model folder's weights, by file.
Json weight_sums(const std::filesystem::path& model_folder);

}  // namespace roll
