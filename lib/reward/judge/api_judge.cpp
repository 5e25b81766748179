#include "base/clock.h"
#include "base/error.h"
#include "http/client.h"
#include "reward/judge/chat_answer.h"
#include "reward/judge/judge_model.h"
#include "reward/shared.h"

namespace roll {

namespace {

constexpr double kBytesPerToken = 4;  // estimate, until the server reports its token count

std::string completions_address(std::string url) {
  constexpr std::string_view kPath = "/chat/completions";
  while (url.ends_with('/')) url.pop_back();
  return url.ends_with(kPath) ? url : url + std::string(kPath);
}

RewardResult failure_from(const HttpAnswer& answer) {
  switch (answer.outcome) {
    case HttpAnswer::Outcome::kTimeout:
      return timed_out();
    case HttpAnswer::Outcome::kTooLarge:
      return failed_reward(RewardFailure::kUnparsable, "the judge's server " + answer.reason);
    default:
      return failed_reward(RewardFailure::kUnavailable, "the judge's server: " + answer.reason);
  }
}

class ApiJudge : public JudgeModel {
 public:
  ApiJudge(const LlmJudgeArgs& args, const RuleContext& context)
      : args_(args),
        context_(context),
        limiter_(context.shared->limiter(args.limits)),
        client_(make_client(args, context)),
        has_answered_(context.shared->answered_flag(*args.judge_api_url)) {}

  JudgeReply ask(const Json& messages) override {
    const std::string body = to_line(chat_request(args_, messages));
    const auto expected = static_cast<int64_t>(static_cast<double>(body.size()) / kBytesPerToken) +
                          args_.generating_args.max_new_tokens.value_or(0);
    const RateLimiter::Turn turn = limiter_.take_turn(expected, monotonic_s());
    if (!context_.shared->ending.sleep(turn.start_s - monotonic_s()))
      return failed_reward(RewardFailure::kUnavailable, "not asked, as the run ends");
    const HttpAnswer http = client_.post_json(body, {.timeout_s = context_.timeout_s}, context_.shared->ending);
    if (http.outcome != HttpAnswer::Outcome::kAnswered) return failure_from(http);
    const ChatAnswer answer = parse_chat_answer(http.status, shown(http.body));
    limiter_.settle(turn.number, answer.num_tokens.value_or(expected));
    if (answer.is_refused && !has_answered_) throw_refused(answer);
    if (!answer.failure) {
      has_answered_ = true;
      return JudgeWords{shown(answer.text), answer.is_cut};
    }
    RewardResult result = failed_reward(*answer.failure, "the judge's server: " + shown(answer.reason));
    result.retry_after_s = http.retry_after_s;
    return result;
  }

 private:
  static HttpClient make_client(const LlmJudgeArgs& args, const RuleContext& context) {
    if (!args.judge_api_url)
      throw user_error("{}judge_api_url: missing; give the server's address, such as https://host:8000/v1",
                       context.where);
    if (!args.judge_model_name)
      throw user_error("{}judge_model_name: missing; give the model's name on {}", context.where, *args.judge_api_url);
    try {
      check_http_url(*args.judge_api_url);
    } catch (const UserError& e) {
      throw user_error("{}judge_api_url = {}: {}", context.where, without_user(*args.judge_api_url), e.what());
    }
    try {
      return HttpClient(completions_address(*args.judge_api_url), args.judge_api_key.value_or(Secret()).text);
    } catch (const UserError& e) {
      throw user_error("{}judge_api_key: {}", context.where, e.what());
    }
  }

  /// Removes the API key, which a server may echo, also hidden behind JSON escapes.
  std::string shown(const std::string& text) const {
    return args_.judge_api_key ? without(*args_.judge_api_key, text) : text;
  }

  /// Hides the text before an @, which may be a password.
  static std::string without_user(const std::string& url) {
    const size_t at = url.rfind('@');
    return at == std::string::npos ? url : "..." + url.substr(at);
  }

  [[noreturn]] void throw_refused(const ChatAnswer& answer) const {
    throw user_error(
        "{}judge_api_url = {}: the server answers the first question with {}; check address, "
        "judge_model_name ({}) and judge_api_key ({})",
        context_.where, *args_.judge_api_url, shown(answer.reason), *args_.judge_model_name,
        args_.judge_api_key && !args_.judge_api_key->text.empty() ? "one was sent" : "none was sent");
  }

  LlmJudgeArgs args_;
  RuleContext context_;
  RateLimiter& limiter_;
  HttpClient client_;
  std::atomic<bool>& has_answered_;
};

}  // namespace

Json chat_request(const LlmJudgeArgs& args, const Json& messages) {
  const GeneratingArgs& sampling = args.generating_args;
  Json request{{"model", args.judge_model_name.value_or("")},
               {"messages", messages},
               {"temperature", sampling.do_sample.value_or(true) ? sampling.temperature : 0.0}};
  const auto add = [&](bool acts, const char* key, const auto& value) {
    if (acts) request[key] = value;
  };
  add(sampling.max_new_tokens.has_value(), "max_tokens", sampling.max_new_tokens.value_or(0));
  add(sampling.top_p < 1, "top_p", sampling.top_p);
  add(sampling.top_k > 0, "top_k", sampling.top_k);
  add(sampling.min_p > 0, "min_p", sampling.min_p);
  add(sampling.repetition_penalty != 1, "repetition_penalty", sampling.repetition_penalty);
  add(sampling.presence_penalty != 0, "presence_penalty", sampling.presence_penalty);
  add(sampling.frequency_penalty != 0, "frequency_penalty", sampling.frequency_penalty);
  add(!sampling.stop_strings.empty(), "stop", sampling.stop_strings);
  return request;
}

std::unique_ptr<JudgeModel> make_api_judge(const LlmJudgeArgs& args, const RuleContext& context) {
  return std::make_unique<ApiJudge>(args, context);
}

}  // namespace roll
