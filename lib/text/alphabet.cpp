#include "text/alphabet.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "text/byte_symbols.h"
#include "unicode/unicode.h"

namespace roll {

std::string byte_token(unsigned char byte) {
  return fmt::format("<0x{:02X}>", byte);
}

std::optional<unsigned char> parse_byte_token(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || !spelling.ends_with('>')) return {};
  unsigned char byte = 0;
  const auto [end, error] = std::from_chars(spelling.data() + 3, spelling.data() + 5, byte, 16);
  if (error != std::errc() || end != spelling.data() + 5) return {};
  return byte;
}

Alphabet::Alphabet(const Vocabulary& vocabulary, const AlphabetRules& rules) : rules_(rules) {
  const auto find_id = [&](const std::string& token) {
    const auto entry = vocabulary.find(token);
    return entry == vocabulary.end() ? -1 : entry->second;
  };
  unk_id_ = find_id(rules.unk_token);
  for (int byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = find_id(byte_symbol(static_cast<unsigned char>(byte)));
    byte_tokens_[byte] = rules.byte_fallback ? find_id(byte_token(static_cast<unsigned char>(byte))) : -1;
  }
  if (rules.kind == SymbolKind::kBytes) return;
  for (const auto& [token, id] : vocabulary) {
    size_t end = 0;
    const char32_t c = token.empty() ? 0 : next_code_point(token, end);
    if (end == 0 || end < token.size()) continue;
    if (c >= characters_.size()) characters_.resize(c + 1);
    characters_[c].id = id;
  }
}

const Alphabet::Character& Alphabet::character(char32_t c) const {
  static const Character unknown;
  return c < characters_.size() ? characters_[c] : unknown;
}

void Alphabet::record_merge(std::string_view left, std::string_view right) {
  if (rules_.kind == SymbolKind::kBytes || left.empty() || right.empty()) return;
  for (const std::string_view token : {left, right}) can_cut_ &= !parse_byte_token(token) && token != rules_.unk_token;
  size_t end = left.size(), begin = 0;
  const char32_t previous = previous_code_point(left, end), c = next_code_point(right, begin);
  if (c >= characters_.size()) return;
  Character& entry = characters_[c];
  if (entry.num_predecessors > kMaxPredecessors || joins(previous, c)) return;
  if (entry.num_predecessors < kMaxPredecessors) entry.predecessors[entry.num_predecessors] = previous;
  ++entry.num_predecessors;
}

bool Alphabet::joins(char32_t previous, char32_t c) const {
  const Character& entry = character(c);
  const auto end = entry.predecessors.begin() + std::min<size_t>(entry.num_predecessors, kMaxPredecessors);
  return entry.id < 0 || entry.num_predecessors > kMaxPredecessors ||
         std::find(entry.predecessors.begin(), end, previous) != end;
}

size_t Alphabet::independent_prefix(std::string_view word) const {
  if (rules_.kind == SymbolKind::kBytes || !can_cut_ || word.empty()) return word.size();
  size_t pos = 0;
  for (char32_t previous = next_code_point(word, pos); pos < word.size();) {
    const size_t boundary = pos;
    const char32_t c = next_code_point(word, pos);
    if (!joins(previous, c)) return boundary;
    previous = c;
  }
  return word.size();
}

/// Collects symbols; delays an unknown one, since the next may be fused with it.
class Alphabet::Reader {
 public:
  Reader(const Alphabet& alphabet, std::vector<int32_t>& symbols) : alphabet_(alphabet), symbols_(symbols) {}

  void known(int32_t id) {
    flush();
    symbols_.push_back(id);
  }

  /// Like HF, puts byte tokens before a delayed unknown token, even of an earlier character.
  void unknown(std::string_view spelling) {
    const auto find_id = [&](char byte) { return alphabet_.byte_tokens_[static_cast<unsigned char>(byte)]; };
    if (std::ranges::all_of(spelling, [&](char byte) { return find_id(byte) >= 0; })) {
      for (const char byte : spelling) symbols_.push_back(find_id(byte));
      return;
    }
    if (!alphabet_.rules_.fuse_unk) flush();
    has_pending_unknown_ = alphabet_.unk_id_ >= 0;
  }

  void flush() {
    if (has_pending_unknown_) symbols_.push_back(alphabet_.unk_id_);
    has_pending_unknown_ = false;
  }

 private:
  const Alphabet& alphabet_;
  std::vector<int32_t>& symbols_;
  bool has_pending_unknown_ = false;
};

void Alphabet::read(std::string_view word, std::vector<int32_t>& symbols) const {
  symbols.clear();
  symbols.reserve(word.size());
  Reader reader(*this, symbols);
  if (rules_.kind == SymbolKind::kBytes) {
    for (const char byte : word) {
      const int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
      id >= 0 ? reader.known(id) : reader.unknown(byte_symbol(static_cast<unsigned char>(byte)));
    }
  } else {
    for (size_t pos = 0; pos < word.size();) {
      const size_t begin = pos;
      const int32_t id = character(next_code_point(word, pos)).id;
      id >= 0 ? reader.known(id) : reader.unknown(word.substr(begin, pos - begin));
    }
  }
  reader.flush();
}

}  // namespace roll
