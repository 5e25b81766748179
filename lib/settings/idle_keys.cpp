// Notes keys that were set but that another key makes idle, because whoever sets a key believes that it acts.
#include <map>

#include "config/walk.h"
#include "config/writer.h"
#include "settings/checks.h"

namespace roll {

namespace {

/// Notes the idle keys of a group, by the rules in its fields(). Ignores default values, so that a resolved
/// configuration, which sets every key, gives few notes.
class IdleKeys : public Keys {
 public:
  /// `prefix`: path before the group's keys.
  IdleKeys(const AnyMember& group, std::string prefix, Checker& check) : prefix_(std::move(prefix)), check_(check) {
    group.type->example([&](void* plain) {
      walk({plain, *group.type}, WalkDepth::kAll, [&](const KeyInfo& info, const AnyMember& member) {
        if (info.kind == KeyInfo::Kind::kKey) usual_[info.path] = yaml_value(member);
      });
    });
    group.type->fields(group.at, *this);
  }

  void visit(const KeyLine&, const AnyMember& member) override {
    if (member.type->shape == MemberType::Shape::kGroup) member.type->fields(member.at, *this);
  }

  void only_if(const Address& member, bool acts, const Address& other) override {
    if (acts || !check_.is_set(member)) return;
    const AnyMember& value = check_.member(member);
    const std::string& key = check_.key(member);
    const bool is_group = value.is_group();
    if (!is_group && usual_[key.substr(prefix_.size())] == yaml_value(value)) return;
    check_.note_idle(member, fmt::format("{} has no effect, because of {}", is_group ? key : check_.name(member),
                                         check_.name(other)));
  }

 private:
  std::string prefix_;
  Checker& check_;
  std::map<std::string, std::string> usual_;  // key -> its default
};

}  // namespace

void note_idle_keys(const Config& config, Checker& check) {
  for (const auto& [domain, worker] : config.rewards)
    IdleKeys(worker.reward, fmt::format("rewards.{}.", domain), check);
  if (!config.trains()) return;  // settings/rollout_only.cpp notes them
  for (const auto& [name, teacher] : config.teacher) IdleKeys(teacher, fmt::format("teacher.{}.", name), check);
  IdleKeys keys(config, "", check);
  // If an unused critic is configured, the note about it is enough.
  const bool acts = config.uses_critic() || check.is_set(config.critic);
  keys.only_if(config.reward_pretrain, acts, config.experience.adv_estimator);
}

}  // namespace roll
