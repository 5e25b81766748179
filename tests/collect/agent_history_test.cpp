#include "collect/agent_history.h"

#include "checkpoint/temporary_folder.h"
#include "collect/asked_sessions.h"

namespace roll {
namespace {

using Catch::Contains;
using test::AskedSessions, test::kGo, test::said_by;

const Json kMore = said_by("user", "more"), kYes = said_by("assistant", "yes");
const std::string kBehind = "<|im_end|>\n<|im_start|>user\nmore<|im_end|>\n<|im_start|>assistant\n";

}  // namespace

TEST_CASE("a chat goes on behind what was drawn, whose tokens stay", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0);
  desk.ask_chat(id, {kGo});
  const AgentTurn first = desk.draw(0, "yes");
  CHECK(desk.text(first.prompt_ids) == "<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\n");
  CHECK(first.ids.empty());
  desk.ask_chat(id, {kGo, kYes, kMore});
  const AgentTurn second = desk.draw(0, "no");
  CHECK(second.prompt_ids == first.prompt_ids);
  CHECK(desk.text(second.ids) == "yes" + kBehind);
  REQUIRE(second.turns.size() == 1);
  CHECK(second.turns[0].num_tokens == 3);
  CHECK(second.turns[0].num_environment_tokens == std::ssize(desk.ids(kBehind)));
  CHECK(second.log_probs.size() == second.ids.size());
  CHECK((second.log_probs[2] == -1 && second.log_probs[3] == 0));
  desk.ask_chat(id, {kGo, kYes, kMore, said_by("assistant", "no"), said_by("tool", "1"), said_by("tool", "2")});
  const AgentTurn third = desk.draw(0, "then");
  CHECK(desk.text(third.ids) ==
        "yes" + kBehind +
            "no<|im_end|>\n<|im_start|>tool\n1<|im_end|>\n<|im_start|>tool\n2<|im_end|>\n<|im_start|>assistant\n");
  CHECK(third.turns.size() == 2);
}

TEST_CASE("a chat that tells otherwise what was said is refused, with the first difference", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0);
  CHECK(desk.refusal(id, {{"messages", {kGo}}}) == "no error");
  desk.draw(0, "yes");
  const auto why = [&](const std::vector<Json>& messages) { return desk.refusal(id, {{"messages", messages}}); };
  CHECK_THAT(why({said_by("user", "gone"), kYes, kMore}),
             Contains(R"(messages[0]: in its content, at character 2, the end became "ne")"));
  CHECK_THAT(why({said_by("system", "go"), kYes, kMore}), Contains(R"(its role was "user" and is now "system")"));
  CHECK_THAT(why({kGo, said_by("assistant", "yep"), kMore}), Contains("messages[1]: in its content, at character 2"));
  CHECK_THAT(why({kGo, kYes}), Contains("adds nothing after the model's last turn"));
  CHECK_THAT(why({kGo, kMore}), Contains(R"(messages[1]: its role was "assistant")"));
  CHECK_THAT(why({kGo, kYes, kMore, kYes, kMore}),
             Contains("messages[3]: is an assistant message that the model did not write in this session"));
  const Json call{{"role", "assistant"},
                  {"content", "yes"},
                  {"tool_calls", {{{"function", {{"name", "add"}, {"arguments", "{}"}}}}}}};
  CHECK_THAT(why({kGo, call, kMore}), Contains("messages[1]: in its tool_calls, at character 1"));
  CHECK_THAT(desk.refusal(id, {{"messages", {kGo, kYes, kMore}}, {"chat_template_kwargs", {{"x", 1}}}}),
             Contains("differ from those of the session's first request"));
  CHECK_THAT(desk.refusal(id, {{"prompt", "go"}}), Contains("began at /chat/completions; send all its requests there"));
  CHECK(why({kGo, kYes, kMore}) == "no error");
}

TEST_CASE("a chat may go back to any of its turns, and from two that said the same to the later", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0);
  for (const auto& [text, log_prob] : {std::pair("yes", -1.F), {"maybe", -2.F}, {"yes", -3.F}}) {
    desk.ask_chat(id, {kGo});
    CHECK(desk.draw(0, text, log_prob).ids.empty());
  }
  desk.ask_chat(id, {kGo, said_by("assistant", "maybe"), kMore});
  CHECK(desk.draw(0, "a").ids == desk.ids("maybe" + kBehind));
  desk.ask_chat(id, {kGo, kYes, kMore});
  CHECK(desk.draw(0, "b").log_probs[0] == -3);
  CHECK(desk.sessions.end(id, "", {{"reward", 1}}));
  CHECK(desk.text(desk.sessions.next(0).value().agent->ids) == "yes" + kBehind + "b");
  AskedSessions other;
  const std::string own = other.begin(0);
  other.ask_chat(own, {kGo});
  CHECK_THAT(other.refusal(own, {{"messages", {kGo, kMore}}}),
             Contains("messages[1]: was inserted before the model's first turn, which was sampled without it"));
}

TEST_CASE("calls of tools are what the model said, however clients write them", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0);
  const Json tools = {{{"type", "function"}, {"function", {{"name", "add"}, {"parameters", Json::object()}}}}};
  desk.ask(id, {{"messages", {kGo}}, {"tools", tools}});
  const std::string spoken = "so <tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}}</tool_call>";
  desk.draw(0, spoken);
  const auto told = [&](const char* arguments) {
    const Json call{{"role", "assistant"},
                    {"content", "so"},
                    {"tool_calls", {{{"id", "x"}, {"function", {{"name", "add"}, {"arguments", arguments}}}}}}};
    return Json{{"messages", {kGo, call, said_by("tool", "1")}}, {"tools", tools}};
  };
  CHECK_THAT(desk.refusal(id, told("{\"a\":2}")), Contains("in its tool_calls"));
  CHECK(desk.refusal(id, told("{ \"a\": 1 }")) == "no error");
  CHECK(desk.text(desk.draw(0, "1").ids) ==
        spoken + "<|im_end|>\n<|im_start|>tool\n1<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("what looks like a call is a call only where there are tools", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0);
  desk.ask_chat(id, {kGo});
  const std::string spoken = "<tool_call>{\"name\": \"add\", \"arguments\": {}}</tool_call>";
  desk.draw(0, spoken);
  CHECK(desk.refusal(id, {{"messages", {kGo, said_by("assistant", spoken), kMore}}}) == "no error");
}

TEST_CASE("a template is shown all that lay between turns", "[collect]") {
  const test::TemporaryFolder folder;
  folder.write("chat_template.jinja",
               "{% for m in messages %}{{ loop.index }}{{ m.role[0] }}{{ m.content }};{% endfor %}"
               "{% if add_generation_prompt %}{{ messages | length + 1 }}a{% endif %}");
  AskedSessions desk(ChatTemplate::load(folder.path(), "native"));
  const std::string id = desk.begin(0);
  desk.ask_chat(id, {kGo});
  desk.draw(0, "yes");
  desk.ask_chat(id, {kGo, kYes, kMore, kMore});
  desk.draw(0, "no");
  desk.ask_chat(id, {kGo, kYes, kMore, kMore, said_by("assistant", "no"), kMore});
  CHECK(desk.text(desk.draw(0, "").ids) == "yes;3umore;4umore;5ano;6umore;7a");
}

TEST_CASE("texts and token ids go on where they were", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0);
  CHECK(desk.refusal(id, {{"prompt", "go: "}}) == "no error");
  desk.draw(0, "yes");
  CHECK_THAT(desk.refusal(id, {{"prompt", "go: yep"}}), Contains(R"(at character 6, "s" became "p")"));
  CHECK_THAT(desk.refusal(id, {{"prompt", "go: again"}}), Contains("at character 4"));
  CHECK_THAT(desk.refusal(id, {{"messages", {kGo}}}), Contains("began at /completions; send all its requests there"));
  CHECK(desk.refusal(id, {{"prompt", "go: yes and "}}) == "no error");
  CHECK(desk.draw(0, "no").ids == desk.ids("yes and "));
  std::vector<int64_t> known = desk.ids("go: yes and no");
  known.push_back(7);
  CHECK(desk.refusal(id, {{"prompt", known}}) == "no error");
  const AgentTurn third = desk.draw(0, "x");
  CHECK(third.ids.back() == 7);
  REQUIRE(third.turns.size() == 2);
  CHECK((third.turns[0].num_environment_tokens == 5 && third.turns[1].num_environment_tokens == 1));
  CHECK_THAT(desk.refusal(id, {{"prompt", {1, 2}}}), Contains("prompt: at token 0, "));
  known[4] = 9;
  CHECK_THAT(desk.refusal(id, {{"prompt", known}}), Contains("at token 4, 121 became 9"));

  const std::string of_ids = desk.begin(1);
  desk.ask(of_ids, {{"prompt", {5, 6}}});
  CHECK(desk.draw(1, "").prompt_ids == std::vector<int64_t>{5, 6});
  CHECK_THAT(desk.refusal(of_ids, {{"prompt", {5, 6, 7}}, {"n", 100}}), Contains("n"));
  CHECK_THAT(desk.refusal(of_ids, {{"prompt", "go"}}),
             Contains("the session began with token ids; send token ids again"));
  const std::string fresh = desk.begin(2);
  CHECK_THAT(desk.refusal(fresh, {{"prompt", {"a", "b"}}}),
             Contains("has 2 prompts; a request of a session must have one"));
  CHECK(desk.refusal(fresh, {{"prompt", {5, 6}}}) == "no error");
  CHECK_THAT(desk.refusal(fresh, {{"prompt", {5, 6, 7}}}), Contains("at token 2, the end became 7"));
}

}  // namespace roll
