#include "transport/head.h"

#include <c10/core/ScalarType.h>
#include <fmt/format.h>

#include <cstring>

#include "base/bytes.h"

namespace roll {

namespace {

constexpr std::array<OperationName, 9> kOperationNames = {{{"all-reduce (sum)", "all_reduce"},
                                                           {"all-reduce (max)", "all_reduce"},
                                                           {"all-reduce (min)", "all_reduce"},
                                                           {"broadcast", "broadcast"},
                                                           {"all-gather", "all_gather"},
                                                           {"all-gather of bytes", "all_gather_bytes"},
                                                           {"gather of bytes", "gather_bytes"},
                                                           {"reduce-scatter", "reduce_scatter"},
                                                           {"all-to-all", "all_to_all"}}};

/// Returns true if ranks may send byte strings of different lengths.
bool gives_strings(Operation operation) {
  return operation == Operation::kGatherBytes || operation == Operation::kBytesToFirst;
}

}  // namespace

const OperationName& operation_name(Operation operation) {
  return kOperationNames[static_cast<size_t>(operation)];
}

Head make_head(uint64_t sequence, uint64_t bytes, Operation operation, int8_t dtype, std::string_view name) {
  Head head{sequence, bytes, operation, dtype, {}};
  name.copy(head.name.data(), head.name.size());
  return head;
}

std::string Head::text() const {
  const char* type = dtype < 0 ? "" : c10::toString(static_cast<c10::ScalarType>(dtype));
  return fmt::format("{} '{}' of {} bytes{}{} (collective {} of its group)", operation_name(operation).text,
                     std::string(name.data(), strnlen(name.data(), name.size())), bytes, *type ? " " : "", type,
                     sequence);
}

bool Head::matches(const Head& other, uint64_t expected) const {
  return sequence == other.sequence && operation == other.operation && dtype == other.dtype && name == other.name &&
         (other.bytes == expected || gives_strings(operation));
}

uint64_t Head::fingerprint() const {
  Head same = *this;
  if (gives_strings(operation) || operation == Operation::kExchange) same.bytes = 0;
  return fnv1a({reinterpret_cast<const char*>(&same), sizeof same});  // no padding
}

}  // namespace roll
