// `roll validate-config --simulate`: what a step would do at numbers of ranks that are not there.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "settings/load_config.h"

namespace roll {

class SimulateFlags {
 public:
  explicit SimulateFlags(CLI::App& sub);

  bool is_wanted() const;
  /// UserError: ScaledConfig's, Simulator's.
  void show(const std::string& file, const std::vector<std::string>& overrides, std::optional<int64_t> num_ranks) const;

 private:
  struct Values;
  std::shared_ptr<Values> values_;
};

}  // namespace roll
