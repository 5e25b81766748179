// Defines the header (head) that each rank sends before a collective, to identify the call. Ranks compare heads first,
// so that different calls cause an error that names both, instead of a wrong sum or a hang. Used by wire.h and
// host_communicator.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace roll {

/// Kinds of collectives; operation_name() describes them.
enum class Operation : uint8_t {
  kReduceSum,
  kReduceMax,
  kReduceMin,
  kBroadcast,
  kGather,
  kGatherBytes,   // all-gather of byte strings
  kBytesToFirst,  // gather of byte strings to the first rank
  kScatter,       // reduce-scatter (sum)
  kExchange       // all-to-all
};
/// Names of an operation.
struct OperationName {
  const char* text;     // in messages: "all-reduce (sum)"
  const char* counted;  // in metrics of traffic (dist/traffic.h): "all_reduce"
};
/// Returns the names of an operation.
const OperationName& operation_name(Operation operation);

/// The header; it is sent as the bytes of this struct.
struct Head {
  uint64_t sequence = 0;  // number of the collective in its communicator, from 0
  uint64_t bytes = 0;     // bytes that this rank contributes (all-to-all: bytes for the receiver of this head)
  Operation operation = Operation::kGatherBytes;
  int8_t dtype = -1;            // at::ScalarType; -1: byte strings
  std::array<char, 46> name{};  // caller's name for the data, cut, padded with zeros

  /// Returns "all-reduce (sum) 'counts' of 8 bytes Float (collective 3 of its group)".
  std::string text() const;
  /// Returns true if `other` is the head of the same call, and other.bytes is `expected` (byte strings: any number).
  bool matches(const Head& other, uint64_t expected) const;
  /// Returns a hash of the call, equal on all ranks; includes `bytes` only if all ranks contribute equally many.
  uint64_t fingerprint() const;
};
static_assert(sizeof(Head) == 64);

/// Makes a head; a name of more than 46 bytes is cut.
Head make_head(uint64_t sequence, uint64_t bytes, Operation operation, int8_t dtype, std::string_view name);

}  // namespace roll
