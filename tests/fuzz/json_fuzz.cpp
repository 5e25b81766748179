// JSON in every use that has no fuzzer of its own: rows of data, a model's config.json.
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json.h"
#include "data/rows.h"
#include "input.h"
#include "model/spec.h"

FUZZ(input) {
  using roll::fuzz::allow_refusal;
  allow_refusal([&] {
    const roll::Json json = roll::parse_json(input, "x.json");
    // What is read can be written, and is then the same.
    if (roll::parse_json(roll::to_line(json), "again") != json) __builtin_trap();
  });
  allow_refusal([&] { roll::parse_unique_json(input, "x.json"); });
  allow_refusal([&] { roll::parse_spec(roll::parse_json(input, "config.json"), "config.json"); });
  std::istringstream lines{std::string(input)};
  allow_refusal([&] {
    roll::for_each_json_line(lines, "rows.jsonl", [](int64_t, const roll::Json& line) {
      allow_refusal([&] { roll::parse_row(line, "rows.jsonl:1", {}); });
    });
  });
}
