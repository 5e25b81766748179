// Limits of the program roll_grammar, which compiles a grammar in a separate process, and the format in which it gets
// the vocabulary. Used by grammars.cpp and roll_grammar.cpp. The format: number of tokens, size and bytes of each
// token, number of end tokens, their ids. Each number has four bytes in the machine's byte order.
#pragma once

#include <unistd.h>

#include <cstring>
#include <string>

#include "grammar/grammar_library.h"

namespace roll {

inline constexpr int kVocabularyFd = 3;                            // file descriptor of the vocabulary in roll_grammar
inline constexpr uint64_t kMostGrammarSeconds = 5;                 // limit of CPU time, in seconds
inline constexpr uint64_t kMostGrammarMemory = uint64_t{1} << 30;  // limit of address space, in bytes
inline constexpr size_t kMostCompiledBytes = 32 << 20;             // largest compiled grammar, in bytes

/// Appends a number to `to` as four bytes.
inline void pack_number(std::string& to, uint32_t value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Returns the vocabulary in the format described at the top.
inline std::string pack_token_texts(const TokenTexts& tokens) {
  std::string packed;
  pack_number(packed, static_cast<uint32_t>(tokens.texts.size()));
  for (const std::string& text : tokens.texts) {
    pack_number(packed, static_cast<uint32_t>(text.size()));
    packed += text;
  }
  pack_number(packed, static_cast<uint32_t>(tokens.ends.size()));
  for (const int32_t end : tokens.ends) pack_number(packed, static_cast<uint32_t>(end));
  return packed;
}

/// Reads the output of pack_token_texts(), which must be complete.
inline TokenTexts unpack_token_texts(const std::string& packed) {
  size_t at = 0;
  const auto number = [&] {
    uint32_t value = 0;
    std::memcpy(&value, packed.data() + at, sizeof value);
    at += sizeof value;
    return value;
  };
  TokenTexts tokens;
  tokens.texts.resize(number());
  for (std::string& text : tokens.texts) {
    const uint32_t size = number();
    text = packed.substr(at, size);
    at += size;
  }
  tokens.ends.resize(number());
  for (int32_t& end : tokens.ends) end = static_cast<int32_t>(number());
  return tokens;
}

/// Returns the content of the file descriptor `file` from the file's beginning to its end or an error.
inline std::string read_all(int file) {
  std::string bytes;
  char buffer[1 << 16];
  for (ssize_t count; (count = ::pread(file, buffer, sizeof buffer, static_cast<off_t>(bytes.size()))) > 0;)
    bytes.append(buffer, static_cast<size_t>(count));
  return bytes;
}

/// Writes all bytes to the file descriptor `file`; returns false on an error.
inline bool write_all(int file, const std::string& bytes) {
  size_t done = 0;
  for (ssize_t count; done < bytes.size() && (count = ::write(file, bytes.data() + done, bytes.size() - done)) > 0;)
    done += static_cast<size_t>(count);
  return done == bytes.size();
}

}  // namespace roll
