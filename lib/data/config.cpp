#include "data/config.h"

#include "config/keys.h"

namespace roll {

void ScheduledShares::fields(Keys& v) {
  v("step", step, "first step with these shares", within(1, 1'000'000'000));
  v("probs", probs, "share of each domain at this step; before it, shares change linearly towards these", within(0, 1));
}

void DataArgs::fields(Keys& v) {
  v("file_name", file_name,
    "row files (JSON lines or arrays, CSV, each also as .gz or .zst; Parquet): a path or a list of paths, globs, "
    "folders or data sets of the local Hub cache (openai/gsm8k/main)",
    may_change());
  v("split", split, "for folders and data sets: read only the files of this split (train-*.parquet, test/*.jsonl)");
  v("template", template_name, "chat template of these rows; global_template takes precedence if set; null: native");
  v("enable_thinking", enable_thinking,
    "value of the chat template's variable enable_thinking (Qwen3); null: the template decides");
  v("domain_interleave_probs", domain_interleave_probs, "share of each domain in a batch; they sum to 1", within(0, 1));
  v("domain_interleave_schedule", domain_interleave_schedule,
    "domain shares that change over steps: a list of {step, probs}; domain_interleave_probs are the shares of step 1, "
    "shares between two steps are interpolated linearly, and after the last step they stay constant");
  v("sampler", sampler,
    "order of a domain's rows; shuffled: anew in each epoch; difficulty: easy rows first in each epoch (column "
    "difficulty); pass_rate: shuffled, but a row is skipped more often if nearly all or nearly none of its last "
    "responses were right");
  v("sampler_floor", sampler_floor,
    "pass_rate: how often a row with all responses right or all wrong is drawn, relative to a row with half right",
    within(0.01, 1), only_if(sampler == DataSampler::kPassRate, sampler));
  v("messages", messages,
    "column of chat messages, which the chat template renders; columns may be paths, such as "
    "reward_model.ground_truth");
  v("question", question, "column with the text of the user's message, which the chat template renders");
  v("query", query, "column with a text that is added to the question on a new line, if the row has one");
  v("prompt", prompt, "column of raw prompt text, used without a chat template");
  v("system", system, "system message for rows whose messages or question have none; null: none");
  v("prompt_template", prompt_template,
    "text around each row's question, prompt or last user message, which replaces {prompt} in this text; null: none");
  v("response", response, "column of the response text (supervised fine-tuning)");
  v("ground_truth", ground_truth,
    "column of the right answer; null: ground_truth, or the column of a recognised layout");
  v("ground_truth_part", ground_truth_part,
    "part of that column that is the answer; whole: the whole text; after_hashes: the text after the last ####; "
    "last_boxed: the content of the last \\boxed{}");
  v("tag", tag, "column of the tag; null: tag");
  v("domain", domain, "column of the domain; null: domain");
  v("preprocessing_num_workers", preprocessing_num_workers, "threads that tokenise rows", within(1, 1024),
    may_change());
  v.noted({"dataset_dir", "interleave_probs"}, "file_name has whole paths, and domain_interleave_probs has the shares");
  v.noted({"dataset_type", "overwrite_cache", "keep_in_memory", "use_mock_dataset", "rollout_dataloader_*"},
          "the format is detected from the file, and rows are read once");
  v.noted({"max_samples", "val_size", "streaming", "cache_path", "eval_file_name", "id"},
          "ROLL's RLVR pipeline does not read it");
  v.refused({"image_*", "video_*", "custom_data_kwargs_func"},
            "it is for vision models, which this version does not support");
}

}  // namespace roll
