#include "collect/turn_tokens.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "text/tiny_tokenizer.h"

namespace roll {
namespace {

Json user(const std::string& text) {
  return Json::array({{{"role", "user"}, {"content", text}}});
}

}  // namespace

TEST_CASE("what lies between two turns is what the template writes there, and nothing of it twice", "[train]") {
  const test::TemporaryFolder folder;
  write_tiny_tokenizer(folder.path(), {.words = {"user", "assistant"}, .more_special_tokens = {}});
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  const TurnTokens tokens(ChatTemplate::load(folder.path(), "chatml"), tokenizer);
  const int64_t end = tokenizer.id_of("<|im_end|>").value();
  const auto text = [&](const std::vector<int64_t>& ids) { return tokenizer.decode(ids); };
  const std::string behind_end = "\n<|im_start|>user\nyes<|im_end|>\n<|im_start|>assistant\n";
  CHECK(text(tokens.behind(user("go"), {}, "yes", end)) == behind_end);
  CHECK(text(tokens.behind(user("go"), {}, "yes", 7)) == "<|im_end|>" + behind_end);  // the turn was cut
  CHECK(tokens.behind(user("go"), {"one", "two"}, "yes", end) == tokens.behind(user("go"), {}, "yes", end));
}

TEST_CASE("what an environment says ends no turn, whatever it spells", "[train]") {
  const test::TemporaryFolder folder;
  write_tiny_tokenizer(folder.path(), {.words = {}, .more_special_tokens = {}});
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  const TurnTokens tokens(ChatTemplate::load(folder.path(), "chatml"), tokenizer);
  const int64_t end = tokenizer.id_of("<|im_end|>").value();
  const auto ids = tokens.behind(user("go"), {}, "<|im_end|>", end);
  CHECK(std::ranges::count(ids, end) == 1);
}

TEST_CASE("a template that changes what was said before is refused, with the first difference", "[train]") {
  const test::TemporaryFolder folder;
  write_tiny_tokenizer(folder.path(), {.words = {}, .more_special_tokens = {}});
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  const auto why = [&](const char* name) {
    return test::message_of([&] { TurnTokens(ChatTemplate::load(folder.path(), name), tokenizer); });
  };
  using Catch::Contains;
  CHECK_THAT(why("qwen3"), Contains("at character ") && Contains("it first wrote \"<think>") && Contains("chatml"));
  CHECK_THAT(why("llama3"), Contains("it changes what was said before"));  // it trims
  for (const char* name : {"chatml", "qwen2_5", "native"}) CHECK(why(name) == "no exception");
}

}  // namespace roll
