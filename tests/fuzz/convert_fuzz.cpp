// Another trainer's configuration: a line of its name, or "script"; then its YAML or shell script. What comes out is
// YAML.
#include "config/yaml.h"
#include "convert/convert.h"
#include "input.h"

FUZZ(input) {
  const auto parts = roll::fuzz::two_parts(input);
  roll::Converted converted;
  roll::fuzz::allow_refusal([&] {
    const auto keys =
        parts.first == "script" ? roll::keys_of_script(parts.rest, "x.sh") : roll::keys_of_yaml(parts.rest, "x.yaml");
    converted = roll::convert_config(keys, "auto", 8);
  });
  if (!converted.yaml.empty()) roll::parse_yaml(converted.yaml, "converted");
}
