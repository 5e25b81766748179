#include "reward/types.h"

#include "reward/reward.h"

namespace roll {

namespace {

template <class F>
void for_each_row(F&& f) {
  std::apply([&](const auto&... rows) { (f(rows), ...); }, kRewardTypes);
}

template <class Args>
const RewardRow<Args>& row_of(const Args&) {
  return std::get<RewardRow<Args>>(kRewardTypes);
}

}  // namespace

std::vector<std::string> Words<RewardType>::all() {
  std::vector<std::string> names;
  for_each_row([&](const auto& row) { names.emplace_back(row.name); });
  return names;
}

bool Words<RewardType>::read(std::string_view name, RewardType& out) {
  bool is_known = false;
  for_each_row([&]<class Args>(const RewardRow<Args>& row) {
    if (row.name != name) return;
    out = Args();
    is_known = true;
  });
  return is_known;
}

std::string_view name_of(const RewardType& type) {
  return std::visit([](const auto& args) { return std::string_view(row_of(args).name); }, type);
}

RewardTraits traits_of(const RewardType& type) {
  return std::visit([](const auto& args) { return row_of(args).traits; }, type);
}

std::optional<RewardType> type_of_worker_class(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('.') + 1);
  std::optional<RewardType> type;
  for_each_row([&]<class Args>(const RewardRow<Args>& row) {
    for (const std::string_view known : row.worker_classes)
      if (!known.empty() && known == name) type = Args();
  });
  return type;
}

bool needs_model(const RewardType& type) {
  const auto asks = []<class Args>(const Args& args) {
    if constexpr (requires { args.needs_model(); }) return args.needs_model();
    return false;
  };
  return std::visit(asks, type);
}

std::unique_ptr<RewardFunction> make_rule(const RewardType& type, const RuleContext& context) {
  return std::visit([&](const auto& args) { return row_of(args).make(args, context); }, type);
}

Patience usual_patience(const RewardType& type) {
  return std::visit(
      [](const auto& args) {
        if constexpr (requires { args.usual_patience(); })
          return args.usual_patience();
        else
          return Patience();
      },
      type);
}

KeyOwners own_key_owners() {
  KeyOwners owners;
  for_each_row([&]<class Args>(const RewardRow<Args>& row) {
    Args args;
    walk(args, [&](const KeyInfo& info, auto&) {
      owners[info.key].insert(row.name);
      return false;  // do not descend into groups of keys
    });
  });
  return owners;
}

}  // namespace roll
