#include "reward/reply.h"

#include <algorithm>

#include "base/error.h"

namespace roll {

namespace {

constexpr size_t kShown = 200;

Reply unusable(Reply::Kind kind, std::string_view line, const std::string& why) {
  return {kind, {}, fmt::format("answered {}: {}", said_text(line), why)};
}

/// Parses the line into `json`. Returns kAnswer if it is an object without another question's id.
Reply read_answer(std::string_view line, int64_t id, const std::string& needed_form, Json& json) {
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || line[begin] != '{') return unusable(Reply::Kind::kNoAnswer, line, needed_form);
  try {
    json = parse_json(line, "answer");
  } catch (const UserError&) {  // such as {"reward": NaN}, which Python writes
    return unusable(Reply::Kind::kBadAnswer, line, needed_form);
  }
  if (json.contains("id") && json["id"] != id)
    return unusable(Reply::Kind::kNoAnswer, line, fmt::format("the question's id is {}", id));
  return {};
}

constexpr const char* kRewardWanted = R"({"id": of the question, "reward": number, "detail": {}} is needed)";

/// Converts a parsed answer to a reply: kAnswer, kNoReward or kBadAnswer.
Reply make_reply(const Json& json, std::string_view line) {
  if (!json.is_object()) return unusable(Reply::Kind::kBadAnswer, line, kRewardWanted);
  if (json.contains("error") && json["error"].is_string())
    return {Reply::Kind::kNoReward, {}, json["error"].get<std::string>()};
  if (!json.contains("reward") || !json["reward"].is_number())
    return unusable(Reply::Kind::kBadAnswer, line, kRewardWanted);
  Reply reply{Reply::Kind::kAnswer, judged(json["reward"].get<double>())};
  if (json.contains("detail")) reply.result.detail = json["detail"];
  if (!reply.result.detail.is_object()) reply.result.detail = Json{{"detail", reply.result.detail}};
  return reply;
}

}  // namespace

std::string said_text(std::string_view line) {
  return to_line(Json(std::string(line.substr(0, kShown)))) + (line.size() > kShown ? " ..." : "");
}

Reply parse_reply(std::string_view line, int64_t id) {
  Json json;
  Reply reply = read_answer(line, id, kRewardWanted, json);
  return reply.kind == Reply::Kind::kAnswer ? make_reply(json, line) : reply;
}

Reply parse_replies(std::string_view line, int64_t id, size_t count, std::vector<Reply>& replies) {
  const std::string needed_form = fmt::format(R"({{"id": of the question, "answers": a list of {}}} is needed)", count);
  Json json;
  Reply whole = read_answer(line, id, needed_form, json);
  if (whole.kind != Reply::Kind::kAnswer) return whole;
  if (json.contains("error")) return make_reply(json, line);
  if (!json.contains("answers") || !json["answers"].is_array() || json["answers"].size() != count)
    return unusable(Reply::Kind::kBadAnswer, line, needed_form);
  for (const Json& answer : json["answers"]) {
    replies.push_back(make_reply(answer, line));
    if (replies.back().kind == Reply::Kind::kBadAnswer) return replies.back();
  }
  const auto has_reward = [](const Reply& reply) { return reply.kind == Reply::Kind::kAnswer; };
  return std::ranges::any_of(replies, has_reward) ? whole : replies.front();
}

Reply parse_words(std::string_view line, int64_t id, std::string& words) {
  const std::string needed_form = R"({"id": of the question, "text": "..."} is needed)";
  Json json;
  Reply reply = read_answer(line, id, needed_form, json);
  if (reply.kind != Reply::Kind::kAnswer) return reply;
  if (!json.contains("text") || !json["text"].is_string()) return unusable(Reply::Kind::kBadAnswer, line, needed_form);
  words = json["text"].get<std::string>();
  return reply;
}

}  // namespace roll
