#include "convert/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/nearest.h"
#include "config/read_context.h"
#include "config/scalar.h"
#include "config/writer.h"

namespace roll {

namespace {

const char* words_of(Fate fate) {
  switch (fate) {
    case Fate::kAutomatic:
      return "decided here without a key";
    case Fate::kNothing:
      return "nothing of the kind here";
    case Fate::kUnsupported:
      return kNotSupported;
    case Fate::kCopied:
    case Fate::kCombined:
      break;
  }
  return "";
}

/// Python's and YAML's words as ours; nothing for none.
std::string plain(const std::string& value) {
  if (value == "None" || value == "null" || value == "~") return "";
  return value == "True" ? "true" : value == "False" ? "false" : value;
}

}  // namespace

Conversion::Conversion(std::span<const ForeignRow> rows, const std::vector<ForeignKey>& keys, int64_t ranks)
    : num_ranks(ranks), rows_(rows) {
  std::vector<std::string> names;
  for (const ForeignRow& row : rows) names.emplace_back(row.theirs);
  for (const ForeignKey& key : keys) {
    const ForeignRow* row = row_of(key.key);
    given_.insert_or_assign(row ? row->theirs : key.key, key);
    if (!row)
      without.push_back(fmt::format("{} = {} ({}): not a key that this program knows of{}", key.key, key.value,
                                    key.place, did_you_mean(key.key, names)));
    else if (row->fate >= Fate::kAutomatic)
      without.push_back(fmt::format("{} = {} ({}): {}{}{}", key.key, key.value, key.place, words_of(row->fate),
                                    *row->ours ? ": " : "", row->ours));
  }
  for (const ForeignRow& row : rows) {
    if (row.fate != Fate::kCopied) continue;
    const std::string value = text(row.theirs);
    if (!value.empty()) set(row.ours, row.change ? row.change(value) : value, origin(row.theirs));
  }
}

const ForeignRow* find_row(std::span<const ForeignRow> rows, const std::string& key) {
  const auto same = std::ranges::find_if(rows, [&](const ForeignRow& row) { return matches(key, row.theirs); });
  return same == rows.end() ? nullptr : &*same;
}

bool Conversion::is_set(const std::string& key) const {
  read_.insert(key);
  return given_.contains(key);
}

void Conversion::tell_unread() {
  for (const auto& [name, key] : given_) {
    const ForeignRow* row = row_of(name);
    if (row && row->fate == Fate::kCombined && !read_.contains(name))
      without.push_back(fmt::format("{} = {} ({}): means nothing under the other keys", key.key, key.value, key.place));
  }
}

std::string Conversion::text(const std::string& key) const {
  read_.insert(key);
  const auto found = given_.find(key);
  if (found != given_.end()) return plain(found->second.value);
  const ForeignRow* row = row_of(key);
  return row ? row->standard : "";
}

double Conversion::number(const std::string& key) const {
  const std::string value = text(key);
  if (const auto parsed = parse_number(value)) return *parsed;
  const bool is_variable = value.find('$') != std::string::npos;
  throw user_error("{}: must be a number{}", said(key),
                   is_variable ? "; write it out, as this program knows nothing of the shell's variables" : "");
}

std::string Conversion::said(const std::string& key) const {
  const auto found = given_.find(key);
  return fmt::format("{}: {} = {}", found == given_.end() ? "defaults" : found->second.place, key, text(key));
}

int64_t Conversion::count(const std::string& key) const {
  constexpr double kMost = 1e6;  // of which three may be multiplied
  const double value = number(key);
  if (value >= 1 && value <= kMost && value == std::floor(value)) return static_cast<int64_t>(value);
  throw user_error("{}: must be a whole number from 1 to {}", said(key), kMost);
}

bool Conversion::is_true(const std::string& key) const {
  return parse_bool(text(key)).value_or(false);
}

std::string Conversion::origin(const std::string& key) const {
  return is_set(key) ? key : key + "'s default";
}

std::span<const ForeignTrainer> foreign_trainers() {
  static const std::array trainers{verl_trainer(), trl_trainer(), slime_trainer(), openrlhf_trainer()};
  return trainers;
}

std::string negated(const std::string& value) {
  return parse_bool(value).value_or(false) ? "false" : "true";
}

std::string listed(const std::string& value) {
  if (value.starts_with("[")) return value;
  const bool has_signs = value.find_first_of("{}[],#'\"") != value.npos;
  return fmt::format("[{}]", has_signs ? quoted_yaml(value) : value);
}

std::string steps_or_never(const std::string& value) {
  return value == "-1" ? "0" : value;
}

void set_updates(Conversion& conversion, const UpdatePlan& plan) {
  const int64_t data_ranks = std::max<int64_t>(1, conversion.num_ranks / std::max<int64_t>(1, plan.model_ranks));
  const int64_t of_rank = (plan.sequences + data_ranks - 1) / data_ranks;
  if (of_rank * data_ranks != plan.sequences)
    conversion.differs(
        fmt::format("{}: an update of {} sequences cannot be shared out over {} data-parallel ranks; it has {} here",
                    plan.role, plan.sequences, data_ranks, of_rank * data_ranks));
  const std::string training = plan.role + ".training_args.";
  conversion.set(training + "train_batch_size", fmt::format("{}", of_rank * data_ranks),
                 "sequences of an update: " + plan.origin);
  conversion.set(training + "per_device_train_batch_size",
                 fmt::format("{}", std::clamp<int64_t>(plan.micro_batch, 1, of_rank)),
                 "sequences of a micro-batch of a rank");
}

void set_packing(Conversion& conversion, const std::string& train_tokens, const std::string& forward_tokens,
                 const std::string& origin) {
  for (const char* role : {"actor_train", "reference", "critic"}) {
    const std::string packing = std::string(role) + ".sequence_packing_args.";
    conversion.set(std::string(role) + ".use_sequence_packing", "true", origin);
    conversion.set(packing + "algorithm", "load_balance", "equal work for all ranks; changes nothing that is learnt");
    conversion.set(packing + "max_packed_sequence_length_train", train_tokens, origin);
    conversion.set(packing + "max_packed_sequence_length_forward", forward_tokens, origin);
  }
}

void set_devices(Conversion& conversion, const std::string& origin) {
  for (const char* role : {"actor_train", "actor_infer", "reference", "critic"})
    conversion.set(std::string(role) + ".device_mapping", fmt::format("\"list(range(0,{}))\"", conversion.num_ranks),
                   origin);
}

void set_clip(Conversion& conversion, const std::string& low, const std::string& high, const std::string& c,
              const std::string& origin) {
  conversion.set("use_pg_clip_range", "true", origin);
  conversion.set("pg_clip_low", low, origin);
  conversion.set("pg_clip_high", high, origin);
  if (c.empty()) return;
  conversion.set("dual_clip_loss", "true", origin);
  conversion.set("dual_clip_c", c, origin);
}

void set_kl_loss_penalty(Conversion& conversion, const std::string& type, const std::string& origin) {
  const auto is_one_of = [&](auto... names) { return ((type == names) || ...); };
  if (is_one_of("k3", "low_var_kl")) return;
  const char* const ours = is_one_of("k1", "kl")    ? "kl"
                           : is_one_of("k2", "mse") ? "mse"
                           : is_one_of("abs")       ? "abs"
                                                    : "";
  if (*ours) return conversion.set("kl_loss_penalty", ours, origin);
  conversion.differs(fmt::format("KL in the loss: the estimate k3 (low_var_kl) here; {} was {}", origin, type));
}

void set_group_filter(Conversion& conversion, const std::string& origin) {
  conversion.set("rewards.math_rule.query_filter_config.type", "mean_filter", origin);
  conversion.set("is_use_additional_prompts", "true", "prompts are sampled ahead for groups that are dropped");
}

void set_data(Conversion& conversion, const ValidationKeys& keys) {
  Draft& draft = conversion.draft;
  const auto tell_unset = [&](const char* path) {
    const DraftKey* key = draft.find(path);
    if (key && key->value.find("set-me/") == std::string::npos) return;
    draft.set(path, key ? key->value : "[set-me/rows.jsonl]", "not given: set it");
    conversion.differs(fmt::format("{}: was not given; set it", path));
  };
  tell_unset("pretrain");
  tell_unset("actor_train.data_args.file_name");
  draft.set("actor_train.data_args.messages", "messages", "the column of chat messages");
  if (!draft.find("validation.data_args.file_name")) {
    for (const std::string& path : draft.paths())
      if (path.starts_with("validation.")) draft.remove(path);
    return;
  }
  draft.set("validation.data_args.messages", "messages", "the column of chat messages");
  const std::pair<const char*, const char*> sampling[] = {{"temperature", keys.temperature},
                                                          {"top_p", keys.top_p},
                                                          {"top_k", keys.top_k},
                                                          {"num_return_sequences", keys.responses}};
  for (const auto& [name, key] : sampling) {
    const std::string path = std::string("validation.generating_args.") + name;
    if (!draft.find(path)) conversion.set_from(path, key);
  }
}

void set_reward(Conversion& conversion) {
  conversion.set("actor_train.data_args.domain_interleave_probs.math_rule", "1.0", "all rows are of this domain");
  conversion.set("rewards.math_rule.type", "math_rule",
                 "an answer that equals ground_truth as mathematics; `roll keys type` lists others");
  conversion.differs(
      "data: rows are JSON lines here, with the columns id, messages, ground_truth and tag; Parquet files and names of "
      "the Hub must be written as such first. All rows are math_rule's; of several rewards each names its rows' tags "
      "in tag_included");
  conversion.differs(
      "reward: Python reward functions do not run here; the file checks mathematics (math_rule). `type: command` asks "
      "a program of yours");
}

void set_roles(Conversion& conversion) {
  const auto is = [&](const char* path, const char* value) {
    const DraftKey* key = conversion.draft.find(path);
    return key && key->value == value;
  };
  Draft& draft = conversion.draft;
  const bool needs_reference = is("use_kl_loss", "true") || is("add_token_level_kl", "true");
  const bool needs_critic = is("adv_estimator", "gae");
  for (const std::string& path : draft.paths()) {
    const bool is_idle = (path.starts_with("reference.") && !needs_reference) ||
                         ((path.starts_with("critic.") || path == "reward_pretrain" || path == "critic_warmup" ||
                           path == "value_clip") &&
                          !needs_critic);
    if (is_idle) draft.remove(path);
  }
  if (!needs_critic) draft.remove("lambd");
  draft.remove("reference.sequence_packing_args.max_packed_sequence_length_train");
  if (needs_critic && !draft.find("critic.training_args.learning_rate"))
    conversion.differs("critic: no learning rate was given; it has the default here");
}

}  // namespace roll
