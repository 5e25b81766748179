#include "config/key_reference.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "config/keys.h"

namespace roll {
namespace {

struct LearningKeys {
  double rate = 0.5;
  std::optional<int64_t> most;

  void fields(Keys& v) {
    v("rate", rate, "of learning <fast>", within(0, 1));
    v("most", most, "at most so many; since 0.7", at_least(1));
    v.noted({"idle"}, "it is of another program");
    v.refused({"pipe_*"}, "needs pipes");
  }
};

struct NamedKeys : LearningKeys {
  std::vector<std::string> names;

  void fields(Keys& v) {
    LearningKeys::fields(v);
    v("names", names, "a | b");
  }
};

struct AllKeys {
  int64_t count = 3;
  LearningKeys first;
  NamedKeys second;
  std::map<std::string, LearningKeys> rewards;

  void fields(Keys& v) {
    v("count", count, "how many", at_least(0));
    v("first", first, "one");
    v("second", second, "another");
    v("rewards", rewards, "one per domain");
  }
};

std::vector<SharedKey> listed() {
  return shared_keys(key_entries(AllKeys()));
}

}  // namespace

TEST_CASE("a key that several groups have alike stands once", "[config]") {
  std::vector<std::string> names;
  for (const SharedKey& key : listed()) names.push_back(key.name());
  CHECK(names == std::vector<std::string>{"count", "first", "first, second, rewards.<name>: rate",
                                          "first, second, rewards.<name>: most", "first, second, rewards.<name>: idle",
                                          "first, second, rewards.<name>: pipe_*", "second", "second: names",
                                          "rewards"});
  CHECK(listed()[2].entry.type == "number");
  CHECK(listed()[3].entry.type == "integer, or null");
  CHECK(listed()[7].entry.type == "list: text");
}

TEST_CASE("keys are found by name and by meaning", "[config]") {
  CHECK(keys_with("MOST", listed()).size() == 1);
  CHECK(keys_with("learning", listed())[0].entry.path == "rate");
  CHECK(keys_with("", listed()).size() == listed().size());
  CHECK(keys_with("nothing", listed()).empty());
}

TEST_CASE("a table is text, Markdown or HTML, with idle keys where they are wanted", "[config]") {
  const auto rate = keys_with("rate", listed());
  CHECK(key_table(rate, KeyFormat::kText, false) ==
        "rate: 0.5" + std::string(48, ' ') + "of learning <fast> [0..1]  (first, second, rewards.<name>)\n");
  CHECK(key_table(rate, KeyFormat::kMarkdown, false) ==
        "| key | role | type | default | meaning | since |\n|---|---|---|---|---|---|\n"
        "| rate | first, second, rewards.<name> | number | 0.5 | of learning <fast> [0..1] | 0.1 |\n");
  CHECK(key_table(keys_with("names", listed()), KeyFormat::kMarkdown, false).find("a \\| b") != std::string::npos);
  CHECK(key_table(rate, KeyFormat::kHtml, false).find("<td>of learning &lt;fast&gt; [0..1]</td>") != std::string::npos);
  CHECK(key_table(listed(), KeyFormat::kText, false).find("idle") == std::string::npos);
  const std::string all = key_table(listed(), KeyFormat::kText, true);
  CHECK(all.find("has no effect: it is of another program") != std::string::npos);
  CHECK(all.find("refused, unless null, false or empty: needs pipes") > all.find("names: []"));
}

TEST_CASE("a key is explained by its name, or by any end of its path", "[config]") {
  const std::string rate =
      "first, second, rewards.<name>: rate\n  number; default 0.5\n  of learning <fast> [0..1]\n  since 0.1\n";
  for (const char* key : {"rate", "first.rate", "second.rate"}) CHECK(explain_key(key, listed()) == rate);
  CHECK(explain_key("rewards.math.rate", listed()) == rate);
  CHECK(explain_key("count", listed()) == "count\n  integer; default 3\n  how many [>= 0]\n  since 0.1\n");
  CHECK(explain_key("first.most", listed()).find("at most so many [>= 1]\n  since 0.7\n") != std::string::npos);
  CHECK(explain_key("first.pipe_size", listed()).find("needs pipes") != std::string::npos);
  CHECK_THROWS_WITH(explain_key("first.names", listed()), Catch::Contains("no such key; did you mean 'names'"));
  CHECK_THROWS_WITH(explain_key("ate", listed()), Catch::Contains("ate: no such key"));
  CHECK_THROWS_AS(explain_key("", listed()), UserError);
}

}  // namespace roll
