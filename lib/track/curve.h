// A small curve for the end of a run, in the terminal's own characters.
#pragma once

#include <string>
#include <vector>

namespace roll {

/// `values` over their index as braille dots, `width` x `height` characters plus an axis with the smallest and largest
/// value; lines end in '\n'. More values than 2 * width are averaged in groups. NaNs leave gaps. "" when nothing is
/// finite.
std::string plot_curve(const std::vector<double>& values, int width, int height);

}  // namespace roll
