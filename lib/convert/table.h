// What becomes of another trainer's keys: one row for each, and for what several keys make together a function.
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

/// Stands in what is told of a key whose effect is lost.
constexpr const char* kNotSupported = "NOT SUPPORTED";

/// Why a choice of trackers is not taken over.
constexpr const char* kCurves =
    "track_with; curves go to TensorBoard files, and with wandb there to files that `wandb sync` uploads";

/// Why keys of several turns are refused.
constexpr const char* kTurns =
    "several turns, which are not converted; train_env_manager asks for them here (configs/agentic.md)";

/// What a row does with its key.
enum class Fate {
  kCopied,       // to `ours`, by `change` where there is one
  kCombined,     // with others, by the trainer's function
  kAutomatic,    // decided here without a key
  kNothing,      // there is nothing of the kind here
  kUnsupported,  // its effect is lost; with the default of that trainer nothing is
  kRefused,      // makes it a training of another kind, which `ours` names, unless it is off or `standard`
};

struct ForeignRow {
  const char* theirs;
  Fate fate;
  const char* ours = "";      // kCopied: our path; else why, or what to do instead
  const char* standard = "";  // their default, which is written where the key is not set; empty: none is
  std::string (*change)(const std::string& value) = nullptr;
};

/// The first row whose key, or pattern with '*' at its end, `key` is; nullptr: none.
const ForeignRow* find_row(std::span<const ForeignRow> rows, const std::string& key);

class Conversion;

struct ForeignTrainer {
  const char* name;
  const char* command;  // of ours, which reads what is written: "train", "sft", "dpo"
  std::span<const ForeignRow> rows;
  void (*combine)(Conversion& conversion);                   // what several keys make together
  const char* (*renamed)(const std::string& key) = nullptr;  // a newer name's key of `rows`; nullptr: none
};
/// The row of a key under any of its names.
const ForeignRow* find_row(const ForeignTrainer& trainer, const std::string& key);

/// The settings with their defaults filled in, and what is to be told.
class Conversion {
 public:
  /// UserError: a key that makes it a training of another kind; a value that only a run of a script would tell.
  /// `keys` must outlive it.
  Conversion(const ForeignTrainer& trainer, const std::vector<ForeignKey>& keys, std::optional<int64_t> num_ranks);

  bool is_set(const std::string& key) const;
  /// Given, and not as what only a run of a script would tell.
  bool is_known(const std::string& key) const;
  /// The value, or that trainer's default; empty: neither.
  std::string text(const std::string& key) const;
  /// UserError names the key's place where it is no number.
  double number(const std::string& key) const;
  /// The same for a whole number from 1 to 1,000,000.
  int64_t count(const std::string& key) const;
  bool is_true(const std::string& key) const;
  /// The names of the given keys that begin with `prefix`.
  std::vector<std::string> given_with(const std::string& prefix) const;
  /// Keys that no function has asked for: under the others they mean nothing.
  void tell_unread();
  /// Those of them that begin with `prefix` are decided here, as `why` says. UserError: one decides what is trained.
  void take_rest(const std::string& prefix, const char* why);
  /// "run.sh:12: data.train_batch_size" or "data.train_batch_size's default".
  std::string origin(const std::string& key) const;
  /// Of those that are given.
  std::string origin(std::initializer_list<const char*> keys) const;
  /// `gpus` of each of `nodes` machines, which may be nullptr; `gpus` must be given, or else -n. UserError: neither.
  void set_num_ranks(const char* gpus, const char* nodes);
  /// UserError "run.sh:12: key = value: what".
  UserError refused(const std::string& key, const std::string& what) const;

  void set(const std::string& ours, const std::string& value, const std::string& origin) {
    draft.set(ours, value, origin);
  }
  void set_from(const std::string& ours, const std::string& key) { draft.set(ours, text(key), origin(key)); }
  void differs(const std::string& what) { differences.push_back(what); }

  Draft draft;
  std::string command;  // of ours; the trainer's, unless its keys ask for another training
  int64_t num_ranks = 1;
  std::optional<int64_t> asked_ranks;    // -n
  std::vector<std::string> differences;  // in meaning
  std::vector<std::string> without;      // keys that have no counterpart, and why

 private:
  /// "run.sh:4: lr = x", for messages.
  std::string said(const std::string& key) const;
  void tell(const ForeignKey& key);
  void refuse_unknown(const ForeignKey& key) const;
  void copy(const ForeignRow& row);
  void copy_name(const ForeignRow& row);
  const ForeignRow* row_of(const std::string& key) const { return find_row(trainer_, key); }

  const ForeignTrainer& trainer_;
  std::map<std::string, const ForeignKey*> given_;  // by the rows' names
  mutable std::set<std::string> read_;
};

/// verl, TRL, slime, OpenRLHF, and what else they train.
std::span<const ForeignTrainer> foreign_trainers();
/// Those whose keys become keys of `roll train`. They stand first, and are told by their keys; the others must be
/// named.
std::span<const ForeignTrainer> rlvr_trainers();
const ForeignTrainer& verl_trainer();
const ForeignTrainer& trl_trainer();
const ForeignTrainer& slime_trainer();
const ForeignTrainer& openrlhf_trainer();
const ForeignTrainer& verl_sft_trainer();
const ForeignTrainer& trl_dpo_trainer();
const ForeignTrainer& openrlhf_sft_trainer();
const ForeignTrainer& openrlhf_dpo_trainer();

// ---- What all of them share

/// The opposite of a true or false value.
std::string negated(const std::string& value);
/// A list of one, unless it is one.
std::string listed(const std::string& value);
/// -1, which means never there, as 0.
std::string steps_or_never(const std::string& value);

/// The layout, the micro-batches and the mini-batch of a role that is trained.
struct TrainedLayout {
  std::string role;
  int64_t sequences = 1;    // of an update, over all ranks
  std::string origin;       // of that number
  int64_t micro_batch = 1;  // sequences of a forward and backward of a rank
  int64_t model_ranks = 1;  // ranks that share a copy of the model
};
void set_updates(Conversion& conversion, const TrainedLayout& plan);
/// Megatron's keys of a pipeline's stages, theirs and ours, of all roles that have forwards; the first one says how
/// many there are, and with one stage the others mean nothing. That number.
using StageKeys = std::span<const std::pair<const char*, const char*>>;
using Roles = std::initializer_list<const char*>;
constexpr Roles kModelRoles{"actor_train", "reference", "critic"};
int64_t set_stages(Conversion& conversion, StageKeys keys, Roles roles = kModelRoles);
/// Ranks that share the experts of a mixture, of `data_ranks` that have data or context of their own. Where they are
/// not as many as the key says, tensor ranks share each expert's matrices, too; that changes nothing that is trained.
void set_expert_ranks(Conversion& conversion, const char* key, int64_t data_ranks, Roles roles = kModelRoles);
/// What data ranks share of what `roles` train, where the key is given: deepspeed's stage, 0 to 3. UserError: another.
void set_zero_stage(Conversion& conversion, const char* key, Roles roles);
/// Tokens of a packed micro-batch for each of the `ranks` that share its sequences.
struct PackingBudgets {
  int64_t train = 0, forward = 0, ranks = 1;
  std::string origin;
};
/// Token budgets of packed micro-batches, of all roles that have forwards. A longer sequence has one for itself there,
/// so here a budget holds the longest; lengths must have been set.
void set_packing(Conversion& conversion, const PackingBudgets& tokens, Roles roles = kModelRoles);
/// Devices 0..num_ranks-1 for all roles, from these keys, or -n where none is given.
void set_devices(Conversion& conversion, std::initializer_list<const char*> keys);
/// Ratio bounds; dual clip where `c` is not empty.
void set_clip(Conversion& conversion, const std::string& low, const std::string& high, const std::string& c,
              const std::string& origin);
/// CISPO's range; a weight is never below 0, whatever is allowed.
void set_cispo_range(Conversion& conversion, const char* low, const char* high);
/// UserError where the first key of a pair is given and is not the second's value: roles that have one setting here.
void require_same(const Conversion& conversion, std::initializer_list<std::pair<const char*, const char*>> keys);
/// UserError where the key names an optimizer other than Adam and AdamW with states of 32 bits.
void require_adam(const Conversion& conversion, const char* key);
/// What a cosine ends at: `end` is the policy's learning rate, or a share of its peak. Nothing where it is 0 or the
/// schedule `type` is constant. UserError: another schedule.
void set_last_rate(Conversion& conversion, const std::string& type, const char* end, bool is_share,
                   const std::string& role = "actor_train");
/// The critic's optimizer and schedule where they are the policy's and no key of the critic's says otherwise.
void set_critic_optimizer(Conversion& conversion);
/// The KL in the loss, from their keys; none where its coefficient is 0.
void set_kl_loss(Conversion& conversion, const char* use, const char* coefficient, const char* type);
/// The KL in the token rewards, from the keys of its coefficient and its estimate.
void set_reward_kl(Conversion& conversion, const char* coefficient, const char* type);
/// The estimate of the KL in the loss, where it is not k3: k1, k2, k3 or one of verl's words for them, of which those
/// that end with '+' have the gradient of k2. UserError: another.
void set_kl_loss_penalty(Conversion& conversion, const char* type);
/// Groups that are all right or all wrong are dropped, and made up for.
void set_group_filter(Conversion& conversion, const std::string& origin);
/// Their keys of a validation's sampling where its own are not set.
struct ValidationKeys {
  const char *temperature, *top_p, *top_k, *responses;
};
/// The column of `input`, whose rows hold messages or a text there: what goes through a template (`templated`) is
/// messages or, by its name, a question; else it is raw text. The right answer's is that of `label`, where it is given.
void set_columns(Conversion& conversion, const char* input, const char* templated, const char* label);
/// The validation's columns and sampling, and no validation where it has no rows; what must be set by hand is told.
void set_data(Conversion& conversion, const ValidationKeys& keys);
/// UserError where the name of the model says that it reads images or is a mixture of experts.
void refuse_other_models(const Conversion& conversion, const char* key);
/// One domain of rule-checked mathematics, which is what the other trainers' recipes train on most; or, where the key
/// `model` is not nullptr, of the reward model that it names, or of a Python function ("FILE:FUNCTION").
void set_reward(Conversion& conversion, const char* model = nullptr, const std::string& function = "");
/// The value of rewards.<domain>.terms: `terms` are the keys of each, as "type: x". No weights: all are 1.
std::string weighted_terms(const std::vector<std::string>& terms, const std::vector<std::string>& weights);
/// A critic like the policy, and a reference where something measures a KL to it.
void set_roles(Conversion& conversion);

}  // namespace roll
