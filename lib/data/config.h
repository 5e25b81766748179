// Keys of a data set: its files, columns, and the share of each domain.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/range.h"

namespace roll {

struct DataArgs {
  std::vector<std::string> file_name;
  std::optional<std::string> template_name;
  std::optional<bool> enable_thinking;
  std::map<std::string, double> domain_interleave_probs;
  std::optional<std::string> messages;
  std::optional<std::string> prompt;
  std::optional<std::string> response;
  int64_t preprocessing_num_workers = 1;

  template <class V>
  void fields(V& v) {
    v("file_name", file_name, "JSON-lines files: a path, a list of paths, globs");
    v("template", template_name, "chat template of these rows; global_template, where set, wins; null: native");
    v("enable_thinking", enable_thinking, "the template's variable of this name (Qwen3); null: the template decides");
    v("domain_interleave_probs", domain_interleave_probs, "share of each domain in a batch; they sum to 1",
      within(0, 1));
    v("messages", messages, "column of chat messages, which go through the template");
    v("prompt", prompt, "column of raw prompt text, which the template does not touch");
    v("response", response, "column of the response text (supervised fine-tuning)");
    v("preprocessing_num_workers", preprocessing_num_workers, "threads that tokenise rows", within(1, 1024));
    v.noted({"dataset_dir", "interleave_probs"}, "file_name holds whole paths, domain_interleave_probs the shares");
    v.noted({"dataset_type", "overwrite_cache", "keep_in_memory", "use_mock_dataset", "rollout_dataloader_*"},
            "rows are read once, as JSON lines");
    v.noted({"max_samples", "val_size", "streaming", "cache_path", "eval_file_name", "tag", "id"},
            "ROLL's RLVR pipeline does not read it");
    v.refused({"image_*", "video_*", "custom_data_kwargs_func"},
              "it belongs to vision models, which this version does not have");
  }
};

}  // namespace roll
