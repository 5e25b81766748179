#include "text/chat_template.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "data/chats.h"
#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"

namespace roll {
namespace {

namespace fs = std::filesystem;

fs::path folder_with(const std::vector<std::pair<std::string, std::string>>& files) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("roll_test_chat_{}", ::getpid());
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& [name, content] : files) {
    fs::create_directories((folder / name).parent_path());
    write_file_atomic(folder / name, content);
  }
  return folder;
}

const Json kHello = Json::parse(R"([{"role": "user", "content": "Hello"}])");

TEST_CASE("built-in templates render what the models' own templates render without tools", "[text]") {
  const Json golden = read_json(ROLL_SOURCE_DIR "/tests/golden/text/templates.json");
  const std::vector<std::pair<std::string, std::string>> names{
      {"qwen25/", "qwen2_5"}, {"qwen3/", "qwen3"}, {"llama3/", "llama3"}};
  int compared = 0;
  for (const auto& [style, name] : names) {
    const ChatTemplate chat = ChatTemplate::load(folder_with({}), name);
    for (const Json& one : golden["cases"]) {
      const auto case_name = one["name"].get<std::string>();
      if (!case_name.starts_with(style) || case_name.find("tools") != std::string::npos) continue;
      CAPTURE(case_name);
      const Json& messages = one["variables"]["messages"];
      const bool opens = one["variables"]["add_generation_prompt"].get<bool>();
      Json variables = Json::object();
      std::optional<bool> thinks;
      if (one["variables"].contains("enable_thinking")) {
        variables["enable_thinking"] = one["variables"]["enable_thinking"];
        thinks = variables["enable_thinking"].get<bool>();
      }
      CHECK(chat.render(messages, opens, variables) == one["text"].get<std::string>());
      CHECK(ChatTemplate::load(folder_with({}), name, thinks).render(messages, opens) ==
            one["text"].get<std::string>());
      ++compared;
    }
  }
  CHECK(compared == 42);
}

TEST_CASE("chatml and empty add nothing to the messages", "[text]") {
  const Json messages = Json::parse(
      R"([{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])");
  const fs::path folder = folder_with({});
  CHECK(ChatTemplate::load(folder, "chatml").render(messages, true) ==
        "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nab<|im_end|>\n<|im_start|>assistant\n");
  CHECK(ChatTemplate::load(folder, "empty").render(messages, true) == "sab");
}

TEST_CASE("the native template is the folder's own, with its special tokens", "[text]") {
  const std::string config =
      R"({"bos_token": {"content": "<s>"}, "chat_template": "{{ bos_token }}{{ messages[0].content }}"})";
  CHECK(ChatTemplate::load(folder_with({{"tokenizer_config.json", config}}), "native").render(kHello, true) ==
        "<s>Hello");
  CHECK(ChatTemplate::load(folder_with({{"tokenizer_config.json", config}, {"chat_template.jinja", "file\n"}}), "")
            .render(kHello, true) == "file");
  const std::string named =
      R"({"chat_template": [{"name": "rag", "template": "no"}, {"name": "default", "template": "yes {{ tools is none }}"}]})";
  CHECK(ChatTemplate::load(folder_with({{"tokenizer_config.json", named}}), "native").render(kHello, true) ==
        "yes True");
}

std::string error_of(const fs::path& folder, const std::string& name, const Json& messages = kHello) {
  try {
    return "no error, but: " + ChatTemplate::load(folder, name).render(messages, true);
  } catch (const UserError& e) {
    return e.what();
  }
}

TEST_CASE("templates and messages with mistakes are named", "[text]") {
  CHECK_THAT(error_of(folder_with({}), "qwen2_6"),
             Catch::Contains("must be one of native, qwen2_5") && Catch::Contains("did you mean 'qwen2_5'?"));
  CHECK_THAT(error_of(folder_with({}), "native"), Catch::Contains("no chat template") && Catch::Contains("chatml"));
  CHECK_THAT(error_of(folder_with({{"tokenizer_config.json", R"({"chat_template": "a\n{% if %}"})"}}), "native"),
             Catch::Contains("tokenizer_config.json: chat_template:2: a value is expected"));
  CHECK_THAT(
      error_of(folder_with({{"tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": ""}]})"}}),
               "native"),
      Catch::Contains("named \"default\" or \"tool_use\""));
  CHECK_THAT(error_of(folder_with({{"additional_chat_templates/rag.jinja", ""}}), "native"),
             Catch::Contains("additional_chat_templates: none of these templates is named"));
  CHECK_THAT(error_of(folder_with({{"chat_template.jinja", "a\n\n{{ raise_exception('No!') }}"}}), "native"),
             Catch::EndsWith("chat_template.jinja:3: the template refuses: No!"));
  const auto bad = [&](const char* messages) { return error_of(folder_with({}), "chatml", Json::parse(messages)); };
  CHECK_THAT(bad("{}"), Catch::Contains("messages: must be a list"));
  CHECK_THAT(bad("[]"), Catch::Contains("messages: must be a list of at least one"));
  CHECK_THAT(bad("[1]"), Catch::Contains("messages[0]: must be"));
  CHECK_THAT(bad(R"([{"role": "user", "content": "a"}, {"content": "b"}])"),
             Catch::Contains("messages[1].role: must be a string"));
  CHECK_THAT(bad(R"([{"role": null, "content": "a"}])"), Catch::Contains("messages[0].role: must be a string"));
  CHECK_THAT(bad(R"([{"role": "assistant", "content": null, "tool_calls": null}])"),
             Catch::Contains("messages[0].content: must be"));
  CHECK_THAT(bad(R"([{"role": "user"}])"), Catch::Contains("messages[0].content: must be a string or a list"));
  CHECK_THAT(bad(R"([{"role": "user", "content": [{"type": "image"}]}])"),
             Catch::Contains("other media are not supported"));
}

TEST_CASE("schemas of tools stand where transformers' templates put them", "[text]") {
  const Json golden = read_json(ROLL_SOURCE_DIR "/tests/golden/text/tool_calls.json");
  for (const auto& [form, source] : golden["templates"].items()) {
    const std::string config = Json{{"bos_token", "<s>"}}.dump();
    const ChatTemplate own =
        ChatTemplate::load(folder_with({{"tokenizer_config.json", config}, {"chat_template.jinja", source}}), "native");
    CHECK(own.render(golden["first"], true, {{"tools", golden["tools"]}}) == golden["openings"][form]);
  }
}

TEST_CASE("a row's tools are shown by a template that is for tools alone, and missed where none shows them", "[text]") {
  const Json variables{{"tools", {{{"type", "function"}, {"function", {{"name", "f"}}}}}}};
  const auto text = [&](const char* file, const char* source) {
    const ChatTemplate own = ChatTemplate::load(folder_with({{file, source}}), "native");
    return render_row([&](const Json& all) { return own.render(kHello, true, all); }, variables, "rows:1");
  };
  CHECK(text("additional_chat_templates/tool_use.jinja", "{{ tools[0].function.name }}: {{ messages[0].content }}") ==
        "f: Hello");
  const char* const silent = "{{ 'tools' if tools is not none else '' }}";
  for (const char* file : {"additional_chat_templates/tool_use.jinja", "chat_template.jinja"})
    CHECK_THROWS_WITH(text(file, silent),
                      Catch::StartsWith("rows:1: tools: the chat template does not show the tools"));
}

const Json& golden_chat() {
  static const Json golden = read_json(ROLL_SOURCE_DIR "/tests/golden/text/chat.json");
  return golden;
}

fs::path golden_folder(const Json& files) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, content] : files.items()) all.emplace_back(name, content);
  return folder_with(all);
}

TEST_CASE("special tokens have the names that transformers gives them", "[text]") {
  for (const Json& one : golden_chat()["tokens"]) {
    CAPTURE(one["files"].dump());
    CHECK(ChatTemplate::load(golden_folder(one["files"]), "native").render(kHello, true) == one["text"]);
  }
}

TEST_CASE("of a folder's templates the one renders that transformers chooses", "[text]") {
  for (const Json& one : golden_chat()["folders"]) {
    const fs::path folder = golden_folder(one["files"]);
    for (const Json& given : one["texts"]) {
      CAPTURE(one["files"].dump(), given.dump());
      const auto render = [&] {
        return ChatTemplate::load(folder, "native").render(kHello, true, {{"tools", given["tools"]}});
      };
      if (given["text"].is_null())
        CHECK_THROWS_WITH(render(), Catch::Contains("is for tools (tool_use), but there are no tools"));
      else
        CHECK(render() == given["text"]);
    }
  }
}

TEST_CASE("messages reach the template as transformers hands them over", "[text]") {
  const std::string each = golden_chat()["each"];
  const ChatTemplate chat = ChatTemplate::load(folder_with({{"chat_template.jinja", each}}), "native");
  for (const Json& one : golden_chat()["messages"]) CHECK(chat.render(one["messages"], false) == one["text"]);
}

TEST_CASE("a tiny tokenizer makes its words single tokens and carries a ChatML template", "[text]") {
  const fs::path folder = folder_with({});
  TinyTokenizerSpec spec;
  spec.words = {" plus", "lus", "abab", "aaaa", "==", "the", " the", "ll", "ell"};
  spec.more_special_tokens = {"<think>"};
  write_tiny_tokenizer(folder, spec);
  const Tokenizer tokenizer = Tokenizer::load(folder);
  for (const std::string& word : spec.words) {
    CAPTURE(word);
    const auto ids = tokenizer.encode(word);
    CHECK(ids.size() == 1);
    CHECK(tokenizer.decode(ids) == word);
  }
  CHECK(tokenizer.encode("12").size() == 2);
  CHECK(tokenizer.encode("<think>") == std::vector<int64_t>{*tokenizer.find_id("<think>")});
  CHECK(tokenizer.encode("<think>", false).size() > 1);
  CHECK(ChatTemplate::load(folder, "native").render(kHello, true) ==
        "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n");
  spec.words = {"two words"};
  CHECK_THROWS_WITH(make_byte_level_tokenizer(spec),
                    Catch::Contains("'two words': must be a word that the pre-tokenizer does not split"));
  spec.words = {"12"};
  CHECK_THROWS_AS(make_byte_level_tokenizer(spec), UserError);
  spec.split_digits = false;
  CHECK(make_byte_level_tokenizer(spec)["model"]["merges"].size() == 1);
}

}  // namespace
}  // namespace roll
