#include "collect/rollout_coordinator.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "checkpoint/temporary_folder.h"
#include "collect/rollout_worker.h"
#include "dist/local_ranks.h"
#include "dist/mesh.h"
#include "job/join.h"
#include "reward/queries.h"
#include "rollout/fake_model.h"

namespace roll {

namespace {

constexpr int64_t kGroupSize = 4;

struct Setup {
  int num_ranks = 1;
  int64_t tp = 1, num_slots = 8, num_pages = 0, num_additional = 0, depth = 0;
  bool with_baseline = false;
  int64_t pauses_after = 0;  // so many rounds of news, again and again; 0: never
  double limit = 1;          // until the first pause
};

/// Domain a keeps the groups of which some responses hold a "b", domain b all.
RewardsByDomain rewards_of_two() {
  return {{"a", {.reward = {.type = RegexArgs{.pattern = "(b)"}}}}, {"b", {.reward = {.type = ExactMatchArgs()}}}};
}

const std::map<std::string, QueryFilterConfig> kFilters = {
    {"a", {.type = QueryFilter::kStd, .filter_args = {.std_threshold = 0}}}, {"b", {}}};

std::vector<Row> rows_of_two(int64_t per_domain) {
  std::vector<Row> rows;
  for (const char* domain : {"a", "b"})
    for (int64_t i = 0; i < per_domain; ++i) {
      Row row;
      row.id = domain + std::to_string(i);
      row.domain = domain;
      row.ground_truth = "b";
      row.prompt_ids = {i % 3, i % 20, i % 2, 7};
      rows.push_back(row);
    }
  return rows;
}

SamplingParams sampling_of(int64_t max_new_tokens) {
  SamplingParams params;
  params.generating = {.max_new_tokens = max_new_tokens, .temperature = 1, .top_p = 1, .top_k = 0};
  params.eos_ids = {0, 1, 4};
  return params;
}

RolloutRecord record_for(const RolloutCoordinator& collection, int64_t request, const Generation& generation) {
  RolloutRecord record;
  const Row& row = *collection.prompt(request).row;
  record.domain = row.domain;
  record.prompt_id = row.id;
  record.group_index = collection.sample(request).prompt;
  record.sample_index = collection.sample(request).number;
  record.prompt = "p";
  record.response = "r";
  record.finish_reason = "stop";
  record.prompt_ids = row.prompt_ids;
  record.response_ids = generation.ids;
  record.log_probs = generation.log_probs;
  record.weights = collection.weight_runs(request, std::ssize(generation.ids));
  return record;
}

/// One rank's part; the records of all.
struct Collected {
  std::vector<RolloutRecord> records;
  int64_t num_sampled = 0;
  std::optional<StopKind> stopped;
  double waited_for_others_s = 0, waited_for_scores_s = 0;
};

/// How a collection is served, again and again until it is over.
using TermsOf = std::function<RolloutCoordinator::Terms(int64_t serving)>;

Collected collect_with(
    Communicator& world, Mesh& mesh, FakeModel& model, RolloutCoordinator::Plan plan, DomainRewards& rewards,
    SamplerHooks hooks = {}, const std::function<void()>& on_response = [] {},
    const TermsOf& terms_of = [](int64_t) { return RolloutCoordinator::Terms(); }) {
  GroupQuota* const quota = plan.quota;
  RolloutCoordinator collection(mesh, rewards, std::move(plan));
  PagePool pages(model.num_pages(), model.page_size());
  std::map<int64_t, RolloutRecord> by_request;
  Collected collected;
  const auto on_done = [&](int64_t request, const Generation& generation) {
    ++collected.num_sampled;
    on_response();
    if (!mesh.is_leader()) return;
    request += collection.first_request();
    by_request[request] = record_for(collection, request, generation);
    RewardQuery query;
    query.response = generation.text;
    query.ground_truth = "b";
    query.prompt =
        fmt::format("prompt {}, sample {}", by_request[request].group_index, by_request[request].sample_index);
    collection.finished(request, query);
  };
  for (int64_t serving = 0;; ++serving) {
    collection.begin(terms_of(serving));
    collection.end(serve(model, pages, decode_letters, collection, sampling_of(30), on_done, hooks));
    if (collection.stopped() || (collection.is_complete() && (!quota || quota->is_full()))) break;
  }
  collected.waited_for_others_s = collection.waited_for_others_s();
  collected.waited_for_scores_s = collection.waited_for_scores_s();
  if ((collected.stopped = collection.stopped())) return collected;
  for (const auto& [request, result] : collection.take_results()) {
    collected.records.push_back(by_request.at(request));
    collected.records.back().score = result.score;
  }
  collected.records = exchange_rollouts(std::move(collected.records), world);
  return collected;
}

std::optional<SamplingSettings> baseline_of(bool wanted) {
  if (!wanted) return std::nullopt;
  SamplingSettings greedy = sampling_of(30).generating;
  greedy.temperature = 0;
  return greedy;
}

const auto kNoLength = [](const Prompt&) { return std::optional<double>(); };

RolloutCoordinator::Terms terms_of(const Setup& setup, GroupQuota& quota, int64_t serving) {
  quota.limit(serving == 0 ? setup.limit : 1);
  RolloutCoordinator::Terms terms{.version = serving};
  if (setup.pauses_after == 0) return terms;
  const auto num_asked = std::make_shared<int64_t>(0);
  terms.should_pause = [num_asked, after = setup.pauses_after] { return ++*num_asked > after; };
  return terms;
}

/// What is wrong with what is told of the weights that drew these. `is_alone`: then news are heard at once, so that
/// some must have changed on the way.
std::string told_of_weights(const std::vector<RolloutRecord>& records, bool is_alone) {
  int64_t most_runs = 0;
  for (const RolloutRecord& record : records) {
    int64_t num_tokens = 0, last = -1;
    for (const auto& [version, tokens] : record.weights) {
      if (tokens < 1 || version <= last) return "weights out of order ";
      num_tokens += tokens;
      last = version;
    }
    if (num_tokens != std::ssize(record.response_ids)) return "tokens of nobody ";
    most_runs = std::max(most_runs, std::ssize(record.weights));
  }
  return most_runs > 1 || !is_alone ? "" : "nothing was paused ";
}

/// So that ranks which are to be paused hear of it while they work.
void step_slowly(const Setup& setup) {
  if (setup.num_ranks > 1 && setup.pauses_after > 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
}

/// All that must not depend on the setup.
std::string step_of(Communicator& world, const Setup& setup) {
  const auto rewards = rewards_of_two();
  PromptStream stream(rows_of_two(11), {}, 3);
  std::string text;
  Mesh mesh(world, {.cp = 1, .tp = setup.tp});
  FakeModel model({.num_slots = setup.num_slots, .max_length = 34, .num_pages = setup.num_pages, .depth = setup.depth},
                  setup.tp > 1 ? &mesh.tp() : nullptr);
  DomainRewards pools(rewards, 30);
  for (int step = 0; step < 3; ++step) {
    GroupQuota quota({{"a", 5}, {"b", 2}}, stream, kFilters, setup.num_additional);
    auto collected = collect_with(
        world, mesh, model,
        {.quota = &quota,
         .num_samples = kGroupSize,
         .baseline = baseline_of(setup.with_baseline),
         .expected_length = kNoLength},
        pools, {.on_step = [&](int64_t) { step_slowly(setup); }}, [] {},
        [&](int64_t serving) { return terms_of(setup, quota, serving); });
    if (setup.pauses_after > 0) text += told_of_weights(collected.records, setup.num_ranks == 1);
    const auto counts = quota.counts().at("a");
    if (setup.num_additional + 5 > counts.sampled && counts.aborted == 0) text += "none was aborted ";
    if (setup.num_additional == 0 && counts.aborted > 0) text += "some were aborted ";
    for (const auto& record : quota.take(std::move(collected.records)))
      text += fmt::format("{} {} {} {} {} {}\n", record.group_index, record.sample_index, record.prompt_id,
                          record.score, fmt::join(record.response_ids, ","), fmt::join(record.log_probs, ","));
    text += fmt::format("{} {} {}\n", counts.sampled, counts.dropped, to_line(stream.state()));
  }
  return text;
}

std::vector<std::string> steps_of(const Setup& setup) {
  return test::run_local_ranks(
      setup.num_ranks, [&](Communicator& world) { return step_of(world, setup); }, 60);
}

}  // namespace

TEST_CASE("what is collected depends neither on ranks, slots, pages and prompts ahead nor on who samples what",
          "[train]") {
  const std::string expected = step_of(*make_communicator({.kind = Transport::kSingle}), {});
  CHECK_THAT(expected, Catch::Contains("6 3 b"));
  for (const Setup& setup : {Setup{.num_slots = 3, .num_pages = 12}, Setup{.num_slots = 64, .num_additional = 9},
                             Setup{.num_slots = 5, .num_additional = 3, .depth = 2}, Setup{.num_ranks = 2},
                             Setup{.num_ranks = 2, .num_slots = 2, .num_additional = 4},
                             Setup{.num_ranks = 3, .num_slots = 4, .num_pages = 12, .num_additional = 2, .depth = 1},
                             Setup{.num_ranks = 2, .tp = 2, .num_slots = 3, .num_additional = 4},
                             Setup{.num_ranks = 4, .tp = 2, .num_slots = 2, .num_additional = 1}}) {
    CAPTURE(setup.num_ranks, setup.tp, setup.num_slots, setup.num_additional);
    for (const std::string& said : steps_of(setup)) CHECK(said == expected);
  }
}

TEST_CASE("a collection that is paused again and again gives what it would have given, each token once", "[train]") {
  const std::string expected = step_of(*make_communicator({.kind = Transport::kSingle}), {});
  for (const Setup& setup :
       {Setup{.pauses_after = 7}, Setup{.num_slots = 3, .num_pages = 12, .pauses_after = 5, .limit = 0.4},
        Setup{.num_slots = 5, .num_additional = 3, .depth = 2, .pauses_after = 4},
        Setup{.num_ranks = 2, .num_slots = 4, .num_additional = 2, .pauses_after = 3, .limit = 0.5},
        Setup{.num_ranks = 2, .tp = 2, .num_slots = 4, .pauses_after = 6},
        Setup{.num_ranks = 4, .tp = 2, .num_slots = 2, .depth = 1, .pauses_after = 4, .limit = 0.7}}) {
    CAPTURE(setup.num_ranks, setup.tp, setup.num_slots, setup.pauses_after);
    for (const std::string& said : steps_of(setup)) CHECK(said == expected);
  }
}

TEST_CASE("while it is limited, a quota starts its share of each domain and nothing ahead", "[train]") {
  const auto rewards = rewards_of_two();
  PromptStream stream(rows_of_two(11), {}, 3);
  GroupQuota quota({{"a", 5}, {"b", 2}}, stream, kFilters, 4);
  quota.limit(0.45);
  std::map<std::string, int64_t> started;
  for (const Prompt& prompt : quota.next()) ++started[prompt.row->domain];
  CHECK(started == std::map<std::string, int64_t>{{"a", 2}});  // of 2.25 and 0.9
  CHECK_FALSE(quota.has_all_allowed());
  const std::optional<double> useful[] = {0.0, 1.0}, useless[] = {1.0, 1.0};
  quota.add(0, useless);
  quota.add(1, useful);
  CHECK(quota.next().size() == 1);  // for the one that is lost
  quota.add(2, useful);
  CHECK(quota.has_all_allowed());
  CHECK(quota.next().empty());
  CHECK_FALSE(quota.is_full());
  quota.limit(1.5);
  CHECK_FALSE(quota.has_all_allowed());
  CHECK(quota.next().size() == 3 + 4 + 2);
}

TEST_CASE("a greedy response more to each prompt changes neither the others nor which groups are kept", "[train]") {
  const auto alone = make_communicator({.kind = Transport::kSingle});
  const std::string without = step_of(*alone, {}), with = step_of(*alone, {.with_baseline = true});
  std::istringstream lines(with);
  std::string others;
  int64_t num_baselines = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_baseline = line.substr(1, 4) == " 4 a" || line.substr(1, 4) == " 4 b";
    num_baselines += is_baseline ? 1 : 0;
    if (!is_baseline) others += line + "\n";
  }
  CHECK(others == without);
  CHECK(num_baselines == 3 * 7);
  for (const Setup& setup : {Setup{.num_ranks = 2, .num_slots = 3, .num_additional = 4, .with_baseline = true},
                             Setup{.num_ranks = 4, .tp = 2, .num_slots = 2, .num_pages = 20, .with_baseline = true}})
    for (const std::string& said : steps_of(setup)) CHECK(said == with);
}

TEST_CASE("the last response of a group with a baseline is the greedy one", "[train]") {
  const auto rewards = rewards_of_two();
  const auto rows = rows_of_two(5);
  const auto alone = make_communicator({.kind = Transport::kSingle});
  Mesh mesh(*alone, {});
  DomainRewards pools(rewards, 30);
  FakeModel model({.num_slots = 3, .max_length = 34}), other_model({.num_slots = 3, .max_length = 34});
  std::vector<Prompt> prompts;
  std::vector<GenerationRequest> requests;
  for (const Row& row : rows) {
    requests.push_back({.prompt_ids = row.prompt_ids, .sequence_id = prompts.size()});
    prompts.push_back({.row = borrowed(row), .number = prompts.size()});
  }
  const auto collected = collect_with(
      *alone, mesh, model,
      {.prompts = prompts, .num_samples = kGroupSize, .baseline = baseline_of(true), .expected_length = kNoLength},
      pools);
  SamplingParams params = sampling_of(30);
  params.generating.temperature = 0;
  const auto greedy = generate_with(other_model, requests, params);
  REQUIRE(std::ssize(collected.records) == std::ssize(rows) * (kGroupSize + 1));
  for (size_t prompt = 0; prompt < rows.size(); ++prompt) {
    const auto& record = collected.records[prompt * (kGroupSize + 1) + kGroupSize];
    CHECK(record.sample_index == kGroupSize);
    CHECK(record.response_ids == greedy[prompt].ids);
    CHECK(collected.records[prompt * (kGroupSize + 1)].response_ids != greedy[prompt].ids);
  }
}

TEST_CASE("a group that has nothing to wait for samples what waits elsewhere, and nobody with work waits", "[train]") {
  const auto rewards = rewards_of_two();
  const auto rows = rows_of_two(10);
  std::vector<Prompt> prompts;
  for (const Row& row : rows) prompts.push_back({.row = borrowed(row), .number = prompts.size()});
  const int64_t share = std::ssize(rows) * kGroupSize / 2;
  std::atomic<int64_t> num_of_first = 0;
  const auto said = test::run_local_ranks(
      2,
      [&](Communicator& world) {
        Mesh mesh(world, {});
        DomainRewards pools(rewards, 30);
        FakeModel model({.num_slots = 2, .max_length = 34});
        // The second does not end a step before the first has sampled all that it was assigned, and is slow then.
        const SamplerHooks hooks{.on_step = [&](int64_t) {
          if (world.rank() == 0) return;
          while (num_of_first < share) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(3));
        }};
        const auto collected = collect_with(
            world, mesh, model, {.prompts = prompts, .num_samples = kGroupSize, .expected_length = kNoLength}, pools,
            hooks, [&] { num_of_first += world.rank() == 0; });
        const bool has_more = collected.num_sampled > share, is_first = world.rank() == 0;
        const bool is_told = !is_first || collected.waited_for_others_s > 0;
        return fmt::format("{} {}", collected.records.size(),
                           has_more == is_first && is_told ? "as it should be" : "not shared");
      },
      60);
  CHECK(said == std::vector<std::string>(2, fmt::format("{} as it should be", 2 * share)));
}

TEST_CASE("what the step turns out not to need is not sampled to its end", "[train]") {
  const auto rewards = rewards_of_two();
  const auto alone = make_communicator({.kind = Transport::kSingle});
  PromptStream stream(rows_of_two(11), {}, 3);
  Mesh mesh(*alone, {});
  FakeModel model({.num_slots = 8, .max_length = 34});
  GroupQuota quota({{"a", 3}}, stream, kFilters, 50);
  DomainRewards pools(rewards, 30);
  // Slow steps, so that the rewards, which are made beside them, are known soon.
  const SamplerHooks hooks{.on_step = [](int64_t) { std::this_thread::sleep_for(std::chrono::microseconds(300)); }};
  const auto collected = collect_with(
      *alone, mesh, model, {.quota = &quota, .num_samples = kGroupSize, .expected_length = kNoLength}, pools, hooks);
  CHECK(quota.counts().at("a").aborted > 30);
  CHECK(collected.num_sampled < 53 * kGroupSize / 2);
  CHECK(std::ssize(collected.records) == quota.counts().at("a").sampled * kGroupSize);
}

TEST_CASE("a step does not wait for rewards that it does not need", "[train]") {
  // Those of the second prompt are not made before the file is there.
  const test::TemporaryFolder folder;
  const std::string gate = (folder.path() / "gate").string();
  RewardsByDomain rewards;
  RewardArgs& args = rewards["a"].reward;
  args = program("while read x; do case $x in *'prompt 1,'*) while [ ! -e " + gate +
                 " ]; do sleep 0.01; done;; esac; case $x in *'sample 0'*) echo '{\"reward\": 0}';; *) echo "
                 "'{\"reward\": 1}';; esac; done");
  args.timeout_s = 30;
  args.world_size = kGroupSize + 1;
  const auto alone = make_communicator({.kind = Transport::kSingle});
  PromptStream stream(rows_of_two(11), {}, 3);
  Mesh mesh(*alone, {});
  FakeModel model({.num_slots = 8, .max_length = 34});
  GroupQuota quota({{"a", 1}}, stream, kFilters, 1);
  DomainRewards pools(rewards, 30);
  const auto collected = collect_with(
      *alone, mesh, model, {.quota = &quota, .num_samples = kGroupSize, .expected_length = kNoLength}, pools);
  CHECK(std::ssize(collected.records) == kGroupSize);
  CHECK(quota.counts().at("a").aborted == 1);
  std::ofstream(gate).close();
}

TEST_CASE("a wish to stop ends a collection on all ranks, whoever has it", "[train]") {
  const auto rewards = rewards_of_two();
  const auto rows = rows_of_two(10);
  std::vector<Prompt> prompts;
  for (const Row& row : rows) prompts.push_back({.row = borrowed(row), .number = prompts.size()});
  std::atomic<int64_t> num_steps = 0;
  const auto said = test::run_local_ranks(
      4,
      [&](Communicator& world) {
        Mesh mesh(world, {.tp = 2});
        DomainRewards pools(rewards, 30);
        FakeModel model({.num_slots = 1, .max_length = 34}, &mesh.tp());
        const SamplerHooks hooks{.on_step = [&](int64_t) {
          if (world.rank() == 3 && ++num_steps == 5) request_stop(StopKind::kTerminate);
        }};
        const auto collected =
            collect_with(world, mesh, model,
                         {.prompts = prompts, .num_samples = kGroupSize, .expected_length = kNoLength}, pools, hooks);
        return std::string(collected.stopped == StopKind::kTerminate ? "stopped" : "not stopped");
      },
      60);
  request_stop(std::nullopt);
  CHECK(said == std::vector<std::string>(4, "stopped"));
}

}  // namespace roll
