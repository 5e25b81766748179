#include "rollout/conversation.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "error_of.h"
#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

Tokenizer chat_tokenizer() {
  return Tokenizer::parse(make_byte_level_tokenizer({.words = {"user", "the"}, .more_special_tokens = {}}).dump(),
                          "tiny");
}

/// As drawn: `ids` may be others than those of the text.
Generation drawn(const Tokenizer& tokenizer, std::vector<int64_t> ids, FinishReason reason) {
  return {.ids = ids, .log_probs = {}, .finish_reason = reason, .text = tokenizer.decode(ids, true)};
}

const std::vector<int64_t> kThe = {'t', 'h', 'e'};  // which the tokenizer would give as one

std::vector<int64_t> joined(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("a conversation goes on from the tokens that were drawn", "[rollout]") {
  const Tokenizer tokenizer = chat_tokenizer();
  Conversation conversation(tokenizer, ChatTemplate::load("nowhere", "chatml"), "be brief");
  const auto first = conversation.ask("1+1?");
  CHECK(tokenizer.decode(first) ==
        "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n");
  const std::string rest = "<|im_end|>\n<|im_start|>user\nwhy?<|im_end|>\n<|im_start|>assistant\n";
  SECTION("whose end token the template writes") {
    conversation.answer(drawn(tokenizer, joined(kThe, {*tokenizer.find_id("<|im_end|>")}), FinishReason::kStop));
    CHECK(conversation.ask("why?") == joined(joined(first, kThe), tokenizer.encode(rest, true, false)));
  }
  SECTION("also where the response was cut") {
    const auto reason = GENERATE(FinishReason::kLength, FinishReason::kAbort);
    conversation.answer(drawn(tokenizer, kThe, reason));
    CHECK(conversation.ask("why?") == joined(joined(first, kThe), tokenizer.encode(rest, true, false)));
  }
  SECTION("but from the text where a stop string cut it") {
    Generation response = drawn(tokenizer, joined(kThe, {'S'}), FinishReason::kStopString);
    response.text = "the";
    conversation.answer(response);
    CHECK(conversation.ask("why?") == joined(first, tokenizer.encode("the" + rest, true, false)));
  }
  SECTION("what had no answer is forgotten") {
    CHECK(conversation.ask("1+1?") == first);
    conversation.answer(drawn(tokenizer, kThe, FinishReason::kLength));
    conversation.ask("never mind");
    CHECK(conversation.ask("why?") == joined(joined(first, kThe), tokenizer.encode(rest, true, false)));
  }
  SECTION("and anew after a reset") {
    conversation.answer(drawn(tokenizer, kThe, FinishReason::kLength));
    conversation.reset();
    CHECK(conversation.ask("1+1?") == first);
  }
}

TEST_CASE("a template that changes what was said is believed", "[rollout]") {
  const Tokenizer tokenizer = chat_tokenizer();
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("roll_test_conversation_{}", ::getpid());
  std::filesystem::create_directories(folder);
  write_file_atomic(folder / "chat_template.jinja",
                    "{% for m in messages %}{{ m.role[0] }}:{{ m.content | trim }};{% endfor %}a:");
  Conversation conversation(tokenizer, ChatTemplate::load(folder, "native"), {});
  std::filesystem::remove_all(folder);
  conversation.ask("x");
  conversation.answer(drawn(tokenizer, joined({' '}, kThe), FinishReason::kLength));
  CHECK(conversation.ask("y") == tokenizer.encode("u:x;a:the;u:y;a:", true, false));
  CHECK_THAT(testing::error_of([&] { conversation.ask("\xff"); }), Catch::Contains("UTF-8"));
}

}  // namespace roll
