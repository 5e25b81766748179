// The header that a rank sends before a collective, to identify the call. Ranks compare their heads first, so that
// diverged ranks cause an error that names both calls, instead of a wrong sum or a hang.
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
const OperationName& operation_name(Operation operation);

struct Head {
  uint64_t sequence = 0;  // number of the collective in its communicator
  uint64_t bytes = 0;     // bytes that this rank contributes
  Operation operation = Operation::kGatherBytes;
  int8_t dtype = -1;  // -1: bytes
  std::array<char, 46> name{};

  /// Returns "all-reduce (sum) 'counts' of 8 bytes Float (collective 3 of its group)".
  std::string text() const;
  /// Returns true if `other` is the same call, with `expected` bytes; lengths of byte strings may differ.
  bool matches(const Head& other, uint64_t expected) const;
  /// Returns a hash of the call, without the length if ranks may have different ones.
  uint64_t fingerprint() const;
};
static_assert(sizeof(Head) == 64);

Head make_head(uint64_t sequence, uint64_t bytes, Operation operation, int8_t dtype, std::string_view name);

}  // namespace roll
