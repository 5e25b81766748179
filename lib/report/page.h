// The page of `roll report`: one HTML file with its style, its script and its data, which asks nobody for anything.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

struct ReportWish {
  std::vector<std::filesystem::path> runs;  // at least one
  std::vector<int64_t> steps{};             // whose responses are wanted beside those that the page chooses
  bool is_live = false;                     // the page asks its server for newer data
};

/// What the page shows; page.js says what it reads of it. UserError: as read_run() and shown_responses().
Json report_data(const ReportWish& wish);

/// The page. UserError: as report_data().
std::string report_page(const ReportWish& wish);

}  // namespace roll
