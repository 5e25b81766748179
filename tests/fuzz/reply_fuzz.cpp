// A reward program's answer.
#include "input.h"
#include "reward/reply.h"

FUZZ(input) {
  roll::parse_reply(input, 1);  // takes any bytes: nothing is thrown
}
