// Help as a terminal shows it best.
#pragma once

#include <string>

namespace roll {

/// CLI11's text with its longer lines wrapped between words, what describes a flag in its column. On no terminal as it
/// is.
std::string fitted_help(const std::string& text);

}  // namespace roll
