#include "data/domains.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {

namespace {

std::vector<Row> one_row(const std::string& domain, const std::string& tag) {
  Row row;
  row.origin = "f.jsonl:3";
  row.domain = domain;
  row.tag = tag;
  return {row};
}

std::string domain_of(const std::string& domain, const std::string& tag, const DomainTags& domains) {
  auto rows = one_row(domain, tag);
  try {
    assign_domains(rows, domains);
  } catch (const UserError& e) {
    return e.what();
  }
  return rows[0].domain;
}

const DomainTags kDomains = {{"math_rule", {"deepmath_103k", "aime"}}, {"code", {"KodCode"}}};

}  // namespace

TEST_CASE("a row's domain is its column, else the reward that lists its tag", "[data]") {
  CHECK(domain_of("code", "aime", kDomains) == "code");
  CHECK(domain_of("", "aime", kDomains) == "math_rule");
  CHECK(domain_of("", "KodCode", kDomains) == "code");
}

TEST_CASE("a row that no domain takes is an error with the nearest name", "[data]") {
  using Catch::Contains;
  CHECK_THAT(domain_of("", "deepmath_103", kDomains),
             Contains("f.jsonl:3: tag = deepmath_103") && Contains("did you mean 'deepmath_103k'"));
  CHECK_THAT(domain_of("math_rul", "", kDomains),
             Contains("domain = math_rul") && Contains("did you mean 'math_rule'"));
  CHECK_THAT(domain_of("", "", kDomains), Contains("neither a domain nor a tag"));
  CHECK_THAT(domain_of("", "aime", {{"a", {"aime"}}, {"b", {"aime"}}}), Contains("rewards.a lists this tag too"));
}

TEST_CASE("a single domain without tags takes every row", "[data]") {
  CHECK(domain_of("", "anything", {{"only", {}}}) == "only");
  CHECK(domain_of("", "", {{"only", {}}}) == "only");
  CHECK_THAT(domain_of("other", "", {{"only", {}}}), Catch::Contains("no reward has this name"));
  CHECK_THAT(domain_of("", "anything", {{"only", {}}, {"b", {"x"}}}),
             Catch::Contains("no tag_included lists this tag"));
}

}  // namespace roll
