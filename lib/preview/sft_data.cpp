#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/hub_cache.h"
#include "preview/config_data.h"
#include "preview/lengths.h"
#include "preview/missing_part.h"
#include "train/sft_data.h"

namespace roll {

namespace {

std::string line_of(const std::vector<SftRow>& rows) {
  std::vector<int64_t> lengths;
  int64_t tokens = 0, learnt = 0;
  for (const SftRow& row : rows) {
    lengths.push_back(std::ssize(row.ids));
    tokens += lengths.back();
    learnt += std::count(row.labels_mask.begin(), row.labels_mask.end(), 1);
  }
  return fmt::format("{} rows; tokens: {}; {} of {} are learnt", rows.size(), to_text(summary_of(lengths)), learnt,
                     tokens);
}

/// Adds what is known of one data set to `out`; nullopt where it cannot be looked at here.
std::optional<SftRows> add_rows(const SftConfig& config, const DataArgs& data, const char* name, bool offline,
                                ConfigData& out) {
  const std::string& model = *config.sft_train.model_args.model_name_or_path;
  if (const std::string missing = missing_part(model, data, offline); !missing.empty()) {
    out.lines.push_back(fmt::format("{} rows: not measured, as {}", name, missing));
    return {};
  }
  const auto folder = model_folder(model);
  SftRows loaded = load_sft_rows(config, data, folder, Tokenizer::load(folder));
  out.lines.push_back(fmt::format("{} rows: {}", name, line_of(loaded.rows)));
  if (loaded.num_dropped > 0)
    out.warnings.push_back(
        fmt::format("{} rows: sequence_length = {}: {} of {} rows are longer and dropped; raise it to keep them", name,
                    config.sequence_length, loaded.num_dropped, loaded.num_dropped + std::ssize(loaded.rows)));
  if (!loaded.warning.empty()) out.warnings.push_back(fmt::format("{} rows: {}", name, loaded.warning));
  return loaded;
}

}  // namespace

ConfigData view_data(const SftConfig& config, bool offline) {
  ConfigData out;
  const auto training = add_rows(config, config.sft_train.data_args, "training", offline, out);
  if (training) {
    const int64_t rows = std::ssize(training->rows);
    const int64_t batch = config.sft_train.mini_batch();
    const int64_t updates = count_updates(config, rows, batch);
    out.lines.push_back(fmt::format("{} updates of {} rows: {:.3g} passes over the training rows", updates, batch,
                                    static_cast<double>(updates * batch) / static_cast<double>(rows)));
  }
  if (config.validation.data_args.file_name.empty()) return out;
  const auto validation = add_rows(config, config.validation.data_args, "validation", offline, out);
  if (!training || !validation) return out;
  const std::string shared = warning_of_shared(training->keyed, validation->keyed);
  if (!shared.empty()) out.warnings.push_back(shared);
  return out;
}

}  // namespace roll
