// The header that a rank sends before a collective: which call it is in. Ranks compare their heads before every
// collective, so that ranks that diverged become an error that names both calls, instead of a wrong sum or a hang.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace roll {

enum class Operation : uint8_t {
  kReduceSum,
  kReduceMax,
  kReduceMin,
  kBroadcast,
  kGather,
  kGatherBytes,
  kBytesToFirst,
  kScatter,
  kExchange
};
struct OperationName {
  const char* text;     // for people
  const char* counted;  // in metrics
};
const OperationName& name_of(Operation operation);

struct Head {
  uint64_t sequence = 0;  // number of the collective in its communicator
  uint64_t bytes = 0;     // what this rank gives
  Operation operation = Operation::kGatherBytes;
  int8_t dtype = -1;  // -1: bytes
  std::array<char, 46> name{};

  /// "all-reduce (sum) 'counts' of 8 bytes Float (its collective 3)"
  std::string text() const;
  /// Whether `other` is the same call, with `expected` bytes; lengths of byte strings may differ.
  bool matches(const Head& other, uint64_t expected) const;
  /// A hash of the call. Lengths are left out where ranks may give different ones.
  uint64_t fingerprint() const;
};
static_assert(sizeof(Head) == 64);

Head make_head(uint64_t sequence, uint64_t bytes, Operation operation, int8_t dtype, std::string_view name);

}  // namespace roll
