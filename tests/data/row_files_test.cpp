#include "data/row_files.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "error_of.h"

namespace roll {

using Catch::Contains;
using testing::error_of;

namespace {

namespace fs = std::filesystem;

/// A folder that is gone with the test.
struct RowFolder {
  fs::path path = fs::temp_directory_path() / fmt::format("roll_test_row_files_{}", ::getpid());
  RowFolder() { fs::create_directories(path); }
  ~RowFolder() { fs::remove_all(path); }

  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

std::optional<KnownLayout> layout_of_json(const std::string& row) {
  return recognise_layout(parse_json(row, "row"), "f.parquet");
}

std::string keys_of(const std::string& row) {
  const auto layout = layout_of_json(row);
  return layout ? to_text(layout->columns) : "";
}

Row mapped(const std::string& row, const RowColumns& columns) {
  return parse_row(parse_json(row, "row"), "f.parquet:3", columns);
}

/// What a file's rows ask and hold to be right.
std::string rows_text(const std::string& file, const RowColumns& columns = {}) {
  std::string text;
  for_each_row({file}, columns, [&](const Row& row, const RowFile&) {
    text += fmt::format("{} {}={};", row.origin.substr(row.origin.rfind(':')),
                        row.messages ? (*row.messages)[0]["content"].get<std::string>() : row.prompt, row.ground_truth);
  });
  return text;
}

std::string names_of_files(const std::vector<fs::path>& files, const fs::path& root) {
  std::string names;
  for (const fs::path& file : files) names += file.lexically_relative(root).string() + " ";
  return names;
}

}  // namespace

TEST_CASE("layouts that others have are recognised by their columns", "[data]") {
  const std::string chat = R"([{"role": "user", "content": "1+1?"}])";
  const auto with_chat = [&](const std::string& more) { return "{\"prompt\": " + chat + more + "}"; };
  CHECK(keys_of(
            with_chat(R"(, "data_source": "openai/gsm8k", "reward_model": {"style": "rule", "ground_truth": "2"})")) ==
        "messages: prompt, ground_truth: reward_model.ground_truth, tag: data_source");
  CHECK(keys_of(with_chat(R"(, "reward_model": {"ground_truth": "2"})")) ==
        "messages: prompt, ground_truth: reward_model.ground_truth");
  CHECK(keys_of(with_chat(R"(, "solution": "2")")) == "messages: prompt, ground_truth: solution");
  CHECK(keys_of(with_chat(R"(, "ground_truth": "2")")) == "messages: prompt");
  CHECK(keys_of(R"({"prompt": "1+1?", "answer": "2"})") == "prompt: prompt, ground_truth: answer");
  CHECK(keys_of(R"({"question": "1+1?", "answer": "So\n#### 2"})") ==
        "question: question, ground_truth: answer, ground_truth_part: after_hashes");
  CHECK(keys_of(R"({"question": "1+1?", "answer": "2"})") == "question: question, ground_truth: answer");
  CHECK(keys_of(R"({"question": "1+1?", "final_answer": "2", "difficulty": 3.0, "topic": "sums"})") ==
        "question: question, ground_truth: final_answer");
  CHECK(keys_of(R"({"problem": "1+1?", "solution": "\\boxed{2}", "level": "Level 1", "type": "Algebra"})") ==
        "question: problem, ground_truth: solution, ground_truth_part: last_boxed");
  CHECK(keys_of(R"({"problem": "1+1?", "solution": "\\boxed{2}", "answer": "2"})") ==
        "question: problem, ground_truth: answer");
  CHECK(layout_of_json(R"({"problem": "1+1?", "solution": "\\boxed{2}"})")->name == "MATH's");
}

TEST_CASE("rows in our own columns, and in none that are known, are no layout of others", "[data]") {
  CHECK(keys_of(R"({"messages": [], "question": "?", "answer": "2"})").empty());
  CHECK(keys_of(R"({"prompt": "1+1?", "ground_truth": "2", "answer": "2"})").empty());
  CHECK(keys_of(R"({"text": "1+1?"})").empty());
  CHECK(keys_of(R"({"problem": "1+1?", "solution": "2"})").empty());  // without \boxed nobody knows what is the answer
}

TEST_CASE("columns of two layouts are an error with the keys that choose", "[data]") {
  CHECK(error_of([] { layout_of_json(R"({"question": "?", "answer": "2", "final_answer": "2"})"); }) ==
        "f.parquet: its columns (question, answer, final_answer) match more than one layout: questions and answers "
        "(question: question, ground_truth: answer) or DeepMath's (question: question, ground_truth: final_answer); "
        "set the keys of one layout in data_args");
  CHECK_THAT(error_of([] { layout_of_json(R"({"prompt": "?", "answer": "2", "solution": "2"})"); }),
             Contains("ground_truth: answer) or TRL's (prompt: prompt, ground_truth: solution)"));
}

TEST_CASE("columns are named by keys, also within objects", "[data]") {
  const std::string row =
      R"({"id": 5, "q": {"text": "1+1?"}, "a": {"b": {"c": 2}}, "kind": "sum", "a.b": "dotted", "of": "math"})";
  const Row named = mapped(row, {.question = "q.text", .ground_truth = "a.b.c", .tag = "kind", .domain = "of"});
  CHECK(to_line(*named.messages) == R"([{"role":"user","content":"1+1?"}])");
  CHECK(named.ground_truth == "2");
  CHECK(named.raw["ground_truth"] == 2);
  CHECK(named.tag == "sum");
  CHECK(named.domain == "math");
  CHECK(mapped(row, {.prompt = "q.text", .ground_truth = "a.b"}).ground_truth == "dotted");
  CHECK(mapped(row, {.prompt = "q.text"}).prompt == "1+1?");
  CHECK(mapped(R"({"q": "?", "t": null, "g": null})", {.prompt = "q", .ground_truth = "g", .tag = "t"}).tag.empty());
  const auto error = [&](const RowColumns& columns) { return error_of([&] { mapped(row, columns); }); };
  CHECK(
      error({.prompt = "q.text", .ground_truth = "a.x"}) ==
      "f.parquet:3: the row has no column 'a.x', which data_args.ground_truth names; it has: id, q, a, kind, a.b, of");
  CHECK_THAT(error({.prompt = "q.text", .tag = "kinds"}), Contains("data_args.tag names"));
  CHECK_THAT(error({.question = "q"}), Contains("f.parquet:3: q = {\"text\":\"1+1?\"}: must be a string, not object"));
  CHECK_THAT(error({.messages = "m", .question = "x"}), Contains("no column 'm' or 'x' for its prompt"));
  CHECK_THAT(error_of([] { mapped(R"({"prompt": [{"role": "user", "content": "?"}]})", {}); }),
             Contains("name a list of messages in data_args.messages"));
  CHECK_THAT(error_of([] { mapped(R"({"problem": "?"})", {}); }),
             Contains("; the nearest known layout, MATH's (problem, solution), also has solution"));
}

TEST_CASE("an answer is taken out of the text around it", "[data]") {
  const auto part = [](const std::string& answer, GroundTruthPart which) {
    Json row{{"q", "?"}, {"a", answer}};
    return parse_row(row, "f:1", {.question = "q", .ground_truth = "a", .ground_truth_part = which}).ground_truth;
  };
  using enum GroundTruthPart;
  CHECK(part("6 #### 7\n#### 1,234 \n", kAfterHashes) == "1,234");
  CHECK(part("\\boxed{1} so $\\boxed{\\frac{1}{2}}$.", kLastBoxed) == "\\frac{1}{2}");
  CHECK(part("\\boxed{\\{1, 2\\}}", kLastBoxed) == "\\{1, 2\\}");
  CHECK(part(" 42 ", kWhole) == " 42 ");
  CHECK_THAT(error_of([&] { part("42", kAfterHashes); }),
             Contains("f:1: a = \"42\": must be a text with the answer after ####"));
  CHECK_THAT(error_of([&] { part("####  ", kAfterHashes); }), Contains("after ####"));
  CHECK_THAT(error_of([&] { part("\\boxed{4", kLastBoxed); }), Contains("in \\boxed{}"));
  CHECK_THAT(error_of([] {
               mapped(R"({"q": "?", "a": 4})", {.prompt = "q", .ground_truth = "a", .ground_truth_part = kLastBoxed});
             }),
             Contains("a = 4: must be a string"));
}

TEST_CASE("keys that are set win over the layout that is recognised", "[data]") {
  const RowFolder folder;
  const std::string file =
      folder.write("a.jsonl", R"({"question": "1+1?", "answer": "So\n#### 2", "level": "easy", "gold": "2."})");
  CHECK(rows_text(file) == ":1 1+1?=2;");
  CHECK(rows_text(file, {.ground_truth = "gold"}) == ":1 1+1?=2.;");
  CHECK(rows_text(file, {.prompt = "answer"}) == ":1 So\n#### 2=;");
  const RowFile read(file, {.tag = "level"});
  CHECK(read.columns().tag == "level");
  CHECK(read.layout_note() == file +
                                  ": read as GSM8K's: question: question, ground_truth: answer, ground_truth_part: "
                                  "after_hashes, tag: level");
}

TEST_CASE("rows of our own are written as they are read again", "[data]") {
  const auto own = [](const std::string& row, const RowColumns& columns) {
    const Json written = own_columns(mapped(row, columns), columns);
    CHECK(own_columns(parse_row(written, "f:1", {}), {}) == written);
    return to_line(written);
  };
  CHECK(own(R"({"x": 1, "q": "?", "a": "#### 2", "id": "7"})",
            {.question = "q", .ground_truth = "a", .ground_truth_part = GroundTruthPart::kAfterHashes}) ==
        R"({"id":"7","messages":[{"role":"user","content":"?"}],"ground_truth":"2","x":1,"a":"#### 2"})");
  CHECK(own(R"({"prompt": [{"role": "user", "content": "?"}], "r": {"g": 2}, "t": "k"})",
            {.messages = "prompt", .ground_truth = "r.g", .tag = "t"}) ==
        R"({"messages":[{"role":"user","content":"?"}],"ground_truth":2,"tag":"k","r":{"g":2}})");
  CHECK(own(R"({"text": "?", "ground_truth": "2", "domain": "m"})", {.prompt = "text"}) ==
        R"({"prompt":"?","ground_truth":"2","domain":"m"})");
}

TEST_CASE("JSON arrays and tables are rows, and what is none is named by its place", "[data]") {
  const RowFolder folder;
  CHECK(rows_text(folder.write(
            "a.json", "\n [ {\"prompt\": \"a,]\\\"\", \"ground_truth\": \"1\"} ,\n{\"prompt\": \"b\"}\n] \n")) ==
        ":1 a,]\"=1;:2 b=;");
  CHECK(rows_text(folder.write("a.csv", "\xef\xbb\xbfprompt,ground_truth\r\n\"a, \"\"b\"\"\r\nc\",\r\n\r\nd,2")) ==
        ":2 a, \"b\"\r\nc=;:5 d=2;");
  CHECK(rows_text(folder.write("a.tsv", "prompt\tground_truth\na,b\t3\n")) == ":2 a,b=3;");
  const auto error = [&](const std::string& name, const std::string& text) {
    const std::string file = folder.write(name, text);
    return error_of([&] { rows_text(file); }).substr(folder.path.string().size() + 1);
  };
  CHECK(error("b.json", "[1]") == "b.json: element 1: number where a JSON object is needed, one per element");
  CHECK_THAT(error("b.json", "[{\"prompt\": \"a\"}, {oops}]"), Contains("b.json: element 2: not valid JSON at line 1"));
  CHECK_THAT(error("b.json", "[{\"prompt\": \"a\"}"), Contains("b.json: ends within element 1 of its JSON array"));
  CHECK_THAT(error("b.json", "[{\"prompt\": \"a\"},]"), Contains("b.json: element 2: not valid JSON"));
  CHECK_THAT(error("b.json", "[{\"prompt\": \"a\"}] {}"), Contains("text follows the JSON array, after element 1"));
  CHECK_THAT(error("b.json", "[]"), Contains("b.json: has no rows"));
  CHECK(error("b.csv", "prompt,x\na,b\na\n") ==
        "b.csv:3: has 1 fields, but the header names 2 columns; put fields that contain commas in double quotes");
  CHECK_THAT(error("b.csv", "prompt,x\n\"a\"b,c\n"), Contains("b.csv:2: text follows the double quote"));
  CHECK_THAT(error("b.csv", "prompt,x\n\"a,c\n"),
             Contains("b.csv:2: a double quote opens a field, but no double quote closes it"));
  CHECK_THAT(error("b.csv", "prompt,prompt\na,c\n"), Contains("b.csv:1: names the column 'prompt' twice"));
  CHECK_THAT(error("b.csv", "prompt,\na,c\n"), Contains("b.csv:1: column 2 has no name"));
  CHECK_THAT(error("b.csv", "prompt\na\xff\n"), Contains("b.csv:2: byte 0xff is not UTF-8"));
  CHECK_THAT(error("b.csv", ""), Contains("b.csv: is empty"));
}

TEST_CASE("what is no row is passed over where that is wanted, and counted", "[data]") {
  const RowFolder folder;
  DataArgs data;
  data.file_name = {folder.write("a.jsonl", "{\"prompt\": \"a\"}\n{oops\n{\"x\": 1}\n{\"prompt\": \"b\"}\n"),
                    folder.write("b.csv", "prompt,x\na,b,c\nc,d\n")};
  std::string prompts, bad;
  read_batches(
      data, {.take =
                 [&](const std::vector<Row>& rows) {
                   for (const Row& row : rows) prompts += row.prompt;
                 },
             .note_layout = [](const std::string&) {},
             .refuse = [&](const BadRow& row) { bad += fs::path(row.what()).filename().string().substr(0, 9) + ";"; }});
  CHECK(prompts == "abc");
  CHECK(bad == "a.jsonl:2;a.jsonl:3;b.csv:2: ;");
}

TEST_CASE("folders are their files, of one split and in one place", "[data]") {
  const RowFolder folder;
  const auto files = [&](const std::string& name, const std::optional<std::string>& split = {}) {
    return names_of_files(expand_files({(folder.path / name).string()}, split), folder.path);
  };
  const auto error = [&](const std::string& name, const std::optional<std::string>& split = {}) {
    return error_of([&] { files(name, split); });
  };
  for (const char* name :
       {"one/b.jsonl", "one/a.parquet", "one/README.md", "one/.hidden.jsonl", "hub/data/train-00001-of-00002.parquet",
        "hub/data/train-00000-of-00002.parquet", "hub/data/test-00000-of-00001.parquet", "dirs/train/x.jsonl.gz",
        "dirs/test/x.jsonl", "two/main/train.csv", "two/socratic/train.csv", "none/a.txt"})
    folder.write(name, "x");
  CHECK(files("one") == "one/a.parquet one/b.jsonl ");
  CHECK(files("hub", "train") == "hub/data/train-00000-of-00002.parquet hub/data/train-00001-of-00002.parquet ");
  CHECK(files("dirs", "train") == "dirs/train/x.jsonl.gz ");
  CHECK(files("two/main") == "two/main/train.csv ");
  CHECK(files("hub/data/train-*.parquet") == files("hub", "train"));
  CHECK(usual_split({(folder.path / "hub").string()}, {"validation", "test"}) == "test");
  CHECK(usual_split({(folder.path / "dirs").string()}, {"train"}) == "train");
  CHECK_FALSE(usual_split({(folder.path / "dirs").string()}, {"validation"}));
  CHECK_FALSE(usual_split({(folder.path / "two").string()}, {"train"}));  // one split in two folders
  CHECK_THAT(error("hub"), Contains("hub: has several splits: test, train; set data_args.split to one"));
  CHECK_THAT(error("hub", "validation"), Contains("has no files of the split validation; its splits are: test, train"));
  CHECK_THAT(error("two", "train"),
             Contains("has rows in several folders: main, socratic; name one folder, for example ") &&
                 Contains("two/socratic"));
  CHECK_THAT(error("none"), Contains("none: this folder has no row files"));
}

TEST_CASE("data sets are found in the Hub's cache", "[data]") {
  const RowFolder folder;
  const char* const old = std::getenv("HF_HUB_CACHE");
  const std::string before = old ? old : "";
  ::setenv("HF_HUB_CACHE", folder.path.c_str(), 1);
  const std::string snapshot = "datasets--openai--gsm8k/snapshots/abc123/";
  for (const char* name : {"main/train-0.parquet", "main/test-0.parquet", "socratic/train-0.parquet"})
    folder.write(snapshot + name, "x");
  folder.write("datasets--openai--gsm8k/refs/main", "abc123");
  CHECK(names_of_files(expand_files({"openai/gsm8k/main"}, "test"), folder.path) == snapshot + "main/test-0.parquet ");
  CHECK_THAT(error_of([] { expand_files({"openai/gsm8k"}, "train"); }),
             Contains("openai/gsm8k: has rows in several folders: main, socratic; name one folder, for example "
                      "openai/gsm8k/socratic"));
  CHECK_THAT(error_of([] { expand_files({"openai/gsm8k/none"}); }), Contains("openai/gsm8k/none: no such file"));
  CHECK_THAT(error_of([] { expand_files({"openai/gsm8k/../.."}); }), Contains("no such file"));
  CHECK_THAT(error_of([] { expand_files({"openai/other"}); }),
             Contains("hf download openai/other --repo-type dataset"));
  old ? ::setenv("HF_HUB_CACHE", before.c_str(), 1) : ::unsetenv("HF_HUB_CACHE");
}

}  // namespace roll
