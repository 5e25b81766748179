// What a judge's server and the judge itself say.
#include "input.h"
#include "reward/judge/chat_answer.h"
#include "reward/judge/verdict.h"

FUZZ(input) {
  // takes any bytes: nothing is thrown
  roll::parse_chat_answer(200, input);
  roll::parse_chat_answer(500, input);
  for (const bool is_cut : {false, true})
    roll::parse_verdict(input, {.best_score = is_cut ? std::optional(10.0) : std::nullopt}, is_cut);
  roll::parse_score(input);
}
