#include "records/rollout_record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <tuple>

#include "base/error.h"
#include "reward/reward.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// Makes a line of fields.
class LineWriter {
 public:
  explicit LineWriter(const RolloutRecord& record) : record_(record) {}

  template <class T>
  void operator()(const char* key, const T& value) {
    if (writes_defaults_ || value != T()) line_[key] = encode(value);
  }
  Json line() {
    RolloutRecord& fields = const_cast<RolloutRecord&>(record_);  // one list for both directions; writing only reads
    fields.core_fields(*this);
    if (!record_.is_judged) line_["score"] = line_["reward"] = nullptr;
    writes_defaults_ = false;
    fields.rare_fields(*this);
    return std::move(line_);
  }

 private:
  template <class T>
  static Json encode(const T& value) {
    return value;
  }
  static Json encode(double value) { return json_float(value); }
  static Json encode(const std::vector<float>& values) {
    Json list = Json::array();
    for (const float value : values) list.push_back(json_float(value));
    return list;
  }
  static Json encode(const std::vector<Turn>& turns) {
    Json list = Json::array();
    for (const Turn& turn : turns) {
      list.push_back({{"tokens", turn.num_tokens},
                      {"environment_tokens", turn.num_environment_tokens},
                      {"reward", json_float(turn.reward)},
                      {"valid", turn.is_valid},
                      {"state", turn.state}});
      if (turn.is_fresh) list.back()["own_context"] = true;
    }
    return list;
  }
  static Json encode(const std::vector<WeightsRun>& weights) {
    Json list = Json::array();
    for (const auto& [version, num_tokens] : weights) list.push_back({version, num_tokens});
    return list;
  }
  /// A list for each token.
  Json encode(const std::vector<int16_t>& experts) const {
    const int64_t width = std::ssize(experts) / record_.num_routed();
    Json lists = Json::array();
    for (auto first = experts.begin(); first != experts.end(); first += width)
      lists.push_back(Json(std::vector<int16_t>(first, first + width)));
    return lists;
  }

  const RolloutRecord& record_;
  Json line_ = Json::object();
  bool writes_defaults_ = true;
};

}  // namespace

Json to_json(const RolloutRecord& record) {
  return LineWriter(record).line();
}

namespace {

constexpr double kRounding = 1e-3;  // tolerance: a kernel may round the log-prob of a certain token above 0

/// Typed access to the fields of a line; errors name file and line.
class JsonFields {
 public:
  JsonFields(const Json& json, std::string origin) : json_(json), origin_(std::move(origin)) {}

  bool has(const char* key) const { return json_.contains(key); }
  bool is_null(const char* key) const { return has(key) && json_.at(key).is_null(); }
  const Json& at(const char* key, bool (Json::*has_type)() const noexcept, const char* expected) const {
    const auto found = json_.find(key);
    if (found == json_.end())
      throw user_error("{}: {} is missing; a rollout line needs it ({})", origin_, key, expected);
    if (!((*found).*has_type)()) throw wrong_value(key, *found, expected);
    return *found;
  }
  std::string text(const char* key) const { return at(key, &Json::is_string, "a string").get<std::string>(); }
  int64_t integer(const char* key) const { return at(key, &Json::is_number_integer, "an integer").get<int64_t>(); }
  bool flag(const char* key) const { return at(key, &Json::is_boolean, "true or false").get<bool>(); }
  double number(const char* key) const { return at(key, &Json::is_number, "a number").get<double>(); }
  double reward(const char* key) const {
    const double value = number(key);
    if (!(std::abs(value) <= kLargestReward))
      throw wrong_value(key, json_.at(key), fmt::format("within +-{}", kLargestReward));
    return value;
  }
  const Json& array(const char* key) const { return at(key, &Json::is_array, "a list"); }
  UserError wrong_value(const char* key, const Json& value, const std::string& expected) const {
    return user_error("{}: {} = {}: must be {}", origin_, key, to_line(value).substr(0, 60), expected);
  }
  const std::string& origin() const { return origin_; }

 private:
  const Json& json_;
  std::string origin_;
};

bool is_count(const Json& number) {
  return number.is_number_integer() && number.get<int64_t>() >= 0;
}

/// Fills fields from a line.
class LineReader {
 public:
  LineReader(const Json& line, const std::string& origin) : line_(line, origin) {}

  RolloutRecord record() {
    record_.is_judged = !line_.is_null("reward");
    record_.core_fields(*this);
    if (!line_.has("score")) record_.score = record_.reward;
    may_be_missing_ = true;
    record_.rare_fields(*this);
    return std::move(record_);
  }
  template <class T>
  void operator()(const char* key, T& value) {
    constexpr std::array<std::string_view, 3> kAddedLater = {"score", "reward_detail", "difficulty"};
    const bool is_needed = !may_be_missing_ && std::ranges::find(kAddedLater, key) == kAddedLater.end();
    if (is_needed || line_.has(key)) read(key, value);
  }

 private:
  void read(const char* key, int64_t& value) { value = line_.integer(key); }
  void read(const char* key, std::string& value) { value = line_.text(key); }
  void read(const char* key, bool& value) { value = line_.flag(key); }
  void read(const char* key, Json& value) { value = line_.at(key, &Json::is_object, "a mapping"); }
  void read(const char* key, double& value) {
    if (&value == &record_.difficulty)
      value = line_.number(key);
    else if (record_.is_judged)
      value = line_.reward(key);
  }
  void read(const char* key, std::vector<int64_t>& ids) {
    for (const Json& id : line_.array(key)) {
      if (!is_count(id)) throw line_.wrong_value(key, id, "a list of token ids, each >= 0");
      ids.push_back(id.get<int64_t>());
    }
    if (ids.empty()) throw line_.wrong_value(key, line_.array(key), "a list of at least one token id");
  }
  void read(const char* key, std::vector<float>& log_probs) {
    for (const Json& x : line_.array(key)) {
      const bool is_log_prob = x.is_number() && x.get<double>() <= kRounding && std::isfinite(x.get<float>());
      if (!is_log_prob) throw line_.wrong_value(key, x, "a list of finite numbers, none above 0");
      log_probs.push_back(x.get<float>());
    }
    if (log_probs.size() != record_.response_ids.size())
      throw user_error("{}: log_probs has {} entries: must be one for each of the {} response tokens", line_.origin(),
                       log_probs.size(), record_.response_ids.size());
  }
  void read(const char* key, std::vector<WeightsRun>& runs) {
    constexpr const char* kExpected =
        "a list of [version, number of tokens], whose numbers add up to the response's tokens";
    int64_t tokens_left = std::ssize(record_.response_ids);
    for (const Json& run : line_.array(key)) {
      if (!run.is_array() || run.size() != 2 || !std::ranges::all_of(run, is_count))
        throw line_.wrong_value(key, run, kExpected);
      runs.push_back({.version = run[0], .num_tokens = run[1]});
      tokens_left -= std::min(tokens_left + 1, runs.back().num_tokens);
    }
    if (tokens_left != 0) throw line_.wrong_value(key, line_.array(key), kExpected);
  }
  void read(const char* key, std::vector<int16_t>& experts) {
    const Json& lists = line_.array(key);
    // Contexts that end before the response does have -1 for their last token.
    const int64_t smallest = std::ranges::any_of(record_.turns, &Turn::is_fresh) ? -1 : 0;
    const auto is_expert = [&](const Json& e) {
      return e.is_number_integer() && e.get<int64_t>() >= smallest && e.get<int64_t>() <= INT16_MAX;
    };
    for (const Json& token : lists) {
      if (!token.is_array() || token.empty() || token.size() != lists[0].size() ||
          !std::ranges::all_of(token, is_expert))
        throw line_.wrong_value(key, token, "one list of expert indices per token, all of the same length");
      for (const Json& expert : token) experts.push_back(expert.get<int16_t>());
    }
    if (std::ssize(lists) != record_.num_routed())
      throw user_error("{}: {} has {} lists: must be one per token of prompt and response except the last: {}",
                       line_.origin(), key, lists.size(), record_.num_routed());
  }
  void read(const char* key, std::vector<Turn>& turns) {
    constexpr const char* kExpected =
        "a list of {tokens, environment_tokens, reward, valid, state}: the tokens of all turns add up to the "
        "response's, the last turn has no environment_tokens, and a turn with own_context: true follows "
        "environment_tokens, its prompt";
    int64_t tokens_left = std::ssize(record_.response_ids);
    for (const Json& json : line_.array(key)) {
      if (!json.is_object()) throw line_.wrong_value(key, json, kExpected);
      const JsonFields turn(json, fmt::format("{}: {}", line_.origin(), key));
      const bool has_prompt = !turns.empty() && turns.back().num_environment_tokens > 0;
      turns.push_back({.num_tokens = turn.integer("tokens"),
                       .num_environment_tokens = turn.integer("environment_tokens"),
                       .reward = turn.reward("reward"),
                       .is_valid = turn.flag("valid"),
                       .state = turn.integer("state"),
                       .is_fresh = turn.has("own_context") && turn.flag("own_context")});
      const Turn& last = turns.back();
      if (last.num_tokens < 1 || last.num_environment_tokens < 0 || (last.is_fresh && !has_prompt))
        throw line_.wrong_value(key, json, kExpected);
      tokens_left -= std::min(tokens_left + 1, last.num_tokens);
      tokens_left -= std::min(tokens_left + 1, last.num_environment_tokens);
    }
    if (tokens_left != 0 || turns.empty() || turns.back().num_environment_tokens != 0)
      throw line_.wrong_value(key, line_.array(key), kExpected);
  }

  const JsonFields line_;
  RolloutRecord record_;
  bool may_be_missing_ = false;
};

}  // namespace

RolloutRecord record_from_json(const Json& json, const std::string& origin) {
  return LineReader(json, origin).record();
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
            "{}: step {}, group {}, sample {}: {} contains token {}: the model's tokens are 0 to {}; replay rollouts "
            "of a model with this vocabulary",
            origin, record.step, record.group_index, record.sample_index,
            ids == &record.prompt_ids ? "prompt_ids" : "response_ids", largest, vocab_size - 1);
}

void check_routed_experts(const std::vector<RolloutRecord>& records, int64_t width, int64_t num_experts,
                          const std::string& origin) {
  for (const RolloutRecord& r : records) {
    const auto fail = [&](const std::string& problem) {
      throw user_error("{}: step {}, group {}, sample {}: {}", origin, r.step, r.group_index, r.sample_index, problem);
    };
    if (r.routed_experts.empty())
      fail(
          "has no routed_experts, which routing_replay needs; replay rollouts recorded with routing_replay, or set "
          "routing_replay to false");
    const int64_t recorded_width = std::ssize(r.routed_experts) / r.num_routed(),
                  largest = std::ranges::max(r.routed_experts);
    if (recorded_width != width)
      fail(fmt::format("routed_experts has {} experts per token: this model uses {}", recorded_width, width));
    if (largest >= num_experts)
      fail(fmt::format("routed_experts contains expert {}: the model's experts are 0 to {}", largest, num_experts - 1));
  }
}

}  // namespace roll
