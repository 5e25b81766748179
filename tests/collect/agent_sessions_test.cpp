#include "collect/agent_sessions.h"

#include <cmath>
#include <set>
#include <thread>

#include "base/clock.h"
#include "collect/asked_sessions.h"

namespace roll {
namespace {

using Catch::Contains;
using std::chrono::milliseconds;
using test::AskedSessions, test::kGo, test::said_by, test::heard, test::with;

const Json kAsked{{"messages", {kGo}}};

/// How a session ended, once it has.
TurnAnswer ending_of(AskedSessions& desk, int64_t number) {
  for (const Stopwatch watch; watch.seconds() < 60;)
    if (const auto answer = desk.sessions.next(number)) return *answer;
  throw std::runtime_error("it does not end");
}

}  // namespace

TEST_CASE("an agent has its session's level, and posts what it was worth", "[collect]") {
  AskedSessions desk;
  desk.config.env_config.config = {{"task", "sums"}};
  desk.sessions.begin(3, desk.terms);
  desk.sessions.begin(4, desk.terms);
  const Json first = desk.sessions.take("", milliseconds(0)).value();
  CHECK(first["seed"] == 5);
  CHECK(first["config"] == Json{{"task", "sums"}});
  CHECK(first["id"].get<std::string>().ends_with("-3"));
  const std::string second = desk.sessions.take("", milliseconds(0)).value()["id"];
  CHECK(second.ends_with("-4"));
  CHECK_FALSE(desk.sessions.take("", milliseconds(0)));
  CHECK_FALSE(desk.sessions.find("another", ""));
  CHECK_FALSE(desk.sessions.next(4));
  desk.ask(second, kAsked);
  desk.draw(4, "yes");
  for (const Json& wrong : {Json(1), Json(), Json::array(), Json{{"reward", "much"}}, Json{{"reward", 1e7}},
                            Json{{"reward", -1e7}}, Json{{"reward", nullptr}}, Json{{"reward", 1}, {"rewards", 1}},
                            Json::object(), Json{{"reward", 1}, {"success", 1}}})
    CHECK(testing::error_of([&] { desk.sessions.end(second, "", wrong); }) != "no error");
  CHECK(desk.sessions.end(second, "", {{"reward", -0.5}, {"success", true}}));
  CHECK_FALSE(desk.sessions.end(second, "", {{"reward", 1}}));
  const TurnAnswer ended = desk.sessions.next(4).value();
  CHECK((ended.reaction.is_done && ended.reaction.reward == -0.5 && ended.reaction.succeeded == true && !ended.fault));
  CHECK(desk.text(ended.agent->ids) == "yes");
  CHECK(desk.refusal(second, kAsked) == "no such session");
  desk.sessions.end(4);
}

TEST_CASE("a session belongs to the agent that took it", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0, "a");
  desk.ask(id, kAsked);
  desk.draw(0, "yes");
  for (const std::string other : {"b", ""}) {
    CHECK_FALSE(desk.sessions.find(id, other));
    CHECK_FALSE(desk.sessions.end(id, other, {{"reward", 1}}));
  }
  CHECK(desk.sessions.end(id, "a", {{"reward", 1}}));
}

TEST_CASE("a session that is given back is taken by the next agent", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0, "a");
  desk.sessions.give_back(id);
  CHECK_FALSE(desk.sessions.find(id, "a"));
  CHECK_FALSE(desk.sessions.agent_ended("a", "died"));
  CHECK_FALSE(desk.sessions.next(0));
  CHECK(desk.sessions.take("b", milliseconds(0)).value()["id"] == id);
  CHECK(desk.sessions.find(id, "b"));
}

TEST_CASE("a session without a turn is worth nothing yet", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0);
  CHECK_THAT(testing::error_of([&] { desk.sessions.end(id, "", {{"reward", 1}}); }), Contains("nothing was drawn"));
  desk.ask(id, kAsked);
  CHECK_THAT(testing::error_of([&] { desk.sessions.end(id, "", {{"reward", 1}}); }), Contains("nothing was drawn"));
}

TEST_CASE("a turn is drawn as its request says, within the configuration's distribution", "[collect]") {
  AskedSessions desk;
  desk.terms.sampling = {.temperature = 0.5, .top_p = 0.9, .top_k = 4};
  const std::string id = desk.begin(0);
  desk.ask(id, with(kAsked, {{"max_tokens", 7},
                             {"stop", {"x"}},
                             {"include_stop_str_in_output", true},
                             {"skip_special_tokens", false},
                             {"temperature", 0.5},
                             {"top_p", 0.9},
                             {"top_k", 4}}));
  const AgentTurn turn = desk.draw(0, "yes");
  CHECK((turn.max_new_tokens == 7 && turn.stop_strings == std::vector<std::string>{"x"}));
  CHECK((turn.include_stop_str_in_output && !turn.skip_special_tokens));
  for (const auto& [key, value] : std::map<std::string, Json>{{"temperature", 0.6},
                                                              {"top_p", 0.8},
                                                              {"top_k", 5},
                                                              {"min_p", 0.1},
                                                              {"repetition_penalty", 1.1},
                                                              {"presence_penalty", 0.1},
                                                              {"frequency_penalty", 0.1}})
    CHECK_THAT(desk.refusal(id, with(kAsked, {{key, value}})), Contains(key + " = ") && Contains("leave it out"));
  CHECK_THAT(desk.refusal(id, with(kAsked, {{"top_k", -1}})), Contains("top_k = -1"));  // it would be all
  CHECK_THAT(desk.refusal(id, with(kAsked, {{"logit_bias", {{"3", 1}}}})), Contains("logit_bias"));
  desk.terms.sampling.top_k = 0;
  const std::string all = desk.begin(1);
  CHECK(desk.refusal(all, with(kAsked, {{"top_k", -1}, {"temperature", 0.5}})) == "no error");
}

TEST_CASE("each draw of a session has random numbers of its own, the same each time", "[collect]") {
  const auto seeds_of = [](uint64_t level) {
    AskedSessions desk;
    desk.terms.seed = level;
    const std::string id = desk.begin(0);
    std::vector<std::optional<uint64_t>> seeds;
    const auto ask = [&](const Json& more, int count) {
      desk.ask(id, with(kAsked, more));
      for (int i = 0; i < count; ++i) seeds.push_back(desk.draw(0, "yes").seed);
    };
    ask(Json::object(), 1), ask(Json::object(), 1), ask({{"n", 2}}, 2), ask({{"seed", 3}, {"n", 2}}, 2),
        ask({{"seed", 4}}, 1);
    desk.ask_chat(id, {kGo, said_by("assistant", "yes"), kGo});
    seeds.push_back(desk.draw(0, "x").seed);
    ask({{"seed", 0}, {"n", 2}}, 2), ask({{"seed", 3}}, 1);
    return seeds;
  };
  auto seeds = seeds_of(5);
  CHECK(seeds == seeds_of(5));
  CHECK_FALSE(seeds[0]);  // those of its place in the step
  CHECK_FALSE(seeds[7]);  // the first behind another turn
  CHECK(seeds[10] == seeds[4]);
  seeds.pop_back();
  CHECK(std::set(seeds.begin(), seeds.end()).size() == seeds.size() - 1);
  CHECK(seeds_of(6)[1] != seeds[1]);
  CHECK(seeds_of(6)[4] != seeds[4]);
}

TEST_CASE("a session has its turns and tokens, and no more", "[collect]") {
  AskedSessions desk;
  desk.config.max_steps = 2;
  const std::string id = desk.begin(0);
  CHECK_THAT(desk.refusal(id, {{"prompt", std::string(201, 'x')}}),
             Contains("prompt: has 201 tokens; prompt_length = 200"));
  CHECK_THAT(desk.refusal(id, {{"messages", {said_by("user", std::string(200, 'x'))}}}), Contains("messages: has 2"));
  CHECK(desk.refusal(id, {{"prompt", std::string(200, 'x')}}) == "no error");
  desk.draw(0, "yes");
  const std::string said = std::string(200, 'x') + "yes";
  CHECK_THAT(desk.refusal(id, {{"prompt", said + std::string(197, 'y')}}),
             Contains("has 200 tokens behind its first request, and response_length = 200"));
  CHECK(desk.refusal(id, {{"prompt", said + std::string(196, 'y')}}) == "no error");
  desk.draw(0, "z");
  CHECK_THAT(desk.refusal(id, {{"prompt", said + std::string(196, 'y') + "z"}}),
             Contains("has had its max_steps = 2 turns"));
}

TEST_CASE("who asks without end floods, and who asks for what cannot be breaks the rules", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0, "a");
  for (int i = 0; i < 48; ++i) {  // 16 for each of three turns
    desk.ask(id, kAsked);
    desk.draw(0, "yes");
  }
  CHECK(desk.refusal(id, kAsked) == "the session is over");
  const TurnAnswer ended = desk.sessions.next(0).value();
  CHECK((ended.fault == EnvironmentFault::kFlood && ended.agent));
  CHECK_THAT(ended.why, Contains("more than 48 turns"));
  CHECK(desk.sessions.is_to_end("a"));
  const std::string other = desk.begin(1, "b");
  const Json wrong = with(kAsked, {{"temperature", 0.5}});
  for (int i = 0; i < 20; ++i) CHECK_THAT(desk.refusal(other, wrong), Contains("temperature"));
  CHECK_FALSE(desk.sessions.next(1));
  CHECK_THAT(desk.refusal(other, wrong), Contains("temperature"));
  CHECK(desk.sessions.next(1).value().fault == EnvironmentFault::kProtocol);
  CHECK_THAT(desk.sessions.next(1).value().why,
             Contains("asked 20 times for what it cannot do; the last: temperature"));
  const std::string many = desk.begin(3);
  CHECK(desk.ask(many, with(kAsked, {{"n", 48}})));
  CHECK(desk.refusal(many, kAsked) == "the session is over");
  desk.config.max_steps = 1000;
  const std::string eager = desk.begin(2);
  CHECK(desk.ask(eager, with(kAsked, {{"n", 64}})));
  CHECK_FALSE(desk.ask(eager, kAsked));  // as many wait as may
}

TEST_CASE("a session in which nothing happens ends as one that fails", "[collect]") {
  AskedSessions desk;
  desk.config.env_config.timeout_s = 1e-3;
  desk.begin(0, "a");
  CHECK(ending_of(desk, 0).fault == EnvironmentFault::kTimeout);
  CHECK_THAT(ending_of(desk, 0).why, Contains("heard nothing of its agent"));
  desk.sessions.begin(1, desk.terms);
  CHECK_THAT(ending_of(desk, 1).why, Contains("was taken by no agent within 0.01 s"));
  desk.config.env_config.timeout_s = 0.3;
  desk.sessions.begin(5, desk.terms);
  std::this_thread::sleep_for(milliseconds(400));
  CHECK_FALSE(desk.sessions.next(5));  // programs take long to start
  CHECK(desk.begin(6).ends_with("-5"));
  desk.sessions.end(5);
  desk.sessions.end(6);
  desk.config.env_config.timeout_s = 100;
  desk.config.max_seconds = 1e-3;
  desk.begin(2, "b");
  CHECK_THAT(ending_of(desk, 2).why, Contains("took longer than max_seconds"));
  desk.config.max_seconds = {};
  desk.begin(3, "c");
  desk.config.env_config.timeout_s = 1e-3;
  desk.sessions.begin(4, desk.terms);
  std::this_thread::sleep_for(milliseconds(15));
  CHECK_FALSE(desk.sessions.next(4));  // an agent is at work, and will come for it
}

TEST_CASE("what an agent asks keeps its session awake, and a turn that waits or is drawn does not count", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0);
  std::this_thread::sleep_for(milliseconds(400));
  desk.ask(id, kAsked);
  desk.config.env_config.timeout_s = 0.3;
  CHECK_FALSE(desk.draw(0, "yes").prompt_ids.empty());
  CHECK_FALSE(desk.sessions.next(0));
  desk.config.env_config.timeout_s = 100;
  const std::string other = desk.begin(1);
  std::this_thread::sleep_for(milliseconds(400));
  desk.sessions.find(other, "")->cancel(desk.ask(other, kAsked));
  desk.config.env_config.timeout_s = 0.3;
  CHECK_FALSE(desk.sessions.next(1));
}

TEST_CASE("an agent that ends takes its session with it, and no other", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0, "a");
  desk.begin(1, "b");
  const auto answer = desk.ask(id, kAsked);
  CHECK(desk.sessions.agent_ended("a", "died"));
  CHECK(heard(*answer) == "the session is over");
  CHECK(
      (desk.sessions.next(0).value().fault == EnvironmentFault::kCrash && desk.sessions.next(0).value().why == "died"));
  CHECK_FALSE(desk.sessions.next(1));
  CHECK_FALSE(desk.sessions.is_to_end("a"));  // who comes next under its name is another
  CHECK_FALSE(desk.sessions.agent_ended("a", "died"));
  CHECK_FALSE(desk.sessions.agent_ended("c", "never came"));
  desk.sessions.begin(2, desk.terms);
  desk.sessions.fail_untaken(EnvironmentFault::kCrash, "none starts");
  CHECK(desk.sessions.next(2).value().why == "none starts");
  CHECK_FALSE(desk.sessions.next(1));
  CHECK_FALSE(desk.sessions.take("b", milliseconds(0)));
}

TEST_CASE("an agent whose session failed takes no other", "[collect]") {
  AskedSessions desk;
  desk.config.env_config.timeout_s = 1e-3;
  desk.begin(0, "a");
  CHECK(ending_of(desk, 0).fault);
  CHECK(desk.sessions.is_to_end("a"));
  desk.sessions.begin(1, desk.terms);
  CHECK_FALSE(desk.sessions.take("a", milliseconds(0)));
  CHECK(desk.sessions.take("b", milliseconds(0)));
  desk.config.env_config.timeout_s = 100;
  const std::string id = desk.begin(2);
  desk.config.env_config.timeout_s = 1e-3;
  CHECK(ending_of(desk, 2).fault);
  CHECK_FALSE(desk.sessions.is_to_end(""));  // agents that run elsewhere are nobody's to end
}

TEST_CASE("a run that is over says so to whoever waits or comes", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0), other = desk.begin(1);
  const auto drawn = desk.ask(id, kAsked), waits = desk.ask(id, kAsked), gone = desk.ask(other, kAsked);
  desk.sessions.next(0);
  const auto sink = desk.sessions.find(id, "");
  desk.sessions.close();
  CHECK((heard(*drawn) == "the run is over" && heard(*waits) == "the run is over"));
  CHECK_THROWS_AS(desk.sessions.take("", milliseconds(0)), Unavailable);
  CHECK_THROWS_AS(sink->submit(desk.request(kAsked)), Unavailable);
  desk.sessions.end(1);
  CHECK(desk.refusal(other, kAsked) == "no such session");
}

TEST_CASE("a trajectory that is not wanted any more ends its session", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0);
  const auto drawn = desk.ask(id, kAsked), waits = desk.ask(id, kAsked);
  desk.sessions.next(0);
  desk.sessions.end(0);
  CHECK((heard(*drawn) == "the session is over" && heard(*waits) == "the session is over"));
  CHECK_FALSE(desk.sessions.end(id, "", {{"reward", 1}}));
}

TEST_CASE("a turn that is drawn when its session ends is no answer, nor one that the run broke off", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0, "a"), other = desk.begin(1);
  const auto late = desk.ask(id, kAsked), broken = desk.ask(other, kAsked);
  const AgentTurn turn = desk.sessions.next(0).value().agent.value();
  desk.sessions.agent_ended("a", "died");
  desk.finish(0, turn, "yes");
  CHECK(heard(*late) == "the session is over");
  CHECK(desk.sessions.next(0).value().agent.value_or(AgentTurn()).ids.empty());
  desk.finish(1, desk.sessions.next(1).value().agent.value(), "yes", FinishReason::kAbort);
  CHECK(heard(*broken) == "the run stops");
}

TEST_CASE("tokens are told as they are drawn to whoever streams, and at the end to others", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0);
  desk.ask(id, kAsked);
  desk.draw(0, "yes");
  const Json messages{{"messages", {kGo, said_by("assistant", "yes"), kGo}}};
  const auto streamed = desk.ask(id, with(messages, {{"stream", true}})), whole = desk.ask(id, messages);
  const AgentTurn turn = desk.sessions.next(0).value().agent.value();
  Generation so_far{.ids = turn.ids, .log_probs = turn.log_probs, .processed_log_probs = {}};
  desk.sessions.hear_token(0, so_far);
  CHECK(heard(*streamed) == "nothing");
  for (const int64_t token : {7, 8}) {
    so_far.ids.push_back(token), so_far.log_probs.push_back(-0.25F);
    for (int twice = 0; twice < 2; ++twice) desk.sessions.hear_token(0, so_far);
    const auto news = streamed->take(milliseconds(0));
    REQUIRE(news.size() == 1);
    CHECK((news[0].ids == std::vector<int64_t>{token} && news[0].log_probs == std::vector{-0.25F} && !news[0].ended));
  }
  so_far.finish_reason = FinishReason::kStop;
  desk.sessions.hear_turn(0, so_far, {{.num_tokens = 2}});
  const auto last = streamed->take(milliseconds(0));
  REQUIRE((last.size() == 1 && last[0].ended));
  CHECK((last[0].ended->ids == std::vector<int64_t>{7, 8} && last[0].ended->log_probs.size() == 2));
  desk.sessions.next(0);
  desk.sessions.hear_token(0, so_far);
  CHECK(whole->take(milliseconds(0)).empty());
}

TEST_CASE("each choice of a request is told as its own", "[collect]") {
  AskedSessions desk;
  const auto answer = desk.ask(desk.begin(0), with(kAsked, {{"n", 2}}));
  desk.draw(0, "yes");
  desk.draw(0, "no");
  const auto news = answer->take(milliseconds(0));
  REQUIRE(news.size() == 2);
  CHECK((news[0].choice == 0 && news[0].ended->text == "yes" && news[1].choice == 1 && news[1].ended->text == "no"));
}

TEST_CASE("who hangs up takes back what waits, and nothing that is drawn", "[collect]") {
  AskedSessions desk;
  const std::string id = desk.begin(0);
  const auto drawn = desk.ask(id, kAsked), waits = desk.ask(id, kAsked), stays = desk.ask(id, kAsked);
  const AgentTurn turn = desk.sessions.next(0).value().agent.value();
  desk.sessions.find(id, "")->cancel(drawn);
  desk.sessions.find(id, "")->cancel(waits);
  desk.finish(0, turn, "no");
  desk.draw(0, "yes");
  CHECK((heard(*waits) == "nothing" && heard(*stays) == "yes"));
  CHECK_FALSE(desk.sessions.next(0));
  CHECK(desk.sessions.end(id, "", {{"reward", 1}}));
  CHECK(desk.text(desk.sessions.next(0).value().agent->ids) == "yes");
}

}  // namespace roll
