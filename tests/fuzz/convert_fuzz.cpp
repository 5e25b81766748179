// Another trainer's configuration: a line "yaml", "readme", "python" or "script", then such a text. What comes out is
// YAML.
#include "config/yaml.h"
#include "convert/convert.h"
#include "convert/python.h"
#include "input.h"

FUZZ(input) {
  const auto parts = roll::fuzz::two_parts(input);
  roll::Converted converted;
  roll::fuzz::allow_refusal([&] {
    std::vector<roll::ForeignKey> keys;
    if (parts.first == "yaml") {
      keys = roll::read_yaml_keys(parts.rest, "x.yaml");
    } else {
      // A script that sources is given itself.
      const auto read = [&](const std::string&) { return std::optional(std::string(parts.rest)); };
      const roll::shell::Reading reading{"/x/x.sh", read, {{"N", "8"}}};
      const auto script = parts.first == "readme"   ? roll::read_markdown(parts.rest, "x.md", reading)
                          : parts.first == "python" ? roll::read_python(parts.rest, "x.py", reading)
                                                    : roll::read_script(parts.rest, "x.sh", reading);
      keys = roll::choose_launch(script, "x.sh", 1).keys;
    }
    converted = roll::convert_config(keys, "auto", 8);
  });
  if (!converted.yaml.empty()) roll::parse_yaml(converted.yaml, "converted");
}
