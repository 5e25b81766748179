#include "config/complaints.h"

#include <algorithm>

#include "base/error.h"

namespace roll {

void Complaints::throw_if_any() const {
  if (list_.empty()) return;
  std::vector<Complaint> sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Complaint& a, const Complaint& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
  constexpr size_t kShown = 10;
  std::string text;
  for (size_t i = 0; i < sorted.size() && i < kShown; ++i) {
    const std::string place = sorted[i].place.text();
    text += fmt::format("{}{}{}{}", i ? "\n" : "", place, place.empty() ? "" : ": ", sorted[i].text);
  }
  for (size_t i = kShown; i < sorted.size(); ++i)
    text += (i > kShown ? ", " : fmt::format("\n... and {} more: ", sorted.size() - kShown)) + sorted[i].place.text();
  throw UserError(text);
}

}  // namespace roll
