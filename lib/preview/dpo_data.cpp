#include <fmt/format.h>

#include "checkpoint/hub_cache.h"
#include "preview/config_data.h"
#include "preview/lengths.h"
#include "preview/missing_part.h"
#include "train/dpo_data.h"
#include "train/sft_data.h"

namespace roll {

namespace {

/// Adds what is known of one set of pairs to `out`; nullopt where it cannot be looked at here.
std::optional<PairRows> add_pairs(const DpoConfig& config, const DataArgs& data, const char* name, bool offline,
                                  ConfigData& out) {
  const std::string& model = *config.sft_train.model_args.model_name_or_path;
  if (const std::string missing = missing_part(model, data, offline); !missing.empty()) {
    out.lines.push_back(fmt::format("{} rows: not measured, as {}", name, missing));
    return {};
  }
  const auto folder = model_folder(model);
  PairRows loaded = load_pair_rows(config, data, folder, Tokenizer::load(folder));
  std::vector<int64_t> chosen, rejected;
  for (const PairRow& row : loaded.rows) {
    chosen.push_back(std::ssize(row.chosen_ids));
    rejected.push_back(std::ssize(row.rejected_ids));
  }
  out.lines.push_back(fmt::format("{} rows: {} pairs; tokens of chosen responses: {}; of rejected ones: {}", name,
                                  loaded.rows.size(), to_text(summary_of(chosen)), to_text(summary_of(rejected))));
  if (loaded.num_dropped > 0)
    out.warnings.push_back(
        fmt::format("{} rows: sequence_length = {}: {} of {} pairs are longer and dropped; raise it to keep them", name,
                    config.sequence_length, loaded.num_dropped, loaded.num_dropped + std::ssize(loaded.rows)));
  return loaded;
}

}  // namespace

ConfigData view_data(const DpoConfig& config, bool offline) {
  ConfigData out;
  const auto training = add_pairs(config, config.sft_train.data_args, "training", offline, out);
  if (training) {
    const int64_t rows = std::ssize(training->rows), batch = config.sft_train.mini_batch();
    const int64_t updates = count_updates(config, rows, batch);
    out.lines.push_back(fmt::format("{} updates of {} pairs: {:.3g} passes over the training rows", updates, batch,
                                    static_cast<double>(updates * batch) / static_cast<double>(rows)));
  }
  if (config.validation.data_args.file_name.empty()) return out;
  const auto validation = add_pairs(config, config.validation.data_args, "validation", offline, out);
  if (!training || !validation) return out;
  const std::string shared = warning_of_shared(training->keyed, validation->keyed);
  if (!shared.empty()) out.warnings.push_back(shared);
  return out;
}

}  // namespace roll
