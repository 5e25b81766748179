#include "input.h"
#include "jinja/template.h"

FUZZ(input) {
  using roll::jinja::Dict, roll::jinja::List, roll::jinja::Value;
  static const Dict kVariables = {
      {"messages", Value(List{Value(Dict{{"role", "system"}, {"content", " be brief\n"}}),
                              Value(Dict{{"role", "user"}, {"content", "1 + 1, \xc3\xa9?"}})})},
      {"bos_token", "<s>"},
      {"eos_token", "</s>"},
      {"add_generation_prompt", true},
      {"tools", Value(roll::jinja::None{})}};
  roll::fuzz::allow_refusal([&] { roll::jinja::Template::parse(input, "t.jinja").render(kVariables, 10'000'000); });
}
