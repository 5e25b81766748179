// What a run would take without a word and nobody wants: rows that show the answer, roles that no template knows,
// validation rows that are trained on.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/rows.h"

namespace roll {

/// Origins that a warning lists; further ones are counted.
constexpr size_t kShownOrigins = 5;

/// Of many rows the first few, as "a.jsonl:3, a.jsonl:9 and 4 more".
class Origins {
 public:
  explicit Origins(size_t most = kShownOrigins) : most_(most) {}
  void add(const std::string& origin);
  size_t size() const { return count_; }
  std::string text() const;

 private:
  size_t most_, count_ = 0;
  std::vector<std::string> first_;
};

/// What is wrong with prompts, of rows that come one by one.
class PromptWarnings {
 public:
  /// Where it is not known that the rows are sampled from (`are_sampled`), those without a ground truth may be for
  /// fine-tuning, and may end with an answer.
  explicit PromptWarnings(size_t most = kShownOrigins, bool are_sampled = true)
      : are_sampled_(are_sampled), showing_(most), ending_(most), odd_(most) {}
  void add(const Row& row);

  /// Rows to sample from whose last message is the assistant's: those where it holds the ground truth show the answer,
  /// the others begin behind a finished turn. "" where there are none.
  std::string of_answers() const;
  /// A message role that the models' templates do not know: they write it into the prompt as it is. "" where there is
  /// none; the warning names lines.
  std::string of_roles() const;
  /// Both, where there are some.
  std::vector<std::string> all() const;

 private:
  bool are_sampled_;
  Origins showing_, ending_, odd_;
  std::set<std::string> roles_;
};

/// What a prompt says, whatever column it is in, as a hash: equal for rows that ask the same.
uint64_t prompt_key(const Row& row);

/// What rows ask that are kept somewhere.
struct AskedPrompts {
  std::span<const uint64_t> keys;  // prompt_key()
  std::function<std::string(int64_t row)> origin;
};

/// Names validation rows that ask what a training row asks; "" where none does.
std::string warning_of_shared(const AskedPrompts& training, const AskedPrompts& validation,
                              size_t most = kShownOrigins);

}  // namespace roll
