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
    kAnswer,     // a valid answer to the question
    kNoReward,   // {"error": ...}: the program could not judge the response
    kBadAnswer,  // a line that begins with '{' but is not valid JSON, or lacks the needed members
    kNoAnswer,   // a line that does not begin with '{', or has another question's id: question and answer do not match
  };
  Kind kind = Kind::kAnswer;
  /// The reward, if the kind is kAnswer. Not set by parse_words(), nor in the Reply that parse_replies() returns.
  RewardResult result{};
  std::string reason{};  // kNoReward: the program's error; kBadAnswer, kNoAnswer: "answered LINE: reason"
};

/// Parses the answer {"id", "reward", "detail"} or {"id", "error"} to one question; "id" and "detail" may be missing.
/// `line`: any bytes, without the newline. `id`: the question's id.
Reply parse_reply(std::string_view line, int64_t id);

/// Parses the answer to `count` questions in one line, {"id", "answers": [{"reward", ...} or {"error"}, ...]}. Returns
/// kAnswer if at least one answer has a reward; then `replies` (empty before) holds one reply per question, in order,
/// each of kind kAnswer or kNoReward. Returns the first error if all answers are errors. Any other result is a failure
/// of the whole line, such as a wrong number of answers.
Reply parse_replies(std::string_view line, int64_t id, size_t count, std::vector<Reply>& replies);

/// Parses the answer of a judge program, {"id", "text"}; sets `words` to "text" if the result is of kind kAnswer.
Reply parse_words(std::string_view line, int64_t id, std::string& words);

/// Returns the first 200 bytes of a program's output as a JSON string, for messages.
std::string said_text(std::string_view line);

}  // namespace roll
