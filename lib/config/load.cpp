#include "config/load.h"

#include "config/defaults.h"
#include "config/interpolation.h"
#include "config/override.h"
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

}  // namespace roll
