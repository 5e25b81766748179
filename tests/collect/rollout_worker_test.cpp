#include "collect/rollout_worker.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "dist/local_ranks.h"
#include "job/join.h"
#include "records/written_record.h"

namespace roll {

namespace {

/// Numbers that a decimal text does not hold exactly, as a record of the sampler has them.
RolloutRecord sampled_record(int64_t group, int64_t sample) {
  RolloutRecord record = test::written_record(group, sample);
  record.log_probs = {std::nextafter(-0.1F, 0.0F), std::numeric_limits<float>::denorm_min(), -12.345678F};
  record.score = as_written(2.0 / 3);
  record.reward = as_written(1e-5 / 3 - 1);
  record.reward_detail["length_penalty"] = as_written(0.1);
  record.difficulty = as_written(M_PI);
  return record;
}

}  // namespace

TEST_CASE("records are the same whether they were exchanged between ranks or stayed with the only one", "[train]") {
  std::vector<RolloutRecord> all;
  for (int64_t group = 0; group < 3; ++group)
    for (int64_t sample = 0; sample < 2; ++sample) all.push_back(sampled_record(group, sample));
  const auto alone = make_communicator({.kind = Transport::kSingle});
  const std::vector<RolloutRecord> reversed(all.rbegin(), all.rend());
  const bool same_alone = exchange_rollouts(reversed, *alone) == all;
  CHECK(same_alone);
  const auto same = test::run_local_ranks(2, [&](Communicator& ranks) {
    std::vector<RolloutRecord> local;
    for (size_t i = static_cast<size_t>(ranks.rank()); i < all.size(); i += 2) local.push_back(all[i]);
    return std::string(exchange_rollouts(local, ranks) == all ? "same" : "different");
  });
  CHECK(same == std::vector<std::string>{"same", "same"});
}

TEST_CASE("a record's numbers are those that its line keeps", "[train]") {
  CHECK(as_written(0.5) == 0.5);
  CHECK(as_written(1.0 / 3) == 0.333333333);
  CHECK(as_written(as_written(1.0 / 3)) == as_written(1.0 / 3));
}

}  // namespace roll
