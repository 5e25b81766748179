#include "settings/distillation.h"

#include <algorithm>
#include <set>

#include "base/nearest.h"
#include "checkpoint/hub_cache.h"
#include "config/node.h"
#include "config/walk.h"
#include "settings/agentic.h"
#include "settings/placement.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

// ---- spellings

bool is_override(const Node& node) {
  return node.place.line == 0;
}

/// Merges `from` into `into`, key by key; values of the command line win. UserError: the file has both names of a key.
void merge(const Node& from, Node& into, const std::string& path, const std::string& other) {
  if (into.kind != Node::Kind::kMap || from.kind != Node::Kind::kMap) {
    if (!is_override(from) && !is_override(into) && into.kind != Node::Kind::kNull)
      throw user_error("{}: {}: is another name of {} at {}; keep one of the two", from.place.text(), path, other,
                       into.place.text());
    if (is_override(from) || !is_override(into)) into = from;
    return;
  }
  for (const MapEntry& entry : from.map) {
    const std::string inner = path + "." + entry.key;
    if (Node* known = into.find(entry.key))
      merge(entry.value, *known, inner, other + "." + entry.key);
    else
      into.map.push_back(entry);
  }
}

/// Renames a key, merging it if the new name exists; returns false if there is no `from`.
bool rename(Node& tree, const char* from, const char* to) {
  const auto found = std::ranges::find(tree.map, from, &MapEntry::key);
  if (found == tree.map.end()) return false;
  if (!tree.find(to)) {
    found->key = to;
    return true;
  }
  const Node value = found->value;
  tree.map.erase(found);
  merge(value, *tree.find(to), from, to);
  return true;
}

const std::set<std::string>& teacher_keys() {
  static const std::set<std::string> kKeys = [] {
    std::set<std::string> keys;
    walk(TeacherConfig(), WalkDepth::kAll, [&](const KeyInfo& info, const AnyMember&) { keys.insert(info.path); });
    return keys;
  }();
  return kKeys;
}

/// Rewrites {model_args: ...} to {default: {model_args: ...}}.
void name_teacher(Node& teacher) {
  if (teacher.kind != Node::Kind::kMap) return;
  Node single{.kind = Node::Kind::kMap, .place = teacher.place};
  std::vector<MapEntry> named;
  for (MapEntry& entry : teacher.map) {
    const bool is_key = entry.value.kind != Node::Kind::kMap || teacher_keys().contains(entry.key);
    (is_key ? single.map : named).push_back(std::move(entry));
  }
  teacher.map = std::move(named);
  if (single.map.empty()) return;
  if (Node* known = teacher.find("default"))
    merge(single, *known, "teacher", "teacher.default");
  else
    teacher.map.push_back({"default", teacher.place, std::move(single)});
}

// ---- who teaches what

std::vector<std::string> taught_domains(const TeacherConfig& teacher, const Config& config, Checker& check) {
  std::vector<std::string> domains, known;
  std::set<std::string> wanted(teacher.tag_included.begin(), teacher.tag_included.end()), found;
  for (const auto& [domain, worker] : config.rewards) {
    const std::vector<std::string>& tags = worker.reward.tag_included;
    known.insert(known.end(), tags.begin(), tags.end());
    known.push_back(domain);
    const auto is_wanted = [&](const std::string& tag) { return wanted.contains(tag); };
    const auto count = std::ranges::count_if(tags, is_wanted);
    for (const std::string& tag : tags)
      if (is_wanted(tag)) found.insert(tag);
    if (is_wanted(domain)) found.insert(domain);
    if (!is_wanted(domain) && count == 0) continue;
    const auto other = std::ranges::find_if_not(tags, is_wanted);
    check.require(is_wanted(domain) || other == tags.end(), teacher.tag_included,
                  "names only some tags of rewards.{}: all responses of a domain have the same teachers; add {}, or "
                  "give these tags a separate domain",
                  domain, other == tags.end() ? "" : *other);
    domains.push_back(domain);
  }
  for (const std::string& tag : wanted)
    check.require(found.contains(tag), teacher.tag_included, "no reward has the tag or the name {}{}", tag,
                  did_you_mean(tag, known));
  return domains;
}

void note_untaught(const Config& config, Checker& check) {
  for (const auto& [domain, worker] : config.rewards) {
    const auto teaches = [&, domain = domain](const auto& named) {
      const auto& domains = named.second.domains;
      return domains.empty() || std::ranges::find(domains, domain) != domains.end();
    };
    if (!std::ranges::any_of(config.teacher, teaches))
      check.note(fmt::format("no teacher has a tag of rewards.{}: {}", domain,
                             config.experience.is_pure_opd ? "its responses have no effect"
                                                           : "its responses are trained on by their rewards alone"));
  }
}

/// Rejects keys that want a reference or another pipeline beside the teachers. `flag`: the key that enables
/// distillation.
void check_contradictions(const Config& config, const auto& flag, Checker& check) {
  const ExperienceConfig& experience = config.experience;
  const std::string reason = fmt::format("the KL to the teachers is used, because {}; remove this", check.name(flag));
  check.require(!config.loss.use_kl_loss, config.loss.use_kl_loss, "{}, and raise opd_kl_coef for a stronger KL",
                reason);
  check.require(!experience.add_token_level_kl, experience.add_token_level_kl,
                "{}, and raise opd_kl_coef for a stronger KL", reason);
  check.require(!config.enable_reference.value_or(false), config.enable_reference, "{}", reason);
  check.require(config.pure_opd_pipeline_type == "rlvr", config.pure_opd_pipeline_type,
                "this version distils single answers to prompts, not episodes of agents; set it to rlvr");
}

}  // namespace

void Config::rewrite(Node& tree, std::vector<std::string>& notes) {
  if (tree.kind != Node::Kind::kMap) return;
  std::vector<std::string> renamed_keys;
  for (const auto& [from, to] : {std::pair("student_train", "actor_train"), std::pair("student_infer", "actor_infer")})
    if (rename(tree, from, to)) renamed_keys.emplace_back(from);
  if (!renamed_keys.empty()) {
    const bool has_flag = tree.find("is_pure_opd") != nullptr;
    notes.push_back(fmt::format("{}: read as actor_train and actor_infer{}", fmt::join(renamed_keys, ", "),
                                has_flag ? "" : ", with is_pure_opd: true, as in ROLL"));
    if (!has_flag)
      tree.map.push_back(
          {"is_pure_opd", tree.place, Node{.kind = Node::Kind::kScalar, .text = "true", .place = tree.place}});
  }
  if (Node* teacher = tree.find("teacher")) name_teacher(*teacher);
  add_environment_rewards(tree);
}

void complete_distillation(Config& config, Checker& check) {
  ExperienceConfig& experience = config.experience;
  if (!config.distils()) {
    check.require(config.teacher.empty(), config.teacher,
                  "distillation is off; set is_pure_opd: true, or use_opd: true to keep the rewards, or remove it");
    return;
  }
  const bool& flag = experience.is_pure_opd ? experience.is_pure_opd : experience.use_opd;
  check.require(!experience.is_pure_opd || !experience.use_opd, experience.use_opd,
                "uses the rewards, which {} ignores; keep one of the two", check.name(experience.is_pure_opd));
  check.require(!config.teacher.empty(), flag,
                "needs a teacher; describe a model under teacher, in the form of reference");
  check_contradictions(config, flag, check);
  auto& estimator = experience.adv_estimator;
  if (experience.is_pure_opd && !check.is_set(estimator)) estimator = "reinforce";
  check.require(!experience.is_pure_opd || estimator == Chosen<AdvantageEstimator>("reinforce"), estimator,
                "advantages come only from the teachers, because {}; remove this, or set use_opd: true instead",
                check.name(experience.is_pure_opd));
  for (auto& [name, teacher] : config.teacher) {
    check.require_given(teacher.model.model_args.model_name_or_path.has_value(),
                        teacher.model.model_args.model_name_or_path, "set it to the teacher's folder or Hub name");
    if (!teacher.opd_kl_coef) teacher.opd_kl_coef = config.opd_kl_coef.value_or(1);
    if (!teacher.tag_included.empty()) teacher.domains = taught_domains(teacher, config, check);
  }
  note_untaught(config, check);
}

void check_teacher(const NamedSpec& teacher, const NamedSpec& learner, const char* learner_name, bool offline,
                   Checker& check) {
  check.require(teacher.spec.vocab_size >= learner.spec.vocab_size, teacher.name,
                "its vocab_size is {}, but the {}'s is {}: a teacher must know all tokens that the {} may write",
                teacher.spec.vocab_size, learner_name, learner.spec.vocab_size, learner_name);
  if (offline) return;
  check.collect(teacher.name,
                [&] { check_same_tokens(model_folder(learner.name.value()), model_folder(teacher.name.value())); });
}

void check_same_tokens(const std::filesystem::path& policy, const std::filesystem::path& teacher) {
  const Tokenizer policy_tokenizer = Tokenizer::load(policy), teacher_tokenizer = Tokenizer::load(teacher);
  const auto quoted = [](const std::string& token) {
    return token.empty() ? "no token" : fmt::format("\"{}\"", token);
  };
  for (int64_t id = 0; id < policy_tokenizer.vocab_size(); ++id)
    if (const std::string token = policy_tokenizer.spelling(id); token != teacher_tokenizer.spelling(id))
      throw user_error(
          "{}: its tokenizer differs from the policy's: token {} is {}, but {} in {}; a teacher must read the policy's "
          "tokens, so choose a model of the same family",
          teacher.string(), id, quoted(teacher_tokenizer.spelling(id)), quoted(token), policy.string());
}

}  // namespace roll
