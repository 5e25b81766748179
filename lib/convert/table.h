// Tables that map other trainers' configuration keys to roll's: one row per key, and per trainer a function `combine`
// for keys that act together. Used by the converters of lib/convert. "Source" means the other trainer; a key without
// "roll's" is a source key. An origin is a text such as "from run.sh:12: lr", the comment next to a key in the YAML.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "convert/deciding.h"
#include "convert/draft.h"
#include "convert/foreign.h"

namespace roll {

/// Part of the report of a key whose effect is lost; such reports are listed first.
constexpr const char* kNotSupported = "NOT SUPPORTED";

/// Message for keys that choose loggers (wandb, TensorBoard): they are not copied.
constexpr const char* kCurves =
    "metrics go to TensorBoard files; with wandb in track_with also to files that `wandb sync` uploads";

/// Message for keys of multi-turn training: they are refused.
constexpr const char* kTurns =
    "several turns are not converted; set them up with train_env_manager (configs/agentic.md)";

/// Effect of a source key on the conversion.
enum class Fate {
  kCopied,       // copied to roll's key `our_key`, after `change` if set
  kCombined,     // read by the trainer's `combine`, which writes roll's keys
  kAutomatic,    // reported: roll has no such key, because it decides alone
  kNothing,      // reported: roll has no such setting
  kUnsupported,  // reported with kNotSupported: the key's effect is lost
  kRefused,      // UserError with the message `our_key`; only reported if the value is is_off() or the default
};

/// Table row: what becomes of a source key.
struct ForeignRow {
  const char* foreign_key;         // key, or a prefix and '*' for all keys with that prefix
  Fate fate;                       // effect on the conversion
  const char* our_key = "";        // kCopied: roll's path; otherwise the reason in the report or error
  const char* default_value = "";  // the source trainer's value of a key that is not set; empty: none
  std::string (*change)(const std::string& value) = nullptr;  // kCopied: converts the value; nullptr: copied unchanged
};

/// Returns the first row whose foreign_key is `key`, or ends with '*' and matches it; nullptr if there is none.
const ForeignRow* find_row(std::span<const ForeignRow> rows, const std::string& key);

class Conversion;

/// Another trainer and the table of its keys.
struct ForeignTrainer {
  const char* name;                         // "verl", "verl-sft", ...
  const char* command;                      // roll subcommand that reads the result: "train", "sft", "dpo"
  std::span<const ForeignRow> rows;         // table of the keys
  void (*combine)(Conversion& conversion);  // reads the keys of kCombined rows and writes roll's keys
  /// Returns the name in `rows` of a key that the trainer has renamed, given by its new name; nullptr if it has not
  /// been renamed.
  const char* (*find_older_name)(const std::string& key) = nullptr;
};
/// Returns the row of a key, given by its name in `rows` or a newer one; nullptr if there is none.
const ForeignRow* find_row(const ForeignTrainer& trainer, const std::string& key);

/// State of one conversion: the source keys with defaults filled in, the draft of roll's configuration, and the reports
/// to the user. `key` is always a name in the trainer's table. Reading a key marks it as read, for report_unread().
class Conversion {
 public:
  /// Copies the keys of kCopied rows to the draft and reports the keys that are not converted. A repeated key's last
  /// value counts. Throws UserError for a kRefused key, an unknown key that by its name changes the training, and a
  /// value known only at run time. `trainer` and `keys` must outlive the object. `num_ranks` is -n.
  Conversion(const ForeignTrainer& trainer, const std::vector<ForeignKey>& keys, std::optional<int64_t> num_ranks);

  /// Returns true if the source sets the key, even to null.
  bool is_set(const std::string& key) const;
  /// Returns true if the key is set to a value that is known without running the script.
  bool is_known(const std::string& key) const;
  /// Returns the value, or the trainer's default; empty if there is neither, or it is None or null. Throws UserError if
  /// the value is known only at run time; so do the functions below that read a value.
  std::string text(const std::string& key) const;
  /// Returns text() as a number. Throws UserError if it is not a number.
  double number(const std::string& key) const;
  /// Returns text() as an integer. Throws UserError if it is not a whole number from 1 to 1,000,000.
  int64_t count(const std::string& key) const;
  /// Returns text() as a boolean; false if it is not one.
  bool is_true(const std::string& key) const;
  /// Returns the names of all set keys that begin with `prefix`.
  std::vector<std::string> keys_with_prefix(const std::string& prefix) const;
  /// Reports in `without`, as keys without effect, all kCombined keys that the source sets and that have not been read.
  /// Call it after `combine`.
  void report_unread();
  /// Reports in `without`, as decided by roll for the reason `why`, the unread kCombined keys that the source sets and
  /// that begin with `prefix`; marks them as read. Throws UserError if such a key by its name changes the training
  /// (decides_training()).
  void take_rest(const std::string& prefix, const char* why);
  /// Returns "from run.sh:12: data.train_batch_size" or "data.train_batch_size's default".
  std::string origin(const std::string& key) const;
  /// Returns the joined origins of all set `keys`; if none is set, "KEY's default" for the first.
  std::string origin(std::initializer_list<const char*> keys) const;
  /// Sets num_ranks to the value of the key `gpus` times that of the key `nodes` (1 if nullptr), or to -n if `gpus` is
  /// not set. Throws UserError if neither is given.
  void set_num_ranks(const char* gpus, const char* nodes);
  /// Returns the UserError "run.sh:12: key = value: what", to be thrown by the caller.
  UserError refused(const std::string& key, const std::string& what) const;

  /// Writes roll's key `our_key` to the draft.
  void set(const std::string& our_key, const std::string& value, const std::string& origin) {
    draft.set(our_key, value, origin);
  }
  /// Copies the value of the source key `key` to roll's key `our_key`.
  void set_from(const std::string& our_key, const std::string& key) { draft.set(our_key, text(key), origin(key)); }
  /// Adds a sentence to `differences`.
  void differs(const std::string& what) { differences.push_back(what); }

  Draft draft;
  std::string command;                     // roll subcommand: the trainer's, unless `combine` sets another
  int64_t num_ranks = 1;                   // number of GPUs, after set_num_ranks()
  std::optional<int64_t> requested_ranks;  // number of GPUs given as -n
  std::vector<std::string> differences;    // sentences: settings that mean something else in roll
  std::vector<std::string> without;        // keys not converted: "key = value (run.sh:3): reason"

 private:
  /// Returns "run.sh:4: lr = x", for messages.
  std::string describe_setting(const std::string& key) const;
  void report(const ForeignKey& key);
  void refuse_unknown(const ForeignKey& key) const;
  void copy(const ForeignRow& row);
  void copy_name(const ForeignRow& row);
  const ForeignRow* find_foreign_row(const std::string& key) const { return find_row(trainer_, key); }

  const ForeignTrainer& trainer_;
  std::map<std::string, const ForeignKey*> set_keys_;  // by foreign_key of the row, or by the key if only a '*' matches
  mutable std::set<std::string> read_;
};

/// Returns all trainers: those of rlvr_trainers(), then the fine-tuning and DPO trainers.
std::span<const ForeignTrainer> foreign_trainers();
/// Returns the trainers for `roll train` (verl, TRL, slime, OpenRLHF). convert_config() detects these by their keys;
/// the others only by name.
std::span<const ForeignTrainer> rlvr_trainers();
const ForeignTrainer& verl_trainer();
const ForeignTrainer& trl_trainer();
const ForeignTrainer& slime_trainer();
const ForeignTrainer& openrlhf_trainer();
const ForeignTrainer& verl_sft_trainer();
const ForeignTrainer& trl_dpo_trainer();
const ForeignTrainer& openrlhf_sft_trainer();
const ForeignTrainer& openrlhf_dpo_trainer();

// ---- Functions shared by the trainers' `combine`
//
// They write roll's keys to the draft. A `const char*` parameter is the name of a source key, whose value the function
// reads, unless said otherwise; roles are roll's ("actor_train").

/// Returns "false" for a true value, else "true".
std::string negated(const std::string& value);
/// Returns the value as a YAML list of one element, unless it already begins with '['.
std::string listed(const std::string& value);
/// Returns the value, but "0" for "-1": a number of steps for which -1 means never in the source, 0 in roll.
std::string steps_or_never(const std::string& value);

/// Batches of a trained role.
struct TrainedLayout {
  std::string role;
  int64_t sequences = 1;    // per update, over all ranks
  std::string origin;       // origin of `sequences`
  int64_t micro_batch = 1;  // sequences per micro-batch of a rank
  int64_t model_ranks = 1;  // ranks that share a copy of the model
};
/// Sets batch and micro-batch of a trained role. Rounds the batch up to a multiple of the data-parallel ranks, and
/// reports it if that changes the batch. Call it after set_num_ranks().
void set_updates(Conversion& conversion, const TrainedLayout& plan);
using StageKeys = std::span<const std::pair<const char*, const char*>>;  // source key, roll's key in strategy_config
using Roles = std::initializer_list<const char*>;
constexpr Roles kModelRoles{"actor_train", "reference", "critic"};
/// Copies the settings of pipeline parallelism in `keys` to `roles`. The first pair in `keys` must be the number of
/// stages, which is returned. If that is 1, writes nothing.
int64_t set_stages(Conversion& conversion, StageKeys keys, Roles roles = kModelRoles);
/// Trains the role's multi-token-prediction head with the coefficient that the key `factor` holds. Does nothing if the
/// latter's value is 0.
void set_mtp(Conversion& conversion, const std::string& role, const char* factor);
/// Sets the expert-parallel size to the greatest common divisor of the key's value and `data_ranks` (number of data x
/// context ranks). If that is smaller than the value, reports it: tensor ranks also split each expert's matrices, and
/// the training stays the same.
void set_expert_ranks(Conversion& conversion, const char* key, int64_t data_ranks, Roles roles = kModelRoles);
/// Sets deepspeed's ZeRO stage of `roles` if the key is set. Throws UserError if it is not 0, 1, 2 or 3.
void set_zero_stage(Conversion& conversion, const char* key, Roles roles);
/// Token budgets of packed micro-batches.
struct PackingBudgets {
  int64_t train = 0;    // tokens of a micro-batch in training, per rank
  int64_t forward = 0;  // the same for passes without gradients
  int64_t ranks = 1;    // ranks that share a micro-batch's sequences; roll's budget is per rank times this
  std::string origin;
};
/// Sets token budgets of packed micro-batches for `roles`. Raises a budget to the longest sequence, because the source
/// trainer packs longer sequences alone. Call it after lengths and parallel sizes are set.
void set_packing(Conversion& conversion, const PackingBudgets& tokens, Roles roles = kModelRoles);
/// Sets devices 0..num_ranks-1 for actor_train, actor_infer, reference and critic. The origin is these keys, or -n if
/// none is set.
void set_devices(Conversion& conversion, std::initializer_list<const char*> keys);
/// Sets the clip range of the probability ratio to [1 - low, 1 + high], and the dual clip to `c` unless it is empty.
/// All three are values.
void set_clip(Conversion& conversion, const std::string& low, const std::string& high, const std::string& c,
              const std::string& origin);
/// Sets CISPO's range of the ratio to [1 - low, 1 + high] from these keys; a `low` above 1 becomes 1.
void set_cispo_range(Conversion& conversion, const char* low, const char* high);
/// Throws UserError if the first key of a pair is set and its value differs from the second key's: roll has one setting
/// for both.
void require_same(const Conversion& conversion, std::initializer_list<std::pair<const char*, const char*>> keys);
/// Throws UserError if the key names an optimizer other than Adam or AdamW with 32-bit states.
void require_adam(const Conversion& conversion, const char* key);
/// Sets the final learning rate of a cosine schedule: the key `end` holds a rate or, if `is_share`, a share of the peak
/// rate. Does nothing if its value is empty or 0, or if the schedule's name `type` (a value) begins with "constant".
/// Throws UserError for other schedules.
void set_last_rate(Conversion& conversion, const std::string& type, const char* end, bool is_share,
                   const std::string& role = "actor_train");
/// Copies the policy's training_args, except batch sizes, to the critic where the critic has no setting.
void set_critic_optimizer(Conversion& conversion);
/// If the boolean key `use` is true, sets the KL in the loss, or turns it off if its coefficient is 0. `type` is the
/// key of the KL estimator.
void set_kl_loss(Conversion& conversion, const char* use, const char* coefficient, const char* type);
/// Sets the KL in the token rewards, or turns it off if its coefficient is 0. `type` is the key of the KL estimator.
/// Throws UserError for an unknown estimator.
void set_reward_kl(Conversion& conversion, const char* coefficient, const char* type);
/// Sets the KL estimator of the loss from the key `type`: k1, k2, k3, abs or verl's names for them. Writes nothing for
/// k3, roll's default. A name that ends in '+' has the gradient of k2 and becomes mse. Throws UserError for others.
void set_kl_loss_penalty(Conversion& conversion, const char* type);
/// Sets roll's filter that drops groups whose responses are all right or all wrong, and samples other prompts instead.
void set_group_filter(Conversion& conversion, const std::string& origin);
/// Source keys of the training's sampling, used where validation has no setting.
struct ValidationKeys {
  const char *temperature, *top_p, *top_k;
  const char* responses;  // number of responses per prompt in validation
};
/// Sets the columns of the training's rows. The key `input` holds the name of the prompt's column. If the boolean key
/// `templated` is true, that column is taken as a question (a text) if so named ("question", "problem", ...), else as
/// messages; if false, as raw text. The key `label` holds the name of the right answer's column; it may be unset.
void set_columns(Conversion& conversion, const char* input, const char* templated, const char* label);
/// Sets validation's columns and sampling, or removes validation if it has no rows. Writes placeholders for a missing
/// model or data file and reports them.
void set_data(Conversion& conversion, const ValidationKeys& keys);
/// Throws UserError if by its name the model that the key holds reads images or is an unknown mixture of experts.
void refuse_other_models(const Conversion& conversion, const char* key);
/// Sets the only reward domain. If `model` is not nullptr, it is the reward model that this key holds; else, if
/// `function` ("FILE:FUNCTION") is not empty, that Python function; else rule-checked mathematics, as in most recipes.
/// Throws UserError if the key `model` is not set.
void set_reward(Conversion& conversion, const char* model = nullptr, const std::string& function = "");
/// Returns a value for rewards.<domain>.terms. Each of `terms` holds keys and values such as "type: x". `weights` holds
/// one number per term; if it is empty, all weights are 1.
std::string weighted_terms(const std::vector<std::string>& terms, const std::vector<std::string>& weights);
/// Removes settings of the critic and the reference if the objective does not use them. Call it last.
void set_roles(Conversion& conversion);

}  // namespace roll
