// A ground truth in one line, then a response that ends with its answer.
#include "input.h"
#include "reward/math/answer.h"
#include "reward/math/compare.h"

FUZZ(input) {
  using namespace roll::math;
  const auto [truth, response] = roll::fuzz::two_parts(input);
  const Answer answer = find_answer(response);
  try {
    Deadline deadline(1);
    compare_answers(unboxed(truth), answer.text, deadline);
    compare_answers(truth, response, deadline);
  } catch (const TimeLimitPassed&) {
  }
}
