#include "config/load.h"

#include "config/defaults.h"
#include "config/interpolation.h"
#include "config/override.h"
#include "config/reader.h"
#include "config/walk.h"
#include "config/yaml.h"

namespace roll {

Node read_tree(const std::string& yaml, const std::string& origin, const std::vector<std::string>& overrides,
               std::vector<std::string>& notes) {
  Node root = parse_yaml(yaml, origin);
  if (root.kind != Node::Kind::kMap && root.kind != Node::Kind::kNull)
    throw user_error("{}: {} where keys with values are needed", root.place.text(), describe(root));
  root.place.origin = std::make_shared<const std::string>(origin);
  merge_defaults(root, origin, notes);
  apply_overrides(root, overrides);
  interpolate(root, notes);
  return root;
}

void read_config(const Node& tree, const AnyMember& config, ForeignAdvice foreign, LoadedKeys& keys) {
  ReadContext context;
  context.find_paths = [&config](const std::string& key) {
    std::vector<std::string> paths;
    const auto visit = [&](const KeyInfo& info, const AnyMember&) {
      // A noted key would have no effect there either.
      if (info.key == key && info.kind != KeyInfo::Kind::kNoted) paths.push_back(info.path);
    };
    config.type->example([&](void* example) { walk({example, *config.type}, WalkDepth::kExamples, visit); });
    return paths;
  };
  context.foreign_advice = std::move(foreign);
  read_value(context, tree, "", config);
  context.complaints.throw_if_any();
  if (!context.noted.empty()) keys.notes.push_back(context.noted.text(keys.origin));
  keys.set = std::move(context.set);
  keys.from_env = std::move(context.from_env);
}

}  // namespace roll
