#include "data/sft_rows.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {

namespace {

constexpr int64_t kEnd = 1;  // written '$'

/// One token per byte; '^' begins every text that wants special tokens.
std::vector<int64_t> encode(std::string_view text, bool add_special) {
  std::vector<int64_t> ids;
  if (add_special) ids.push_back('^');
  for (const char c : text) ids.push_back(c == '$' ? kEnd : c);
  return ids;
}

/// "<t:number of tools$\n<u:hello$\n<a:hi$\n", and "<a:" as the generation prompt.
std::string render(const Json& messages, bool add_generation_prompt, const Json& variables) {
  std::string text = variables.contains("tools") ? fmt::format("<t:{}$\n", variables["tools"].size()) : "";
  for (const Json& message : messages)
    text += fmt::format("<{}:{}$\n", message["role"].get<std::string>()[0], message["content"].get<std::string>());
  return text + (add_generation_prompt ? "<a:" : "");
}

const SftEncoder kEncoder{.render = render, .encode = encode, .eos_ids = {kEnd}, .eos_texts = {"$"}};

Row sft_row(const std::string& json) {
  return parse_learnt_row(parse_json(json, "test"), "f.jsonl:2", {});
}

/// The ids as text, and a line of marks under the tokens that are learnt.
struct Shown {
  std::string text, marks;
};
Shown show(const SftRow& row) {
  Shown shown;
  REQUIRE(row.labels_mask.size() == row.ids.size());
  CHECK(row.labels_mask.back() == 0);
  for (size_t t = 0; t < row.ids.size(); ++t) {
    const char c = row.ids[t] == kEnd ? '$' : static_cast<char>(row.ids[t]);
    shown.text += c == '\n' ? '/' : c;
    shown.marks += t > 0 && row.labels_mask[t - 1] ? '+' : '.';
  }
  return shown;
}

Shown encoded(const std::string& json, const std::optional<std::string>& response = {},
              const SftEncoder& encoder = kEncoder) {
  Row row = sft_row(json);
  return show(encode_sft_row(row, {{}, response}, encoder));
}

std::string sft_error(const std::string& json, const std::optional<std::string>& response = {},
                      const SftEncoder& encoder = kEncoder) {
  try {
    Row row = sft_row(json);
    encode_sft_row(row, {{}, response}, encoder);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("of a raw row the response and an end token are learnt", "[data]") {
  const Shown row = encoded(R"({"prompt": "1+1=", "response": "2"})");
  CHECK(row.text == "^1+1=2$");
  CHECK(row.marks == ".....++");
  CHECK(encoded(R"({"prompt": "1+1=", "response": "2$"})").text == "^1+1=2$");
  CHECK(encoded(R"({"prompt": "1+1=", "answer": "3"})", "answer").text == "^1+1=3$");
}

TEST_CASE("of a conversation every assistant turn is learnt with all that ends it, and nothing else", "[data]") {
  const Shown one =
      encoded(R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "ab"}]})");
  CHECK(one.text == "<u:q$/<a:ab$/");
  CHECK(one.marks == ".........++++");
  const Shown two = encoded(R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"},
      {"role": "assistant", "content": "a"}, {"role": "user", "content": "r"}, {"role": "assistant", "content": "b"},
      {"role": "user", "content": "unanswered"}]})");
  CHECK(two.text == "<s:s$/<u:q$/<a:a$/<u:r$/<a:b$/");
  CHECK(two.marks == "...............+++.........+++");
}

TEST_CASE("a response column is one more message, and all that is learnt", "[data]") {
  const Shown row = encoded(R"({"messages": [{"role": "user", "content": "q"}], "response": "ab"})");
  CHECK(row.text == "<u:q$/<a:ab$/");
  CHECK(row.marks == ".........++++");
  const Shown later = encoded(R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "x"},
      {"role": "user", "content": "r"}], "response": "ab"})");
  CHECK(later.text == "<u:q$/<a:x$/<u:r$/<a:ab$/");
  CHECK(later.marks == ".....................++++");
}

TEST_CASE("tools reach the template", "[data]") {
  const Shown row = encoded(R"({"prompt": [{"role": "user", "content": "q"}], "completion": "a", "tools": [{}, {}]})");
  CHECK(row.text == "<t:2$/<u:q$/<a:a$/");
  SftEncoder bare = kEncoder;
  bare.render = [](const Json& messages, bool add, const Json&) { return render(messages, add, Json::object()); };
  CHECK_THAT(sft_error(R"({"prompt": [{"role": "user", "content": "q"}], "completion": "a", "tools": [{}]})", {}, bare),
             Catch::Contains("f.jsonl:2: tools: the chat template does not show the tools"));
}

TEST_CASE("rows without anything to learn are refused", "[data]") {
  using Catch::Contains;
  CHECK_THAT(sft_error(R"({"prompt": "q"})"), Contains("f.jsonl:2: the row has no column 'response' or 'completion'"));
  CHECK_THAT(sft_error(R"({"prompt": "q", "response": "a"})", "answer"), Contains("no column 'answer'"));
  CHECK_THAT(sft_error(R"({"prompt": "q", "response": ""})"), Contains("response: is empty"));
  CHECK_THAT(sft_error(R"({"prompt": "q", "response": 2})"), Contains("response = 2: must be a string"));
  CHECK_THAT(sft_error(R"({"messages": [{"role": "user", "content": "q"}]})"), Contains("no assistant message"));
  SftEncoder endless = kEncoder;
  endless.eos_ids = {};
  CHECK_THAT(sft_error(R"({"prompt": "q", "response": "a"})", {}, endless), Contains("has no end token"));
}

TEST_CASE("where a template rewrites earlier turns, they are learnt as the whole conversation shows them", "[data]") {
  SftEncoder forgetful = kEncoder;
  forgetful.render = [](const Json& messages, bool add, const Json&) {
    return fmt::format("{}{}", messages.size(), render(messages, add, Json::object()));
  };
  const std::string turns = R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"},
      {"role": "user", "content": "r"}, {"role": "assistant", "content": "b"}]})";
  Row row = sft_row(turns);
  const SftRow found = encode_sft_row(row, {}, forgetful);
  CHECK(found.is_rewritten);
  CHECK(show(found).text == "4<u:q$/<a:a$/<u:r$/<a:b$/");
  CHECK(show(found).marks == "..........+++.........+++");
  Row same = sft_row(turns);
  CHECK_FALSE(encode_sft_row(same, {}, kEncoder).is_rewritten);

  SftEncoder hiding = kEncoder;  // it shows the last message only
  hiding.render = [](const Json& messages, bool add, const Json&) {
    return render(Json::array({messages.back()}), add, Json::object());
  };
  CHECK_THAT(sft_error(turns, {}, hiding),
             Catch::Contains("f.jsonl:2: messages[3]: with this message, the chat template renders"));
}

}  // namespace roll
