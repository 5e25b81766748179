#include "rollout/scheduler.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "rollout/fake_model.h"

namespace roll {

namespace {

constexpr int64_t kVocab = 20;

SamplingParams params_of(int64_t max_new_tokens) {
  SamplingParams params;
  params.generating.temperature = 1;
  params.generating.top_p = 1;
  params.generating.top_k = 0;
  params.generating.skip_special_tokens = false;
  params.generating.max_new_tokens = max_new_tokens;
  params.eos_ids = {0};
  params.seed = 3;
  return params;
}

/// `groups` prompts of different lengths, `n` requests each.
std::vector<GenerationRequest> make_requests(int64_t groups, int64_t n) {
  std::vector<GenerationRequest> requests;
  for (int64_t g = 0; g < groups; ++g) {
    std::vector<int64_t> prompt;
    for (int64_t i = 0; i <= g % 7; ++i) prompt.push_back((g * 5 + i) % kVocab);
    prompt.push_back(g % kVocab);
    for (int64_t i = 0; i < n; ++i) requests.push_back({prompt, static_cast<uint64_t>(g * n + i)});
  }
  return requests;
}

/// The definition: each request alone, token by token.
Generation alone(const FakeModel& model, const GenerationRequest& request, const SamplingParams& params) {
  Generation generation;
  std::vector<int64_t> ids = request.prompt_ids;
  RowSampler sampler(params.generating);
  TokenHistory history(params.generating, request.prompt_ids);
  for (int64_t i = 0; i < *params.generating.max_new_tokens; ++i) {
    const double uniform = random_uniform({.seed = params.seed,
                                           .purpose = params.purpose,
                                           .step = params.step,
                                           .sequence = request.sequence_id,
                                           .position = static_cast<uint32_t>(i)});
    const Draw draw = sampler.draw(model.logits_after(ids), history, uniform);
    history.add(draw.token);
    ids.push_back(draw.token);
    generation.ids.push_back(draw.token);
    generation.log_probs.push_back(draw.log_prob);
    if (draw.token == 0) break;
  }
  return generation;
}

}  // namespace

TEST_CASE("every request gets what it would get alone, whatever runs beside it", "[rollout]") {
  const int64_t num_slots = GENERATE(1, 3, 8, 64, 500);
  SamplingParams params = params_of(30);
  params.max_running_requests = 400;
  params.max_prefill_tokens = GENERATE(1, 20, 8192);
  const bool penalised = GENERATE(false, true);
  if (penalised) params.generating.repetition_penalty = 1.3, params.generating.frequency_penalty = 0.2;
  FakeModel model(num_slots, 60, kVocab);
  const auto requests = make_requests(25, 4);
  std::set<int64_t> done;
  const auto generations = generate(model, decode_letters, requests, params,
                                    [&](int64_t i, const Generation&) { CHECK(done.insert(i).second); });
  CHECK(model.all_released());
  CHECK(done.size() == requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const Generation expected = alone(model, requests[i], params);
    CAPTURE(i);
    REQUIRE(generations[i].ids == expected.ids);
    REQUIRE(generations[i].log_probs == expected.log_probs);
    const bool at_end = expected.ids.back() == 0;
    REQUIRE(generations[i].finish_reason == (at_end ? FinishReason::kStop : FinishReason::kLength));
    REQUIRE(generations[i].text == decode_letters(expected.ids, false));
  }
}

TEST_CASE("responses of one prompt share its prefill", "[rollout]") {
  FakeModel model(100, 60, kVocab);
  const auto requests = make_requests(6, 8);
  generate(model, decode_letters, requests, params_of(10));
  CHECK(model.num_prefills == 1);
  int64_t once = 0;
  for (size_t i = 0; i < requests.size(); i += 8) once += std::ssize(requests[i].prompt_ids);
  CHECK(model.prefilled_tokens == once);
}

TEST_CASE("a group that is split over refills copies its prompt from a member that still runs", "[rollout]") {
  SamplingParams params = params_of(40);
  params.eos_ids = {0, 1, 2};
  FakeModel model(5, 60, kVocab);
  const auto requests = make_requests(1, 30);
  generate(model, decode_letters, requests, params);
  // Only a moment at which all five slots end together costs a second prefill.
  CHECK(model.prefilled_tokens <= 3 * std::ssize(requests[0].prompt_ids));
}

TEST_CASE("max_running_requests bounds what runs together, and slots are refilled", "[rollout]") {
  SamplingParams params = params_of(30);
  params.max_running_requests = 6;
  FakeModel model(50, 60, kVocab);
  const auto requests = make_requests(40, 1);
  const auto generations = generate(model, decode_letters, requests, params);
  CHECK(model.most_running == 6);
  int64_t tokens = 0;
  for (const auto& generation : generations) tokens += std::ssize(generation.ids);
  // Without refills each wave of six would wait for its longest: about 7 x 30 steps.
  CHECK(model.num_decodes < tokens / 6 * 1.35);
}

TEST_CASE("max_length cuts a response short", "[rollout]") {
  SamplingParams params = params_of(30);
  params.ignore_eos = true;
  params.max_length = 12;
  FakeModel model(4, 60, kVocab);
  const auto requests = make_requests(7, 1);
  const auto generations = generate(model, decode_letters, requests, params);
  for (size_t i = 0; i < requests.size(); ++i) CHECK(requests[i].prompt_ids.size() + generations[i].ids.size() == 12);
}

TEST_CASE("max_prefill_tokens bounds what one prefill computes", "[rollout]") {
  SamplingParams params = params_of(5);
  params.max_prefill_tokens = 10;
  FakeModel model(50, 60, kVocab);
  generate(model, decode_letters, make_requests(20, 1), params);
  CHECK(model.largest_prefill <= 10);
  CHECK(model.largest_prefill > 5);
}

TEST_CASE("a max_length beyond the model's means the model's", "[rollout]") {
  SamplingParams params = params_of(30);
  params.ignore_eos = true;
  params.max_length = 1000;
  FakeModel model(4, 12, kVocab);
  const auto requests = make_requests(1, 1);
  CHECK(requests[0].prompt_ids.size() + generate(model, decode_letters, requests, params)[0].ids.size() == 12);
}

TEST_CASE("ignore_eos goes on after an end token", "[rollout]") {
  SamplingParams params = params_of(200);
  params.ignore_eos = true;
  FakeModel model(4, 300, kVocab);
  const auto generations = generate(model, decode_letters, make_requests(3, 1), params);
  for (const auto& generation : generations) {
    CHECK(generation.ids.size() == 200);
    CHECK(std::ranges::find(generation.ids, 0) != generation.ids.end());
    CHECK(generation.finish_reason == FinishReason::kLength);
  }
}

TEST_CASE("a stop string ends a response; the text is cut there, the ids are not", "[rollout]") {
  SamplingParams params = params_of(100);
  params.ignore_eos = true;
  FakeModel model(4, 300, kVocab);
  const auto requests = make_requests(5, 2);
  const auto free_run = generate(model, decode_letters, requests, params);
  const std::string stop = free_run[3].text.substr(17, 3);
  const bool include = GENERATE(true, false);
  params.generating.stop_strings = {stop};
  params.generating.include_stop_str_in_output = include;
  const auto stopped = generate(model, decode_letters, requests, params);
  CHECK(model.all_released());
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
  FakeModel model(4, 300, kVocab);
  const auto generations = generate(model, decode_letters, make_requests(1, 1), params);
  REQUIRE(generations[0].finish_reason == FinishReason::kStop);
  CHECK(generations[0].ids.back() == 0);
  CHECK(generations[0].text.find("<e>") == std::string::npos);
}

TEST_CASE("a wish to stop ends what runs as aborted", "[rollout]") {
  SamplingParams params = params_of(50);
  params.ignore_eos = true;
  FakeModel model(4, 300, kVocab);
  int steps = 0;
  int64_t tokens = 0;
  SamplerHooks hooks{.should_stop = [&] { return ++steps > 5; }, .on_step = [&](int64_t n) { tokens += n; }};
  const auto generations = generate(model, decode_letters, make_requests(10, 1), params, {}, hooks);
  CHECK(model.all_released());
  CHECK(generations[0].finish_reason == FinishReason::kAbort);
  CHECK(generations[0].ids.size() == 6);  // the first step draws two: one after the prefill, one decoded
  CHECK(generations[9].ids.empty());
  CHECK(generations[9].finish_reason == FinishReason::kAbort);
  CHECK(tokens == 4 * 6);
}

TEST_CASE("another seed, step, purpose or sequence gives another response", "[rollout]") {
  FakeModel model(4, 300, kVocab);
  SamplingParams params = params_of(60);
  params.ignore_eos = true;
  auto requests = make_requests(1, 1);
  const auto base = generate(model, decode_letters, requests, params)[0].ids;
  CHECK(generate(model, decode_letters, requests, params)[0].ids == base);
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
  CHECK(generate(model, decode_letters, requests, params)[0].ids != base);
}

namespace {

/// The UserError of generating one request after `spoil` had its way with it.
template <class F>
std::string refusal(F spoil) {
  FakeModel model(4, 30, kVocab);
  SamplingParams params = params_of(5);
  auto requests = make_requests(1, 1);
  spoil(requests, params, params.generating);
  try {
    generate(model, decode_letters, requests, params);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

using Requests = std::vector<GenerationRequest>;

}  // namespace

TEST_CASE("impossible requests are refused", "[rollout]") {
  const auto prompt = [](std::vector<int64_t> ids) {
    return refusal([&](Requests& r, SamplingParams&, GeneratingArgs&) { r[0].prompt_ids = ids; });
  };
  CHECK_THAT(prompt({}), Catch::Contains("has no token"));
  CHECK_THAT(prompt({kVocab}), Catch::Contains("holds id 20"));
  CHECK_THAT(prompt({3, -1}), Catch::Contains("holds id -1"));
  CHECK_THAT(prompt(std::vector<int64_t>(30, 1)), Catch::Contains("no room within 30"));
  CHECK(prompt(std::vector<int64_t>(29, 1)) == "no error");
  const auto same_name = [](Requests& r, SamplingParams&, GeneratingArgs&) { r.push_back(r[0]); };
  CHECK_THROWS_AS(refusal(same_name), Bug);
}

TEST_CASE("impossible sampling parameters are refused by name", "[rollout]") {
  const auto args = [](auto change) {
    return refusal([&](Requests&, SamplingParams&, GeneratingArgs& a) { change(a); });
  };
  CHECK(args([](GeneratingArgs&) {}) == "no error");
  CHECK_THAT(args([](auto& a) { a.max_new_tokens = 0; }), Catch::Contains("max_new_tokens = 0"));
  CHECK_THAT(args([](auto& a) { a.max_new_tokens.reset(); }), Catch::Contains("max_new_tokens: is not set"));
  CHECK_THAT(args([](auto& a) { a.temperature = -1; }), Catch::Contains("temperature = -1"));
  CHECK_THAT(args([](auto& a) { a.temperature = NAN; }), Catch::Contains("temperature = nan"));
  CHECK_THAT(args([](auto& a) { a.temperature = 1e-9; }), Catch::Contains("temperature = 1e-09"));
  CHECK_THAT(args([](auto& a) { a.top_p = 0; }), Catch::Contains("top_p = 0"));
  CHECK_THAT(args([](auto& a) { a.top_p = 1.5; }), Catch::Contains("top_p = 1.5"));
  CHECK_THAT(args([](auto& a) { a.top_k = -2; }), Catch::Contains("top_k = -2"));
  CHECK_THAT(args([](auto& a) { a.min_p = 2; }), Catch::Contains("min_p = 2"));
  CHECK_THAT(args([](auto& a) { a.repetition_penalty = 0; }), Catch::Contains("repetition_penalty = 0"));
  CHECK_THAT(args([](auto& a) { a.presence_penalty = INFINITY; }), Catch::Contains("presence_penalty"));
  CHECK_THAT(args([](auto& a) { a.frequency_penalty = NAN; }), Catch::Contains("frequency_penalty"));
  CHECK_THAT(args([](auto& a) { a.stop_strings = {"a", ""}; }), Catch::Contains("empty string"));
  const auto none_running = [](Requests&, SamplingParams& p, GeneratingArgs&) { p.max_running_requests = 0; };
  CHECK_THAT(refusal(none_running), Catch::Contains("max_running_requests = 0"));
}

}  // namespace roll
