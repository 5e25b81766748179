#include "data/row_store.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/bytes.h"

namespace roll {

namespace {

/// Encodes a row: the number of tokens and the tokens in 4 bytes each, then the message.
std::string encode_row(const Row& row) {
  std::vector<int32_t> tokens{static_cast<int32_t>(row.prompt_ids.size())};
  tokens.insert(tokens.end(), row.prompt_ids.begin(), row.prompt_ids.end());
  return std::string(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(int32_t)) +
         encode_message(row);
}

Row decode_row(std::string_view bytes) {
  int32_t count = 0;
  std::memcpy(&count, bytes.data(), sizeof count);
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::memcpy(tokens.data(), bytes.data() + sizeof count, tokens.size() * sizeof(int32_t));
  Row row = decode_message<Row>(bytes.substr((tokens.size() + 1) * sizeof(int32_t)));
  row.prompt_ids.assign(tokens.begin(), tokens.end());
  return row;
}

}  // namespace

RowStore::RowStore(const std::vector<Row>& rows) : RowStore() {
  for (const Row& row : rows) add(row);
}

void RowStore::add(const Row& row, uint64_t key) {
  Domain& domain = domains_.try_emplace(row.domain, Domain{{}, fnv1a(""), {}}).first->second;
  domain.rows.push_back(size());
  domain.difficulties.push_back(row.difficulty);
  domain.fingerprint = fnv1a(row.id, domain.fingerprint);
  domain.fingerprint =
      fnv1a({reinterpret_cast<const char*>(row.prompt_ids.data()), row.prompt_ids.size() * sizeof(int64_t)},
            domain.fingerprint);
  keys_.push_back(key);
  bytes_.add(encode_row(row));
}

Row RowStore::at(int64_t index) const {
  return decode_row(bytes_.at(index));
}

}  // namespace roll
