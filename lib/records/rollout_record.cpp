#include "records/rollout_record.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <tuple>

#include "base/error.h"
#include "reward/reward.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

Json lists_of_tokens(const RolloutRecord& r) {
  const int64_t count = r.num_routed(), width = std::ssize(r.routed_experts) / count;
  Json lists = Json::array();
  for (auto first = r.routed_experts.begin(); first != r.routed_experts.end(); first += width)
    lists.push_back(Json(std::vector<int16_t>(first, first + width)));
  return lists;
}

}  // namespace

Json to_json(const RolloutRecord& r) {
  Json log_probs = Json::array();
  for (const float x : r.log_probs) log_probs.push_back(json_float(x));
  Json json{{"step", r.step},
            {"domain", r.domain},
            {"prompt_id", r.prompt_id},
            {"group_index", r.group_index},
            {"sample_index", r.sample_index},
            {"prompt", r.prompt},
            {"response", r.response},
            {"prompt_ids", r.prompt_ids},
            {"response_ids", r.response_ids},
            {"log_probs", std::move(log_probs)},
            {"finish_reason", r.finish_reason},
            {"score", r.is_judged ? json_float(r.score) : Json()},
            {"reward", r.is_judged ? json_float(r.reward) : Json()},
            {"reward_detail", r.reward_detail},
            {"ground_truth", r.ground_truth},
            {"tag", r.tag},
            {"difficulty", json_float(r.difficulty)}};
  if (r.is_baseline) json["is_baseline"] = true;
  for (const Turn& turn : r.turns) {
    Json& told = json["turns"].emplace_back(Json{{"tokens", turn.num_tokens},
                                                 {"environment_tokens", turn.num_environment_tokens},
                                                 {"reward", json_float(turn.reward)},
                                                 {"valid", turn.is_valid},
                                                 {"state", turn.state}});
    if (turn.is_fresh) told["own_context"] = true;
  }
  for (const auto& [version, num_tokens] : r.weights) json["weights"].push_back({version, num_tokens});
  if (!r.routed_experts.empty()) json["routed_experts"] = lists_of_tokens(r);
  if (!r.weights_sum.empty()) json["weights_sum"] = r.weights_sum;
  return json;
}

namespace {

constexpr double kRounding = 1e-3;  // tolerance: a kernel may round the log-prob of a certain token above 0

/// Typed access to the fields of a line; errors name file and line.
class Fields {
 public:
  Fields(const Json& json, const std::string& origin) : json_(json), origin_(origin) {}

  const Json& at(const char* key, bool (Json::*is)() const noexcept, const char* what) const {
    const auto found = json_.find(key);
    if (found == json_.end()) throw user_error("{}: {} is missing; a rollout line needs it ({})", origin_, key, what);
    if (!((*found).*is)()) throw bad(key, *found, what);
    return *found;
  }
  bool is_null(const char* key) const { return json_.contains(key) && json_.at(key).is_null(); }
  std::string text(const char* key) const { return at(key, &Json::is_string, "a string").get<std::string>(); }
  int64_t integer(const char* key) const { return at(key, &Json::is_number_integer, "an integer").get<int64_t>(); }
  double number(const char* key) const { return at(key, &Json::is_number, "a number").get<double>(); }
  double reward(const char* key) const {
    const double value = number(key);
    if (!(std::abs(value) <= kLargestReward)) throw bad(key, json_.at(key), fmt::format("within +-{}", kLargestReward));
    return value;
  }
  std::vector<float> log_probs(const char* key) const {
    std::vector<float> values;
    for (const Json& x : array(key)) {
      const bool is_log_prob = x.is_number() && x.get<double>() <= kRounding && std::isfinite(x.get<float>());
      if (!is_log_prob) throw bad(key, x, "a list of finite numbers, none above 0");
      values.push_back(x.get<float>());
    }
    return values;
  }
  const Json& array(const char* key) const { return at(key, &Json::is_array, "a list"); }
  std::vector<WeightsRun> weights(const char* key, size_t num_tokens) const {
    constexpr const char* kWhat = "a list of [version, number of tokens], which together are the response's";
    std::vector<WeightsRun> runs;
    int64_t rest = static_cast<int64_t>(num_tokens);
    for (const Json& run : array(key)) {
      const bool is_run = run.is_array() && run.size() == 2 && std::ranges::all_of(run, [](const Json& number) {
                            return number.is_number_integer() && number.get<int64_t>() >= 0;
                          });
      if (!is_run) throw bad(key, run, kWhat);
      runs.push_back({.version = run[0], .num_tokens = run[1]});
      rest -= std::min(rest + 1, runs.back().num_tokens);
    }
    if (rest != 0) throw bad(key, array(key), kWhat);
    return runs;
  }
  /// `least`: smallest allowed expert index: 0, or -1 if the response has several contexts.
  std::vector<int16_t> routed_experts(const char* key, int64_t num_tokens, int64_t least) const {
    std::vector<int16_t> experts;
    for (const Json& token : array(key)) {
      const auto is_expert = [&](const Json& e) {
        return e.is_number_integer() && e.get<int64_t>() >= least && e.get<int64_t>() <= INT16_MAX;
      };
      if (!token.is_array() || token.empty() || token.size() != array(key)[0].size() ||
          !std::ranges::all_of(token, is_expert))
        throw bad(key, token, "for each token a list of as many experts' numbers as the first one has");
      for (const Json& expert : token) experts.push_back(expert.get<int16_t>());
    }
    if (std::ssize(array(key)) != num_tokens)
      throw user_error("{}: {} has {} lists: must be one for each token of prompt and response but the last, {}",
                       origin_, key, array(key).size(), num_tokens);
    return experts;
  }
  std::vector<Turn> turns(const char* key, size_t num_tokens) const {
    constexpr const char* kWhat =
        "a list of {tokens, environment_tokens, reward, valid, state}, whose tokens together are the response's and "
        "whose last turn is the model's; one with own_context: true has its prompt before it";
    std::vector<Turn> turns;
    int64_t rest = static_cast<int64_t>(num_tokens);
    for (const Json& json : array(key)) {
      if (!json.is_object()) throw bad(key, json, kWhat);
      const std::string origin = fmt::format("{}: {}", origin_, key);
      const Fields turn(json, origin);
      turns.push_back({.num_tokens = turn.integer("tokens"),
                       .num_environment_tokens = turn.integer("environment_tokens"),
                       .reward = turn.reward("reward"),
                       .is_valid = turn.at("valid", &Json::is_boolean, "true or false").get<bool>(),
                       .state = turn.integer("state"),
                       .is_fresh = json.contains("own_context") &&
                                   turn.at("own_context", &Json::is_boolean, "true or false").get<bool>()});
      const Turn& last = turns.back();
      const bool has_prompt = turns.size() > 1 && turns[turns.size() - 2].num_environment_tokens > 0;
      if (last.num_tokens < 1 || last.num_environment_tokens < 0 || (last.is_fresh && !has_prompt))
        throw bad(key, json, kWhat);
      rest -= std::min(rest + 1, last.num_tokens);
      rest -= std::min(rest + 1, last.num_environment_tokens);
    }
    if (rest != 0 || turns.empty() || turns.back().num_environment_tokens != 0) throw bad(key, array(key), kWhat);
    return turns;
  }
  std::vector<int64_t> ids(const char* key) const {
    std::vector<int64_t> ids;
    for (const Json& id : array(key)) {
      if (!id.is_number_integer() || id.get<int64_t>() < 0) throw bad(key, id, "a list of token ids, each >= 0");
      ids.push_back(id.get<int64_t>());
    }
    if (ids.empty()) throw bad(key, array(key), "a list of at least one token id");
    return ids;
  }

 private:
  UserError bad(const char* key, const Json& value, const std::string& what) const {
    return user_error("{}: {} = {}: must be {}", origin_, key, to_line(value).substr(0, 60), what);
  }
  const Json& json_;
  const std::string& origin_;
};

}  // namespace

RolloutRecord record_from_json(const Json& json, const std::string& origin) {
  const Fields f(json, origin);
  RolloutRecord r;
  r.step = f.integer("step");
  r.domain = f.text("domain");
  r.prompt_id = f.text("prompt_id");
  r.group_index = f.integer("group_index");
  r.sample_index = f.integer("sample_index");
  if (json.contains("is_baseline")) r.is_baseline = f.at("is_baseline", &Json::is_boolean, "true or false").get<bool>();
  r.prompt = f.text("prompt");
  r.response = f.text("response");
  r.prompt_ids = f.ids("prompt_ids");
  r.response_ids = f.ids("response_ids");
  r.log_probs = f.log_probs("log_probs");
  if (r.log_probs.size() != r.response_ids.size())
    throw user_error("{}: log_probs has {} entries: must be one per response token, of which there are {}", origin,
                     r.log_probs.size(), r.response_ids.size());
  if (json.contains("turns")) r.turns = f.turns("turns", r.response_ids.size());
  if (json.contains("weights")) r.weights = f.weights("weights", r.response_ids.size());
  const bool has_contexts = std::ranges::any_of(r.turns, &Turn::is_fresh);
  if (json.contains("routed_experts"))
    r.routed_experts = f.routed_experts("routed_experts", r.num_routed(), has_contexts ? -1 : 0);
  if (json.contains("weights_sum")) r.weights_sum = f.text("weights_sum");
  r.finish_reason = f.text("finish_reason");
  r.is_judged = !f.is_null("reward");
  if (r.is_judged) {
    r.reward = f.reward("reward");
    r.score = json.contains("score") ? f.reward("score") : r.reward;
  }
  if (json.contains("reward_detail")) r.reward_detail = f.at("reward_detail", &Json::is_object, "a mapping");
  r.ground_truth = f.text("ground_truth");
  r.tag = f.text("tag");
  if (json.contains("difficulty")) r.difficulty = f.number("difficulty");
  return r;
}

double as_written(double x) {
  ROLL_CHECK(std::isfinite(x), "a rollout's numbers are finite");
  return json_float(x).get<double>();
}

std::string to_lines(const std::vector<RolloutRecord>& records) {
  std::string lines;
  for (const auto& record : records) lines += to_line(to_json(record)) + "\n";
  return lines;
}

std::vector<RolloutRecord> records_from_lines(const std::string& lines, const std::string& origin) {
  std::istringstream in(lines);
  std::vector<RolloutRecord> records;
  for_each_json_line(in, origin, [&](int64_t line, const Json& json) {
    records.push_back(record_from_json(json, fmt::format("{}:{}", origin, line)));
  });
  return records;
}

fs::path numbered(const fs::path& folder, const std::string& prefix, int64_t number, const std::string& extension) {
  return folder / fmt::format("{}{:06}{}", prefix, number, extension);
}

int64_t RolloutRecord::num_model_tokens(int64_t begin, int64_t end) const {
  if (turns.empty()) return end - begin;
  int64_t count = 0, next = 0;
  for (const Turn& turn : turns) {
    const int64_t after = next + turn.num_tokens;
    count += std::max<int64_t>(0, std::min(end, after) - std::max(begin, next));
    next = after + turn.num_environment_tokens;
  }
  return count;
}

void sort_records(std::vector<RolloutRecord>& records) {
  const auto order = [](const RolloutRecord& r) { return std::tuple(r.group_index, r.sample_index); };
  std::stable_sort(records.begin(), records.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
}

void check_vocabulary(const std::vector<RolloutRecord>& records, int64_t vocab_size, const std::string& origin) {
  for (const RolloutRecord& record : records)
    for (const auto* ids : {&record.prompt_ids, &record.response_ids})
      if (const int64_t largest = std::ranges::max(*ids); largest >= vocab_size)
        throw user_error(
            "{}: step {}, group {}, sample {}: {} holds the token {}: the model has 0 to {}; replay what a model with "
            "this vocabulary sampled",
            origin, record.step, record.group_index, record.sample_index,
            ids == &record.prompt_ids ? "prompt_ids" : "response_ids", largest, vocab_size - 1);
}

void check_routed_experts(const std::vector<RolloutRecord>& records, int64_t width, int64_t num_experts,
                          const std::string& origin) {
  for (const RolloutRecord& r : records) {
    const auto fail = [&](const std::string& what) {
      throw user_error("{}: step {}, group {}, sample {}: {}", origin, r.step, r.group_index, r.sample_index, what);
    };
    if (r.routed_experts.empty())
      fail("has no routed_experts, which routing_replay needs; replay what was sampled with it, or set it to false");
    const int64_t own = std::ssize(r.routed_experts) / r.num_routed(), largest = std::ranges::max(r.routed_experts);
    if (own != width)
      fail(fmt::format("routed_experts has {} of a token: of this model's a token goes through {}", own, width));
    if (largest >= num_experts)
      fail(fmt::format("routed_experts holds {}: the model's mixtures have 0 to {}", largest, num_experts - 1));
  }
}

}  // namespace roll
