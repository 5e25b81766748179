// Loads and tokenises the rows of `roll sft`, `roll distill` and `roll dpo` before the run begins, with warnings about
// them. T: the type of a tokenised row, SftRow or PairRow.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "data/leaks.h"
#include "data/learnt_rows.h"
#include "data/row_store.h"
#include "data/tokenise.h"
#include "track/progress.h"

namespace roll {

template <class T>
struct LoadedRows {
  StoredRows<T> rows;
  int64_t num_dropped = 0;    // rows left out because they are longer than sequence_length
  int64_t num_rewritten = 0;  // rows in `rows` with T::is_rewritten: the template renders a turn alone differently
  PromptWarnings warnings{};  // warnings about all rows read, dropped ones included

  /// Returns the warnings as texts for users; empty if there are none.
  std::vector<std::string> texts() const {
    std::vector<std::string> texts{warnings.role_warnings()};
    if (num_rewritten > 0)
      texts.push_back(fmt::format(
          "{} of {} {}: the chat template renders a turn alone differently from the same turn within the whole "
          "conversation (it may drop earlier thoughts); training uses the rendering within the whole conversation",
          num_rewritten, rows.size(), T::kMany));
    std::erase(texts, "");
    return texts;
  }
};

/// Loads the rows in the files of `data`, without those longer than max_length tokens; returns no rows if `data` names
/// no file. encode: tokenises a row, where `columns` names its columns; called in data.preprocessing_num_workers
/// threads at once. progress: counts rows; may be null. Throws UserError if a file cannot be read, a row is malformed
/// or `encode` throws one, or all rows are too long.
template <class T>
LoadedRows<T> load_rows(const DataArgs& data, int64_t max_length,
                        const std::function<T(Row&, const RowColumns& columns)>& encode, Progress* progress = nullptr) {
  LoadedRows<T> loaded;
  if (data.file_name.empty()) return loaded;
  const auto take = [&](std::vector<Row>& rows, const RowColumns& columns) {
    std::vector<T> encoded(rows.size());
    for_each_in_threads(std::ssize(rows), data.preprocessing_num_workers,
                        [&](int64_t i) { encoded[i] = encode(rows[i], columns); });
    if (progress) progress->advance(std::ssize(rows));
    for (size_t i = 0; i < rows.size(); ++i) {
      loaded.warnings.add(rows[i]);
      if (encoded[i].longest() > max_length)
        ++loaded.num_dropped;
      else
        loaded.rows.add(encoded[i], prompt_key(rows[i])), loaded.num_rewritten += encoded[i].is_rewritten;
    }
  };
  read_learnt_rows(data, T::kLearnt, take);
  if (loaded.rows.size() == 0)
    throw user_error("sequence_length = {}: all {} {} are longer; raise it", max_length, loaded.num_dropped, T::kMany);
  return loaded;
}

template <class T>
struct TrainedRows {
  StoredRows<T> training, validation;  // validation: empty if none is configured
};

/// Loads training and validation rows, and logs their numbers and warnings; also warns about prompts in both.
/// max_length: the limit of rows in tokens, for the log. load(data, progress): returns LoadedRows<T>; calls for example
/// load_pair_rows() of dpo_data.h. Every rank loads all rows; only the first one logs warnings.
template <class T, class Load>
TrainedRows<T> load_and_log_rows(const DataArgs& training, const DataArgs& validation, int64_t max_length,
                                 const Load& load, Log& log) {
  const auto load_one = [&](const DataArgs& data, const char* title) {
    LoadedRows<T> loaded = [&] {
      Progress progress(log, title, 0, T::kMany);
      return load(data, &progress);
    }();
    if (!data.file_name.empty())
      log.info("{}: {} {}{}", title, loaded.rows.size(), T::kMany,
               loaded.num_dropped
                   ? fmt::format(" ({} longer than sequence_length = {} dropped)", loaded.num_dropped, max_length)
                   : "");
    if (log.is_first())
      for (const std::string& text : loaded.texts()) log.warn("{}: {}", title, text);
    return std::move(loaded.rows);
  };
  TrainedRows<T> rows{load_one(training, "training rows"), load_one(validation, "validation rows")};
  const std::string shared = log.is_first() ? overlap_warning(rows.training.prompts(), rows.validation.prompts()) : "";
  if (!shared.empty()) log.warn("{}", shared);
  return rows;
}

}  // namespace roll
