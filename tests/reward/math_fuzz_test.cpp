// Mutated answers: whatever the text, a comparison ends quickly, says the same again, and an answer equals itself.
#include <catch2/catch.hpp>
#include <fstream>

#include "base/random.h"
#include "reward/math/answer.h"
#include "reward/math/compare.h"

namespace roll {

namespace {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : seed_(seed) {}

  uint32_t below(size_t n) {
    return static_cast<uint32_t>(random_uniform({.seed = seed_, .position = position_++}) * static_cast<double>(n));
  }

  std::string mutated(std::string text, const std::vector<std::string>& pieces) {
    for (uint32_t i = 0, n = 1 + below(6); i < n; ++i) {
      const size_t at = below(text.size() + 1);
      switch (below(5)) {
        case 0:
          text.insert(at, pieces[below(pieces.size())]);
          break;
        case 1:
          text.erase(at, below(4));
          break;
        case 2:
          text.insert(at, 1, static_cast<char>(below(256)));
          break;
        case 3:
          text.insert(at, text.substr(below(text.size() + 1), below(20)));
          break;
        default:
          text.insert(at, 1, "{}[]()^_\\$|!%&,;.=<>+-*/'0129xe i"[below(33)]);
      }
    }
    return text;
  }

 private:
  uint64_t seed_;
  uint32_t position_ = 0;
};

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("mutated answers never crash, hang or contradict themselves", "[reward]") {
  const auto seeds = lines_of(ROLL_SOURCE_DIR "/tests/golden/reward/answers.txt");
  REQUIRE(seeds.size() > 100);
  std::vector<std::string> pieces = seeds;
  for (const char* p :
       {"\\frac", "\\sqrt", "\\left(", "\\right]", "\\begin{pmatrix}", "\\end{pmatrix}", "^{", "_{", "\\pm", "\\cup",
        "\\infty", "\\text{ or }", "\\log_", "\\binom{9}", "!!", "\\pmod{4}", "\\in", "\\boxed{", "10^{10^{10}}"})
    pieces.push_back(p);
  Mutator mutator(11);
  for (int i = 0; i < 6000; ++i) {
    const std::string truth = seeds[mutator.below(seeds.size())];
    const std::string answer = mutator.mutated(seeds[mutator.below(seeds.size())], pieces);
    math::Deadline deadline(300);
    const bool first = math::compare_answers(truth, answer, deadline).equal;
    CHECK(math::compare_answers(truth, answer, deadline).equal == first);
    math::find_answer("so the answer is \\boxed{" + answer);
    if (answer.find_first_not_of(" .,;:\n\r\t\\") != std::string::npos)
      if (!math::compare_answers(answer, answer, deadline).equal) FAIL_CHECK("not equal to itself: " << answer);
  }
}

}  // namespace roll
