#include "settings/reward_rows.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "error_of.h"

namespace roll {

using testing::error_of;

namespace {

Row domain_row(const std::string& domain, const Json& ground_truth, int line) {
  Row row;
  row.domain = domain;
  row.raw["ground_truth"] = ground_truth;
  row.origin = fmt::format("rows.jsonl:{}", line);
  return row;
}

}  // namespace

TEST_CASE("rows are checked by the reward of their domain, the first fault located and the others counted",
          "[settings]") {
  Config config;
  config.rewards["choice"].reward.type = MultipleChoiceArgs();
  config.rewards["words"].reward.type = ExactMatchArgs();
  const DomainRules rules = make_domain_rules(config);
  std::vector<Row> rows{domain_row("words", "b", 1), domain_row("choice", "B", 2), domain_row("other", nullptr, 3)};
  CHECK_NOTHROW(check_reward_rows(rows, rules));
  rows.push_back(domain_row("choice", "Rome", 4));
  CHECK(error_of([&] { check_reward_rows(rows, rules); }) ==
        "rows.jsonl:4: ground_truth = Rome: must be the capital letter of the right choice, such as \"B\", or its text "
        "as the "
        "row's options list it (needed by rewards.choice)");
  rows.push_back(domain_row("words", "", 5));
  rows.push_back(domain_row("words", "", 6));
  CHECK_THAT(error_of([&] { check_reward_rows(rows, rules); }),
             Catch::Contains("rows.jsonl:4: ") &&
                 Catch::EndsWith("; and 2 more such rows (rows.jsonl:5, rows.jsonl:6); `roll data check "
                                 "--all` shows each"));
}

}  // namespace roll
