// Draws a small curve in braille characters for the terminal.
#pragma once

#include <string>
#include <vector>

namespace roll {

/// Plots `values` over their index, `width` x `height` characters, plus an axis with the smallest and largest value;
/// lines end in '\n'. More than 2 * width values are averaged in groups. NaNs leave gaps. "" if no value is finite.
std::string plot_curve(const std::vector<double>& values, int width, int height);

}  // namespace roll
