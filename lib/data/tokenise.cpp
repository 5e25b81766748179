#include "data/tokenise.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"

namespace roll {

void for_each_in_threads(int64_t n, int64_t num_threads, const std::function<void(int64_t)>& work) {
  std::atomic<int64_t> next{0}, first_failed{n};
  std::exception_ptr error;
  std::mutex error_lock;
  const auto loop = [&] {
    // Indices are handed out in order, so every index below a failed one still runs. The reported error thus does not
    // depend on the number of threads.
    for (int64_t i; (i = next++) < std::min(n, first_failed.load());) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(error_lock);
        if (i < first_failed) {
          first_failed = i;
          error = std::current_exception();
        }
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int64_t t = 1; t < std::min(num_threads, n); ++t) threads.emplace_back(loop);
  loop();
  threads.clear();
  if (error) std::rethrow_exception(error);
}

DroppedRows tokenise_rows(std::vector<Row>& rows, const EncodeRow& encode, int64_t prompt_length, int64_t num_threads) {
  for_each_in_threads(static_cast<int64_t>(rows.size()), num_threads,
                      [&](int64_t i) { rows[i].prompt_ids = encode(rows[i]); });
  DroppedRows dropped;
  for (const Row& row : rows) {
    dropped.empty += row.prompt_ids.empty();
    dropped.too_long += static_cast<int64_t>(row.prompt_ids.size()) > prompt_length;
  }
  std::erase_if(rows, [&](const Row& row) {
    return row.prompt_ids.empty() || static_cast<int64_t>(row.prompt_ids.size()) > prompt_length;
  });
  return dropped;
}

void require_some_left(const DroppedRows& dropped, int64_t num_rows, int64_t prompt_length) {
  if (num_rows > 0 && dropped.total() == num_rows)
    throw user_error(
        "prompt_length = {}: of {} rows, {} are longer and {} are empty, so none is left; raise prompt_length",
        prompt_length, num_rows, dropped.too_long, dropped.empty);
}

}  // namespace roll
