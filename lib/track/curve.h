// Draws a small curve in braille characters for the terminal. Used by the summary at the end of a run and the
// full-screen view.
#pragma once

#include <string>
#include <vector>

namespace roll {

/// Returns a plot of `values` over their index: `height` lines of `width` characters, plus an axis on the left with the
/// smallest and largest value. Each line ends in '\n'. More than 2 * width values are averaged in groups. NaN leaves a
/// gap. Returns "" if no value is finite.
std::string plot_curve(const std::vector<double>& values, int width, int height);

}  // namespace roll
