#include "track/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace roll {

namespace {

/// Averages neighbours down to at most `max_values` values; a group without a finite value gives NaN.
std::vector<double> averaged(const std::vector<double>& values, size_t max_values) {
  if (values.size() <= max_values) return values;
  std::vector<double> groups(max_values, 0);
  std::vector<double> counts(max_values, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    groups[i * max_values / values.size()] += values[i];
    counts[i * max_values / values.size()] += 1;
  }
  for (size_t i = 0; i < max_values; ++i) groups[i] /= counts[i];
  return groups;
}

/// Returns the bit of the dot at (x, y) in a braille character of 2 x 4 dots; y points down.
int dot_bit(int x, int y) {
  return y == 3 ? (x ? 0x80 : 0x40) : 1 << (y + 3 * x);
}

std::string braille(int bits) {
  if (bits == 0) return " ";
  return {static_cast<char>(0xE2), static_cast<char>(0xA0 | bits >> 6), static_cast<char>(0x80 | (bits & 0x3F))};
}

}  // namespace

std::string plot_curve(const std::vector<double>& values, int width, int height) {
  const std::vector<double> points = averaged(values, static_cast<size_t>(std::max(1, 2 * width)));
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double point : points)
    if (std::isfinite(point)) {
      low = std::min(low, point);
      high = std::max(high, point);
    }
  if (low > high) return "";
  std::vector<std::vector<int>> cells(static_cast<size_t>(height), std::vector<int>((points.size() + 1) / 2, 0));
  const int dots = 4 * height;
  for (size_t x = 0; x < points.size(); ++x) {
    if (!std::isfinite(points[x])) continue;
    const double level = high > low ? (points[x] - low) / (high - low) : 0;
    const int y = dots - 1 - static_cast<int>(std::lround(level * (dots - 1)));
    cells[static_cast<size_t>(y / 4)][x / 2] |= dot_bit(static_cast<int>(x % 2), y % 4);
  }
  const std::string top = fmt::format("{:.3g}", high), bottom = fmt::format("{:.3g}", low);
  const size_t margin = std::max(top.size(), bottom.size());
  std::string picture;
  for (int row = 0; row < height; ++row) {
    picture += fmt::format("{:>{}} ┤", row == 0 ? top : row == height - 1 ? bottom : "", margin);
    for (const int bits : cells[static_cast<size_t>(row)]) picture += braille(bits);
    picture += '\n';
  }
  return picture;
}

}  // namespace roll
