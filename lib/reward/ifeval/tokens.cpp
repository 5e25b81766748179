#include "reward/ifeval/tokens.h"

#include "reward/ifeval/sentences.h"

namespace roll::ifeval {

std::vector<std::string_view> split_tokens(const CheckedText& text, std::string_view part) {
  constexpr std::string_view kTokens =
      R"re(\.\.\.|--|(?i:n't)(?!\w)|'(?i:s|m|d|ll|re|ve)(?!\w)|[;@#$%&?!()\[\]{}<>"“”«»…]|[:,](?!\d)|\.(?=["')\]]*\s*$)|'(?=\s|$)|)re"
      R"re((?:(?!\.\.\.|--|(?i:n't)(?!\w)|'(?i:s|m|d|ll|re|ve)(?!\w)|[:,](?!\d)|\.["')\]]*\s*$|'(?:\s|$))[^\s;@#$%&?!()\[\]{}<>"“”«»…])+)re";
  return text.find_all(kTokens, part);
}

std::vector<std::string_view> split_tokens(const CheckedText& text) {
  std::vector<std::string_view> tokens;
  for (const std::string_view sentence : split_sentences(text.text()))
    for (const std::string_view token : split_tokens(text, sentence)) tokens.push_back(token);
  return tokens;
}

}  // namespace roll::ifeval
