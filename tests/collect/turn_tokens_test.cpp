#include "collect/turn_tokens.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/temporary_folder.h"
#include "text/tiny_tokenizer.h"

namespace roll {
namespace {

Json user(const std::string& text) {
  return Json::array({{{"role", "user"}, {"content", text}}});
}

/// Behind a turn that ends with `last_id`, after as many answers of `earlier`.
std::vector<int64_t> tokens_between(const TurnTokens& tokens, const std::vector<Json>& earlier,
                                    const std::string& answer, int64_t last_id) {
  const Json first = user("go"), variables = Json::object();
  return tokens.tokens_between({first, variables, earlier}, user(answer), last_id);
}

/// A tokenizer that ends turns with <|im_end|>, with Mistral's and with Gemma's end of calls.
Tokenizer tokenizer_in(const std::filesystem::path& folder) {
  write_tiny_tokenizer(folder, {.words = {}, .more_special_tokens = {"</s>", "<|tool_response>"}});
  const Tokenizer tokenizer = Tokenizer::load(folder);
  Json ids = Json::array();
  for (const char* end : {"<|im_end|>", "</s>", "<|tool_response>"}) ids.push_back(tokenizer.find_id(end).value());
  std::ofstream(folder / "generation_config.json") << Json{{"eos_token_id", ids}};
  return Tokenizer::load(folder);
}

}  // namespace

TEST_CASE("what lies between two turns is what the template writes there, and nothing of it twice", "[train]") {
  const test::TemporaryFolder folder;
  write_tiny_tokenizer(folder.path(), {.words = {"user", "assistant"}, .more_special_tokens = {}});
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  const TurnTokens tokens(ChatTemplate::load(folder.path(), "chatml"), tokenizer);
  const int64_t end = tokenizer.find_id("<|im_end|>").value();
  const auto text = [&](const std::vector<int64_t>& ids) { return tokenizer.decode(ids); };
  const std::string behind_end = "\n<|im_start|>user\nyes<|im_end|>\n<|im_start|>assistant\n";
  CHECK(text(tokens_between(tokens, {}, "yes", end)) == behind_end);
  CHECK(text(tokens_between(tokens, {}, "yes", 7)) == "<|im_end|>" + behind_end);  // the turn was cut
  CHECK(tokens_between(tokens, {user("one"), user("two")}, "yes", end) == tokens_between(tokens, {}, "yes", end));
}

TEST_CASE("what an environment says ends no turn, whatever it spells", "[train]") {
  const test::TemporaryFolder folder;
  write_tiny_tokenizer(folder.path(), {.words = {}, .more_special_tokens = {}});
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  const TurnTokens tokens(ChatTemplate::load(folder.path(), "chatml"), tokenizer);
  const int64_t end = tokenizer.find_id("<|im_end|>").value();
  const auto ids = tokens_between(tokens, {}, "<|im_end|>", end);
  CHECK(std::ranges::count(ids, end) == 1);
}

TEST_CASE("a template that changes what was said before is refused, with the first difference", "[train]") {
  const test::TemporaryFolder folder;
  write_tiny_tokenizer(folder.path(), {.words = {}, .more_special_tokens = {}});
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  const auto why = [&](const char* name) {
    return test::message_of([&] { TurnTokens(ChatTemplate::load(folder.path(), name), tokenizer).check("user", {}); });
  };
  using Catch::Contains;
  CHECK_THAT(why("qwen3"),
             Contains("at character ") && Contains(", \"<think>") && Contains(" becomes ") && Contains("chatml"));
  // llama3 trims turns: what was sampled stays with its blanks.
  for (const char* name : {"chatml", "qwen2_5", "llama3", "native"}) CHECK(why(name) == "no exception");
}

TEST_CASE("answers of tools stand where templates of models that call them put them, side by side", "[train]") {
  const test::TemporaryFolder folder;
  const Tokenizer tokenizer = tokenizer_in(folder.path());
  const Json golden = read_json(ROLL_SOURCE_DIR "/tests/golden/text/templates.json");
  const auto tokens_of = [&](const std::string& name) {
    for (const Json& one : golden["cases"])
      if (one["name"].get<std::string>().starts_with(name + "/")) {
        std::ofstream(folder.path() / "chat_template.jinja") << one["source"].get<std::string>();
        return TurnTokens(ChatTemplate::load(folder.path(), "native"), tokenizer);
      }
    throw std::runtime_error(name);
  };
  const Json tools =
      Json::parse(R"([{"type": "function", "function": {"name": "add", "description": "", "parameters": {}}}])");
  const auto answer = [](const char* text) { return Json{{"role", "tool"}, {"content", text}}; };
  const int64_t end = tokenizer.find_id("<|im_end|>").value();
  const TurnTokens tokens = tokens_of("qwen25");
  CHECK_NOTHROW(tokens.check("tool", tools));
  const Json first = user("go");
  const auto ids = tokens.tokens_between({first, tool_variables(tools), {Json::array({answer("1")})}},
                                         Json::array({answer("2"), answer("3")}), end);
  CHECK(tokenizer.decode(ids) ==
        "\n<|im_start|>user\n<tool_response>\n2\n</tool_response>\n<tool_response>\n3\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n");
  const Json called = read_json(ROLL_SOURCE_DIR "/tests/golden/text/tool_calls.json");
  int64_t num_spoken = 0;
  for (const Json& one : called["cases"]) {
    const std::string form = one["form"];
    std::ofstream(folder.path() / "chat_template.jinja") << called["templates"][form].get<std::string>();
    const TurnTokens own(ChatTemplate::load(folder.path(), "native"), tokenizer);
    const auto text_of = [&](const std::vector<Json>& earlier, const Json& answer, int64_t last_id) {
      return tokenizer.decode(
          own.tokens_between({called["first"], tool_variables(called["tools"]), earlier}, answer, last_id));
    };
    const auto between = [&](const std::vector<Json>& earlier, int64_t last_id) {
      return text_of(earlier, one["answers"], last_id);
    };
    const std::string end_of_turn = called["ends"][form], text_after = one["behind"];
    CAPTURE(form, one["said"].dump());
    CHECK(between({}, /*last_id=*/7) == end_of_turn + text_after);
    const std::string later = between({one["answers"], user("more")}, /*last_id=*/7);
    if (form.starts_with("mistral"))  // which writes ids
      CHECK(later.starts_with(end_of_turn + "[TOOL_RESULTS]"));
    else
      CHECK(later == end_of_turn + text_after);
    if (const auto id = tokenizer.find_id(end_of_turn)) CHECK(between({}, *id) == text_after);
    // A user speaks behind earlier answers of tools as behind none; some templates drop thoughts then, and are refused.
    try {
      const std::string spoken = text_of({}, user("more"), /*last_id=*/7);
      CHECK(text_of({one["answers"]}, user("more"), /*last_id=*/7) == spoken);
      ++num_spoken;
    } catch (const UserError&) {
      CHECK_THROWS_AS(text_of({one["answers"]}, user("more"), /*last_id=*/7), UserError);
    }
  }
  CHECK(num_spoken > 200);
  const TurnTokens deaf = tokens_of("qwen3");  // the golden one writes nothing of the role
  CHECK_THAT(test::message_of([&] { deaf.check("tool", tools); }), Catch::Contains("leaves out messages of role tool"));
  const TurnTokens silent(ChatTemplate::load(folder.path(), "chatml"), tokenizer);
  CHECK_NOTHROW(silent.check("tool", nullptr));
  CHECK_THAT(test::message_of([&] { silent.check("tool", tools); }), Catch::Contains("does not show the tool add"));
}

TEST_CASE("a template is tried with the turns that can be sampled behind its opening", "[train]") {
  const test::TemporaryFolder folder;
  const Tokenizer tokenizer = tokenizer_in(folder.path());
  const Json golden = read_json(ROLL_SOURCE_DIR "/tests/golden/text/tool_calls.json");
  const std::string qwen3 = read_json(ROLL_SOURCE_DIR "/tests/golden/text/chat.json")["qwen3"];
  const auto why = [&](const std::string& source, const char* role, std::optional<bool> thinks, const Json& tools) {
    std::ofstream(folder.path() / "chat_template.jinja") << source;
    return test::message_of(
        [&] { TurnTokens(ChatTemplate::load(folder.path(), "native", thinks), tokenizer).check(role, tools); });
  };
  for (const char* form : {"hermes", "llama3", "qwen3_5", "qwen3_6", "glm4_5", "mistral", "mistral11", "mistral13",
                           "gemma4", "functiongemma", "phi4", "granite", "olmo3"})
    for (const auto thinks : {std::optional<bool>(), std::optional(true), std::optional(false)}) {
      CAPTURE(form, thinks.has_value(), thinks.value_or(false));
      CHECK(why(golden["templates"][form], "tool", thinks, golden["tools"]) == "no exception");
    }
  using Catch::Contains;
  CHECK_THAT(why(golden["templates"]["glm4"], "tool", {}, golden["tools"]),
             Contains("leaves out messages of role tool"));
  const std::string shown =
      "{% for m in messages %}{% if m.tool_calls %}calls{% elif m.role == 'tool' %}{{ m.content if "
      "messages[1].tool_calls else '' }}{% else %}{{ m.content }}<|im_end|>{% endif %}{% endfor %}";
  CHECK_THAT(why(shown, "tool", {}, nullptr), Contains("writes no end token after a turn with tool calls"));
  // It opens a thought for the model, and writes none around a turn without one, which therefore cannot be sampled.
  const std::string opens =
      "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}{% for m in messages %}{{ '<|im_start|>' ~ m.role ~ "
      "'\\n' ~ ('<think>\\n' ~ m.reasoning_content ~ '\\n</think>\\n\\n' if m.reasoning_content else '') ~ m.content ~ "
      "'<|im_end|>\\n' }}{% endfor %}{{ '<|im_start|>assistant\\n<think>\\n' if add_generation_prompt else '' }}";
  CHECK(why(opens, "tool", {}, golden["tools"]) == "no exception");
  for (const char* form : {"qwen3_5", "glm4_5"})  // thoughts go once the user speaks
    CHECK_THAT(why(golden["templates"][form], "user", true, nullptr),
               Contains("changes earlier turns when a message follows"));
  CHECK_THAT(why(golden["templates"]["qwen3_5"], "user", false, nullptr),
             Contains(", \"<think>") && Contains(" becomes "));
  CHECK_THAT(why(qwen3, "user", false, nullptr), Contains(", \"<think>") && Contains(" becomes "));
}

}  // namespace roll
