// Tokenizes the prompts of rows with several threads, and drops rows whose prompts are empty or too long. The tokenizer
// is a callback, because lib/data must not include lib/text.
#pragma once

#include <functional>

#include "data/rows.h"

namespace roll {

/// Numbers of dropped rows by reason.
struct DroppedRows {
  int64_t empty = 0;     // prompts without a token
  int64_t too_long = 0;  // prompts of more than prompt_length tokens
  int64_t total() const { return empty + too_long; }
  DroppedRows& operator+=(const DroppedRows& other) {
    empty += other.empty;
    too_long += other.too_long;
    return *this;
  }
};

/// Returns the prompt tokens of a row; must be thread-safe.
using EncodeRow = std::function<std::vector<int64_t>(const Row&)>;

/// Sets prompt_ids of every row by `encode`, on up to `num_threads` threads. Removes rows that have no tokens or more
/// than `prompt_length`, and returns their numbers. If `encode` throws, rethrows the error of the first failing row.
DroppedRows tokenise_rows(std::vector<Row>& rows, const EncodeRow& encode, int64_t prompt_length, int64_t num_threads);

/// Throws UserError if all rows were dropped. `num_rows`: rows before dropping; 0 never throws. `prompt_length`: the
/// limit, for the message.
void require_some_left(const DroppedRows& dropped, int64_t num_rows, int64_t prompt_length);

/// Calls work(i) once for each i in [0, n) on up to `num_threads` threads, including the calling one, and waits for
/// all. If some calls throw, rethrows the error of the smallest i; larger i may then be skipped.
void for_each_in_threads(int64_t n, int64_t num_threads, const std::function<void(int64_t)>& work);

}  // namespace roll
