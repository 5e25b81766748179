#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "error_of.h"
#include "serve/completion_answer.h"
#include "serve/completion_request.h"
#include "text/chat_template.h"
#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

struct Served {
  Tokenizer tokenizer =
      Tokenizer::parse(make_byte_level_tokenizer({.words = {}, .more_special_tokens = {}}).dump(), "tiny");
  ChatTemplate chatml = ChatTemplate::load("nowhere", "chatml");
  ServedModel model{.name = "m",
                    .tokenizer = tokenizer,
                    .chat_template = &chatml,
                    .vocab_size = tokenizer.vocab_size(),
                    .max_length = 200};

  CompletionRequest read(CompletionKind kind, const std::string& body) const {
    return read_completion(kind, parse_json(body, "body"), model);
  }
  std::string error(CompletionKind kind, const std::string& body) const {
    return testing::error_of([&] { read(kind, body); });
  }
};

constexpr auto kText = CompletionKind::kText;
constexpr auto kChat = CompletionKind::kChat;

}  // namespace

TEST_CASE("bodies are read with OpenAI's defaults", "[serve]") {
  const Served served;
  const CompletionRequest text = served.read(kText, R"({"model":"m","prompt":"hi","stop":null,"user":"u"})");
  CHECK(text.prompts.front() == served.tokenizer.encode("hi"));
  CHECK(text.sampling.max_new_tokens == 16);
  CHECK(text.sampling.temperature == 1);
  CHECK(text.sampling.top_p == 1);
  CHECK(text.sampling.top_k == 0);
  CHECK_FALSE(text.sampling.include_stop_str_in_output);
  CHECK_FALSE(text.seed);

  const CompletionRequest chat = served.read(
      kChat, R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],
    "max_tokens":5,"max_completion_tokens":7,"temperature":0,"stop":["x","yy"],"logit_bias":{"3":-2},"seed":4,"n":2,"stream":true,
    "stream_options":{"include_usage":true},"logprobs":true,"top_logprobs":0,"return_token_ids":true,"parallel_tool_calls":true})");
  CHECK(served.tokenizer.decode(chat.prompts.front()) == "<|im_start|>user\nab<|im_end|>\n<|im_start|>assistant\n");
  CHECK(chat.sampling.max_new_tokens == 7);
  CHECK(chat.sampling.temperature == 0);
  CHECK(chat.sampling.stop_strings == std::vector<std::string>{"x", "yy"});
  CHECK(chat.sampling.logit_bias == std::map<int64_t, double>{{3, -2}});
  CHECK(chat.seed == 4);
  CHECK(chat.num_choices == 2);
  CHECK((chat.streams && chat.with_usage && chat.with_log_probs && chat.with_token_ids && !chat.has_tools));
  CHECK(served.read(kChat, R"({"messages":[{"role":"user","content":"a"}]})").sampling.max_new_tokens == 200);
}

TEST_CASE("a prompt is a text, ids, or several of either", "[serve]") {
  const Served served;
  const auto prompts = [&](const std::string& prompt) {
    return served.read(kText, R"({"prompt":)" + prompt + "}").prompts;
  };
  CHECK(prompts("[5,6]") == std::vector<std::vector<int64_t>>{{5, 6}});
  CHECK(prompts("[[5],[6,7]]") == std::vector<std::vector<int64_t>>{{5}, {6, 7}});
  CHECK(prompts(R"(["a","b"])") ==
        std::vector<std::vector<int64_t>>{served.tokenizer.encode("a"), served.tokenizer.encode("b")});
  for (const char* wrong : {"[]", "[[]]", "3", "{}", "[1.5]", "[null]", "[true]", R"([1,"a"])",
                            "[99999999999999999999]", "[18446744073709551615]", "[-1]", R"("")"})
    CHECK(served.error(kText, std::string(R"({"prompt":)") + wrong + "}").starts_with("prompt"));
}

TEST_CASE("what is echoed has a largest size together, each time that it is", "[serve]") {
  const Served served;
  const auto body = [](size_t num_prompts, size_t n) {
    const Json prompts(num_prompts, std::vector<int64_t>(128, 1));
    return Json{{"prompt", prompts}, {"n", n}, {"echo", true}}.dump();
  };
  CHECK_NOTHROW(served.read(kText, body(4, 1024)));
  CHECK_THAT(served.error(kText, body(5, 1024)), Catch::StartsWith("echo: ") && Catch::Contains("655360; at most"));
}

TEST_CASE("tools that may not be called are not shown, and a turn is then content", "[serve]") {
  const Served served;
  const std::string body = R"({"messages":[{"role":"user","content":"a"}],"tools":[{"function":{"name":"f"}}])";
  CHECK(served.read(kChat, body + "}").has_tools);
  const CompletionRequest none = served.read(kChat, body + R"(,"tool_choice":"none"})");
  CHECK_FALSE(none.has_tools);
  CHECK_FALSE(none.variables.contains("tools"));
}

TEST_CASE("what is not done is refused by name, and what is mistyped, too", "[serve]") {
  const Served served;
  const auto [field, said] = GENERATE(table<std::string, std::string>({
      {R"("top_logprobs":2)", "top_logprobs = 2: needs logprobs: true"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs = 21: "},
      {R"("logprobs":true,"top_logprobs":2)", "top_logprobs: only log-probs of sampled tokens are available here"},
      {R"("echo":true)", "echo = true: is not supported for chats"},
      {R"("response_format":{"type":"json_object"})", "response_format: only {\"type\": \"text\"}"},
      {R"("response_format":{"type":"xml"})", "response_format = "},
      {R"("temprature":1)", "temprature: unknown key; did you mean 'temperature'?"},
      {R"("temperature":-1)", "temperature = -1: "},
      {R"("repetition_penalty":1e-5)", "repetition_penalty = 1e-05: "},
      {R"("repetition_penalty":1e300)", "repetition_penalty = 1e+300: "},
      {R"("temperature":"hot")", "temperature = \"hot\": "},
      {R"("n":0)", "n = 0: must be"},
      {R"("n":1e9)", "n = "},
      {R"("seed":-3)", "seed = -3: "},
      {R"("max_tokens":0)", "max_tokens = 0: "},
      {R"("stop":[""])", "stop = "},
      {R"("stop":3)", "stop = 3: must be a text"},
      {R"("logit_bias":{"x":1})", "logit_bias.x: must be a token id"},
      {R"("logit_bias":[1])", "logit_bias = [1]: must be an object"},
      {R"("stream_options":{"x":true})", "stream_options.x: is not a known field"},
      {R"("stream":"${oc.env:HOME}")", "stream = \"${oc.env:HOME}\": "},  // a stranger reads no environment
      {R"("tool_choice":"required")", "tool_choice: needs tools"},
      {R"("tool_choice":"any")", "tool_choice = \"any\": must be auto"},
      {R"("tools":[{"type":"web_search"}])", "tools[0] = "},
      {R"("chat_template_kwargs":3)", "chat_template_kwargs = 3: must be an object"},
      {R"("model":"other")", "model = \"other\": is not served here; use m"},
      {R"("logprobs":2)", "logprobs = 2: must be true or false"},
      {R"("prompt":"x")", "prompt: unknown key"},
  }));
  CHECK_THAT(served.error(kChat, R"({"messages":[{"role":"user","content":"a"}],)" + field + "}"),
             Catch::StartsWith(said));
}

TEST_CASE("messages are checked before a template sees them", "[serve]") {
  const Served served;
  for (const char* wrong :
       {"[]", "3", R"("x")", "[3]", R"([{"content":"a"}])", R"([{"role":3,"content":"a"}])", R"([{"role":"user"}])",
        R"([{"role":"user","content":{}}])", R"([{"role":"user","content":[{"type":"image_url"}]}])",
        R"([{"role":"assistant","tool_calls":[{}]}])",
        R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}])"})
    CHECK(served.error(kChat, std::string(R"({"messages":)") + wrong + "}").starts_with("messages"));
  std::string longest(210, 'x');
  CHECK(served.error(kChat, R"({"messages":[{"role":"user","content":")" + longest + R"("}]})")
            .starts_with("messages: has "));
  ServedModel plain = served.model;
  plain.chat_template = nullptr;
  CHECK_THROWS_AS(read_completion(kChat, parse_json(R"({"messages":[{"role":"user","content":"a"}]})", ""), plain),
                  UserError);
}

TEST_CASE("a stream's pieces are the whole answer's, with calls of tools in their own", "[serve]") {
  const Served served;
  const auto [text, content, calls] = GENERATE(table<std::string, std::string, size_t>({
      {"I add <b>. "
       "<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":1}}</"
       "tool_call>\n<tool_call>{\"name\":\"b\",\"arguments\":{}}</tool_call>",
       "I add <b>.", 2},
      {"<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":1}}</tool_call>", "", 1},
      {"I add [1]. [TOOL_CALLS] [{\"name\":\"add\",\"arguments\":{}}, {\"name\":\"b\",\"arguments\":{},\"id\":\"1\"}]",
       "I add [1].", 2},
      {"<|tool_call>call:add{a:1}<tool_call|><|tool_call>call:b{}<tool_call|>", "", 2},
      {"I add.\n<function_calls>add(a=1)\nb()</function_calls>", "I add.", 2},
      {"so <tool_call> thinks</think>\n\n<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>",
       "so <tool_call> thinks</think>", 1},
      {"<tool_call>wrong</tool_call> x", "<tool_call>wrong</tool_call> x", 0},
      {"just words <", "just words <", 0},
  }));
  CompletionRequest request = served.read(
      kChat,
      R"({"messages":[{"role":"user","content":"a"}],"stream":true,"tools":[{"type":"function","function":{"name":"add"}}]})");
  REQUIRE(request.has_tools);
  CompletionAnswer answer(request, served.model, "id", 5);
  const auto ids = served.tokenizer.encode(text);
  std::vector<Json> chunks;
  const auto add_news = [&](ChoiceNews news) {
    for (Json& chunk : answer.add_news(std::move(news))) chunks.push_back(std::move(chunk));
  };
  for (const int64_t id : ids) add_news({.choice = 0, .ids = {id}, .log_probs = {-1}, .ended = {}});
  CHECK_FALSE(answer.is_whole());
  add_news({.choice = 0,
            .ids = {},
            .log_probs = {},
            .ended = Generation{.ids = ids, .log_probs = {}, .finish_reason = FinishReason::kStop, .text = text}});
  REQUIRE(answer.is_whole());

  std::string said;
  Json called = Json::array();
  for (const Json& chunk : chunks) {
    const Json& delta = chunk["choices"][0]["delta"];
    said += delta.value("content", "");
    if (delta.contains("tool_calls")) called = delta["tool_calls"];
  }
  CHECK(chunks.front()["choices"][0]["delta"]["role"] == "assistant");
  CHECK(chunks.back()["choices"][0]["finish_reason"] == (calls > 0 ? "tool_calls" : "stop"));
  CHECK(said == content);
  CHECK(called.size() == calls);

  const Json whole = answer.whole();
  const Json& message = whole["choices"][0]["message"];
  CHECK((content.empty() ? message["content"].is_null() : message["content"] == content));
  CHECK((calls > 0) == message.contains("tool_calls"));
  for (size_t i = 0; i < calls; ++i) {
    CHECK(called[i]["index"] == i);
    CHECK(called[i]["id"] == message["tool_calls"][i]["id"]);
    CHECK(called[i]["id"].get<std::string>().size() == 9);  // as Mistral's templates want them
    CHECK((i == 0 || called[i]["id"] != called[i - 1]["id"]));
    CHECK(called[i]["function"] == message["tool_calls"][i]["function"]);
  }
  CHECK(whole["usage"]["completion_tokens"] == ids.size());
  CHECK(whole["usage"]["prompt_tokens"] == request.prompts[0].size());
}

TEST_CASE("arguments of earlier calls reach the template as JSON", "[serve]") {
  Served served;
  CompletionRequest request = served.read(kChat, R"({"messages":[{"role":"user","content":"a"},
    {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}}]},
    {"role":"tool","tool_call_id":"1","content":"2"}]})");
  CHECK(served.tokenizer.decode(request.prompts[0]).find("2<|im_end|>") != std::string::npos);
}

}  // namespace roll
