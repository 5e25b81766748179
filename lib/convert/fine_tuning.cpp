#include "convert/fine_tuning.h"

#include <fmt/format.h>

#include <algorithm>

#include "convert/adapters.h"

namespace roll {

std::optional<int64_t> count_processes(const Conversion& c) {
  if (c.requested_ranks) return c.requested_ranks;
  return c.is_known("num_processes") ? std::optional(c.count("num_processes")) : std::nullopt;
}

bool set_row_training(Conversion& c, const LearntBatches& training, std::optional<int64_t> num_ranks) {
  const std::string role = training.role, args = role + ".training_args.";
  c.set(args + "train_batch_size", fmt::format("{}", training.batch), "rows of an update: " + training.origin);
  c.set(args + "per_device_train_batch_size", fmt::format("{}", std::clamp<int64_t>(training.micro, 1, training.batch)),
        "rows of a micro-batch of a rank");
  if (training.steps && !c.text(training.steps).empty() && c.number(training.steps) > 0)
    c.set_from("max_steps", training.steps);
  else
    c.set("num_train_epochs",
          c.text(training.epochs).empty() ? training.epochs_default : fmt::format("{}", c.count(training.epochs)),
          c.origin(training.epochs));
  if (!num_ranks) {
    c.differs("layout: the number of GPUs is not given; start the run with -n GPUS");
    return false;
  }
  const int64_t data_ranks = std::max<int64_t>(1, *num_ranks / training.model_ranks);
  if (training.batch % data_ranks != 0)
    throw c.refused(training.batch_key, fmt::format("an update of {} rows cannot be split evenly over {} data-parallel "
                                                    "ranks; give another number of GPUs with -n",
                                                    training.batch, data_ranks));
  c.set(role + ".device_mapping", fmt::format("\"list(range(0,{}))\"", *num_ranks),
        c.requested_ranks ? "-n" : c.origin("num_processes"));
  return true;
}

void set_learnt_rows(Conversion& c, const std::string& role) {
  Draft& draft = c.draft;
  const auto report_unset = [&](const std::string& path, const char* placeholder) {
    const DraftKey* key = draft.find(path);
    if (key && key->value.find("set-me/") == std::string::npos) return;
    draft.set(path, key ? key->value : placeholder, "not given: set it");
    c.differs(fmt::format("{}: was not given; set it", path));
  };
  const std::string data = role + ".data_args.";
  report_unset("pretrain", "set-me/to-a-model-folder");
  report_unset(data + "file_name", "[set-me/rows.jsonl]");
  if (!draft.find("validation.data_args.file_name")) {
    draft.remove("eval_steps");
    return;
  }
  for (const char* column : {"messages", "question", "prompt", "response"})
    if (const DraftKey* key = draft.find(data + column))
      draft.set(std::string("validation.data_args.") + column, std::string(key->value), "as for training");
}

void set_betas(Conversion& c, const std::string& role, const char* key) {
  const std::vector<std::string> betas = split_entries(c.text(key));
  if (betas.size() != 2) throw c.refused(key, "must be two numbers");
  c.set(role + ".training_args.adam_beta1", betas[0], c.origin(key));
  c.set(role + ".training_args.adam_beta2", betas[1], c.origin(key));
}

}  // namespace roll
