// Tokenizes the prompts of rows. The tokenizer is a callback, because `text` is in the same layer.
#pragma once

#include <functional>

#include "data/rows.h"

namespace roll {

/// Counts of dropped rows by reason.
struct DroppedRows {
  int64_t empty = 0, too_long = 0;
  int64_t total() const { return empty + too_long; }
  DroppedRows& operator+=(const DroppedRows& other) {
    empty += other.empty;
    too_long += other.too_long;
    return *this;
  }
};

/// Returns the prompt tokens of a row; must be thread-safe.
using EncodeRow = std::function<std::vector<int64_t>(const Row&)>;

/// Sets prompt_ids of every row, removes rows outside 0 < tokens <= prompt_length and returns their counts. If the
/// callback throws, the error of the first failing row is rethrown.
DroppedRows tokenise_rows(std::vector<Row>& rows, const EncodeRow& encode, int64_t prompt_length, int64_t num_threads);

/// UserError: all of `num_rows` rows were dropped.
void require_some_left(const DroppedRows& dropped, int64_t num_rows, int64_t prompt_length);

/// Calls work(i) for 0 <= i < n from `num_threads` threads. If some calls throw, the error of the smallest i is
/// rethrown.
void for_each_in_threads(int64_t n, int64_t num_threads, const std::function<void(int64_t)>& work);

}  // namespace roll
