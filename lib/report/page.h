// Makes the page of `roll report`: one self-contained HTML file with style, script and data, which loads nothing from
// the network.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// Arguments of `roll report`.
struct ReportOptions {
  std::vector<std::filesystem::path> runs;  // run folders, at least one
  std::vector<int64_t> steps{};             // steps to show in addition to the page's own choice
  bool is_live = false;                     // the page polls its server for new data
};

/// Returns the data that the script (page.js) draws. Throws UserError if a folder is missing or holds no run, or a run
/// lacks the rollouts of a step in `options.steps`.
Json report_data(const ReportOptions& options);

/// Returns the HTML page, which contains report_data(). Throws UserError under the same conditions.
std::string report_page(const ReportOptions& options);

}  // namespace roll
