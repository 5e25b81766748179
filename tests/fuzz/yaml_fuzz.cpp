// A configuration: a line of an override, then the file.
#include "config/load.h"
#include "input.h"

FUZZ(input) {
  const auto parts = roll::fuzz::two_parts(input);
  roll::fuzz::allow_refusal([&] {
    std::vector<std::string> notes;
    roll::read_tree(std::string(parts.rest), "x.yaml", {}, notes);
    roll::read_tree(std::string(parts.rest), "x.yaml", {std::string(parts.first)}, notes);
  });
}
