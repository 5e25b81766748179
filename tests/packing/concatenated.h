// All parts of a partition, one after the other.
#pragma once

#include "packing/partition.h"

namespace roll::test {

inline std::vector<int64_t> concatenated(const Partition& parts) {
  std::vector<int64_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace roll::test
