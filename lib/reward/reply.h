// Parses the line that a reward program answers. A function of the bytes alone, so that tests and the fuzzer can feed
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reward/reward.h"

namespace roll {

struct Reply {
  enum class Kind {
    kAnswer,
    kNoReward,   // the program says itself that it has none
    kBadAnswer,  // an answer to this question that cannot be used
    kNoAnswer,   // no answer, or one to another question: output and questions are out of step
  };
  Kind kind = Kind::kAnswer;
  RewardResult result{};  // of kAnswer
  std::string reason{};   // of the others: "answered ...", of kNoReward the program's words
};

/// `line`: any bytes, without the newline. `id`: of the question.
Reply parse_reply(std::string_view line, int64_t id);

/// Of a program that is asked many questions with one line, {"id", "answers": [{"reward", ...} or {"error"}, ...]}:
/// `replies` becomes one for each of `count` questions, of kind kAnswer or kNoReward, where the kind of the whole is
/// kAnswer. If none of them is a reward, the whole is the first of them.
Reply parse_replies(std::string_view line, int64_t id, size_t count, std::vector<Reply>& replies);

/// Of a program that answers in words, {"id", "text"}: `words` becomes the text where the kind is kAnswer.
Reply parse_words(std::string_view line, int64_t id, std::string& words);

/// The first 200 bytes of a program's output as a JSON string, for messages.
std::string said_text(std::string_view line);

}  // namespace roll
