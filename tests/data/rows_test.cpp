#include "data/row_files.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "data/tokenise.h"
#include "error_of.h"

namespace roll {

using testing::error_of;

namespace {

namespace fs = std::filesystem;

/// A folder that is gone with the test.
struct TempFolder {
  fs::path path = fs::temp_directory_path() / fmt::format("roll_test_rows_{}", ::getpid());
  TempFolder() { fs::create_directories(path); }
  ~TempFolder() { fs::remove_all(path); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

std::vector<Row> read_all(const std::vector<std::string>& patterns) {
  std::vector<Row> rows;
  for_each_row(expand_files(patterns), {}, [&](Row row, const RowFile&) { rows.push_back(std::move(row)); });
  return rows;
}

Row row_of(const std::string& json, const RowColumns& columns = {}) {
  return parse_row(parse_json(json, "test"), "rows.jsonl:7", columns);
}

std::string row_error(const std::string& json, const RowColumns& columns = {}) {
  return error_of([&] { row_of(json, columns); });
}

}  // namespace

TEST_CASE("a row of ROLL's own format is read whole", "[data]") {
  const Row row = row_of(
      R"({"id": "4144", "source": "deepmath_103k", "difficulty": "4.0", "prompt": "1+1?",
          "messages": "[{\"role\": \"user\", \"content\": \"1+1?\"}]", "ground_truth": "2", "case_type": "",
          "test_cases": "", "tag": "deepmath_103k"})");
  CHECK(row.id == "4144");
  CHECK(row.origin == "rows.jsonl:7");
  CHECK(row.source == "deepmath_103k");
  CHECK(row.difficulty == 4.0);
  CHECK(row.tag == "deepmath_103k");
  CHECK(row.domain.empty());
  CHECK(row.ground_truth == "2");
  REQUIRE(row.messages);
  CHECK((*row.messages)[0]["content"] == "1+1?");
  CHECK(row.raw["test_cases"] == "");
}

TEST_CASE("rows of all of ROLL's formats are read whole", "[data]") {
  const std::string shared = R"("id": "1", "source": "s", "difficulty": "0", "prompt": "p",
      "messages": "[{\"role\": \"user\", \"content\": \"p\"}]", )";
  const auto read = [&](const std::string& columns) { return row_of("{" + shared + columns + "}"); };
  const Row code = read(R"("ground_truth": "", "case_type": "pytest", "test_case_function": "f", "tag": "KodCode",
                           "test_cases": "{\"inputs\": [\"1\"], \"outputs\": [\"2\"]}")");
  CHECK(code.tag == "KodCode");
  CHECK(parse_json(code.raw["test_cases"].get<std::string>(), "")["outputs"][0] == "2");
  CHECK(code.raw["case_type"] == "pytest");
  const Row listed = read(R"("ground_truth": "", "test_cases": [{"assert_code": "x"}], "tag": "KodCode")");
  CHECK(listed.raw["test_cases"].size() == 1);
  const std::string instruction = R"({"func_name":"validate_title","N":null})";
  CHECK(read(R"("ground_truth": "{\"func_name\":\"validate_title\",\"N\":null}", "tag": "ifeval")").ground_truth ==
        instruction);
  CHECK(read(R"("ground_truth": {"func_name": "validate_title", "N": null}, "tag": "ifeval")").ground_truth ==
        instruction);
  CHECK(read(R"("ground_truth": "B", "tag": "crossthinkqa")").ground_truth == "B");
  CHECK(read(R"("ground_truth": "It is so, as ...", "tag": "RLVR")").ground_truth == "It is so, as ...");
  CHECK_THAT(row_error(R"({"prompt": "p", "ground_truth": true})"),
             Catch::Contains("ground_truth = true: must be a string or a number"));
}

TEST_CASE("numbers stand for text where they may, and missing columns are empty", "[data]") {
  const Row row = row_of(R"({"id": 12, "difficulty": 0.5, "prompt": "x", "ground_truth": 42})");
  CHECK(row.id == "12");
  CHECK(row.difficulty == 0.5);
  CHECK(row.ground_truth == "42");
  CHECK(row_of(R"({"prompt": "x", "ground_truth": -0.25})").ground_truth == "-0.25");
  const Row bare = row_of(R"({"prompt": "x", "tag": null})");
  CHECK(bare.id == "rows.jsonl:7");
  CHECK(bare.ground_truth.empty());
  CHECK(bare.tag.empty());
}

TEST_CASE("the named columns decide where a prompt comes from", "[data]") {
  const std::string both = R"({"prompt": "raw", "messages": [{"role": "user", "content": "chat"}], "text": "other"})";
  CHECK(row_of(both).messages);
  CHECK(row_of(both, {.messages = {}, .prompt = "prompt"}).prompt == "raw");
  CHECK_FALSE(row_of(both, {.messages = {}, .prompt = "prompt"}).messages);
  CHECK(row_of(both, {.messages = {}, .prompt = "text"}).prompt == "other");
  CHECK(row_of(both, {.messages = "absent", .prompt = "text"}).prompt == "other");
  CHECK(row_of(both, {.messages = "messages", .prompt = "text"}).messages);
}

TEST_CASE("a query follows its question on a line of its own, where a row has one", "[data]") {
  const auto content = [](const std::string& query) {
    const std::string row = R"({"instruction": "Add up.", "output": "3")" + query + "}";
    return (*row_of(row, {.question = "instruction", .query = "input"}).messages)[0]["content"].get<std::string>();
  };
  CHECK(content(R"(, "input": "1 + 2")") == "Add up.\n1 + 2");
  CHECK(content(R"(, "input": "")") == "Add up.");
  CHECK(content("") == "Add up.");
}

TEST_CASE("a broken row is an error that names file, line, column and rule", "[data]") {
  using Catch::Contains;
  CHECK_THAT(row_error(R"({"id": 1})"),
             Contains("rows.jsonl:7: ") && Contains("no column 'messages' or 'prompt'") && Contains("it has: id"));
  CHECK_THAT(row_error("{}"), Contains("it has: none"));
  CHECK_THAT(row_error(R"({"prompt": "x"})", {.messages = "messages", .prompt = {}}), Contains("no column 'messages'"));
  CHECK_THAT(row_error(R"({"prompt": 5})"), Contains("rows.jsonl:7: prompt = 5: must be a string"));
  CHECK_THAT(row_error(R"({"prompt": "x", "ground_truth": ["2"]})"),
             Contains(R"(ground_truth = ["2"]: must be a string or a number, not array)"));
  CHECK_THAT(row_error(R"({"prompt": "x", "tag": 3})"), Contains("tag = 3: must be a string"));
  CHECK_THAT(row_error(R"({"prompt": "x", "domain": {}})"), Contains("domain = {}: must be a string"));
  CHECK_THAT(row_error(R"({"prompt": "x", "difficulty": "hard"})"),
             Contains(R"(difficulty = "hard": must be a number)"));
  CHECK_THAT(row_error(R"({"prompt": "x", "difficulty": "nan"})"), Contains(R"(difficulty = "nan": must be a number)"));
  CHECK_THAT(row_error(R"({"prompt": "x", "id": true})"), Contains("id = true: must be a string or a number"));
}

TEST_CASE("broken messages are an error that names the message", "[data]") {
  using Catch::Contains;
  const auto error = [](const std::string& messages) { return row_error("{\"messages\": " + messages + "}"); };
  CHECK_THAT(error("[]"), Contains("messages = []: has no messages"));
  CHECK_THAT(error("5"), Contains("messages = 5: must be a list of {role, content}"));
  CHECK_THAT(error(R"("[{]")"), Contains("rows.jsonl:7: messages: not valid JSON at line 1, column"));
  CHECK_THAT(error(R"("{}")"), Contains("messages = {}: must be a list"));
  CHECK_THAT(error(R"([{"role": "user", "content": "a"}, "b"])"), Contains(R"(messages[1] = "b": must be an object)"));
  CHECK_THAT(error(R"([{"content": "a"}])"), Contains("messages[0]: has no 'role'"));
  CHECK_THAT(error(R"([{"role": "user"}])"), Contains("messages[0]: has no 'content'"));
  CHECK_THAT(error(R"([{"role": 1, "content": "a"}])"), Contains("messages[0].role = 1: must be a string"));
  CHECK_THAT(error(R"([{"role": "user", "content": null}])"), Contains("messages[0]: has no 'content'"));
}

TEST_CASE("files come from paths, lists and globs, each once", "[data]") {
  const TempFolder folder;
  const std::string b = folder.write("b.jsonl", "{\"prompt\": \"b1\"}\n\n{\"prompt\": \"b2\"}");
  const std::string a = folder.write("a.jsonl", "{\"prompt\": \"a1\"}\r\n");
  const std::string glob = (folder.path / "*.jsonl").string();
  std::string prompts;
  for (const Row& row : read_all({glob})) prompts += row.prompt + " ";
  CHECK(prompts == "a1 b1 b2 ");
  CHECK(read_all({b, a})[0].prompt == "b1");
  CHECK(read_all({b})[1].origin == b + ":3");
  using Catch::Contains;
  const auto error = [](const std::vector<std::string>& patterns) { return error_of([&] { read_all(patterns); }); };
  CHECK_THAT(error({a, glob}), Contains("a second time"));
  CHECK_THAT(error({a, (folder.path / "." / "a.jsonl").string()}), Contains("a second time"));
  CHECK_THAT(error({(folder.path / "c.jsonl").string()}), Contains("c.jsonl: no such file"));
  CHECK_THAT(error({(folder.path / "*.json").string()}), Contains("*.json: no such file"));
  CHECK_THAT(error({}), Contains("names no file"));
}

TEST_CASE("a broken file is an error that names file and line", "[data]") {
  const TempFolder folder;
  using Catch::Contains;
  const auto error = [&](const std::string& text) {
    const std::string file = folder.write("x.jsonl", text);
    return error_of([&] { read_all({file}); });
  };
  CHECK_THAT(error(""), Contains("x.jsonl: has no rows"));
  CHECK_THAT(error("\n  \n"), Contains("x.jsonl: has no rows"));
  CHECK_THAT(error("{\"prompt\": \"a\"}\n{\"prompt\": \n"),
             Contains("x.jsonl:2:12: the line ends before its JSON object is complete"));
  CHECK_THAT(error("{\"prompt\": \"a\"}\n[1]\n"), Contains("x.jsonl:2: ") && Contains("JSON object"));
  CHECK_THAT(error("{\"prompt\": \"\xff\"}\n"),
             Contains("x.jsonl:1:13: byte 0xff is no UTF-8; save the file as UTF-8"));
}

TEST_CASE("rows without tokens or above prompt_length are dropped and counted", "[data]") {
  std::vector<Row> rows;
  for (const int64_t length : {3, 0, 5, 6, 1, 9}) {
    rows.push_back(row_of(R"({"prompt": "x"})"));
    rows.back().prompt = std::string(length, 'x');
  }
  const EncodeRow encode = [](const Row& row) { return std::vector<int64_t>(row.prompt.size(), 1); };
  const int64_t num_threads = GENERATE(1, 4);
  const DroppedRows dropped = tokenise_rows(rows, encode, 5, num_threads);
  CHECK(dropped.empty == 1);
  CHECK(dropped.too_long == 2);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].prompt_ids.size() == 3);
  CHECK(rows[1].prompt_ids.size() == 5);
  CHECK(rows[2].prompt_ids.size() == 1);
  CHECK_NOTHROW(require_some_left(dropped, 6, 5));
  const DroppedRows all = tokenise_rows(rows, encode, 0, 1);
  CHECK_THAT(error_of([&] { require_some_left(all, 3, 0); }),
             Catch::Contains("prompt_length = 0: of 3 rows, 3 are longer"));
}

TEST_CASE("an error while tokenising is that of the earliest row, with any number of threads", "[data]") {
  std::vector<Row> rows(200, row_of(R"({"prompt": "x"})"));
  for (size_t i = 0; i < rows.size(); ++i) rows[i].id = std::to_string(i);
  const EncodeRow encode = [](const Row& row) -> std::vector<int64_t> {
    if (std::stoi(row.id) >= 20) throw UserError("row " + row.id);
    return {1};
  };
  const int64_t num_threads = GENERATE(1, 8);
  CHECK(error_of([&] { tokenise_rows(rows, encode, 5, num_threads); }) == "row 20");
}

TEST_CASE("every prompt gets the system message and the template that the configuration names", "[data]") {
  const RowColumns columns{
      .question = "q", .system = "Be brief.", .prompt_template = "Q: {prompt}\nAnswer in \\boxed{}."};
  const Json of_text = *row_of(R"({"q": "1+1?"})", columns).messages;
  CHECK(of_text == parse_json(R"([{"role": "system", "content": "Be brief."},
                                  {"role": "user", "content": "Q: 1+1?\nAnswer in \\boxed{}."}])",
                              "test"));
  const RowColumns of_chats{.messages = "m", .system = "Be brief.", .prompt_template = "{prompt}!"};
  const Json chat = *row_of(R"({"m": [{"role": "system", "content": "own"}, {"role": "user", "content": "a"},
                                      {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]})",
                            of_chats)
                         .messages;
  CHECK(chat.size() == 4);
  CHECK(chat[0]["content"] == "own");
  CHECK(chat[1]["content"] == "a");
  CHECK(chat[3]["content"] == "c!");
  CHECK(row_of(R"({"m": [{"role": "developer", "content": "own"}, {"role": "user", "content": "a"}]})", of_chats)
            .messages->size() == 2);
  CHECK(row_of(R"({"p": "1+1?"})", {.prompt = "p", .prompt_template = "<{prompt}>"}).prompt == "<1+1?>");
  CHECK(row_error(R"({"p": "1+1?"})", {.prompt = "p", .system = "s"}).find("raw text") != std::string::npos);
  CHECK(row_error(R"({"m": [{"role": "assistant", "content": "a"}]})", of_chats).find("has no user message") !=
        std::string::npos);
}

}  // namespace roll
