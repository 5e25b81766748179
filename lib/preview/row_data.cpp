// The rows of a fine-tuning or a preference optimisation, looked at before it runs.
#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/hub_cache.h"
#include "preview/config_data.h"
#include "preview/lengths.h"
#include "preview/missing_part.h"
#include "train/dpo_data.h"
#include "train/sft_data.h"

namespace roll {

namespace {

std::string text_of_rows(const StoredRows<SftRow>& rows) {
  std::vector<int64_t> lengths;
  int64_t tokens = 0, learnt = 0;
  for (int64_t i = 0; i < rows.size(); ++i) {
    const SftRow row = rows.at(i);
    lengths.push_back(std::ssize(row.ids));
    tokens += lengths.back();
    learnt += std::ranges::count(row.labels_mask, 1);
  }
  return fmt::format("tokens: {}; {} of {} are learnt", to_text(summary_of(lengths)), learnt, tokens);
}

std::string text_of_rows(const StoredRows<PairRow>& rows) {
  std::vector<int64_t> chosen, rejected;
  for (int64_t i = 0; i < rows.size(); ++i) {
    const PairRow row = rows.at(i);
    chosen.push_back(std::ssize(row.chosen_ids));
    rejected.push_back(std::ssize(row.rejected_ids));
  }
  return fmt::format("tokens of chosen responses: {}; of rejected ones: {}", to_text(summary_of(chosen)),
                     to_text(summary_of(rejected)));
}

LoadedRows<SftRow> load(const SftConfig& config, const DataArgs& data, const std::filesystem::path& folder) {
  return load_sft_rows(config, data, folder, Tokenizer::load(folder));
}
LoadedRows<PairRow> load(const DpoConfig& config, const DataArgs& data, const std::filesystem::path& folder) {
  return load_pair_rows(config, data, folder, Tokenizer::load(folder));
}

/// Adds what is known of one data set to `out`; nullopt where it cannot be looked at here.
template <class T, class C>
std::optional<StoredRows<T>> add_rows(const C& config, const DataArgs& data, const char* name, bool offline,
                                      ConfigData& out) {
  const std::string& model = *config.sft_train.model_args.model_name_or_path;
  if (const std::string missing = missing_part(model, data, offline); !missing.empty()) {
    out.lines.push_back(fmt::format("{} rows: not measured, as {}", name, missing));
    return {};
  }
  LoadedRows<T> loaded = load(config, data, model_folder(model));
  out.lines.push_back(fmt::format("{} rows: {} {}; {}", name, loaded.rows.size(), T::kMany, text_of_rows(loaded.rows)));
  if (loaded.num_dropped > 0)
    out.warnings.push_back(
        fmt::format("{} rows: sequence_length = {}: {} of {} {} are longer and dropped; raise it to keep them", name,
                    config.sequence_length, loaded.num_dropped, loaded.num_dropped + loaded.rows.size(), T::kMany));
  for (const std::string& text : loaded.texts()) out.warnings.push_back(fmt::format("{} rows: {}", name, text));
  return std::move(loaded.rows);
}

template <class T, class C>
ConfigData view_rows(const C& config, bool offline) {
  ConfigData out;
  const auto training = add_rows<T>(config, config.sft_train.data_args, "training", offline, out);
  if (training) {
    const int64_t rows = training->size(), batch = config.sft_train.mini_batch();
    const int64_t updates = count_updates(config, rows, batch);
    out.lines.push_back(fmt::format("{} updates of {} {}: {:.3g} passes over the training rows", updates, batch,
                                    T::kMany, static_cast<double>(updates * batch) / static_cast<double>(rows)));
  }
  if (config.validation.data_args.file_name.empty()) return out;
  const auto validation = add_rows<T>(config, config.validation.data_args, "validation", offline, out);
  if (!training || !validation) return out;
  const std::string shared = warning_of_shared(training->prompts(), validation->prompts());
  if (!shared.empty()) out.warnings.push_back(shared);
  return out;
}

}  // namespace

ConfigData view_data(const SftConfig& config, bool offline) {
  return view_rows<SftRow>(config, offline);
}
ConfigData view_data(const DpoConfig& config, bool offline) {
  return view_rows<PairRow>(config, offline);
}

}  // namespace roll
