// Finds mistakes in data that training would accept silently: prompts that contain the answer, roles unknown to chat
// templates, validation rows that are also training rows. The functions return warnings as text; callers print them.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/rows.h"

namespace roll {

/// Number of rows whose origin ("file:line") a warning lists; further rows are only counted.
constexpr size_t kShownOrigins = 5;

/// Collects origins and prints the first few: "a.jsonl:3, a.jsonl:9 and 4 more".
class Origins {
 public:
  explicit Origins(size_t max_listed = kShownOrigins) : max_listed_(max_listed) {}
  void add(const std::string& origin);
  /// Returns the number of origins that were added.
  size_t size() const { return count_; }
  /// Returns the list as in the example; "" if there are none.
  std::string text() const;

 private:
  size_t max_listed_, count_ = 0;
  std::vector<std::string> listed_;
};

/// Collects warnings about prompts, row by row.
class PromptWarnings {
 public:
  /// `max_listed`: number of origins in each warning. `are_sampled`: true if all rows are prompts to sample from; false
  /// if rows without a ground truth may be fine-tuning data, which may end with an answer.
  explicit PromptWarnings(size_t max_listed = kShownOrigins, bool are_sampled = true)
      : are_sampled_(are_sampled),
        truth_rows_(max_listed),
        answered_rows_(max_listed),
        unknown_role_rows_(max_listed) {}
  /// Looks at a row; rows without messages (raw prompts) are never warned of.
  void add(const Row& row);

  /// Returns a warning of prompts whose last message is the assistant's: it shows the ground truth, or the response
  /// would follow a finished turn. "" if there are none.
  std::string answer_warnings() const;
  /// Returns a warning of roles that chat templates do not know (they would copy them into the prompt). "" if there are
  /// none.
  std::string role_warnings() const;
  /// Returns the non-empty warnings.
  std::vector<std::string> all() const;

 private:
  bool are_sampled_;
  // Rows whose last message contains the ground truth, rows that end with another answer, rows with an unknown role.
  Origins truth_rows_, answered_rows_, unknown_role_rows_;
  std::set<std::string> roles_;
};

/// Returns a hash of the question of a row's prompt: the prompt's text without system messages and a final answer. Rows
/// with the same question have equal hashes, whether it comes from messages, question or raw prompt.
uint64_t prompt_key(const Row& row);

/// Question hashes of stored rows (RowStore or StoredRows, which must outlive this).
struct PromptKeys {
  std::span<const uint64_t> keys;                  // prompt_key() of each row
  std::function<std::string(int64_t row)> origin;  // returns "file:line" of a row by index
};

/// Returns a warning that lists up to `max_listed` validation rows whose question is also a training row's; "" if there
/// are none.
std::string overlap_warning(const PromptKeys& training, const PromptKeys& validation,
                            size_t max_listed = kShownOrigins);

}  // namespace roll
