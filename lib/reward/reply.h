// Parses the answer line of a reward program (program.h). A pure function of the bytes, for tests and the fuzzer.
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
    kNoReward,   // the program reports an error for this question
    kBadAnswer,  // an unusable answer to this question
    kNoAnswer,   // not an answer, or to another question: out of step
  };
  Kind kind = Kind::kAnswer;
  RewardResult result{};  // for kAnswer
  std::string reason{};   // otherwise: "answered ..."; for kNoReward the program's error
};

/// Parses the answer to one question. `line`: any bytes, without the newline. `id`: the question's id.
Reply parse_reply(std::string_view line, int64_t id);

/// Parses the answer to many questions, {"id", "answers": [{"reward", ...} or {"error"}, ...]}. If it returns kAnswer,
/// `replies` holds one reply per question (`count`), of kind kAnswer or kNoReward. If no reply is a reward, it returns
/// the first one.
Reply parse_replies(std::string_view line, int64_t id, size_t count, std::vector<Reply>& replies);

/// Parses the answer of a judge program, {"id", "text"}; sets `words` to the text if the kind is kAnswer.
Reply parse_words(std::string_view line, int64_t id, std::string& words);

/// Returns the first 200 bytes of a program's output as a JSON string, for messages.
std::string said_text(std::string_view line);

}  // namespace roll
