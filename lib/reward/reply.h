// Parses the line with which a user's program answers a question about responses (program.h). Pure functions of the
// bytes, so that tests and the fuzzer can call them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reward/reward.h"

namespace roll {

struct Reply {
  enum class Kind {
    kAnswer,     // the program answered as asked
    kNoReward,   // the program reports an "error" for this question
    kBadAnswer,  // an object that lacks the needed members, or is not valid JSON
    kNoAnswer,   // the line is not an object, or has another question's id: the program is out of step
  };
  Kind kind = Kind::kAnswer;
  RewardResult result{};  // the reward, if the kind is kAnswer (not set by parse_words() and parse_replies())
  std::string reason{};   // kNoReward: the program's error; kBadAnswer, kNoAnswer: "answered ...: ..."
};

/// Parses the answer {"id", "reward", "detail"} or {"id", "error"} to one question; "id" and "detail" may be missing.
/// `line`: any bytes, without the newline. `id`: the question's id.
Reply parse_reply(std::string_view line, int64_t id);

/// Parses the answer to `count` questions in one line, {"id", "answers": [{"reward", ...} or {"error"}, ...]}. If the
/// result is of kind kAnswer, `replies` (which must be empty) holds one reply per question, in order, each of kind
/// kAnswer or kNoReward, and at least one is kAnswer. Any other result is a failure of the whole line, such as a wrong
/// number of answers; if all answers are errors, it is the first error.
Reply parse_replies(std::string_view line, int64_t id, size_t count, std::vector<Reply>& replies);

/// Parses the answer of a judge program, {"id", "text"}; sets `words` to "text" if the result is of kind kAnswer.
Reply parse_words(std::string_view line, int64_t id, std::string& words);

/// Returns the first 200 bytes of a program's output as a JSON string, for messages.
std::string said_text(std::string_view line);

}  // namespace roll
