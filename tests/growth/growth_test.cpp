// Readers over texts of n and of 4n parts, in the shapes that quadratic faults like. Here each must be read or refused
// as it says; tests/cli/growth_test.py runs the same under valgrind, which counts the instructions of
// growth_measured().
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/temporary_folder.h"
#include "config/load.h"
#include "config/yaml.h"
#include "convert/convert.h"
#include "convert/launch.h"
#include "convert/python.h"
#include "data/row_files.h"
#include "jinja/template.h"
#include "settings/config.h"
#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

using Make = std::function<std::string(int64_t n)>;
using Read = std::function<void(const std::string& text)>;

struct Shape {
  std::string name;
  int64_t n;
  Make make;
  bool is_refused = false;
};

struct Reader {
  std::string name;
  Read read;
  std::vector<Shape> shapes;
};

Make each(const std::string& unit, const std::string& before = "", const std::string& behind = "") {
  return [=](int64_t n) {
    std::string text = before;
    for (int64_t i = 0; i < n; ++i) {
      std::string part = unit;
      for (size_t at; (at = part.find('^')) != std::string::npos;) part.replace(at, 1, std::to_string(i));
      text += part;
    }
    return text + behind;
  };
}

// ---- JSON

const Reader kJson{"json",
                   [](const std::string& text) { to_line(parse_json(text, "x")); },
                   {{"keys of one object", 3000, each("\"key^\":1,", "{", "\"\":0}")},
                    {"one key again and again", 3000, each("\"k\":1,", "{", "\"k\":0}")},
                    {"objects", 2000, each("{\"a\":1,\"b\":[2]},", "[", "0]")},
                    {"objects in objects", 40, each("\"k^\":{\"a\":{\"b\":{\"c\":[[[1]]]}}},", "{", "\"\":0}")},
                    {"one long string", 30000, each("\\u00e9", "\"", "\"")},
                    {"a string that is not closed", 30000, each("x", "\""), true},
                    {"openers", 3000, each("["), true},
                    {"strings without commas", 3000, each("\"\""), true},
                    {"a fault at the end of many lines", 3000, each("1,\n", "[", "]"), true}}};
const Reader kFileJson{"json of files",
                       [](const std::string& text) { parse_unique_json(text, "x"); },
                       {{"keys of one object", 3000, each("\"key^\":1,", "{", "\"\":0}")},
                        {"objects", 2000, each("\"k^\":{\"a\":1,\"b\":[2]},", "{", "\"\":0}")}}};
const Reader kPythonJson{"json of Python",
                         [](const std::string& text) { parse_python_json(text, "x"); },
                         {{"numbers", 3000, each("NaN, -Infinity,", "[", "0]")},
                          {"words that are no numbers", 3000, each("NaN "), true},
                          {"blanks behind a word", 30000, each(" ", "[NaN", "]")}}};
const Reader kJsonLines{
    "json lines",
    [](const std::string& text) {
      std::istringstream in(text);
      for_each_json_line(in, "x", [](int64_t, const Json&) {});
    },
    {{"lines", 2000, each("{\"a\":^}\n")}, {"blank lines", 20000, each("\n")}, {"blanks", 50000, each(" ")}}};

// ---- YAML and configurations

void read_tree_of(const std::string& text) {
  std::vector<std::string> notes;
  read_tree(text, "x.yaml", {}, notes);
}
const Reader kYaml{"yaml",
                   read_tree_of,
                   {{"keys", 1500, each("key^: 1\n")},
                    {"keys in flow", 1500, each("key^: 1, ", "{", "last: 2}")},
                    {"items", 2000, each("- a\n", "a:\n")},
                    {"items in flow", 2000, each("a, ", "a: [", "b]")},
                    {"openers", 200, each("["), true},
                    {"items in items", 20, each("- ", "a: \n")},
                    {"maps", 800, each("k^:\n  a: 1\n  b: {c: [2]}\n")},
                    {"a plain scalar of many lines", 2000, each("  word\n", "a:\n")},
                    {"a scalar in quotes", 4000, each("word ", "a: \"", "\"")},
                    {"quotes that are not closed", 2000, each("word\n  ", "a: \""), true},
                    {"a flow that is not closed", 1500, each("a, ", "b: ["), true},
                    {"a literal", 2000, each("  line\n", "a: |\n")},
                    {"comments", 3000, each("# about\n", "a: 1\n")},
                    {"anchors and aliases", 1000, each("k^: &a^ 1\nl^: *a^\n")},
                    {"merges", 300, each("k^: {<<: {a^: 1, b: 2}, c: 3}\n")},
                    {"merged keys", 1000, each("a^: 1, ", "b: {<<: {", "z: 1}, <<: {z: 3}, y: 1}\n")},
                    {"references", 800, each("k^: ${a}\n", "a: 1\n")},
                    {"a fault behind many lines", 2000, each("k^: 1\n", "", "a: [\n"), true}}};
const Reader kConfig{"configuration",
                     [](const std::string& text) { load_yaml<Config>(text, "x.yaml"); },
                     {{"unknown keys", 100, each("kee^: 1\n"), true},
                      {"domains", 100, each("  d^: {type: math_rule, tag_included: [t^]}\n", "rewards:\n")},
                      {"names in a list", 1000, each("a^, ", "actor_train: {data_args: {file_name: [", "b]}}\n")}}};

// ---- rows

Read rows_in(const char* file) {
  return [file](const std::string& text) {
    const test::TemporaryFolder folder;
    RowFile rows(folder.write(file, text), {});
    for (Row row; rows.next(row);) own_columns(row, rows.columns());
  };
}
const Reader kJsonlRows{
    "rows of json lines",
    rows_in("x.jsonl"),
    {{"rows", 500, each("{\"prompt\":\"1+^\",\"ground_truth\":\"2\"}\n")},
     {"columns", 1500, each("\"c^\":\"x\",", "{\"prompt\":\"p\",", "\"z\":1}\n")},
     {"keys of a message", 1500,
      each("\"c^\":\"x\",", R"({"messages":[{"role":"user","content":"c",)", "\"z\":1}]}\n")},
     {"messages", 500,
      each(R"({"role":"user","content":"c"},)", "{\"messages\":[", R"({"role":"user","content":"c"}]})")}}};
const Reader kArrayRows{"rows of a json array",
                        rows_in("x.json"),
                        {{"rows", 500, each("{\"prompt\":\"1+^\"},", "[", "{\"prompt\":\"\"}]")},
                         {"an end that is missing", 5000, each("{\"a\":", "["), true}}};
const Reader kCsvRows{
    "rows of csv",
    rows_in("x.csv"),
    {{"rows", 500, each("^,b\n", "prompt,ground_truth\n")},
     {"columns", 400, [](int64_t n) { return "prompt" + each(",c^")(n) + "\np" + each(",x")(n) + "\n"; }},
     {"a long field", 20000, each("x\n", "prompt\n\"", "\"\n")},
     {"quotes that are not closed", 20000, each("\"\"", "prompt\n\""), true}}};

// ---- templates

void render_template(const std::string& source) {
  using namespace jinja;
  List messages;
  for (int i = 0; i < 20; ++i) messages.emplace_back(Dict{{"role", "user"}, {"content", "hello"}});
  Template::parse(source, "t").render({{"messages", messages}}, Template::kMaxWork);
}
const Reader kTemplate{"template",
                       render_template,
                       {{"text", 20000, each("text\n")},
                        {"prints", 1000, each("{{ messages[0].role }}")},
                        {"names that are set", 250, each("{% set a^ = ^ %}")},
                        {"braces", 10000, each("{ ")},
                        {"comments", 2000, each("{# about #}")},
                        {"a comment that is not closed", 5000, each("about ", "{# "), true},
                        {"raw", 1000, each("{% raw %}{{{% endraw %}")},
                        {"raw that is not closed", 3000, each("{% ", "{% raw %}"), true},
                        {"blocks that are not closed", 100, each("{% if a %}"), true},
                        {"branches", 300, each("{% elif a == '^' %}x", "{% if a %}", "{% endif %}")},
                        {"loops", 50, each("{% for m in messages %}{{ m.role }}{% endfor %}")},
                        {"macros", 250, each("{% macro m^(a) %}{{ a }}{% endmacro %}")},
                        {"a string", 20000, each("x", "{{ '", "' }}")},
                        {"a string that is not closed", 20000, each("x", "{{ '"), true},
                        {"sums", 400, each("1 + ", "{{ ", "1 }}")},
                        {"items", 400, each("1, ", "{{ [", "1] | length }}")}}};

// ---- tokenizers

std::string tokenizer_json(const std::vector<std::string>& words, int64_t num_special) {
  TinyTokenizerSpec spec{.words = words, .more_special_tokens = {}};
  for (int64_t i = 0; i < num_special; ++i) spec.more_special_tokens.push_back(fmt::format("<|s{}|>", i));
  return make_byte_level_tokenizer(spec).dump();
}
std::string word_of(int64_t i) {
  std::string word = " ";
  for (int k = 0; k < 3; ++k, i /= 26) word += static_cast<char>('a' + i % 26);
  return word;
}
const Reader kTokenizerFile{"tokenizer.json",
                            [](const std::string& text) { Tokenizer::parse(text, "x"); },
                            {{"words and merges", 300,
                              [](int64_t n) {
                                std::vector<std::string> words;
                                for (int64_t i = 0; i < n; ++i) words.push_back(word_of(i));
                                return tokenizer_json(words, 0);
                              }},
                             {"special tokens", 300, [](int64_t n) { return tokenizer_json({}, n); }}}};
void tokenize(const std::string& text) {
  static const Tokenizer tokenizer = Tokenizer::parse(tokenizer_json({" the", "aaaa"}, 5), "x");
  tokenizer.decode(tokenizer.encode(text, /*parse_special=*/true));
  tokenizer.disarmed(text);
}
const Reader kTokenizer{"text to tokens",
                        tokenize,
                        {{"words", 2000, each("the word^ ")},
                         {"one letter", 5000, each("a")},
                         {"blanks", 5000, each(" ")},
                         {"lines", 5000, each("\n")},
                         {"signs", 5000, each("!")},
                         {"digits", 5000, each("7")},
                         {"letters of two bytes", 3000, each("\u00e9")},
                         {"marks", 3000, each("\u0301", "e")},
                         {"special tokens", 1000, each("<|s1|>")},
                         {"beginnings of special tokens", 3000, each("<|s")},
                         {"blanks between special tokens", 1000, each("  <|s1|>  ")}}};

// ---- what other trainers are started with

Read script_in(ForeignScript (*read)(std::string_view, const std::string&, const shell::Reading&)) {
  return [read](const std::string& text) {
    const ForeignScript script = read(text, "x", {.path = "/x/x", .read = {}, .environment = {{"N", "8"}}});
    if (!script.launches.empty()) convert_config(script.launches[0].keys, "auto", 1);
  };
}
const Reader kShell{"script",
                    script_in(read_script),
                    {{"commands", 1000, each("echo ^\n")},
                     {"assignments", 1000, each("a^=^\n")},
                     {"words", 2000, each("a^ ", "echo ")},
                     {"settings", 300, each("trainer.key^=1 ", "python3 -m verl.trainer.main_ppo ")},
                     {"values of one setting", 1000, each("v^ ", "trl grpo --model "), true},
                     {"substitutions", 500, each("echo $(date ^)\n")},
                     {"substitutions that are not closed", 1000, each("echo $(a "), true},
                     {"quotes", 3000, each("\"$a\" ", "echo ")},
                     {"quotes that are not closed", 3000, each("a \n", "echo \""), true},
                     {"braces that are not closed", 1000, each("${a"), true},
                     {"parentheses", 40, each("("), true},
                     {"arithmetic that is not closed", 500, each("((1+"), true},
                     {"here-documents", 500, each("cat <<E\nx\nE\n")},
                     {"here-documents that do not end", 500, each("cat <<E\n")},
                     {"conditions", 100, each("if [ \"$a^\" = 1 ]; then b^=1; fi\n")},
                     {"unknown variables", 1000, each("echo $a^\n")},
                     {"functions", 500, each("f^() { echo ^; }\n")},
                     {"calls of a function", 500, each("f ^\n", "f() { echo $1; }\n")},
                     {"items of an array", 1000, each("b^ ", "a=(", ")\necho ${a[@]}\n")},
                     {"alternatives", 200, each("true && ", "", "true\n")},
                     {"pipes", 200, each("cat | ", "", "cat\n")},
                     {"comments", 5000, each("# about\n")},
                     {"lines that go on", 1000, each("a \\\n", "echo ")},
                     {"cases", 200, each("a^) b=1;;\n", "case x in\n", "esac\n")}}};
const Reader kMarkdown{"readme",
                       script_in(read_markdown),
                       {{"openers", 2000, each("```bash\n")},
                        {"blocks", 500, each("```bash\necho ^\n```\n")},
                        {"blocks of nothing known", 500, each("```bash\n(((\n```\n")},
                        {"text", 5000, each("text\n")},
                        {"a block that is not closed", 3000, each("echo ^\n", "```bash\n")}}};
const Reader kPython{"python script",
                     script_in(read_python),
                     {{"assignments", 1000, each("a^ = ^\n")},
                      {"one name again", 1000, each("a = ^\n")},
                      {"calls", 300, each("f(a^, b=2)\n")},
                      {"configurations", 300, each("GRPOConfig(learning_rate=^)\n")},
                      {"keywords", 400, each("k^=1, ", "GRPOConfig(", ")\n"), true},
                      {"openers", 2000, each("(", "a = ")},
                      {"openers behind names", 1000, each("a = (\n")},
                      {"lists in lists", 1000, each("[", "GRPOConfig(a=", ")"), true},
                      {"signs", 2000, each("- ", "a = ", "1\n")},
                      {"sums", 2000, each("1 + ", "a = ", "1\n")},
                      {"names joined", 500, each("a + ", "a = 'x'\nb = ", "a\n")},
                      {"strings", 2000, each("'x' ", "a = ", "\n")},
                      {"a string that is not closed", 5000, each("x\n", "a = '''")},
                      {"quotes", 5000, each("'")},
                      {"pieces of a format", 1000, each("{a}", "a = 1\nb = f'", "'\n")},
                      {"openers of a format", 2000, each("{", "b = f'", "'\n")},
                      {"paragraphs", 1000, each("run it:\n\n", "'''\n", "'''\nGRPOTrainer(model='m')\n")},
                      {"adapters", 200, each("a^ = LoraConfig(r=8)\n")}}};

// ---- weights

std::string safetensors_of(int64_t n) {
  Json header = parse_json(
      each(R"("t^":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)", "{", "\"__metadata__\":{}}")(n), "x");
  const std::string text = header.dump();
  const uint64_t size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + text;
}
const Reader kSafetensors{"safetensors",
                          [](const std::string& bytes) {
                            const test::TemporaryFolder folder;
                            const SafetensorsFile file(folder.write("x.safetensors", bytes));
                            for (const TensorEntry& entry : file.entries()) file.read(entry.name);
                            NamedTensors all;
                            for (const TensorEntry& entry : file.entries())
                              all.emplace_back(entry.name, file.read(entry.name));
                            write_safetensors(folder / "y.safetensors", all);
                          },
                          {{"tensors", 300, safetensors_of}}};

const Reader* const kReaders[] = {&kJson,      &kFileJson,  &kPythonJson, &kJsonLines,  &kYaml,          &kConfig,
                                  &kJsonlRows, &kArrayRows, &kCsvRows,    &kTemplate,   &kTokenizerFile, &kTokenizer,
                                  &kShell,     &kMarkdown,  &kPython,     &kSafetensors};

}  // namespace

/// What it takes is counted.
extern "C" [[gnu::noinline]] void growth_measured(const Read& read, const std::string& text, bool& is_refused) {
  try {
    read(text);
  } catch (const UserError&) {
    is_refused = true;
  }
}

TEST_CASE("readers of n and of 4n parts", "[growth]") {
  for (const Reader* reader : kReaders)
    for (const Shape& shape : reader->shapes) {
      INFO(reader->name << ": " << shape.name);
      bool was_refused = false;
      growth_measured(reader->read, shape.make(10), was_refused);  // what is made once
      for (const int64_t n : {shape.n, 4 * shape.n}) {
        bool is_refused = false;
        growth_measured(reader->read, shape.make(n), is_refused);
        CHECK(is_refused == shape.is_refused);
      }
      std::printf("growth: %s: %s\n", reader->name.c_str(), shape.name.c_str());
    }
}

}  // namespace roll
