#include "records/messages.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/local_ranks.h"
#include "dist/messages.h"
#include "random_message.h"
#include "track/metrics.h"

namespace roll {
namespace {

template <class F>
void for_each_message(const F& use) {
  use(StartMessage()), use(StateMessage()), use(SamplingNews()), use(GroupMessage()), use(EnvironmentAnswers()),
      use(StopWish()), use(SamplingContinues());
  use(ResponseLengths()), use(FactsMessage()), use(Rollouts()), use(ShownSamples()), use(JudgedSamples()),
      use(PacketLengths());
  use(ScorePrompt()), use(ScoreReply()), use(JudgeRequest()), use(JudgeResponse()), use(FirstUpdateMessage()),
      use(Metrics::Message());
}

}  // namespace

TEST_CASE("all that ranks tell each other is read as it was written, and refused where it is cut", "[train]") {
  for_each_message([]<class M>(M empty) {
    CAPTURE(M::kMessage.name);
    CHECK(encode_message(decode_message<M>(encode_message(empty))) == encode_message(empty));
    for (uint32_t seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      M message;
      test::RandomFields(seed).fill(message);
      const std::string bytes = encode_message(message);
      if (encode_message(decode_message<M>(bytes)) != bytes) FAIL_CHECK("it changed");
      const size_t stride = std::max<size_t>(1, bytes.size() / 200);
      for (size_t size = 0; size < bytes.size(); size += stride)
        CHECK_THROWS_AS(decode_message<M>(std::string_view(bytes).substr(0, size)), SystemError);
    }
  });
}

TEST_CASE("who changes what a message holds raises its version", "[train]") {
  std::string layouts;
  for_each_message([&]<class M>(const M&) { layouts += test::layout_of<M>() + "\n"; });
  CHECK(layouts ==
        "STRT 1 {folder text, run text, goes_on bool, resume {folder text, step i64, best_metric f64?, "
        "early_stop json}?}\n"
        "STAT 1 {state json}\n"
        "NEWS 1 {changes {finished [{sample {prompt i64, number i64}, score f64?}], held [i64], "
        "put_back [{prompt i64, number i64}], queue i64, stop enum i32?, pauses bool}?}\n"
        "GRUP 1 {news [{changes {finished [{sample {prompt i64, number i64}, score f64?}], held [i64], "
        "put_back [{prompt i64, number i64}], queue i64, stop enum i32?, pauses bool}?}], wish enum i32?}\n"
        "ANSW 4 {answers [{request i64, observation text, reward f64, is_done bool, is_valid bool, succeeded bool?, "
        "tools {calls i64, errors i64}?, tool_answers [text], action text, fault enum i32?, why text, is_late bool, "
        "agent {prompt_ids [i64], ids [i64], log_probs [f32], turns [{num_tokens i64, num_environment_tokens i64, "
        "reward f64, is_valid bool, state i64, is_fresh bool}], max_new_tokens i64, stop_strings [text], "
        "include_stop_str_in_output bool, skip_special_tokens bool, seed u64?}?}]}\n"
        "STOP 1 {kind enum i32?}\n"
        "MORE 1 {goes_on bool}\n"
        "LENG 1 {lengths [{prompt i32, length i32}]}\n"
        "FACT 5 {responses [{group i64, sample i64, prompt_length i64, response_length i64, score f64, reward f64, "
        "difficulty f64, domain text, is_judged bool, is_truncated bool, is_baseline bool, baseline f64?, parts "
        "[{weight f64, reward f64}], turns [{begin i32, end i32, state u32, reward f64, is_fresh bool}]}]}\n"
        "ROLL 6 {records [{step i64, domain text, prompt_id text, group_index i64, sample_index i64, prompt text, "
        "response text, prompt_ids [i64], response_ids [i64], log_probs [f32], finish_reason text, score f64, reward "
        "f64, "
        "reward_detail json, ground_truth text, tag text, difficulty f64, is_baseline bool, "
        "turns [{num_tokens i64, num_environment_tokens i64, reward f64, is_valid bool, state i64, is_fresh bool}], "
        "weights [{version i64, num_tokens i64}], routed_experts [i16], weights_sum text, is_judged bool}]}\n"
        "SHOW 1 {samples [{step i64, is_validation bool, prompt text, response text, verdict text, expected text}]}\n"
        "EVAL 2 {samples [{prompt i64, number i64, domain text, tag text, is_judged bool, score f64, answer text?, "
        "num_tokens i64, is_truncated bool}]}\n"
        "PACK 1 {packets [{bytes u32, length u32}]}\n"
        "CONV 1 {ids [i32]}\n"
        "SCOR 1 {score f32}\n"
        "JUDG 1 {name u64, ids [i32]}\n"
        "SAID 1 {text text, is_cut bool}\n"
        "FRST 1 {gradients [{name text, shape [i64]}], traces [{name text, trace {begin_s f64, last_begin_s f64, "
        "last_end_s f64, reduced_s f64, end_s f64, buckets [{bucket i64, bytes i64, ready_s f64, begin_s f64, "
        "end_s f64}]}}]}\n"
        "METR 1 {names [text: enum u8], numbers [f64], lists [[f64]]}\n");
}

TEST_CASE("a rollout travels with all that is known of it", "[train]") {
  const RolloutRecord record{.step = 1,
                             .domain = "math",
                             .prompt_id = "p",
                             .group_index = 2,
                             .sample_index = 3,
                             .is_baseline = true,
                             .prompt = "1+1",
                             .response = std::string("2\0\xFF", 3),
                             .prompt_ids = {4, 5},
                             .response_ids = {6},
                             .log_probs = {-0.1F},
                             .weights = {{.version = 7, .num_tokens = 1}},
                             .finish_reason = "stop",
                             .is_judged = false,
                             .score = 0.25,
                             .reward = -0.5,
                             .reward_detail = {{"why", "because"}},
                             .ground_truth = "2",
                             .tag = "t",
                             .difficulty = 0.125};
  CHECK(decode_message<Rollouts>(encode_message(Rollouts{{record}})).records == std::vector{record});
}

TEST_CASE("a response's facts take 72 bytes and its domain's name, its length 8", "[train]") {
  const auto of = [](size_t count) {
    return std::ssize(encode_message(FactsMessage{std::vector<ResponseFacts>(count, {.domain = "math"})}));
  };
  CHECK(of(0) == 8 + 4);
  CHECK(of(1000) - of(0) == (72 + 4) * 1000);
  CHECK(std::ssize(encode_message(ResponseLengths{std::vector<ResponseLengths::Length>(10)})) == 8 + 4 + 80);
}

TEST_CASE("messages come to those who are to have them, and a rank that sends another one is named", "[train]") {
  const auto said = test::run_local_ranks(3, [](Communicator& ranks) {
    std::string text;
    for (const SamplingContinues& of_rank : all_gather_messages(SamplingContinues{ranks.rank() == 1}, ranks))
      text += of_rank.goes_on ? "1" : "0";
    text += " " + std::to_string(gather_messages(SamplingContinues{}, ranks).size());
    text += " " + std::to_string(static_cast<int>(
                      *broadcast_message(StopWish{static_cast<StopKind>(ranks.rank() + 1)}, 2, ranks).kind));
    const std::string odd = ranks.rank() == 1 ? encode_message(StopWish{}) : encode_message(SamplingContinues{});
    try {
      decode_messages<SamplingContinues>(ranks.all_gather_bytes(odd, "words"), ranks.group());
    } catch (const UserError& error) {
      text += std::string(" ") + error.what();
    }
    return text;
  });
  const std::string odd =
      " decision to continue sampling from rank 1: begins with 'STOP', not with 'MORE': all ranks of a job must run "
      "the same build of roll; start every rank with the same build";
  CHECK(said == std::vector<std::string>{"010 3 3" + odd, "010 0 3" + odd, "010 0 3" + odd});
}

}  // namespace roll
