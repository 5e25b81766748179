// The header (head) that a rank sends before a collective, to identify the call. Ranks compare heads first, so that
// different calls cause an error that names both, instead of a wrong sum or a hang.
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
  const char* text;     // in messages: "all-reduce (sum)"
  const char* counted;  // in metrics (dist/traffic.h): "all_reduce"
};
/// Returns the names of an operation.
const OperationName& operation_name(Operation operation);

/// The header, which is sent as these bytes.
struct Head {
  uint64_t sequence = 0;  // number of the collective in its communicator
  uint64_t bytes = 0;     // bytes that this rank contributes (all-to-all: to the receiver)
  Operation operation = Operation::kGatherBytes;
  int8_t dtype = -1;            // at::ScalarType; -1: byte strings
  std::array<char, 46> name{};  // caller's name of the data, cut, padded with zeros

  /// Returns "all-reduce (sum) 'counts' of 8 bytes Float (collective 3 of its group)".
  std::string text() const;
  /// Returns true if `other` is the same call and other.bytes is `expected`, or any number for byte strings.
  bool matches(const Head& other, uint64_t expected) const;
  /// Returns a hash of the call; without `bytes` where ranks may contribute different numbers.
  uint64_t fingerprint() const;
};
static_assert(sizeof(Head) == 64);

/// Makes a head; a long name is cut.
Head make_head(uint64_t sequence, uint64_t bytes, Operation operation, int8_t dtype, std::string_view name);

}  // namespace roll
