// Configuration keys of a data set: files, columns, and domain shares.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/range.h"

namespace roll {

/// The part of the ground-truth column that is the answer.
enum class GroundTruthPart { kWhole, kAfterHashes, kLastBoxed };
constexpr auto names_of(GroundTruthPart) {
  return std::to_array<Named<GroundTruthPart>>({{GroundTruthPart::kWhole, "whole"},
                                                {GroundTruthPart::kAfterHashes, "after_hashes"},
                                                {GroundTruthPart::kLastBoxed, "last_boxed"}});
}

/// The order of a domain's rows (prompt_stream.h).
enum class DataSampler { kShuffled, kDifficulty, kPassRate };
constexpr auto names_of(DataSampler) {
  return std::to_array<Named<DataSampler>>({{DataSampler::kShuffled, "shuffled"},
                                            {DataSampler::kDifficulty, "difficulty"},
                                            {DataSampler::kPassRate, "pass_rate"}});
}

/// Domain shares from a step on.
struct ScheduledShares {
  int64_t step = 1;
  std::map<std::string, double> probs;

  template <class V>
  void fields(V& v) {
    v("step", step, "from which step on", within(1, 1'000'000'000));
    v("probs", probs, "the shares there; before it they go there in a straight line", within(0, 1));
  }
};

struct DataArgs {
  std::vector<std::string> file_name;
  std::optional<std::string> split;
  std::optional<std::string> template_name;
  std::optional<bool> enable_thinking;
  std::map<std::string, double> domain_interleave_probs;
  std::vector<ScheduledShares> domain_interleave_schedule;
  DataSampler sampler = DataSampler::kShuffled;
  double sampler_floor = 0.1;
  std::optional<std::string> messages;
  std::optional<std::string> question, query;
  std::optional<std::string> prompt;
  std::optional<std::string> system, prompt_template;
  std::optional<std::string> response;
  std::optional<std::string> ground_truth;
  GroundTruthPart ground_truth_part = GroundTruthPart::kWhole;
  std::optional<std::string> tag;
  std::optional<std::string> domain;
  int64_t preprocessing_num_workers = 1;

  bool names_prompt() const { return messages || question || prompt; }

  template <class V>
  void fields(V& v) {
    v("file_name", file_name,
      "files of rows (JSON lines or arrays, CSV, either also .gz or .zst; Parquet): a path, a list of paths, globs, "
      "folders, data sets of the local Hub cache (openai/gsm8k/main)");
    v("split", split, "of folders and data sets: the files of this split (train-*.parquet, test/*.jsonl)");
    v("template", template_name, "chat template of these rows; global_template, where set, wins; null: native");
    v("enable_thinking", enable_thinking, "the template's variable of this name (Qwen3); null: the template decides");
    v("domain_interleave_probs", domain_interleave_probs, "share of each domain in a batch; they sum to 1",
      within(0, 1));
    v("domain_interleave_schedule", domain_interleave_schedule,
      "shares that change: a list of {step, probs}; domain_interleave_probs are those of step 1, between two steps "
      "they change in a straight line, behind the last they stay");
    v("sampler", sampler,
      "which rows of a domain come next: shuffled, each epoch anew; difficulty, in each epoch the easy ones first "
      "(column difficulty); pass_rate, shuffled, but rows are passed over the more often the nearer all or none of "
      "the last responses to them were right");
    v("sampler_floor", sampler_floor,
      "pass_rate: how often a row is drawn whose responses were all right or all wrong, against one that was right "
      "half of the time",
      within(0.01, 1));
    v("messages", messages,
      "column of chat messages, which go through the template; columns may be paths, as reward_model.ground_truth");
    v("question", question, "column of a text that becomes the user's message, and goes through the template");
    v("query", query, "column of a text that follows the question's on a line of its own, where a row has one");
    v("prompt", prompt, "column of raw prompt text, which the template does not touch");
    v("system", system,
      "text of a system message, which each row's messages or question get that have none; null: none");
    v("prompt_template", prompt_template,
      "text around each row's question, prompt or last message of the user's, where it says {prompt}; null: none");
    v("response", response, "column of the response text (supervised fine-tuning)");
    v("ground_truth", ground_truth, "column of the right answer; null: ground_truth, where the prompt's is named");
    v("ground_truth_part", ground_truth_part,
      "what of that column is the answer: all of it, what follows its last ####, or is in its last \\boxed{}");
    v("tag", tag, "column of the tag; null: tag");
    v("domain", domain, "column of the domain; null: domain");
    v("preprocessing_num_workers", preprocessing_num_workers, "threads that tokenise rows", within(1, 1024));
    v.noted({"dataset_dir", "interleave_probs"}, "file_name holds whole paths, domain_interleave_probs the shares");
    v.noted({"dataset_type", "overwrite_cache", "keep_in_memory", "use_mock_dataset", "rollout_dataloader_*"},
            "what a file is it says itself, and rows are read once");
    v.noted({"max_samples", "val_size", "streaming", "cache_path", "eval_file_name", "id"},
            "ROLL's RLVR pipeline does not read it");
    v.refused({"image_*", "video_*", "custom_data_kwargs_func"},
              "it belongs to vision models, which this version does not have");
  }
};

}  // namespace roll
