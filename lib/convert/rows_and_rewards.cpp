// Converts rows and rewards for all trainers: columns, validation, the single domain.
#include <fmt/format.h>

#include "base/error.h"
#include "convert/table.h"

namespace roll {

void set_columns(Conversion& conversion, const char* input, const char* templated, const char* label) {
  const std::string column = conversion.text(input);
  const bool is_raw = !conversion.is_true(templated);
  const bool is_text = column == "question" || column == "problem" || column == "query" || column == "instruction";
  const char* const data_key = is_raw ? "prompt" : is_text ? "question" : "messages";
  conversion.set(std::string("actor_train.data_args.") + data_key, column, conversion.origin(input));
  if (!is_raw)
    conversion.differs(fmt::format("columns: the column {} becomes data_args.{}, {}", column, data_key,
                                   is_text ? "a text; if the column holds lists of messages, use data_args.messages"
                                           : "a list of messages; if the column holds texts, use data_args.question, "
                                             "which makes them the user's message"));
  if (!conversion.text(label).empty()) conversion.set_from("actor_train.data_args.ground_truth", label);
}

void set_data(Conversion& conversion, const ValidationKeys& keys) {
  Draft& draft = conversion.draft;
  const auto report_unset = [&](const char* path, const char* placeholder) {
    const DraftKey* key = draft.find(path);
    if (key && key->value.find("set-me/") == std::string::npos) return;
    draft.set(path, key ? key->value : placeholder, "not given: set it");
    conversion.differs(fmt::format("{}: was not given; set it", path));
  };
  report_unset("pretrain", "set-me/to-a-model-folder");
  report_unset("actor_train.data_args.file_name", "[set-me/rows.jsonl]");
  if (!draft.find("validation.data_args.file_name")) {
    for (const std::string& path : draft.paths())
      if (path.starts_with("validation.")) draft.remove(path);
    return;
  }
  for (const char* column : {"messages", "question", "prompt", "ground_truth", "tag"})
    if (const DraftKey* key = draft.find(std::string("actor_train.data_args.") + column))
      draft.set(std::string("validation.data_args.") + column, std::string(key->value), "as for training");
  const std::pair<const char*, const char*> sampling[] = {{"temperature", keys.temperature},
                                                          {"top_p", keys.top_p},
                                                          {"top_k", keys.top_k},
                                                          {"num_return_sequences", keys.responses}};
  for (const auto& [name, key] : sampling) {
    const std::string path = std::string("validation.generating_args.") + name;
    if (!draft.find(path)) conversion.set_from(path, key);
  }
}

std::string weighted_terms(const std::vector<std::string>& terms, const std::vector<std::string>& weights) {
  std::string list;
  for (size_t i = 0; i < terms.size(); ++i)
    list += fmt::format("{}{{{}, weight: {}}}", i > 0 ? ", " : "", terms[i], weights.empty() ? "1.0" : weights[i]);
  return "[" + list + "]";
}

void set_reward(Conversion& conversion, const char* model, const std::string& function) {
  const std::string name = model ? "reward_model" : function.empty() ? "math_rule" : "python";
  const std::string domain = "rewards." + name + ".";
  conversion.set("actor_train.data_args.domain_interleave_probs." + name, "1.0", "all rows are of this domain");
  conversion.differs(fmt::format(
      "data: all rows belong to the domain {}; with several rewards, name the tags of each one's rows in tag_included",
      name));
  constexpr std::string_view kMathRulePrefix = "rewards.math_rule.";
  for (const std::string& path : conversion.draft.paths()) {
    if (!path.starts_with(kMathRulePrefix)) continue;
    const DraftKey key = *conversion.draft.find(path);
    conversion.draft.remove(path);
    conversion.set(domain + path.substr(kMathRulePrefix.size()), key.value, key.origin);
  }
  if (model) {
    if (conversion.text(model).empty())
      throw user_error("{} is not given, so the reward model is not known: give it after the file", model);
    conversion.set(domain + "type", "reward_model", "the model's score is the reward");
    conversion.set_from(domain + "model_args.model_name_or_path", model);
    conversion.differs(
        "reward: the reward model must be a sequence classifier with one label; it runs on the training's ranks, and "
        "its rows need no ground truth");
  } else if (!function.empty()) {
    conversion.set(domain + "type", "python", "the same function");
    conversion.set(domain + "python", function, "FILE:FUNCTION; the path is relative to the folder where roll runs");
  } else {
    conversion.set(domain + "type", "math_rule",
                   "the answer must equal ground_truth as mathematics; `roll keys type` lists other types");
    conversion.differs(
        "reward: your own reward is not converted; here the type math_rule checks mathematical answers. To call a "
        "Python function, write type: python and python: FILE.py:FUNCTION");
  }
}

}  // namespace roll
