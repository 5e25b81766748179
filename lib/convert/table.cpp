#include "convert/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/nearest.h"
#include "config/read_context.h"
#include "config/scalar.h"
#include "config/writer.h"

namespace roll {

namespace {

constexpr std::string_view kFromEnvironment = "${oc.env:";

const char* fate_text(Fate fate) {
  switch (fate) {
    case Fate::kAutomatic:
      return "handled by roll";
    case Fate::kNothing:
      return "no counterpart";
    case Fate::kUnsupported:
      return kNotSupported;
    case Fate::kRefused:
    case Fate::kCopied:
    case Fate::kCombined:
      break;
  }
  return "";
}

/// Returns true for keys that only name something.
bool is_name_key(std::string_view our_key) {
  return our_key == "exp_name" || our_key == "output_dir" || our_key == "rollout_dump_dir";
}

std::string argument_form(const ForeignKey& key) {
  const bool is_override = key.key.find('.') != std::string::npos && key.key.find('-') == std::string::npos;
  return is_override ? key.key + "=VALUE" : "--" + key.key + " VALUE";
}

/// Returns true if a name is known; a variable that the user would have to set counts as unknown in exp_name.
bool is_name_known(const ForeignKey& key, std::string_view our_key) {
  return key.unknown.empty() && (our_key != "exp_name" || key.value.find(kFromEnvironment) == std::string::npos);
}

/// Returns Python's and YAML's booleans as roll's; "" for None.
std::string plain_value(const std::string& value) {
  if (value == "None" || value == "null" || value == "~") return "";
  return value == "True" ? "true" : value == "False" ? "false" : value;
}

}  // namespace

Conversion::Conversion(const ForeignTrainer& trainer, const std::vector<ForeignKey>& keys, std::optional<int64_t> ranks)
    : command(trainer.command), requested_ranks(ranks), trainer_(trainer) {
  const auto row_name = [&](const ForeignKey& key) {
    const ForeignRow* row = find_foreign_row(key.key);
    return row && !std::string_view(row->foreign_key).ends_with('*') ? std::string(row->foreign_key) : key.key;
  };
  for (const ForeignKey& key : keys) set_keys_[row_name(key)] = &key;  // the last value wins
  for (const ForeignKey& key : keys)
    if (set_keys_.at(row_name(key)) == &key) report(key);
  for (const ForeignRow& row : trainer.rows) copy(row);
}

void Conversion::report(const ForeignKey& key) {
  const ForeignRow* row = find_foreign_row(key.key);
  const std::string given = fmt::format("{} = {} ({})", key.key, key.value, key.place);
  const bool is_group = row && std::string_view(row->foreign_key).ends_with('*');
  if (!row || (is_group && row->fate == Fate::kAutomatic)) refuse_unknown(key);
  if (!row) {
    std::vector<std::string> names;
    for (const ForeignRow& table_row : trainer_.rows) names.emplace_back(table_row.foreign_key);
    without.push_back(fmt::format("{}: unknown key{}", given, did_you_mean(key.key, names)));
  } else if (row->fate == Fate::kRefused) {
    if (key.unknown.empty() && is_off(key.value, row->default_value))
      without.push_back(fmt::format("{}: it is off", given));
    else
      throw refused(is_group ? key.key : row->foreign_key, row->our_key);
  } else if (row->fate >= Fate::kAutomatic) {
    without.push_back(fmt::format("{}: {}{}{}", given, fate_text(row->fate), *row->our_key ? ": " : "", row->our_key));
  }
}

void Conversion::refuse_unknown(const ForeignKey& key) const {
  const ForeignRow* row = find_foreign_row(key.key);
  const std::string group = row ? std::string(row->foreign_key, std::string_view(row->foreign_key).size() - 1) : "";
  const char* older_name = trainer_.find_older_name ? trainer_.find_older_name(key.key) : nullptr;
  const std::string name = older_name && !std::string_view(older_name).ends_with('*') ? older_name : key.key;
  const std::string rest = name.starts_with(group) ? name.substr(group.size()) : name;
  if (!decides_training(rest) || (key.unknown.empty() && is_off(key.value, ""))) return;
  std::vector<std::string> names;
  for (const ForeignRow& table_row : trainer_.rows) names.emplace_back(table_row.foreign_key);
  throw user_error(
      "{}: {} = {}: unknown key, which by its name changes the training{}; give it as null after the file to train "
      "without it",
      key.place, key.key, key.unknown.empty() ? key.value : key.unknown, did_you_mean(key.key, names));
}

void Conversion::take_rest(const std::string& prefix, const char* why) {
  for (const auto& [name, key] : set_keys_) {
    if (!name.starts_with(prefix) || read_.contains(name)) continue;
    const ForeignRow* row = find_foreign_row(name);
    if (!row || row->fate != Fate::kCombined) continue;
    read_.insert(name);
    refuse_unknown(*key);
    without.push_back(
        fmt::format("{} = {} ({}): {}: {}", key->key, key->value, key->place, fate_text(Fate::kAutomatic), why));
  }
}

void Conversion::copy(const ForeignRow& row) {
  if (row.fate != Fate::kCopied) return;
  const auto found = set_keys_.find(row.foreign_key);
  if (found != set_keys_.end() && is_name_key(row.our_key) && !is_name_known(*found->second, row.our_key))
    return copy_name(row);
  const std::string value = text(row.foreign_key);
  if (!value.empty()) set(row.our_key, row.change ? row.change(value) : value, origin(row.foreign_key));
}

/// Copies the known part of a name.
void Conversion::copy_name(const ForeignRow& row) {
  const ForeignKey& key = *set_keys_.at(row.foreign_key);
  std::string rest = key.value, left_out = key.unknown;
  for (size_t at = rest.find(kFromEnvironment); row.our_key == std::string_view("exp_name") && at != rest.npos;
       at = rest.find(kFromEnvironment, at)) {
    const size_t end = std::min(rest.find('}', at), rest.size() - 1) + 1;
    left_out += (left_out.empty() ? "" : ", ") + rest.substr(at, end - at);
    rest.erase(at, end - at);
  }
  while (!rest.empty() && std::string_view("-_/. ").find(rest.back()) != std::string_view::npos) rest.pop_back();
  differs(fmt::format("{}: {} is left out of the name, because it is known only when the script runs ({}: {})",
                      row.our_key, left_out, key.place, key.key));
  if (!rest.empty()) set(row.our_key, rest, origin(row.foreign_key));
}

const ForeignRow* find_row(std::span<const ForeignRow> rows, const std::string& key) {
  const auto same = std::ranges::find_if(rows, [&](const ForeignRow& row) { return matches(key, row.foreign_key); });
  return same == rows.end() ? nullptr : &*same;
}

bool Conversion::is_set(const std::string& key) const {
  read_.insert(key);
  return set_keys_.contains(key);
}

bool Conversion::is_known(const std::string& key) const {
  return is_set(key) && set_keys_.at(key)->unknown.empty();
}

std::vector<std::string> Conversion::keys_with_prefix(const std::string& prefix) const {
  std::vector<std::string> names;
  for (const auto& [name, key] : set_keys_)
    if (name.starts_with(prefix)) names.push_back(name);
  return names;
}

void Conversion::report_unread() {
  for (const auto& [name, key] : set_keys_) {
    const ForeignRow* row = find_foreign_row(name);
    if (row && row->fate == Fate::kCombined && !read_.contains(name))
      without.push_back(
          fmt::format("{} = {} ({}): has no effect with the other keys", key->key, key->value, key->place));
  }
}

std::string Conversion::text(const std::string& key) const {
  read_.insert(key);
  const auto found = set_keys_.find(key);
  if (found != set_keys_.end() && !found->second->unknown.empty())
    throw user_error(
        "{}: {} depends on {}, which is known only when the script runs; give it after the file as {}, or {}",
        found->second->place, found->second->key, found->second->unknown, argument_form(*found->second),
        found->second->unknown.find(", an argument of the script") == std::string::npos
            ? "the variable as NAME=VALUE"
            : "the script's first argument as 1=VALUE, its second as 2=VALUE");
  if (found != set_keys_.end()) return plain_value(found->second->value);
  const ForeignRow* row = find_foreign_row(key);
  return row ? row->default_value : "";
}

double Conversion::number(const std::string& key) const {
  const std::string value = text(key);
  if (const auto parsed = parse_number(value)) return *parsed;
  std::string remedy;
  if (const size_t at = value.find(kFromEnvironment); at != value.npos) {
    const std::string name =
        value.substr(at + kFromEnvironment.size(), value.find('}', at) - at - kFromEnvironment.size());
    remedy = fmt::format("; give {}=VALUE after the file", name);
  }
  throw refused(key, "must be a number" + remedy);
}

std::string Conversion::describe_setting(const std::string& key) const {
  const auto found = set_keys_.find(key);
  if (found == set_keys_.end()) return fmt::format("defaults: {} = {}", key, text(key));
  const ForeignKey& given = *found->second;
  return fmt::format("{}: {} = {}", given.place, given.key, given.unknown.empty() ? given.value : given.unknown);
}

UserError Conversion::refused(const std::string& key, const std::string& what) const {
  return user_error("{}: {}", describe_setting(key), what);
}

int64_t Conversion::count(const std::string& key) const {
  constexpr double kMaxCount = 1e6;  // products of three such numbers fit int64
  const double value = number(key);
  if (value >= 1 && value <= kMaxCount && value == std::floor(value)) return static_cast<int64_t>(value);
  throw user_error("{}: must be a whole number from 1 to {}", describe_setting(key), kMaxCount);
}

bool Conversion::is_true(const std::string& key) const {
  return parse_bool(text(key)).value_or(false);
}

std::string Conversion::origin(const std::string& key) const {
  if (!is_set(key)) return key + "'s default";
  const ForeignKey& given = *set_keys_.at(key);
  return fmt::format("from {}: {}", given.place.substr(given.place.rfind('/') + 1), given.key);
}

std::string Conversion::origin(std::initializer_list<const char*> keys) const {
  std::vector<std::string> given;
  for (const char* key : keys)
    if (is_set(key)) given.push_back(origin(key).substr(given.empty() ? 0 : std::string_view("from ").size()));
  return given.empty() ? origin(*keys.begin()) : fmt::format("{}", fmt::join(given, ", "));
}

void Conversion::set_num_ranks(const char* gpus, const char* nodes) {
  const int64_t machines = nodes ? count(nodes) : 1;
  if (!is_set(gpus) && requested_ranks) return void(num_ranks = *requested_ranks);
  if (!is_set(gpus)) throw user_error("{} is not given, so the number of GPUs is not known: give it with -n", gpus);
  num_ranks = count(gpus) * machines;
}

const ForeignRow* find_row(const ForeignTrainer& trainer, const std::string& key) {
  const char* older_name = trainer.find_older_name ? trainer.find_older_name(key) : nullptr;
  return find_row(trainer.rows, older_name ? older_name : key);
}

std::span<const ForeignTrainer> foreign_trainers() {
  static const std::array trainers{verl_trainer(),         trl_trainer(),         slime_trainer(),
                                   openrlhf_trainer(),     verl_sft_trainer(),    trl_dpo_trainer(),
                                   openrlhf_sft_trainer(), openrlhf_dpo_trainer()};
  return trainers;
}

std::span<const ForeignTrainer> rlvr_trainers() {
  const auto all = foreign_trainers();
  const auto end =
      std::ranges::find_if(all, [](const auto& candidate) { return std::string_view(candidate.command) != "train"; });
  return all.first(static_cast<size_t>(end - all.begin()));
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

void set_updates(Conversion& conversion, const TrainedLayout& plan) {
  const int64_t data_ranks = std::max<int64_t>(1, conversion.num_ranks / std::max<int64_t>(1, plan.model_ranks));
  const int64_t sequences_per_rank = (plan.sequences + data_ranks - 1) / data_ranks;
  if (sequences_per_rank * data_ranks != plan.sequences)
    conversion.differs(
        fmt::format("{}: an update of {} sequences cannot be split evenly over {} data-parallel ranks; it is set to {}",
                    plan.role, plan.sequences, data_ranks, sequences_per_rank * data_ranks));
  const std::string training = plan.role + ".training_args.";
  conversion.set(training + "train_batch_size", fmt::format("{}", sequences_per_rank * data_ranks),
                 "sequences of an update: " + plan.origin);
  conversion.set(training + "per_device_train_batch_size",
                 fmt::format("{}", std::clamp<int64_t>(plan.micro_batch, 1, sequences_per_rank)),
                 "sequences of a micro-batch of a rank");
}

int64_t set_stages(Conversion& conversion, StageKeys keys, Roles roles) {
  const int64_t num_stages = conversion.count(keys.front().first);
  if (num_stages == 1) return 1;
  for (const char* role : roles)
    for (const auto& [foreign_key, our_key] : keys)
      if (const std::string value = conversion.text(foreign_key); !value.empty())
        conversion.set(fmt::format("{}.strategy_args.strategy_config.{}", role, our_key),
                       value.find('|') == value.npos ? value : quoted_yaml(value), conversion.origin(foreign_key));
  return num_stages;
}

void set_expert_ranks(Conversion& c, const char* key, int64_t data_ranks, Roles roles) {
  const int64_t wanted = c.count(key), ranks = std::gcd(wanted, data_ranks);
  if (wanted == 1) return;
  for (const char* role : roles)
    c.set(std::string(role) + ".strategy_args.strategy_config.expert_model_parallel_size", fmt::format("{}", ranks),
          c.origin(key));
  if (ranks != wanted)
    c.differs(
        fmt::format("layout: {} ranks share the experts in the source ({}); in roll {} of the {} data x context ranks "
                    "do, and tensor ranks split each expert's matrices. The training is the same",
                    wanted, key, ranks, data_ranks));
}

void set_zero_stage(Conversion& c, const char* key, Roles roles) {
  if (!c.is_set(key)) return;
  if (const std::string stage = c.text(key); stage.size() != 1 || stage < "0" || stage > "3")
    throw c.refused(key, "must be 0, 1, 2 or 3");
  for (const char* role : roles)
    c.set_from(std::string(role) + ".strategy_args.strategy_config.zero_optimization.stage", key);
}

void set_packing(Conversion& conversion, const PackingBudgets& tokens, Roles roles) {
  const auto draft_number = [&](const std::string& path) {
    const DraftKey* key = conversion.draft.find(path);
    return key ? static_cast<int64_t>(parse_number(key->value).value_or(0)) : 0;
  };
  const std::string layout = std::string(*roles.begin()) + ".strategy_args.strategy_config.";
  const int64_t ranks = std::max<int64_t>(1, draft_number(layout + "context_parallel_size")) *
                        std::max<int64_t>(1, draft_number(layout + "tensor_model_parallel_size"));
  const int64_t longest =
      std::max(draft_number("prompt_length") + draft_number("response_length"), draft_number("sequence_length"));
  const int64_t padded = (longest + 2 * ranks - 1) / (2 * ranks) * 2 * ranks;  // ranks hold equal parts of a sequence
  const auto budget = [&](int64_t per_rank) { return fmt::format("{}", std::max(per_rank * tokens.ranks, padded)); };
  for (const char* role : roles) {
    const std::string packing = std::string(role) + ".sequence_packing_args.";
    conversion.set(std::string(role) + ".use_sequence_packing", "true", tokens.origin);
    conversion.set(packing + "algorithm", "load_balance",
                   "balances the work of the ranks; does not change the training");
    conversion.set(packing + "max_packed_sequence_length_train", budget(tokens.train), tokens.origin);
    conversion.set(packing + "max_packed_sequence_length_forward", budget(tokens.forward), tokens.origin);
  }
}

void set_devices(Conversion& conversion, std::initializer_list<const char*> keys) {
  const bool has_key = std::ranges::any_of(keys, [&](const char* key) { return conversion.is_set(key); });
  const std::string origin = has_key ? conversion.origin(keys) : "-n";
  for (const char* role : {"actor_train", "actor_infer", "reference", "critic"})
    conversion.set(std::string(role) + ".device_mapping", fmt::format("\"list(range(0,{}))\"", conversion.num_ranks),
                   origin);
}

void refuse_other_models(const Conversion& conversion, const char* key) {
  std::string name = lower_ascii(conversion.text(key));
  while (name.ends_with('/')) name.pop_back();
  name.erase(0, name.rfind('/') + 1);
  const auto name_contains = [&](auto... words) { return ((name.find(words) != name.npos) || ...); };
  bool has_active = false;  // "...-30B-A3B"
  for (size_t at = name.find("-a"); at != name.npos && !has_active; at = name.find("-a", at + 1)) {
    const size_t end = std::min(name.find_first_not_of("0123456789.", at + 2), name.size());
    has_active = end > at + 2 && name.substr(end, 1) == "b";
  }
  const bool is_known =
      std::ranges::any_of(std::to_array<std::string_view>({"qwen1.5-moe", "qwen2-57b", "qwen3-", "qwen3.5-", "gemma-4-",
                                                           "glm-4.5", "glm-4.6", "glm-4.7-355b"}),
                          [&](std::string_view begin) { return name.starts_with(begin); });
  if (!is_known && (has_active || name_contains("moe", "mixtral", "deepseek-v2", "deepseek-v3", "gpt-oss", "moonlight",
                                                "kimi-k2", "671b")))
    throw conversion.refused(
        key, "by its name an unsupported mixture of experts (supported are those of Qwen, GLM-4.5 and Gemma 4)");
  if (name_contains("-vl-", "qwen2-vl", "vlm", "llava", "internvl", "minicpm-o", "minicpm-v", "glm-4.1v", "glm-4.5v",
                    "glm-4.6v") ||
      name.ends_with("-vl"))
    throw conversion.refused(key, "by its name a model that reads images; roll reads text only");
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
    const bool is_unused = (path.starts_with("reference.") && !needs_reference) ||
                           ((path.starts_with("critic.") || path == "reward_pretrain" || path == "critic_warmup" ||
                             path == "value_clip") &&
                            !needs_critic);
    if (is_unused) draft.remove(path);
  }
  if (!needs_critic) draft.remove("lambd");
  draft.remove("reference.sequence_packing_args.max_packed_sequence_length_train");
  if (needs_critic && !draft.find("critic.training_args.learning_rate"))
    conversion.differs("critic: no learning rate is given; roll's default is used");
}

}  // namespace roll
