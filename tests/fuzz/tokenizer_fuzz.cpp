// A text in one line, then a tokenizer.json.
#include "input.h"
#include "text/tokenizer.h"
#include "unicode/unicode.h"

FUZZ(input) {
  const auto parts = roll::fuzz::two_parts(input);
  roll::fuzz::allow_refusal([&] {
    const roll::Tokenizer tokenizer = roll::Tokenizer::parse(parts.rest, "tokenizer.json");
    const auto ids = tokenizer.encode(roll::to_valid_utf8(parts.first));
    tokenizer.decode(ids);
  });
}
