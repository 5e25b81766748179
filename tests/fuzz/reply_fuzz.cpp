// A reward program's answer.
#include "input.h"
#include "reward/reply.h"

FUZZ(input) {
  // takes any bytes: nothing is thrown
  roll::parse_reply(input, 1);
  std::string words;
  roll::parse_words(input, 1, words);
}
