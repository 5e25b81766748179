#include "rollout/scheduler.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "rollout/fake_model.h"
#include "rollout/requests.h"

namespace roll {

TEST_CASE("every request gets what it would get alone, whatever runs beside it", "[rollout]") {
  SamplingParams params = params_of(30);
  params.max_running_requests = 400;
  params.shares_prefill = GENERATE(true, false);
  params.shares_steps = GENERATE(false, true);
  const bool penalised = GENERATE(false, true);
  if (penalised) {
    params.generating.repetition_penalty = 1.3;
    params.generating.frequency_penalty = 0.2;
  }
  // Rows from one beyond the slots, pages from one sequence's: eviction after eviction.
  const auto [num_slots, num_pages, max_rows] = GENERATE(table<int64_t, int64_t, int64_t>(
      {{1, 0, 8192}, {3, 0, 4}, {8, 0, 20}, {8, 12, 9}, {64, 40, 8192}, {64, 12, 70}, {500, 0, 8192}}));
  const int64_t depth = GENERATE(0, 1, 3);
  FakeModel model({.num_slots = num_slots,
                   .max_length = 44,
                   .vocab_size = kVocab,
                   .num_pages = num_pages,
                   .max_rows = max_rows,
                   .depth = depth});
  const auto requests = make_requests(25, 4);
  std::set<int64_t> done;
  SamplerCounts counts;
  const auto generations =
      generate_with(model, requests, params, [&](int64_t i, const Generation&) { CHECK(done.insert(i).second); },
                    {.counts = &counts});
  CHECK(done.size() == requests.size());
  CHECK((counts.evictions > 0) == (num_pages > 0));
  CHECK(counts.most_pages <= model.num_pages());
  CHECK(counts.prompt_tokens == model.prompt_tokens);
  for (size_t i = 0; i < requests.size(); ++i) {
    const Generation expected = alone(model, requests[i], params);
    CAPTURE(i, num_slots, num_pages, max_rows, depth);
    REQUIRE(generations[i].ids == expected.ids);
    REQUIRE(generations[i].log_probs == expected.log_probs);
    const bool at_end = expected.ids.back() == 0;
    REQUIRE(generations[i].finish_reason == (at_end ? FinishReason::kStop : FinishReason::kLength));
    REQUIRE(generations[i].text == decode_letters(expected.ids, false));
  }
}

TEST_CASE("a request's own sampling and seed are its own", "[rollout]") {
  FakeModel model({.num_slots = 8, .vocab_size = kVocab});
  auto requests = make_requests(4, 1);
  const auto base = generate_with(model, requests, params_of(12));
  requests[1].generating = params_of(5).generating;
  requests[1].generating->temperature = 0;
  requests[2].seed = 99;
  const auto mixed = generate_with(model, requests, params_of(12));
  CHECK(mixed[0].ids == base[0].ids);
  CHECK(mixed[3].ids == base[3].ids);
  SamplingParams greedy = params_of(5), seeded = params_of(12);
  greedy.generating.temperature = 0;
  seeded.seed = 99;
  CHECK(mixed[1].ids == alone(model, requests[1], greedy).ids);
  CHECK(mixed[2].ids == alone(model, requests[2], seeded).ids);
  CHECK(mixed[2].ids != base[2].ids);
}

TEST_CASE("responses of one prompt share its computation", "[rollout]") {
  FakeModel model({.num_slots = 100, .vocab_size = kVocab});
  const auto requests = make_requests(6, 8);
  SamplerCounts counts;
  generate_with(model, requests, params_of(10), {}, {.counts = &counts});
  int64_t once = 0;
  for (size_t i = 0; i < requests.size(); i += 8) once += std::ssize(requests[i].prompt_ids);
  CHECK(model.prompt_tokens == once);
  CHECK(counts.shared_tokens == 7 * once);
}

TEST_CASE("a prompt that comes again computes only what no whole page holds", "[rollout]") {
  SamplingParams params = params_of(40);
  params.eos_ids = {0, 1, 2};
  params.shares_prefill = GENERATE(true, false);
  FakeModel model({.num_slots = 1, .vocab_size = kVocab});
  std::vector<GenerationRequest> requests;
  for (uint64_t i = 0; i < 30; ++i) requests.push_back({{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, i});
  generate_with(model, requests, params);
  CHECK(model.prompt_tokens == (params.shares_prefill ? 10 + 29 * 2 : 300));
}

TEST_CASE("a prompt that begins with an earlier one and its response computes only what no whole page holds",
          "[rollout]") {
  const int64_t length = GENERATE(18, 20);
  SamplingParams params = params_of(length);
  params.ignore_eos = true;
  params.continues_responses = GENERATE(true, false);
  const int64_t depth = GENERATE(0, 1);
  FakeModel model({.num_slots = 2, .max_length = 100, .vocab_size = kVocab, .depth = depth});
  PagePool pages(model.num_pages(), model.page_size());
  const auto run = [&](const std::vector<int64_t>& ids) {
    model.prompt_tokens = 0;
    return generate(model, pages, decode_letters, {{ids, 7}}, params).front();
  };
  const std::vector<int64_t> first = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<int64_t> second = first;
  const auto response = run(first).ids;
  second.insert(second.end(), response.begin(), response.end());
  second.insert(second.end(), {13, 14, 15});
  const Generation generation = run(second);
  // Of whole pages: without the response's, the prompt's two. The last token drawn was not computed.
  const int64_t known = params.continues_responses ? (10 + length - 1) / 4 * 4 : 8;
  CHECK(model.prompt_tokens == 13 + length - known);
  CHECK(generation.ids == generate_with(model, {{second, 7}}, params).front().ids);
}

TEST_CASE("every token is told once, in order, evictions or not", "[rollout]") {
  const int64_t num_pages = GENERATE(0, 12), depth = GENERATE(0, 2);
  FakeModel model({.num_slots = 8, .max_length = 44, .vocab_size = kVocab, .num_pages = num_pages, .depth = depth});
  const auto requests = make_requests(10, 2);
  std::vector<std::vector<int64_t>> told(requests.size());
  std::set<int64_t> ended;
  SamplerCounts counts;
  const auto generations =
      generate_with(model, requests, params_of(30), [&](int64_t i, const Generation&) { ended.insert(i); },
                    {.counts = &counts, .on_token = [&](int64_t i, const Generation& so_far) {
                       CHECK(so_far.ids.size() == told[i].size() + 1);
                       CHECK(so_far.log_probs.size() == so_far.ids.size());
                       CHECK_FALSE(ended.contains(i));
                       told[i].push_back(so_far.ids.back());
                     }});
  CHECK((counts.evictions > 0) == (num_pages > 0));
  for (size_t i = 0; i < requests.size(); ++i) CHECK(told[i] == generations[i].ids);
}

TEST_CASE("where every slot has pages for the longest sequence, none waits for pages", "[rollout]") {
  SamplingParams params = params_of(3);
  params.ignore_eos = true;
  params.shares_prefill = GENERATE(true, false);
  FakeModel model({.num_slots = 5, .max_length = 24, .vocab_size = 1000});
  std::vector<GenerationRequest> requests(15);
  for (int64_t i = 0; i < 15; ++i) {
    requests[i].sequence_id = i;
    for (int64_t j = 0; j < 21; ++j) requests[i].prompt_ids.push_back(21 * i + j);
  }
  generate_with(model, requests, params);
  CHECK(model.num_steps == 15 / 5 * 3);
}

TEST_CASE("max_running_requests bounds what runs together, and slots are refilled", "[rollout]") {
  SamplingParams params = params_of(30);
  params.max_running_requests = 6;
  FakeModel model({.num_slots = 50, .max_length = 60, .vocab_size = kVocab});
  const auto requests = make_requests(40, 1);
  const auto generations = generate_with(model, requests, params);
  CHECK(model.most_decoding <= 6);
  int64_t tokens = 0;
  for (const auto& generation : generations) tokens += std::ssize(generation.ids);
  // Without refills each wave of six would wait for its longest: about 7 x 30 steps.
  CHECK(model.num_steps < tokens / 6 * 1.35);
}

TEST_CASE("max_length cuts a response short", "[rollout]") {
  SamplingParams params = params_of(30);
  params.ignore_eos = true;
  params.max_length = 12;
  FakeModel model({.num_slots = 4, .max_length = 60, .vocab_size = kVocab});
  const auto requests = make_requests(7, 1);
  const auto generations = generate_with(model, requests, params);
  for (size_t i = 0; i < requests.size(); ++i) CHECK(requests[i].prompt_ids.size() + generations[i].ids.size() == 12);
}

TEST_CASE("a step computes no more than it may, prompts in pieces beside decoding", "[rollout]") {
  FakeModel model({.num_slots = 6, .vocab_size = kVocab, .max_rows = 7});
  generate_with(model, make_requests(20, 1), params_of(5));
  CHECK(model.largest_step == 7);
}

TEST_CASE("where prompts share steps, a short one is read beside a long one, which loses nothing by it", "[rollout]") {
  SamplingParams params = params_of(1);
  params.shares_steps = GENERATE(false, true);
  int64_t num_steps = 0;
  std::vector<int64_t> ends(2);
  const SamplerHooks hooks{.on_step = [&](int64_t) { ++num_steps; }};
  const auto at_end = [&](int64_t i, const Generation&) { ends.at(i) = num_steps; };
  FakeModel model({.num_slots = 2, .max_length = 100, .vocab_size = kVocab, .max_rows = 8, .depth = 0});
  const GenerationRequest long_one{std::vector<int64_t>(80, 1), 0}, short_one{{2}, 1};
  generate_with(model, {long_one, short_one}, params, at_end, hooks);
  CHECK(ends[1] == (params.shares_steps ? 0 : 10));  // steps before
  CHECK(ends[0] == (params.shares_steps ? 10 : 9));
}

TEST_CASE("a max_length beyond the model's means the model's", "[rollout]") {
  SamplingParams params = params_of(30);
  params.ignore_eos = true;
  params.max_length = 1000;
  FakeModel model({.num_slots = 4, .max_length = 12, .vocab_size = kVocab});
  const auto requests = make_requests(1, 1);
  CHECK(requests[0].prompt_ids.size() + generate_with(model, requests, params)[0].ids.size() == 12);
}

TEST_CASE("ignore_eos goes on after an end token", "[rollout]") {
  SamplingParams params = params_of(200);
  params.ignore_eos = true;
  FakeModel model({.num_slots = 4, .max_length = 300, .vocab_size = kVocab});
  const auto generations = generate_with(model, make_requests(3, 1), params);
  for (const auto& generation : generations) {
    CHECK(generation.ids.size() == 200);
    CHECK(std::ranges::find(generation.ids, 0) != generation.ids.end());
    CHECK(generation.finish_reason == FinishReason::kLength);
  }
}

TEST_CASE("a stop string ends a response; the text is cut there, the ids are not", "[rollout]") {
  SamplingParams params = params_of(100);
  params.ignore_eos = true;
  FakeModel model({.num_slots = 4, .max_length = 300, .vocab_size = kVocab});
  const auto requests = make_requests(5, 2);
  const auto free_run = generate_with(model, requests, params);
  const std::string stop = free_run[3].text.substr(17, 3);
  const bool include = GENERATE(true, false);
  params.generating.stop_strings = {stop};
  params.generating.include_stop_str_in_output = include;
  const auto stopped = generate_with(model, requests, params);
  const size_t at = free_run[3].text.find(stop);
  CHECK(stopped[3].finish_reason == FinishReason::kStopString);
  CHECK(stopped[3].text == free_run[3].text.substr(0, at + (include ? stop.size() : 0)));
  CHECK(decode_letters(stopped[3].ids, false).ends_with(stop));
  CHECK(std::equal(stopped[3].ids.begin(), stopped[3].ids.end(), free_run[3].ids.begin()));
  CHECK(stopped[3].log_probs.size() == stopped[3].ids.size());
}

TEST_CASE("skip_special_tokens leaves the end token out of the text, not out of the ids", "[rollout]") {
  SamplingParams params = params_of(200);
  params.generating.skip_special_tokens = true;
  FakeModel model({.num_slots = 4, .max_length = 300, .vocab_size = kVocab});
  const auto generations = generate_with(model, make_requests(1, 1), params);
  REQUIRE(generations[0].finish_reason == FinishReason::kStop);
  CHECK(generations[0].ids.back() == 0);
  CHECK(generations[0].text.find("<e>") == std::string::npos);
}

TEST_CASE("a wish to stop ends what runs as aborted", "[rollout]") {
  SamplingParams params = params_of(50);
  params.ignore_eos = true;
  FakeModel model({.num_slots = 4, .max_length = 300, .vocab_size = kVocab});
  int steps = 0;
  int64_t tokens = 0;
  SamplerHooks hooks{.should_stop = [&] { return ++steps > 5; }, .on_step = [&](int64_t n) { tokens += n; }};
  const auto generations = generate_with(model, make_requests(10, 1), params, {}, hooks);
  CHECK(generations[0].finish_reason == FinishReason::kAbort);
  CHECK(generations[0].ids.size() == 5);
  CHECK(generations[0].text == decode_letters(generations[0].ids, false));
  CHECK(generations[9].ids.empty());
  CHECK(generations[9].finish_reason == FinishReason::kAbort);
  CHECK(tokens == 4 * 5);
}

TEST_CASE("a wish to stop keeps what an evicted response had", "[rollout]") {
  SamplingParams params = params_of(30);
  params.ignore_eos = true;
  FakeModel model({.num_slots = 4, .max_length = 40, .vocab_size = kVocab, .num_pages = 10});
  SamplerCounts counts;
  int steps = 0;
  std::set<int64_t> told;
  const auto generations =
      generate_with(model, make_requests(4, 1), params, [&](int64_t i, const Generation&) { told.insert(i); },
                    {.should_stop = [&] { return ++steps > 14; }, .counts = &counts});
  REQUIRE(counts.evictions > 0);
  for (int64_t i = 0; i < 4; ++i) {
    CHECK(told.contains(i));
    CHECK(!generations[i].ids.empty());
    CHECK(generations[i].text == decode_letters(generations[i].ids, false));
  }
}

TEST_CASE("another seed, step, purpose or sequence gives another response", "[rollout]") {
  FakeModel model({.num_slots = 4, .max_length = 300, .vocab_size = kVocab});
  SamplingParams params = params_of(60);
  params.ignore_eos = true;
  auto requests = make_requests(1, 1);
  const auto base = generate_with(model, requests, params)[0].ids;
  CHECK(generate_with(model, requests, params)[0].ids == base);
  SECTION("seed") {
    params.seed = 4;
  }
  SECTION("step") {
    params.step = 1;
  }
  SECTION("purpose") {
    params.purpose = Purpose::kValidate;
  }
  SECTION("sequence") {
    requests[0].sequence_id = 77;
  }
  CHECK(generate_with(model, requests, params)[0].ids != base);
}

namespace {

/// The UserError of generating one request after `spoil` had its way with it.
template <class F>
std::string refusal(F spoil) {
  FakeModel model({.num_slots = 4, .max_length = 30, .vocab_size = kVocab});
  SamplingParams params = params_of(5);
  auto requests = make_requests(1, 1);
  spoil(requests, params);
  try {
    generate_with(model, requests, params);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

using Requests = std::vector<GenerationRequest>;

}  // namespace

TEST_CASE("impossible requests are refused", "[rollout]") {
  const auto prompt = [](std::vector<int64_t> ids) {
    return refusal([&](Requests& r, SamplingParams&) { r[0].prompt_ids = ids; });
  };
  CHECK_THAT(prompt({}), Catch::Contains("has no token"));
  CHECK_THAT(prompt({kVocab}), Catch::Contains("holds token id 20"));
  CHECK_THAT(prompt({3, -1}), Catch::Contains("holds token id -1"));
  CHECK_THAT(prompt(std::vector<int64_t>(30, 1)), Catch::Contains("no room for a response within 30"));
  CHECK(prompt(std::vector<int64_t>(29, 1)) == "no error");
  const auto same_name = [](Requests& r, SamplingParams&) { r.push_back(r[0]); };
  CHECK_THROWS_AS(refusal(same_name), Bug);
}

TEST_CASE("a sampler that runs nothing is refused", "[rollout]") {
  const auto none_running = [](Requests&, SamplingParams& p) { p.max_running_requests = 0; };
  CHECK_THAT(refusal(none_running), Catch::Contains("max_running_requests = 0"));
}

}  // namespace roll
