#include "config/node_json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "config/yaml.h"

namespace roll {

TEST_CASE("a configuration becomes JSON of the same meaning", "[config]") {
  const char* const yaml =
      R"({whole: 3, share: 1e-06, yes: true, none: null, text: abc, quoted: "3", list: [1, [x]], map: {a: {}}})";
  CHECK(
      to_json(parse_yaml(yaml, "test")) ==
      Json::parse(
          R"({"whole": 3, "share": 1e-06, "yes": true, "none": null, "text": "abc", "quoted": "3", "list": [1, ["x"]], "map": {"a": {}}})"));
}

}  // namespace roll
