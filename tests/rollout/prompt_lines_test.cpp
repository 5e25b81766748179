#include "rollout/prompt_lines.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "base/error.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

/// Byte-level, one token per ASCII letter a..j; "J" is beyond the model's vocabulary.
Tokenizer letters() {
  const char* json = R"({"version": "1.0", "added_tokens": [], "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
    "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
      "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "J": 50}, "merges": []}})";
  return Tokenizer::parse(json, "test");
}

std::vector<PromptLine> lines_of(const std::string& lines) {
  std::istringstream in(lines);
  GeneratingArgs generating;
  generating.max_new_tokens = 9;
  generating.top_k = 7;
  return read_prompt_lines(json_lines(in, "p.jsonl"), letters(),
                           {.model_folder = "no/such/folder",
                            .template_name = "empty",
                            .vocab_size = 10,
                            .max_tokens = 4,
                            .generating = generating});
}

std::vector<std::vector<int64_t>> prompts_of(const std::string& lines) {
  std::vector<std::vector<int64_t>> prompts;
  for (const PromptLine& line : lines_of(lines)) prompts.push_back(line.ids);
  return prompts;
}

std::string error_of(const std::string& lines) {
  try {
    prompts_of(lines);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("prompts come as text, messages or ids", "[rollout]") {
  const auto prompts = prompts_of(
      "{\"prompt\": \"abd\"}\n\n{\"ids\": [9, 0]}\n{\"messages\": [{\"role\": \"user\", \"content\": \"cc\"}]}\n");
  CHECK(prompts == std::vector<std::vector<int64_t>>{{0, 1, 3}, {9, 0}, {2, 2}});
  CHECK(prompts_of("").empty());
}

TEST_CASE("a line's own sampling changes what it names, for that line", "[rollout]") {
  const auto lines = lines_of(
      "{\"ids\": [1]}\n"
      "{\"ids\": [1], \"sampling\": {\"temperature\": 0.5, \"max_new_tokens\": 3, \"seed\": 4, \"stop_strings\": "
      "[\"7\", \"x\"]}}\n"
      "{\"ids\": [1], \"sampling\": {\"do_sample\": false}}");
  CHECK(!lines[0].generating);
  CHECK(!lines[0].seed);
  const SamplingSettings& own = lines[1].generating.value();
  CHECK(own.temperature == 0.5);
  CHECK(own.max_new_tokens == 3);
  CHECK(own.top_k == 7);
  CHECK(own.stop_strings == std::vector<std::string>{"7", "x"});
  CHECK(lines[1].seed == 4);
  CHECK(lines[2].generating->temperature == 0);
  CHECK(lines[2].generating->max_new_tokens == 9);
  const auto biased = lines_of(R"({"ids": [1], "sampling": {"logit_bias": {"3": -2.5, "0": 4}}})");
  CHECK(biased[0].generating->logit_bias == std::map<int64_t, double>{{0, 4.0}, {3, -2.5}});
}

TEST_CASE("a prompt that cannot be sampled from is an error that names its line", "[rollout]") {
  using Catch::Contains;
  CHECK_THAT(error_of("{\"ids\": [1]}\n{}"), Contains("p.jsonl:2: needs \"prompt\""));
  CHECK_THAT(error_of(R"({"prompt": "a", "ids": [1]})"), Contains("has both 'prompt' and 'ids'"));
  CHECK_THAT(error_of(R"({"prompt": 5})"), Contains("prompt: must be a string, not number"));
  CHECK_THAT(error_of(R"({"prompt": ""})"), Contains("prompt = \"\": has no token"));
  CHECK_THAT(error_of(R"({"prompt": "abcda"})"), Contains("prompt: has 5 tokens; at most 4"));
  CHECK_THAT(error_of(R"({"prompt": "aJ"})"), Contains("gives token id 50, but the model has only ids 0..9"));
  CHECK_THAT(error_of(R"({"ids": []})"), Contains("ids = []: has no token"));
  CHECK_THAT(error_of(R"({"ids": "1 2"})"), Contains("ids: must be a list of token ids, not string"));
  CHECK_THAT(error_of(R"({"ids": [1, 10]})"), Contains("ids[1] = 10: must be a token id of the model, 0..9"));
  CHECK_THAT(error_of(R"({"ids": [-1]})"), Contains("ids[0] = -1"));
  CHECK_THAT(error_of(R"({"ids": [1.5]})"), Contains("ids[0] = 1.5"));
  CHECK_THAT(error_of(R"({"ids": [18446744073709551615]})"), Contains("ids[0] = 18446744073709551615"));
  CHECK_THAT(error_of(R"({"messages": [{"role": "user"}]})"), Contains("messages[0]: has no 'content'"));
  const auto sampling = [](const std::string& text) { return error_of("{\"ids\": [1], \"sampling\": " + text + "}"); };
  CHECK_THAT(sampling("3"), Contains("p.jsonl:1: sampling: must be an object"));
  CHECK_THAT(sampling(R"({"top_p": 2})"), Contains("p.jsonl:1: sampling.top_p = 2: must be above 0 and at most 1"));
  CHECK_THAT(sampling(R"({"temprature": 1})"), Contains("sampling.temprature") && Contains("temperature"));
  CHECK_THAT(sampling(R"({"temperature": "1"})"), Contains("sampling.temperature"));
  CHECK_THAT(sampling(R"({"num_return_sequences": 2})"), Contains("num_return_sequences: cannot be set for one line"));
  CHECK_THAT(sampling(R"({"stop_strings": [""]})"), Contains("holds an empty string"));
  CHECK_THAT(sampling(R"({"logit_bias": {"10": 1}})"),
             Contains("logit_bias.10: must be a token id of the model, 0..9"));
  CHECK_THAT(sampling(R"({"logit_bias": {"-1": 1}})"), Contains("logit_bias.-1: must be a token id"));
  CHECK_THAT(sampling(R"({"logit_bias": {"1x": 1}})"), Contains("logit_bias.1x: must be a token id"));
  CHECK_THAT(sampling(R"({"logit_bias": {"": 1}})"), Contains("logit_bias.: must be a token id"));
  CHECK_THAT(sampling(R"({"logit_bias": {"1": 1, "01": 2}})"), Contains("names token 1 again"));
  CHECK_THAT(sampling(R"({"logit_bias": {"1": "a"}})"), Contains("sampling.logit_bias"));
  CHECK_THAT(sampling(R"({"logit_bias": {"1": 101}})"),
             Contains("sampling.logit_bias.1 = 101: must be within -100 .. 100"));
  CHECK_THAT(sampling(R"({"logit_bias": [1]})"), Contains("sampling.logit_bias"));
  std::string many = R"({"logit_bias": {)";
  for (int i = 0; i <= 1024; ++i) many += fmt::format(R"({}"{}": 1)", i > 0 ? ", " : "", i);
  CHECK_THAT(sampling(many + "}}"), Contains("names 1025 tokens; at most 1024"));
  CHECK_THAT(error_of("{\"prompt\": \"a\"}\n[1]"), Contains("p.jsonl:2: ") && Contains("JSON object"));
  CHECK_THAT(error_of("{\"prompt\": \"a\"}\n{\"prompt\""),
             Contains("p.jsonl:2:10: the line ends before its JSON object is complete"));
}

}  // namespace roll
