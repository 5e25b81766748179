#include "base/bytes.h"

#include <array>
#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace roll {

int64_t parse_bytes(const std::string& text, const std::string& origin) {
  constexpr std::array<const char*, 5> kPrefixes = {"", "K", "M", "G", "T"};
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit(end);
  double bytes = -1;
  for (size_t power = 0; power < kPrefixes.size() && end != text.c_str(); ++power) {
    const std::string prefix = kPrefixes[power];
    if (unit == prefix + "B" || unit == prefix) bytes = number * std::pow(1000, power);
    if (unit == prefix + "iB" && power > 0) bytes = number * std::pow(1024, power);
  }
  if (!(bytes >= 1 && bytes < 1e18))
    throw user_error("{} = {}: must be a size of at least 1 byte, such as 200KB, 64MiB or 5GB", origin, text);
  return static_cast<int64_t>(bytes);
}

uint64_t fnv1a(std::string_view bytes, uint64_t hash) {
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

}  // namespace roll
