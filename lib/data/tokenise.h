// Rows to prompt tokens. The tokenizer comes in as a callback, because `text` is an equal layer.
#pragma once

#include <functional>

#include "data/rows.h"

namespace roll {

struct DroppedRows {
  int64_t empty = 0, too_long = 0;
  int64_t total() const { return empty + too_long; }
  DroppedRows& operator+=(const DroppedRows& other) {
    empty += other.empty;
    too_long += other.too_long;
    return *this;
  }
};

/// Gives the prompt tokens of a row; called from several threads at once.
using EncodeRow = std::function<std::vector<int64_t>(const Row&)>;

/// Fills prompt_ids of every row and removes those outside 0 < tokens <= prompt_length; says how many.
/// An error of the callback is thrown on, that of the earliest row.
DroppedRows tokenise_rows(std::vector<Row>& rows, const EncodeRow& encode, int64_t prompt_length, int64_t num_threads);

/// UserError where all of `num_rows` rows were dropped.
void require_some_left(const DroppedRows& dropped, int64_t num_rows, int64_t prompt_length);

/// Calls work(i) for 0 <= i < n from `num_threads` threads; when some throw, the error of the smallest i is thrown on.
void for_each_in_threads(int64_t n, int64_t num_threads, const std::function<void(int64_t)>& work);

}  // namespace roll
