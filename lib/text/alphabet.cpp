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

std::optional<unsigned char> byte_of_token(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || !spelling.ends_with('>')) return {};
  unsigned char byte = 0;
  const auto [end, error] = std::from_chars(spelling.data() + 3, spelling.data() + 5, byte, 16);
  if (error != std::errc() || end != spelling.data() + 5) return {};
  return byte;
}

Alphabet::Alphabet(const Vocabulary& vocabulary, const AlphabetRules& rules) : rules_(rules) {
  const auto id_of = [&](const std::string& token) {
    const auto entry = vocabulary.find(token);
    return entry == vocabulary.end() ? -1 : entry->second;
  };
  unk_id_ = id_of(rules.unk_token);
  for (int byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = id_of(byte_symbol(static_cast<unsigned char>(byte)));
    byte_tokens_[byte] = rules.byte_fallback ? id_of(byte_token(static_cast<unsigned char>(byte))) : -1;
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

void Alphabet::note_merge(std::string_view left, std::string_view right) {
  if (rules_.kind == SymbolKind::kBytes || left.empty() || right.empty()) return;
  for (const std::string_view token : {left, right}) is_cut_ &= !byte_of_token(token) && token != rules_.unk_token;
  size_t end = left.size(), begin = 0;
  const char32_t before = previous_code_point(left, end), c = next_code_point(right, begin);
  if (c >= characters_.size()) return;
  Character& here = characters_[c];
  if (here.num_before > kMaxBefore || joins(before, c)) return;
  if (here.num_before < kMaxBefore) here.before[here.num_before] = before;
  ++here.num_before;
}

bool Alphabet::joins(char32_t before, char32_t c) const {
  const Character& here = character(c);
  const auto end = here.before.begin() + std::min<size_t>(here.num_before, kMaxBefore);
  return here.id < 0 || here.num_before > kMaxBefore || std::find(here.before.begin(), end, before) != end;
}

size_t Alphabet::independent_prefix(std::string_view word) const {
  if (rules_.kind == SymbolKind::kBytes || !is_cut_ || word.empty()) return word.size();
  size_t pos = 0;
  for (char32_t before = next_code_point(word, pos); pos < word.size();) {
    const size_t border = pos;
    const char32_t c = next_code_point(word, pos);
    if (!joins(before, c)) return border;
    before = c;
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
    const auto id_of = [&](char byte) { return alphabet_.byte_tokens_[static_cast<unsigned char>(byte)]; };
    if (std::ranges::all_of(spelling, [&](char byte) { return id_of(byte) >= 0; })) {
      for (const char byte : spelling) symbols_.push_back(id_of(byte));
      return;
    }
    if (!alphabet_.rules_.fuse_unk) flush();
    waits_ = alphabet_.unk_id_ >= 0;
  }

  void flush() {
    if (waits_) symbols_.push_back(alphabet_.unk_id_);
    waits_ = false;
  }

 private:
  const Alphabet& alphabet_;
  std::vector<int32_t>& symbols_;
  bool waits_ = false;
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
