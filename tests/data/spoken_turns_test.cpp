#include "data/spoken_turns.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/temporary_folder.h"
#include "text/chat_template.h"

namespace roll {

namespace {

ChatTemplate template_of(const test::TemporaryFolder& folder, const std::string& source) {
  std::ofstream(folder.path() / "chat_template.jinja") << source;
  return ChatTemplate::load(folder.path(), "native");
}

std::optional<std::vector<Span>> spoken(const ChatTemplate& chat, const Json& messages) {
  return spoken_turns(chat.render_messages(messages, Json::object()), messages,
                      chat.render(Json(messages.begin(), messages.end() - 1), true).size());
}

}  // namespace

TEST_CASE("in a whole conversation the model says what transformers' generation tags mark", "[data]") {
  const Json golden = read_json(ROLL_SOURCE_DIR "/tests/golden/text/chat.json");
  const test::TemporaryFolder folder;
  for (const Json& one : golden["turns"]) {
    const ChatTemplate chat = template_of(folder, golden["templates"][one["template"].get<std::string>()]);
    CAPTURE(one["template"].get<std::string>(), one["text"].get<std::string>());
    CHECK(chat.render_messages(one["messages"], Json::object()).text == one["text"]);
    Json spans = Json::array();
    for (const Span& span : spoken(chat, one["messages"]).value()) spans.push_back({span.begin, span.end});
    CHECK(spans == one["spoken"]);
  }
}

TEST_CASE("a turn with another header, or that no round of the loop writes, is not guessed at", "[data]") {
  const test::TemporaryFolder folder;
  const Json messages = Json::parse(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                                        {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}])");
  const auto clear = [&](const std::string& body) {
    const std::string loop = "{% for m in messages %}" + body + "{% endfor %}{{ 'A:' if add_generation_prompt }}";
    return spoken(template_of(folder, loop), messages).has_value();
  };
  CHECK(clear("{{ 'A:' if m.role == 'assistant' else 'U:' }}{{ m.content }}\n"));
  CHECK(clear("{{ 'A:<t>' if m.role == 'assistant' else 'U:' }}{{ m.content }}\n"));
  CHECK(!clear("{{ 'A:' if loop.last else 'B:' }}{{ m.content }}\n"));
  CHECK(!clear("{{ 'A:' if loop.last else 'A ' }}{{ m.content }}\n"));
  CHECK(!clear("{{ messages[loop.index0].content if loop.last else '' }}"));
}

}  // namespace roll
