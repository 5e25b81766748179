#include "reward/types.h"

#include <fmt/ranges.h>

#include <map>
#include <set>

#include "config/walk.h"
#include "reward/reward.h"

namespace roll {

namespace {

template <class F>
void for_each_row(F&& f) {
  std::apply([&](const auto&... rows) { (f(rows), ...); }, kRewardTypes);
}

template <class Args>
const RewardRow<Args>& find_row(const Args&) {
  return std::get<RewardRow<Args>>(kRewardTypes);
}

/// Own key -> the names of the types that own it.
using KeyOwners = std::map<std::string, std::set<std::string_view>, std::less<>>;

KeyOwners own_key_owners() {
  KeyOwners owners;
  for_each_row([&]<class Args>(const RewardRow<Args>& row) {
    walk(Args(), WalkDepth::kTop, [&](const KeyInfo& info, const AnyMember&) { owners[info.key].insert(row.name); });
  });
  return owners;
}

/// Passes on each key once, with the names of the types that own it before its meaning.
class EachOwnKeyOnce : public Keys {
 public:
  explicit EachOwnKeyOnce(Keys& v) : v_(v) {}

  void visit(const KeyLine& line, const AnyMember& member) override {
    const auto owners = owners_.extract(line.key);
    if (!owners) return;
    const std::string doc = fmt::format("type {}: {}", fmt::join(owners.mapped(), ", "), line.doc);
    KeyLine owned = line;
    owned.doc = doc.c_str();
    v_.visit(owned, member);
  }
  void only_if(const Address& member, bool acts, const Address& other) override { v_.only_if(member, acts, other); }
  void noted(KeyList keys, const char* reason) override { v_.noted(keys, reason); }
  void refused(KeyList keys, const char* reason) override { v_.refused(keys, reason); }
  void refused_above_one(KeyList keys, const char* reason) override { v_.refused_above_one(keys, reason); }

 private:
  Keys& v_;
  KeyOwners owners_ = own_key_owners();
};

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

std::string_view enum_name(const RewardType& type) {
  return std::visit([](const auto& args) { return std::string_view(find_row(args).name); }, type);
}

RewardTraits reward_traits(const RewardType& type) {
  return std::visit([](const auto& args) { return find_row(args).traits; }, type);
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
  return std::visit([&](const auto& args) { return find_row(args).make(args, context); }, type);
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

void infer_type(std::optional<RewardType>& type, const Keys& v) {
  if (!type && v.has("python")) type = PythonFunctionArgs();
}

void own_fields(std::optional<RewardType>& type, Keys& v) {
  if (type) return std::visit([&](auto& args) { args.fields(v); }, *type);
  EachOwnKeyOnce once(v);
  for_each_row([&]<class Args>(const RewardRow<Args>&) {
    Args args;
    args.fields(once);
  });
}

void refuse_foreign_keys(const std::optional<RewardType>& type, Keys& v) {
  if (!type) return;
  for (const auto& [key, owners] : own_key_owners())
    if (!owners.contains(enum_name(*type)))
      v.refused({key.c_str()}, fmt::format("is a key of type {}, and the type here is {}; remove it",
                                           fmt::join(owners, " and "), enum_name(*type))
                                   .c_str());
}

void refuse_own_keys(Keys& v) {
  for (const auto& [key, owners] : own_key_owners())
    v.refused({key.c_str()}, fmt::format("is a key of type {}, and the types here are in terms; move it to its term",
                                         fmt::join(owners, " and "))
                                 .c_str());
}

}  // namespace roll
