// Tables that map other trainers' keys to roll's: one row per key, and a function for keys that act together.
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

/// Marks the report of a key whose effect is lost.
constexpr const char* kNotSupported = "NOT SUPPORTED";

/// Reason why a choice of trackers is not copied.
constexpr const char* kCurves =
    "metrics go to TensorBoard files; with wandb in track_with also to files that `wandb sync` uploads";

/// Reason why keys of multi-turn training are refused.
constexpr const char* kTurns =
    "several turns are not converted; set them up with train_env_manager (configs/agentic.md)";

/// Action of a row on its key.
enum class Fate {
  kCopied,       // copied to `our_key`, through `change` if set
  kCombined,     // combined with other keys by the trainer's function
  kAutomatic,    // decided here without a key
  kNothing,      // has no counterpart
  kUnsupported,  // effect is lost, unless it has its default
  kRefused,      // another kind of training, named by `our_key`; ignored if off or equal to `standard`
};

/// Table row: what becomes of a key.
struct ForeignRow {
  const char* foreign_key;
  Fate fate;
  const char* our_key = "";   // kCopied: roll's path; else the reason or remedy
  const char* standard = "";  // their default, written if the key is not set; empty: not written
  std::string (*change)(const std::string& value) = nullptr;
};

/// Returns the first row whose key, or pattern with a final '*', matches `key`; nullptr if there is none.
const ForeignRow* find_row(std::span<const ForeignRow> rows, const std::string& key);

class Conversion;

/// Another trainer and the table of its keys.
struct ForeignTrainer {
  const char* name;
  const char* command;  // roll subcommand that reads the result: "train", "sft", "dpo"
  std::span<const ForeignRow> rows;
  void (*combine)(Conversion& conversion);                           // handles keys that act together
  const char* (*find_older_name)(const std::string& key) = nullptr;  // newer name -> key of `rows`, or nullptr
};
/// Returns the row of a key under any of its names; nullptr if there is none.
const ForeignRow* find_row(const ForeignTrainer& trainer, const std::string& key);

/// Settings with their defaults filled in, the draft, and the reports to the user.
class Conversion {
 public:
  /// Copies keys with kCopied rows. UserError: a key asks for another kind of training, or a value is known only at run
  /// time. `keys` must outlive the object.
  Conversion(const ForeignTrainer& trainer, const std::vector<ForeignKey>& keys, std::optional<int64_t> num_ranks);

  bool is_set(const std::string& key) const;
  /// Returns true if the key is set to a value that is known without running the script.
  bool is_known(const std::string& key) const;
  /// Returns the value, or the trainer's default; empty if there is neither.
  std::string text(const std::string& key) const;
  /// Returns text() as a number. UserError with the key's place: it is no number.
  double number(const std::string& key) const;
  /// Returns text() as an integer. UserError: it is no whole number from 1 to 1,000,000.
  int64_t count(const std::string& key) const;
  bool is_true(const std::string& key) const;
  /// Returns the names of the given keys that begin with `prefix`.
  std::vector<std::string> keys_with_prefix(const std::string& prefix) const;
  /// Reports kCombined keys that no function has read: they have no effect.
  void report_unread();
  /// Reports unread keys that begin with `prefix` as decided here, because of `why`. UserError: such a key decides what
  /// is trained.
  void take_rest(const std::string& prefix, const char* why);
  /// Returns "from run.sh:12: data.train_batch_size" or "data.train_batch_size's default".
  std::string origin(const std::string& key) const;
  /// Returns the origin of the given ones among `keys`.
  std::string origin(std::initializer_list<const char*> keys) const;
  /// Sets num_ranks to `gpus` times `nodes` (1 if nullptr), or to -n if `gpus` is not set. UserError: neither is given.
  void set_num_ranks(const char* gpus, const char* nodes);
  /// Returns the UserError "run.sh:12: key = value: what".
  UserError refused(const std::string& key, const std::string& what) const;

  void set(const std::string& our_key, const std::string& value, const std::string& origin) {
    draft.set(our_key, value, origin);
  }
  void set_from(const std::string& our_key, const std::string& key) { draft.set(our_key, text(key), origin(key)); }
  void differs(const std::string& what) { differences.push_back(what); }

  Draft draft;
  std::string command;  // roll subcommand; the trainer's, unless its keys ask for another training
  int64_t num_ranks = 1;
  std::optional<int64_t> requested_ranks;  // -n
  std::vector<std::string> differences;    // settings whose meaning differs here
  std::vector<std::string> without;        // keys without counterpart, with reasons

 private:
  /// Returns "run.sh:4: lr = x", for messages.
  std::string describe_setting(const std::string& key) const;
  void report(const ForeignKey& key);
  void refuse_unknown(const ForeignKey& key) const;
  void copy(const ForeignRow& row);
  void copy_name(const ForeignRow& row);
  const ForeignRow* find_foreign_row(const std::string& key) const { return find_row(trainer_, key); }

  const ForeignTrainer& trainer_;
  std::map<std::string, const ForeignKey*> set_keys_;  // keyed by the rows' names
  mutable std::set<std::string> read_;
};

/// Returns verl, TRL, slime, OpenRLHF, and their fine-tuning and DPO trainers.
std::span<const ForeignTrainer> foreign_trainers();
/// Returns the trainers for `roll train`, which come first and are detected by their keys; others must be named.
std::span<const ForeignTrainer> rlvr_trainers();
const ForeignTrainer& verl_trainer();
const ForeignTrainer& trl_trainer();
const ForeignTrainer& slime_trainer();
const ForeignTrainer& openrlhf_trainer();
const ForeignTrainer& verl_sft_trainer();
const ForeignTrainer& trl_dpo_trainer();
const ForeignTrainer& openrlhf_sft_trainer();
const ForeignTrainer& openrlhf_dpo_trainer();

// ---- Functions shared by all trainers

/// Returns the opposite of a boolean value.
std::string negated(const std::string& value);
/// Returns the value as a list, unless it already is one.
std::string listed(const std::string& value);
/// Returns the value, but 0 for -1 ("never").
std::string steps_or_never(const std::string& value);

/// Layout, micro-batch and mini-batch of a trained role.
struct TrainedLayout {
  std::string role;
  int64_t sequences = 1;    // per update, over all ranks
  std::string origin;       // origin of that number
  int64_t micro_batch = 1;  // sequences per micro-batch of a rank
  int64_t model_ranks = 1;  // ranks that share a copy of the model
};
/// Sets batch and micro-batch of a trained role. Rounds the batch up to a multiple of the data-parallel ranks, and
/// reports it if that changes the batch.
void set_updates(Conversion& conversion, const TrainedLayout& plan);
using StageKeys = std::span<const std::pair<const char*, const char*>>;
using Roles = std::initializer_list<const char*>;
constexpr Roles kModelRoles{"actor_train", "reference", "critic"};
/// Sets pipeline stages of `roles` from Megatron's keys (pairs of the source's key and roll's) and returns the number
/// of stages. The first key holds that number; with one stage the others have no effect.
int64_t set_stages(Conversion& conversion, StageKeys keys, Roles roles = kModelRoles);
/// Sets the expert-parallel size: the greatest common divisor of the key's and `data_ranks` (data x context ranks). If
/// that is smaller, tensor ranks also share each expert's matrices; the training stays the same.
void set_expert_ranks(Conversion& conversion, const char* key, int64_t data_ranks, Roles roles = kModelRoles);
/// Sets deepspeed's ZeRO stage of `roles` if the key is set. UserError: the stage is not 0 to 3.
void set_zero_stage(Conversion& conversion, const char* key, Roles roles);
/// Token budgets of a packed micro-batch, per rank; `ranks` share its sequences.
struct PackingBudgets {
  int64_t train = 0, forward = 0, ranks = 1;
  std::string origin;
};
/// Sets token budgets of packed micro-batches for `roles`. A budget is at least the longest sequence, which the source
/// trainer packs alone; lengths must have been set.
void set_packing(Conversion& conversion, const PackingBudgets& tokens, Roles roles = kModelRoles);
/// Sets devices 0..num_ranks-1 for all roles; the origin is these keys, or -n if none is set.
void set_devices(Conversion& conversion, std::initializer_list<const char*> keys);
/// Sets the clip range of the ratio, and the dual clip unless `c` is empty.
void set_clip(Conversion& conversion, const std::string& low, const std::string& high, const std::string& c,
              const std::string& origin);
/// Sets CISPO's range; the lower bound 1 - low is at least 0.
void set_cispo_range(Conversion& conversion, const char* low, const char* high);
/// UserError: the first key of a pair is set and differs from the second; roll has one setting for both.
void require_same(const Conversion& conversion, std::initializer_list<std::pair<const char*, const char*>> keys);
/// UserError: the key names an optimizer other than Adam or AdamW with 32-bit states.
void require_adam(const Conversion& conversion, const char* key);
/// Sets the final learning rate of a cosine schedule: `end` is a rate, or a share of the peak (`is_share`). Does
/// nothing if it is 0 or the schedule `type` is constant. UserError: another schedule.
void set_last_rate(Conversion& conversion, const std::string& type, const char* end, bool is_share,
                   const std::string& role = "actor_train");
/// Copies the policy's optimizer and schedule to the critic where the critic has no setting.
void set_critic_optimizer(Conversion& conversion);
/// Sets the KL in the loss; turns it off if its coefficient is 0.
void set_kl_loss(Conversion& conversion, const char* use, const char* coefficient, const char* type);
/// Sets the KL in the token rewards from the keys of its coefficient and estimator.
void set_reward_kl(Conversion& conversion, const char* coefficient, const char* type);
/// Sets the KL estimator of the loss unless it is k3: k1, k2, k3, abs or verl's names for them; those ending in '+'
/// have the gradient of k2. UserError: another estimator.
void set_kl_loss_penalty(Conversion& conversion, const char* type);
/// Drops groups whose responses are all right or all wrong, and samples additional prompts instead.
void set_group_filter(Conversion& conversion, const std::string& origin);
/// Source keys of the training's sampling, used where validation has no setting.
struct ValidationKeys {
  const char *temperature, *top_p, *top_k, *responses;
};
/// Sets the rows' columns. `input` holds messages or a text: with the key `templated` it is messages or, judged by its
/// name, a question; else raw text. `label`, if given, names the column of the right answer.
void set_columns(Conversion& conversion, const char* input, const char* templated, const char* label);
/// Sets validation's columns and sampling, or removes it if it has no rows; reports keys that the user must set.
void set_data(Conversion& conversion, const ValidationKeys& keys);
/// UserError: by its name the model reads images or is an unknown mixture of experts.
void refuse_other_models(const Conversion& conversion, const char* key);
/// Sets one reward domain: rule-checked mathematics, as in most recipes of other trainers. If `model` is not nullptr,
/// it is the reward model that this key names; else, if `function` is set, that Python function ("FILE:FUNCTION").
void set_reward(Conversion& conversion, const char* model = nullptr, const std::string& function = "");
/// Returns a value for rewards.<domain>.terms. `terms`: each term's keys, as "type: x". Without weights all are 1.
std::string weighted_terms(const std::vector<std::string>& terms, const std::vector<std::string>& weights);
/// Removes settings of the critic and the reference if the objective does not use them.
void set_roles(Conversion& conversion);

}  // namespace roll
