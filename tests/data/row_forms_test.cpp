#include "data/row_forms.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "data/learnt_rows.h"
#include "error_of.h"

namespace roll {

using Catch::Contains;
using testing::error_of;

namespace {

/// The row with the users' messages ["..."] and the assistant's {"..."} spelt out.
Row form_row(std::string text) {
  for (const auto& [mark, role] : {std::pair("u:", "user"), std::pair("a:", "assistant"), std::pair("s:", "system")})
    for (size_t at; (at = text.find(fmt::format("<{}", mark))) != std::string::npos;) {
      const size_t end = text.find('>', at);
      text.replace(at, end + 1 - at,
                   fmt::format(R"({{"role": "{}", "content": "{}"}})", role, text.substr(at + 3, end - at - 3)));
    }
  return parse_learnt_row(parse_json(text, "test"), "f.jsonl:3", {});
}

std::string sft_refusal(const std::string& text, const SftColumns& columns = {}) {
  return error_of([&] { sft_form(form_row(text), columns); });
}

std::string pair_refusal(const std::string& text) {
  return error_of([&] { pair_form(form_row(text), {}); });
}

/// "user: ...| assistant: ..." of messages, and a text as it is.
std::string words(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string text;
  for (const Json& message : value)
    text += fmt::format("{}{}: {}", text.empty() ? "" : " | ", message["role"].get<std::string>(),
                        message["content"].get<std::string>());
  return text;
}

std::string pair_words(const std::string& text, const RowColumns& columns = {}) {
  const PairForm form = pair_form(form_row(text), {.prompt = columns});
  return fmt::format("{} -> {} / {}", words(form.prompt), words(form.chosen), words(form.rejected));
}

}  // namespace

TEST_CASE("a prompt within the responses is taken out of them, whatever columns repeat it", "[data]") {
  const std::string found = "user: q -> assistant: a / assistant: b";
  for (const char* row :
       {R"({"chosen": [<u:q>, <a:a>], "rejected": [<u:q>, <a:b>]})",
        R"({"prompt": "q", "chosen": [<u:q>, <a:a>], "rejected": [<u:q>, <a:b>], "messages": [<u:q>, <a:a>]})",
        R"({"prompt": " q", "chosen": [<u:q>, <a:a>], "rejected": [<u:q>, <a:b>], "messages": [<u:q>]})",
        R"({"prompt": [<u:q>], "chosen": [<u:q>, <a:a>], "rejected": [<u:q>, <a:b>]})",
        R"({"prompt": [<u:q>], "chosen": [<u:q>, <a:a>], "rejected": "b"})",
        R"({"prompt": "q", "chosen": [<a:a>], "rejected": [<a:b>]})",
        R"({"instruction": "q", "chosen": "a", "rejected": "b"})",
        R"({"messages": [<u:q>], "chosen": "a", "rejected": "b"})",
        R"({"messages": [<u:q>, <a:a>], "prompt": "q", "chosen": "a", "rejected": "b"})",
        R"({"conversations": [{"from": "user", "value": "q"}], "chosen": "a", "rejected": "b"})"})
    CHECK(pair_words(row) == found);
  CHECK(pair_words(R"({"prompt": "q", "chosen": [<s:x>, <u:q>, <a:a>], "rejected": [<s:x>, <u:q>, <a:b>]})") ==
        "system: x | " + found);
  CHECK(pair_words(R"({"prompt": "q", "chosen": "a", "rejected": "b"})") == "q -> a / b");
  CHECK(pair_words(R"({"chosen": "is q a", "rejected": "is q b"})") == "is q ->  a /  b");
  CHECK(pair_words(R"({"chosen": [<u:q>, <a:a>], "rejected": [<u:q>, <a:a>]})") ==
        "user: q -> assistant: a / assistant: a");  // as TRL has it
  CHECK(pair_words(R"({"prompt": "q", "messages": [<u:another>], "chosen": "a", "rejected": "b"})",
                   {.prompt = "prompt"}) == "q -> a / b");
}

TEST_CASE("pairs whose columns contradict each other are refused", "[data]") {
  const auto both = [](const std::string& rest) { return pair_refusal("{" + rest + "}"); };
  const std::string within = R"(, "chosen": [<u:q>, <a:a>], "rejected": [<u:q>, <a:b>])";
  const std::string turns = R"(, "chosen": [<u:q>, <a:a>, <u:r>, <a:c>], "rejected": [<u:q>, <a:a>, <u:r>, <a:d>])";
  CHECK_THAT(both(R"("prompt": "p")" + within), Contains("f.jsonl:3: prompt: chosen begins with a different prompt"));
  CHECK_THAT(both(R"("prompt": [<u:p>])" + within), Contains("prompt: chosen begins with a different prompt"));
  CHECK_THAT(both(R"("instruction": "p")" + within), Contains("instruction: chosen begins with a different prompt"));
  CHECK_THAT(both(R"("prompt": "q")" + turns), Contains("prompt: chosen begins with more turns than this prompt"));
  CHECK_THAT(both(R"("prompt": [<u:q>])" + turns), Contains("chosen begins with more turns than this prompt"));
  CHECK_THAT(both(R"("messages": [<u:q>, <a:z>])" + within), Contains("messages: are neither the prompt of chosen"));
  CHECK_THAT(both(R"("prompt": [<u:q>], "chosen": [<u:p>, <a:a>], "rejected": "b")"),
             Contains("chosen: begins with messages that differ from the prompt"));
  CHECK_THAT(both(R"("prompt": [<u:q>], "chosen": "a", "rejected": [<u:p>, <a:b>])"),
             Contains("rejected: begins with messages that differ"));
  CHECK_THAT(both(R"("messages": [<u:q>, <a:z>], "chosen": "a", "rejected": "b")"),
             Contains("messages end with an answer that differs from chosen"));
  CHECK_THAT(both(R"("messages": [<u:q>], "prompt": "p", "chosen": "a", "rejected": "b")"),
             Contains("prompt: is not the user's last message in messages"));
  CHECK_THAT(both(R"("messages": [<u:p>, <a:x>, <u:q>], "prompt": "p", "chosen": "a", "rejected": "b")"),
             Contains("prompt: is not the user's last message in messages"));
  CHECK_THAT(both(R"("messages": [<u:q>], "prompt": [<u:p>], "chosen": "a", "rejected": "b")"),
             Contains("messages do not begin with prompt"));
  CHECK_THAT(both(R"("instruction": "q", "prompt": "p", "chosen": "a", "rejected": "b")"),
             Contains("prompt differs from instruction"));
  CHECK_THAT(both(R"("messages": [<u:q>], "conversations": [<u:p>], "chosen": "a", "rejected": "b")"),
             Contains("conversations differ from messages"));
  CHECK_THAT(both(R"("chosen": "a", "rejected": "b")"), Contains("there is no prompt"));
  CHECK_THAT(both(R"("chosen": [<a:a>], "rejected": [<a:b>])"), Contains("there is no prompt"));
  CHECK_THAT(both(R"("prompt": "q", "chosen": "a", "rejected": "b", "tools": [{}])"),
             Contains("tools: is for a chat template"));
}

TEST_CASE("rows to learn from whose columns contradict each other are refused", "[data]") {
  const auto row = [](const std::string& rest) { return sft_refusal("{" + rest + "}"); };
  CHECK_THAT(row(R"("messages": [<u:q>, <a:a>], "response": "a")"),
             Contains("f.jsonl:3: messages end with an answer, and the column response has one, too"));
  CHECK_THAT(row(R"("prompt": "q", "response": "a", "completion": "a")"), Contains("columns response and completion"));
  CHECK_THAT(row(R"("prompt": "p", "messages": [<u:q>, <a:a>])"),
             Contains("prompt: is not a user message in messages"));
  CHECK_THAT(row(R"("prompt": [<u:p>], "messages": [<u:q>, <a:a>])"), Contains("messages do not begin with prompt"));
  CHECK_THAT(row(R"("prompt": [<u:q>], "completion": [<u:p>, <a:a>])"),
             Contains("completion: begins with messages that differ from the prompt"));
  CHECK_THAT(row(R"("prompt": [<u:q>], "completion": [<u:q>])"), Contains("its last message has the role 'user'"));
  CHECK_THAT(row(R"("messages": [<u:q>, <a:a>], "text": "q a")"), Contains("has a column text"));
  CHECK_THAT(row(R"("text": "q a", "completion": "a")"), Contains("has a column text"));
  CHECK_THAT(row(R"("prompt": "q", "response": "a", "reasoning": "b")"), Contains("cannot be used with a raw prompt"));
  CHECK_THAT(row(R"("text": "q", "tools": "[{}]")"), Contains("tools: is for a chat template"));
  CHECK_THAT(row(R"("prompt": [<u:q>], "completion": "a", "tools": ["add"])"), Contains("a list of tool schemas"));
  CHECK_THAT(row(R"("messages": [{"role": "user"}, <a:a>])"), Contains("messages[0]: has no 'content'"));
  CHECK(row(R"("prompt": "q", "messages": [<u:q>, <a:a>, <u:r>, <a:b>])") == error_of([] {}));  // UltraChat's
}

TEST_CASE("prompts of rows to learn from get the configuration's system message and template", "[data]") {
  const RowColumns dressed{.system = "Be brief.", .prompt_template = "<{prompt}>"};
  const auto sft = [&](const std::string& text, RowColumns columns) {
    const SftForm form = sft_form(form_row(text), {.prompt = std::move(columns)});
    return form.is_chat() ? words(form.prompt) + (form.completion.is_array() ? " -> " + words(form.completion) : "")
                          : form.prompt_text + " -> " + form.completion_text;
  };
  const std::string turns = "system: Be brief. | user: <q> | assistant: a";
  CHECK(sft(R"({"messages": [<u:q>, <a:a>]})", dressed) == turns);
  CHECK(sft(R"({"prompt": [<u:q>], "completion": [<a:a>]})", dressed) ==
        "system: Be brief. | user: <q> -> assistant: a");
  CHECK(sft(R"({"messages": [<s:own>, <u:q>, <a:a>, <u:r>, <a:b>]})", dressed) ==
        "system: own | user: q | assistant: a | user: <r> | assistant: b");
  CHECK(sft(R"({"messages": [{"role": "developer", "content": "own"}, <u:q>, <a:a>]})", dressed) ==
        "developer: own | user: <q> | assistant: a");
  RowColumns of_question = dressed;
  of_question.question = "q";
  CHECK(sft(R"({"q": "1+1?", "response": "2"})", of_question) == "system: Be brief. | user: <1+1?> -> assistant: 2");
  CHECK(sft(R"({"prompt": "1+1=", "completion": "2"})", {.prompt_template = "<{prompt}>"}) == "<1+1=> -> 2");

  CHECK(pair_words(R"({"chosen": [<u:q>, <a:a>], "rejected": [<u:q>, <a:b>]})", dressed) ==
        "system: Be brief. | user: <q> -> assistant: a / assistant: b");
  CHECK(pair_words(R"({"instruction": "q", "chosen": "a", "rejected": "b"})", dressed) ==
        "system: Be brief. | user: <q> -> assistant: a / assistant: b");
  CHECK(pair_words(R"({"prompt": "q", "chosen": "a", "rejected": "b"})", {.prompt_template = "<{prompt}>"}) ==
        "<q> -> a / b");
}

TEST_CASE("rows to learn from with no place for a system message or a template are refused", "[data]") {
  const SftColumns system{.prompt = {.system = "s"}}, around{.prompt = {.prompt_template = "<{prompt}>"}};
  CHECK_THAT(sft_refusal(R"({"text": "q a"})", system),
             Contains("f.jsonl:3: text: is trained on unchanged, so it has no prompt"));
  CHECK_THAT(sft_refusal(R"({"text": "q a"})", around), Contains("no prompt to which data_args.prompt_template"));
  CHECK_THAT(sft_refusal(R"({"prompt": "q", "completion": "a"})", system), Contains("the prompt is raw text"));
  CHECK_THAT(sft_refusal(R"({"messages": [<a:a>]})", around), Contains("has no user message"));
  const auto pairs = [](const std::string& text, const RowColumns& columns) {
    return error_of([&] { pair_form(form_row(text), {.prompt = columns}); });
  };
  CHECK_THAT(pairs(R"({"chosen": "is q a", "rejected": "is q b"})", around.prompt),
             Contains("f.jsonl:3: no column has the prompt, so data_args.prompt_template cannot be added"));
  CHECK_THAT(pairs(R"({"prompt": "q", "chosen": "a", "rejected": "b"})", system.prompt), Contains("raw text"));
}

TEST_CASE("a column of thoughts belongs to the response beside it", "[data]") {
  const SftForm form = sft_form(form_row(R"({"prompt": [<u:q>], "completion": "a", "thinking": "t"})"), {});
  CHECK(form.completion[0]["reasoning_content"] == "t");
}

}  // namespace roll
