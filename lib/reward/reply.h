// What a reward program's line says: text to answer, without a process, so that any bytes can be tried.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reward/reward.h"

namespace roll {

struct Reply {
  enum class Kind {
    kAnswer,
    kBadAnswer,  // an answer to the question, which cannot be used
    kNoAnswer,   // none, or one to another question: what the program says no longer fits what it is asked
  };
  Kind kind = Kind::kAnswer;
  RewardResult result{};  // of kAnswer
  std::string reason{};   // of the others: "answered ..."
};

/// `line`: any bytes, without the newline. `id`: of the question.
Reply parse_reply(std::string_view line, int64_t id);

/// The same of a program that judges in words: {"id", "text"}; `words` of kAnswer.
Reply parse_words(std::string_view line, int64_t id, std::string& words);

/// The beginning of what a program said, as a message shows it.
std::string said_text(std::string_view line);

}  // namespace roll
