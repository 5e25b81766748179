// Inspects fine-tuning and preference rows before the run.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "checkpoint/hub_cache.h"
#include "preview/config_data.h"
#include "preview/lengths.h"
#include "preview/missing_part.h"
#include "train/dpo_data.h"
#include "train/sft_data.h"

namespace roll {

namespace {

/// Token counts of fine-tuning or preference rows.
struct TokenCounts {
  std::vector<int64_t> lengths{};  // tokens per sequence
  int64_t learnt = 0;
  std::string text{};
};

TokenCounts count_tokens(const StoredRows<SftRow>& rows) {
  TokenCounts counts;
  for (int64_t i = 0; i < rows.size(); ++i) {
    const SftRow row = rows.at(i);
    counts.lengths.push_back(std::ssize(row.ids));
    counts.learnt += std::ranges::count(row.labels_mask, 1);
  }
  counts.text = fmt::format("tokens: {}; {} of {} carry loss", to_text(summarise_lengths(counts.lengths)),
                            counts.learnt, std::reduce(counts.lengths.begin(), counts.lengths.end()));
  return counts;
}

TokenCounts count_tokens(const StoredRows<PairRow>& rows) {
  TokenCounts counts;
  std::vector<int64_t> chosen, rejected;
  for (int64_t i = 0; i < rows.size(); ++i) {
    const PairRow row = rows.at(i);
    for (const auto& [ids, lengths] : {std::pair(&row.chosen_ids, &chosen), std::pair(&row.rejected_ids, &rejected)}) {
      lengths->push_back(std::ssize(*ids));
      counts.lengths.push_back(std::ssize(row.prompt_ids) + std::ssize(*ids));
      counts.learnt += std::ssize(*ids);
    }
  }
  counts.text = fmt::format("tokens of chosen responses: {}; of rejected ones: {}", to_text(summarise_lengths(chosen)),
                            to_text(summarise_lengths(rejected)));
  return counts;
}

LoadedRows<SftRow> load(const RowConfig& config, const DataArgs& data, const std::filesystem::path& folder) {
  return load_sft_rows(config, data, folder, Tokenizer::load(folder));
}
LoadedRows<PairRow> load(const DpoConfig& config, const DataArgs& data, const std::filesystem::path& folder) {
  return load_pair_rows(config, data, folder, Tokenizer::load(folder));
}

/// Adds one data set's lines to `out`; nullopt if it cannot be read on this machine.
template <class T, class C>
std::optional<StoredRows<T>> add_rows(const C& config, const DataArgs& data, const char* name, bool offline,
                                      ConfigData& out, bool is_training = false) {
  const std::string& model = *config.trained.model_args.model_name_or_path;
  if (const std::string missing = missing_part(model, data, offline); !missing.empty()) {
    out.lines.push_back(fmt::format("{} rows: not measured, because {}", name, missing));
    return {};
  }
  LoadedRows<T> loaded = load(config, data, model_folder(model));
  TokenCounts tokens = count_tokens(loaded.rows);
  out.lines.push_back(fmt::format("{} rows: {} {}; {}", name, loaded.rows.size(), T::kMany, tokens.text));
  if (is_training) {
    out.lengths = std::move(tokens.lengths);
    out.learnt = tokens.learnt;
  }
  if (loaded.num_dropped > 0)
    out.warnings.push_back(fmt::format(
        "{} rows: sequence_length = {}: {} of {} {} are longer and are dropped; raise sequence_length to keep them",
        name, config.sequence_length, loaded.num_dropped, loaded.num_dropped + loaded.rows.size(), T::kMany));
  for (const std::string& text : loaded.texts()) out.warnings.push_back(fmt::format("{} rows: {}", name, text));
  return std::move(loaded.rows);
}

template <class T, class C>
ConfigData view_rows(const C& config, bool offline) {
  ConfigData out;
  const auto training = add_rows<T>(config, config.trained.data_args, "training", offline, out, /*is_training=*/true);
  if (training) {
    const int64_t rows = training->size(), batch = config.trained.mini_batch();
    const int64_t updates = count_updates(config, rows, batch);
    out.lines.push_back(fmt::format("{} updates of {} {}: {:.3g} passes over the training rows", updates, batch,
                                    T::kMany, static_cast<double>(updates * batch) / static_cast<double>(rows)));
  }
  if (config.validation.data_args.file_name.empty()) return out;
  const auto validation = add_rows<T>(config, config.validation.data_args, "validation", offline, out);
  if (!training || !validation) return out;
  const std::string overlap = overlap_warning(training->prompts(), validation->prompts());
  if (!overlap.empty()) out.warnings.push_back(overlap);
  return out;
}

}  // namespace

ConfigData view_data(const RowConfig& config, bool offline) {
  return view_rows<SftRow>(config, offline);
}
ConfigData view_data(const DpoConfig& config, bool offline) {
  return view_rows<PairRow>(config, offline);
}

}  // namespace roll
