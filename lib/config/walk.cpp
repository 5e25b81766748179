#include "config/walk.h"

#include <utility>

namespace roll {

namespace {

class Walk : public Keys {
 public:
  Walk(const VisitKey& f, WalkDepth depth, std::string prefix) : f_(f), depth_(depth), prefix_(std::move(prefix)) {}

  void visit(const KeyLine& line, const AnyMember& member) override {
    const auto kind = member.is_group() ? KeyInfo::Kind::kGroup : KeyInfo::Kind::kKey;
    f_({prefix_ + line.key, line.key, kind, line.doc, line.range, line.may_change, line.must_stay}, member);
    if (depth_ != WalkDepth::kTop) descend(prefix_ + line.key, member);
  }
  void noted(KeyList keys, const char* reason) override { visit_keys(keys, KeyInfo::Kind::kNoted, reason); }
  void refused(KeyList keys, const char* reason) override { visit_keys(keys, KeyInfo::Kind::kRefused, reason); }

 private:
  void visit_keys(KeyList keys, KeyInfo::Kind kind, const char* reason) {
    for (const char* key : keys) f_({prefix_ + key, key, kind, reason}, {});
  }

  void descend(const std::string& path, const AnyMember& member) {
    if (member.type->shape == MemberType::Shape::kGroup) {
      Walk inner(f_, depth_, path + ".");
      return member.type->fields(member.at, inner);
    }
    if (!member.type->inner || member.type->inner->shape != MemberType::Shape::kGroup) return;
    bool is_empty = true;
    member.each([&](const std::string& name, const AnyMember& entry) {
      is_empty = false;
      descend(member.entry_path(path, name), entry);
    });
    if (!is_empty || depth_ != WalkDepth::kExamples) return;
    const bool is_list = member.type->shape == MemberType::Shape::kList;
    member.type->inner->example([&](void* entry) {
      descend(member.entry_path(path, is_list ? "0" : "<name>"), {entry, *member.type->inner});
    });
  }

  const VisitKey& f_;
  WalkDepth depth_;
  std::string prefix_;
};

}  // namespace

void walk(const AnyMember& group, WalkDepth depth, const VisitKey& f) {
  Walk visitor(f, depth, "");
  group.type->fields(group.at, visitor);
}

}  // namespace roll
