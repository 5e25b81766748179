#include "data/prompt_stream.h"
#include "error_of.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

namespace roll {

using testing::error_of;

namespace {

/// Rows a0..a(n-1) of domain a, then those of the others.
std::vector<Row> rows_of(const std::map<std::string, int64_t>& counts) {
  std::vector<Row> rows;
  for (const auto& [domain, count] : counts) {
    for (int64_t i = 0; i < count; ++i) {
      Row row;
      row.id = domain + std::to_string(i);
      row.origin = "f.jsonl:" + std::to_string(i + 1);
      row.domain = domain;
      row.prompt_ids = {i};
      rows.push_back(row);
    }
  }
  return rows;
}

std::vector<std::string> ids_of(const std::vector<std::shared_ptr<const Row>>& rows) {
  std::vector<std::string> ids;
  for (const auto& row : rows) ids.push_back(row->id);
  return ids;
}

std::vector<std::string> draw(PromptStream& stream, int64_t steps, int64_t count) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < steps; ++i) {
    for (const auto& id : ids_of(stream.next(stream.quota(count)))) all.push_back(id);
  }
  return all;
}

using Split = std::map<std::string, int64_t>;
using Shares = std::map<std::string, double>;

}  // namespace

TEST_CASE("a step is split by largest remainder", "[data]") {
  CHECK(split_by_share({{"a", 0.5}, {"b", 0.5}}, 8) == Split{{"a", 4}, {"b", 4}});
  CHECK(split_by_share({{"a", 0.29}, {"b", 0.71}}, 100) == Split{{"a", 29}, {"b", 71}});
  CHECK(split_by_share({{"a", 0.4}, {"b", 0.35}, {"c", 0.25}}, 10) == Split{{"a", 4}, {"b", 4}, {"c", 2}});
  CHECK(split_by_share({{"a", 1 / 3.}, {"b", 1 / 3.}, {"c", 1 / 3.}}, 10) == Split{{"a", 4}, {"b", 3}, {"c", 3}});
  CHECK(split_by_share({{"a", 0.1}, {"b", 0.9}}, 7) == Split{{"a", 1}, {"b", 6}});
  CHECK(split_by_share({{"a", 0.0}, {"b", 1.0}}, 7) == Split{{"a", 0}, {"b", 7}});
  CHECK(split_by_share({{"a", 0.5000005}, {"b", 0.5}}, 2000000) == Split{{"a", 1000000}, {"b", 1000000}});
}

TEST_CASE("what is taken back comes again, and the stream stands as if it had not been given", "[data]") {
  PromptStream stream(rows_of({{"a", 5}, {"b", 3}}), {}, 7), other(rows_of({{"a", 5}, {"b", 3}}), {}, 7);
  for (const int64_t before : {0, 3, 5, 6, 10, 11})
    for (const int64_t count : {0, 1, 4, 5, 9, 16}) {
      CAPTURE(before, count);
      PromptStream both[2] = {stream, other};
      for (PromptStream& each : both) each.next({{"a", before}, {"b", 1}});
      const auto given = ids_of(both[0].next({{"a", count}}));
      both[0].take_back({{"a", count}});
      CHECK(both[0].state() == both[1].state());
      CHECK(ids_of(both[0].next({{"a", count}})) == given);
    }
}

TEST_CASE("impossible shares are refused", "[data]") {
  using Catch::Contains;
  const auto split = [](const Shares& shares, int64_t count) {
    return error_of([&] { split_by_share(shares, count); });
  };
  CHECK_THAT(split({{"a", 0.5}, {"b", 0.4}}, 8), Contains("sum to 0.9"));
  CHECK_THAT(split({{"a", 1.5}, {"b", -0.5}}, 8), Contains("domain_interleave_probs.b = -0.5"));
  const auto make = [](const Shares& shares) {
    return error_of([&] { PromptStream(rows_of({{"a", 3}, {"b", 3}}), shares, 1); });
  };
  CHECK_THAT(make({{"a", 1}}), Contains("f.jsonl:1: its domain b has no share"));
  CHECK_THAT(make({{"a", 0.4}, {"b", 0.4}, {"bb", 0.2}}), Contains("bb = 0.2: no row belongs"));
  CHECK_THAT(error_of([] { PromptStream(RowStore(), {}, 1); }), Contains("no rows"));
  const PromptStream stream(rows_of({{"a", 99}, {"b", 1}}), {}, 1);
  CHECK_THAT(error_of([&] { stream.quota(8); }), Contains("domain b: its share of 0.01 gives none of the 8"));
  CHECK(PromptStream(rows_of({{"a", 3}, {"b", 3}}), {{"a", 1}, {"b", 0}}, 1).quota(8) == Split{{"a", 8}, {"b", 0}});
}

TEST_CASE("every row comes once per epoch, in another order each time, over steps that straddle epochs", "[data]") {
  PromptStream stream(rows_of({{"a", 10}}), {}, 5);
  const auto drawn = draw(stream, 10, 3);
  REQUIRE(drawn.size() == 30);
  std::set<std::vector<std::string>> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    const std::vector<std::string> one(drawn.begin() + epoch * 10, drawn.begin() + epoch * 10 + 10);
    CHECK(std::set<std::string>(one.begin(), one.end()).size() == 10);
    orders.insert(one);
  }
  CHECK(orders.size() == 3);
}

TEST_CASE("each domain has its share of each step, whatever the number of its rows", "[data]") {
  PromptStream stream(rows_of({{"a", 5}, {"b", 1000}}), {{"a", 0.25}, {"b", 0.75}}, 5);
  for (int step = 0; step < 20; ++step) {
    const auto ids = ids_of(stream.next(stream.quota(8)));
    CHECK(std::ranges::count_if(ids, [](const std::string& id) { return id[0] == 'a'; }) == 2);
    CHECK(std::ranges::is_sorted(ids, {}, [](const std::string& id) { return id[0]; }));
  }
}

TEST_CASE("a domain can be asked for more rows by itself", "[data]") {
  PromptStream stream(rows_of({{"a", 5}, {"b", 5}}), {}, 5), other(rows_of({{"a", 5}, {"b", 5}}), {}, 5);
  CHECK(stream.num_rows() == Split{{"a", 5}, {"b", 5}});
  const auto two = ids_of(stream.next({{"b", 2}})), one = ids_of(stream.next({{"a", 1}, {"b", 1}}));
  const auto all = ids_of(other.next({{"a", 1}, {"b", 3}}));
  CHECK(all == std::vector<std::string>{one[0], two[0], two[1], one[1]});
}

TEST_CASE("without shares each domain counts by its rows", "[data]") {
  PromptStream stream(rows_of({{"a", 10}, {"b", 30}}), {}, 5);
  const auto ids = ids_of(stream.next(stream.quota(8)));
  CHECK(std::ranges::count_if(ids, [](const std::string& id) { return id[0] == 'a'; }) == 2);
}

TEST_CASE("the order depends on the seed, and not on other domains", "[data]") {
  PromptStream one(rows_of({{"a", 50}}), {}, 5), same(rows_of({{"a", 50}}), {}, 5), other(rows_of({{"a", 50}}), {}, 6);
  const auto order = draw(one, 4, 25);
  CHECK(draw(same, 4, 25) == order);
  CHECK(draw(other, 4, 25) != order);
  PromptStream with_b(rows_of({{"a", 50}, {"b", 50}}), {{"a", 0.5}, {"b", 0.5}}, 5);
  auto mixed = draw(with_b, 4, 50);
  std::erase_if(mixed, [](const std::string& id) { return id[0] == 'b'; });
  CHECK(mixed == order);
}

TEST_CASE("a restored stream goes on with the very next row", "[data]") {
  const Shares shares = {{"a", 0.4}, {"b", 0.6}};
  const std::map<std::string, int64_t> counts = {{"a", 7}, {"b", 11}};
  PromptStream stream(rows_of(counts), shares, 9);
  const int64_t steps = GENERATE(0, 1, 3, 7);
  draw(stream, steps, 5);
  const std::string saved = to_line(stream.state());
  PromptStream resumed(rows_of(counts), shares, 9);
  resumed.load_state(parse_json(saved, "state"));
  CHECK(draw(resumed, 20, 5) == draw(stream, 20, 5));
}

TEST_CASE("a stream refuses the cursor of other data", "[data]") {
  PromptStream stream(rows_of({{"a", 7}}), {}, 9);
  const Json state = stream.state();
  const auto load = [&](std::vector<Row> rows, uint64_t seed, const Json& saved) {
    return error_of([&] { PromptStream(std::move(rows), {}, seed).load_state(saved); });
  };
  using Catch::Contains;
  CHECK(load(rows_of({{"a", 7}}), 9, state) == "no error");
  CHECK_THAT(load(rows_of({{"a", 7}}), 8, state), Contains("the seed was 9, now it is 8"));
  CHECK_THAT(load(rows_of({{"a", 8}}), 9, state), Contains("had 7 rows, now 8"));
  CHECK_THAT(load(rows_of({{"b", 7}}), 9, state), Contains("domain b is new"));
  CHECK_THAT(load(rows_of({{"a", 7}, {"b", 1}}), 9, state), Contains("there were 1 domains, now there are 2"));
  auto changed = rows_of({{"a", 7}});
  changed[3].prompt_ids = {99};
  CHECK_THAT(load(changed, 9, state), Contains("rows of domain a have changed"));
  Json beyond = state;
  beyond["domains"]["a"]["position"] = 8;
  CHECK_THAT(load(rows_of({{"a", 7}}), 9, beyond), Contains("no position 8"));
}

namespace {

using Rates = std::map<std::string, std::vector<std::optional<double>>>;

/// 40 rows of a domain; those whose number divides by four are never right, the others half of the time.
PromptStream by_pass_rate(double floor = 0.1) {
  return {rows_of({{"a", 40}}), {}, 7, {.sampler = DataSampler::kPassRate, .floor = floor}};
}

/// The next rows of a step, answered as by_pass_rate() says.
std::vector<std::string> answered_step(PromptStream& stream, int64_t count) {
  const auto ids = ids_of(stream.next({{"a", count}}));
  Rates rates;
  for (const std::string& id : ids) rates["a"].emplace_back(std::stoi(id.substr(1)) % 4 == 0 ? 0 : 0.5);
  stream.settle(rates);
  return ids;
}

}  // namespace

TEST_CASE("by difficulty each epoch begins with the easy rows, and shuffles those that are alike", "[data]") {
  auto rows = rows_of({{"a", 40}});
  for (int64_t i = 0; i < 40; ++i) rows[i].difficulty = static_cast<double>(i % 4) - 1.5;
  PromptStream stream(rows, {}, 7, {.sampler = DataSampler::kDifficulty}), plain(rows, {}, 7);
  std::set<std::vector<std::string>> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    auto ids = draw(stream, 1, 40), shuffled = draw(plain, 1, 40);
    orders.insert(ids);
    std::ranges::stable_sort(shuffled, {}, [](const std::string& id) { return std::stoi(id.substr(1)) % 4; });
    CHECK(ids == shuffled);
  }
  CHECK(orders.size() == 3);
  PromptStream resumed(rows, {}, 7, {.sampler = DataSampler::kDifficulty});
  draw(stream, 1, 13);
  resumed.load_state(stream.state());
  CHECK(draw(resumed, 3, 20) == draw(stream, 3, 20));
  CHECK_THAT(error_of([] {
               PromptStream(rows_of({{"a", 3}}), {}, 1, {.sampler = DataSampler::kDifficulty});
             }),
             Catch::Contains("all 3 rows of domain a have the difficulty 0; add a column difficulty"));
}

TEST_CASE("by pass rate rows that are never right are drawn as often as the floor says", "[data]") {
  for (const double floor : {0.1, 0.5}) {
    PromptStream stream = by_pass_rate(floor), plain(rows_of({{"a", 40}}), {}, 7);
    CHECK(answered_step(stream, 40) == draw(plain, 1, 40));  // nothing is known yet
    int64_t hard = 0;
    constexpr int64_t kSteps = 400;
    for (int64_t step = 0; step < kSteps; ++step)
      hard += std::ranges::count_if(answered_step(stream, 10),
                                    [](const auto& id) { return std::stoi(id.substr(1)) % 4 == 0; });
    const double expected = kSteps * 10 * floor / (floor + 3);  // one in four, against three of weight 1
    CHECK(std::abs(static_cast<double>(hard) - expected) < 0.1 * expected);
  }
}

TEST_CASE("a step's draws know no more than the steps before, and come again when they are taken back", "[data]") {
  PromptStream stream = by_pass_rate();
  for (int step = 0; step < 9; ++step) {
    answered_step(stream, 11);
    PromptStream resumed = by_pass_rate();
    resumed.load_state(stream.state());
    const auto ahead = ids_of(resumed.next({{"a", 60}}));
    resumed.take_back({{"a", 60}});
    CHECK(resumed.state() == stream.state());
    CHECK(ids_of(resumed.next({{"a", 25}})) == std::vector<std::string>(ahead.begin(), ahead.begin() + 25));
    resumed.take_back({{"a", 14}});
    auto left = resumed;
    CHECK(answered_step(stream, 11) == std::vector<std::string>(ahead.begin(), ahead.begin() + 11));
    Rates rates;
    for (int i = 0; i < 11; ++i) rates["a"].emplace_back(std::stoi(ahead[i].substr(1)) % 4 == 0 ? 0 : 0.5);
    left.settle(rates);
    CHECK(left.state() == stream.state());
  }
}

TEST_CASE("rows that are passed over are counted, and what is not known changes nothing", "[data]") {
  PromptStream stream = by_pass_rate();
  stream.next({{"a", 40}});
  CHECK(stream.settle({{"a", std::vector<std::optional<double>>(40, 1.0)}}) ==
        std::map<std::string, int64_t>{{"a", 0}});
  const Json before = stream.state();
  CHECK(before["domains"]["a"]["pass_rates"] == std::string(40, '['));
  stream.next({{"a", 5}});
  const auto passed_over = stream.settle({{"a", std::vector<std::optional<double>>(5)}});
  const Json after = stream.state();
  const auto turns = [](const Json& state) {
    const Json& a = state["domains"]["a"];
    return a["epoch"].get<int64_t>() * 40 + a["position"].get<int64_t>();
  };
  CHECK(passed_over.at("a") == turns(after) - turns(before) - 5);
  CHECK(passed_over.at("a") > 5);  // nine in ten
  CHECK(after["domains"]["a"]["pass_rates"] == before["domains"]["a"]["pass_rates"]);
}

TEST_CASE("a checkpoint without pass rates, or with those of other rows", "[data]") {
  PromptStream plain(rows_of({{"a", 40}}), {}, 7), stream = by_pass_rate();
  draw(plain, 1, 13);
  CHECK_FALSE(plain.state()["domains"]["a"].contains("pass_rates"));
  stream.load_state(plain.state());
  CHECK(draw(stream, 1, 20) == draw(plain, 1, 20));
  Json state = by_pass_rate().state();
  state["domains"]["a"]["pass_rates"] = "##";
  CHECK_THAT(error_of([&] { stream.load_state(state); }), Catch::Contains("do not fit 40 rows"));
}

TEST_CASE("the domains' parts of a step follow the schedule", "[data]") {
  const Curriculum curriculum{.schedule = {{5, {{"a", 0}, {"b", 1}}}}};
  const PromptStream stream(rows_of({{"a", 9}, {"b", 9}}), {{"a", 1}, {"b", 0}}, 1, curriculum);
  CHECK(stream.quota(8, 1) == Split{{"a", 8}, {"b", 0}});
  CHECK(stream.quota(8, 2) == Split{{"a", 6}, {"b", 2}});
  CHECK(stream.quota(8, 4) == Split{{"a", 2}, {"b", 6}});
  CHECK(stream.quota(8, 9) == Split{{"a", 0}, {"b", 8}});
  const Curriculum unknown{.schedule = {{5, {{"c", 1}}}}};
  CHECK_THAT(error_of([&] {
               PromptStream(rows_of({{"a", 9}}), {{"a", 1}}, 1, unknown);
             }),
             Catch::Contains("domain_interleave_schedule: step 5: c = 1: no row belongs to this domain"));
}

}  // namespace roll
