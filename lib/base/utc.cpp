#include "base/utc.h"

#include <array>
#include <ctime>

namespace roll {

std::string utc_text() {
  std::array<char, 32> text{};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&now, &utc))};
}

}  // namespace roll
