// Warns of data mistakes that training would accept silently: prompts that contain the answer, roles unknown to chat
// templates, validation rows that are also training rows.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/rows.h"

namespace roll {

/// Number of origins that a warning lists; the rest is counted.
constexpr size_t kShownOrigins = 5;

/// Collects origins and prints the first few: "a.jsonl:3, a.jsonl:9 and 4 more".
class Origins {
 public:
  explicit Origins(size_t max_listed = kShownOrigins) : max_listed_(max_listed) {}
  void add(const std::string& origin);
  size_t size() const { return count_; }
  std::string text() const;

 private:
  size_t max_listed_, count_ = 0;
  std::vector<std::string> listed_;
};

/// Collects warnings about prompts, row by row.
class PromptWarnings {
 public:
  /// `are_sampled`: all rows are prompts to sample from. Otherwise rows without a ground truth may be fine-tuning data,
  /// which may end with an answer.
  explicit PromptWarnings(size_t max_listed = kShownOrigins, bool are_sampled = true)
      : are_sampled_(are_sampled),
        truth_rows_(max_listed),
        answered_rows_(max_listed),
        unknown_role_rows_(max_listed) {}
  void add(const Row& row);

  /// Warns of prompts whose last message is the assistant's: they show the ground truth, or the response would follow a
  /// finished turn. "" if there are none.
  std::string answer_warnings() const;
  /// Warns of roles that chat templates do not know, and lists lines; templates copy such roles into the prompt. "" if
  /// there are none.
  std::string role_warnings() const;
  /// Returns the non-empty warnings.
  std::vector<std::string> all() const;

 private:
  bool are_sampled_;
  // Rows whose last message contains the ground truth, rows that end with another answer, rows with an unknown role.
  Origins truth_rows_, answered_rows_, unknown_role_rows_;
  std::set<std::string> roles_;
};

/// Hashes the question of a prompt; equal for rows with the same question, in whatever column.
uint64_t prompt_key(const Row& row);

/// Question hashes of stored rows.
struct PromptKeys {
  std::span<const uint64_t> keys;  // prompt_key()
  std::function<std::string(int64_t row)> origin;
};

/// Lists validation rows that ask the same as a training row; "" if there are none.
std::string overlap_warning(const PromptKeys& training, const PromptKeys& validation,
                            size_t max_listed = kShownOrigins);

}  // namespace roll
