#include "records/rollout_files.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "records/written_record.h"

namespace roll {

namespace {

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("roll_test_replay_{}", ::getpid());
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("a rollout line keeps every float32 log-prob to the bit", "[train]") {
  RolloutRecord r = test::written_record(0, 0);
  r.log_probs = {std::nextafter(-0.1f, 0.0f), -0.1f, std::numeric_limits<float>::denorm_min()};
  const auto back = records_from_lines(to_lines({r}), "test");
  REQUIRE(back.size() == 1);
  CHECK(back[0].log_probs == r.log_probs);
  CHECK(to_json(back[0]) == to_json(r));
}

TEST_CASE("a rollout line without a score was not penalised", "[train]") {
  RolloutRecord r = test::written_record(0, 0);
  r.score = 1;
  r.reward = 0.25;
  Json json = to_json(r);
  CHECK(record_from_json(json, "test").score == 1);
  CHECK(record_from_json(json, "test").reward == 0.25);
  json.erase("score");
  CHECK(record_from_json(json, "test").score == 0.25);
}

TEST_CASE("a response that nobody could judge has no numbers in its line", "[train]") {
  RolloutRecord r = test::written_record(0, 0);
  r.is_judged = false;
  r.score = 0;
  r.reward = 0;
  const Json json = to_json(r);
  CHECK(json["score"].is_null());
  CHECK(json["reward"].is_null());
  CHECK(record_from_json(json, "test") == record_from_json(to_json(record_from_json(json, "test")), "test"));
  CHECK_FALSE(record_from_json(json, "test").is_judged);
}

TEST_CASE("a line says which weights drew its tokens, where they are not all the step's own", "[train]") {
  RolloutRecord r = test::written_record(0, 0);
  CHECK_FALSE(to_json(r).contains("weights"));
  r.weights = {{.version = 0, .num_tokens = 1}, {.version = 2, .num_tokens = 2}};
  Json json = to_json(r);
  CHECK(to_line(json["weights"]) == "[[0,1],[2,2]]");
  CHECK(record_from_json(json, "test").weights == r.weights);
  for (const char* wrong : {"[[0,1],[2,1]]", "[[0,1],[2,3]]", "[[0,3],[2,-1]]", "[[-1,3]]",
                            "[[0,9223372036854775807],[0,5]]", "[3]", "[[0]]", "3", "[[0,3,1]]", "[[0,1.5],[1,1.5]]"}) {
    CAPTURE(wrong);
    json["weights"] = parse_json(wrong, "test");
    CHECK_THROWS_AS(record_from_json(json, "test"), UserError);
  }
}

TEST_CASE("a line says which turns have contexts of their own, where there are such", "[train]") {
  RolloutRecord r = test::written_record(0, 0);
  r.turns = {{.num_tokens = 1, .num_environment_tokens = 1}, {.num_tokens = 1, .is_fresh = true}};
  Json json = to_json(r);
  CHECK_FALSE(json["turns"][0].contains("own_context"));
  CHECK(json["turns"][1]["own_context"] == true);
  CHECK(record_from_json(json, "test").turns == r.turns);
  r.routed_experts = {0, 1, -1, 2};  // nothing was drawn from a context's last token
  CHECK(record_from_json(to_json(r), "test").routed_experts == r.routed_experts);
  const auto broken = [&](const std::function<void(Json&)>& change) {
    Json wrong = json;
    change(wrong["turns"]);
    CHECK_THROWS_WITH(record_from_json(wrong, "f.jsonl:4"), Catch::Contains("f.jsonl:4: turns"));
  };
  broken([](Json& turns) { turns[0]["own_context"] = true; });  // its prompt is prompt_ids
  broken([](Json& turns) { turns[1]["own_context"] = 1; });
  broken([](Json& turns) { turns[0]["environment_tokens"] = 0, turns[0]["tokens"] = 2; });
}

TEST_CASE("a line says which experts its tokens went through, where they are recorded", "[train]") {
  RolloutRecord r = test::written_record(0, 0);
  CHECK_FALSE(to_json(r).contains("routed_experts"));
  CHECK_THROWS_WITH(check_routed_experts({r}, 2, 8, "f"),
                    Catch::Contains("f: step 3, group 0, sample 0: has no routed_experts"));
  r.routed_experts = {3, 0, 1, 2, 0, 7, 5, 5};
  Json json = to_json(r);
  CHECK(to_line(json["routed_experts"]) == "[[3,0],[1,2],[0,7],[5,5]]");
  CHECK(record_from_json(json, "test").routed_experts == r.routed_experts);
  CHECK_NOTHROW(check_routed_experts({r}, 2, 8, "f"));
  CHECK_THROWS_WITH(check_routed_experts({r}, 4, 8, "f"),
                    Catch::Contains("routed_experts has 2 experts per token: this model uses 4"));
  CHECK_THROWS_WITH(check_routed_experts({r}, 2, 7, "f"),
                    Catch::Contains("routed_experts contains expert 7: the model's"));
  for (const char* broken :
       {"[[1,2],[3],[1,2],[1,2]]", "[[1],[-1],[1],[1]]", "[1,2,3,4]", "[[1],[40000],[1],[1]]", "[[],[],[],[]]"}) {
    CAPTURE(broken);
    json["routed_experts"] = Json::parse(broken);
    CHECK_THROWS_WITH(record_from_json(json, "f.jsonl:4"), Catch::Contains("f.jsonl:4: routed_experts = "));
  }
  json["routed_experts"] = Json::parse("[[1],[2],[3]]");
  CHECK_THROWS_WITH(record_from_json(json, "f.jsonl:4"),
                    Catch::Contains("routed_experts has 3 lists: must be one per token of prompt and response except"));
}

TEST_CASE("a broken rollout line names file, line and field", "[train]") {
  const auto broken = [](const std::function<void(Json&)>& change, const std::string& message) {
    Json json = to_json(test::written_record(0, 0));
    change(json);
    CHECK_THROWS_WITH(record_from_json(json, "f.jsonl:4"), Catch::Contains("f.jsonl:4") && Catch::Contains(message));
  };
  broken([](Json& j) { j.erase("reward"); }, "reward is missing");
  broken([](Json& j) { j["reward"] = "1"; }, "reward = \"1\"");
  broken([](Json& j) { j["score"] = nullptr; }, "score = null");
  broken([](Json& j) { j["response_ids"] = Json::array(); }, "at least one token");
  broken([](Json& j) { j["response_ids"][1] = -4; }, "response_ids = -4");
  broken([](Json& j) { j["log_probs"].erase(0); }, "log_probs has 2 entries");
  broken([](Json& j) { j["log_probs"][1] = 0.5; }, "log_probs = 0.5: must be a list of finite numbers, none above 0");
  broken([](Json& j) { j["log_probs"][1] = nullptr; }, "log_probs = null");
  broken([](Json& j) { j["log_probs"][1] = -1e300; }, "log_probs = -1e+300");
  broken([](Json& j) { j["group_index"] = 0.5; }, "group_index = 0.5");
  broken([](Json& j) { j["reward"] = 1e308; }, "reward = 1e+308: must be within +-1000000");
  broken([](Json& j) { j["score"] = -1e7; }, "score = -10000000.0");
  broken([](Json& j) { j["reward_detail"] = 3; }, "reward_detail = 3: must be a mapping");
}

TEST_CASE("a replay is sorted into data order and its groups are checked", "[train]") {
  const Folder folder;
  const auto write = [&](const std::vector<RolloutRecord>& records) {
    write_file_atomic(folder.path / "step_000003.jsonl", to_lines(records));
  };
  write(
      {test::written_record(1, 1), test::written_record(0, 1), test::written_record(1, 0), test::written_record(0, 0)});
  const auto records = read_replay(folder.path, 3, 2);
  REQUIRE(records.size() == 4);
  CHECK(records[2].group_index == 1);
  CHECK(records[2].sample_index == 0);
  CHECK_THROWS_WITH(read_replay(folder.path, 3, 4), Catch::Contains("num_return_sequences_in_group = 4"));
  CHECK_THROWS_WITH(read_replay(folder.path, 4, 2), Catch::Contains("step_000004.jsonl"));
  write({test::written_record(0, 0), test::written_record(0, 1), test::written_record(1, 0)});
  CHECK_THROWS_WITH(read_replay(folder.path, 3, 2), Catch::Contains("3 responses: must be a positive multiple"));
  write({test::written_record(0, 0), test::written_record(0, 0)});
  CHECK_THROWS_AS(read_replay(folder.path, 3, 2), UserError);
  RolloutRecord of_another_step = test::written_record(0, 1);
  of_another_step.step = 2;
  write({test::written_record(0, 0), of_another_step});
  CHECK_THROWS_WITH(read_replay(folder.path, 3, 2), Catch::Contains("step = 2: must be 3, as the file's name says"));
  write({test::written_record(0, 0), test::written_record(2, 0)});
  CHECK_THROWS_AS(read_replay(folder.path, 3, 1), UserError);
}

TEST_CASE("a line says that it is a baseline; others say nothing of it", "[train]") {
  RolloutRecord r = test::written_record(0, 2);
  CHECK_FALSE(to_json(r).contains("is_baseline"));
  CHECK_FALSE(record_from_json(to_json(r), "test").is_baseline);
  r.is_baseline = true;
  CHECK(record_from_json(to_json(r), "test").is_baseline);
  Json json = to_json(r);
  json["is_baseline"] = 1;
  CHECK_THROWS_WITH(record_from_json(json, "f:1"), Catch::Contains("is_baseline = 1: must be true or false"));
}

TEST_CASE("a replay gives baselines to those that want them, one to each group", "[train]") {
  const Folder folder;
  const auto baseline = [](int64_t group, int64_t sample = 2) {
    RolloutRecord r = test::written_record(group, sample);
    r.is_baseline = true;
    return r;
  };
  const auto replay = [&](std::vector<RolloutRecord> records, bool with_baselines) {
    for (int64_t group = 0; group < 2; ++group)
      for (int64_t sample = 0; sample < 2; ++sample) records.push_back(test::written_record(group, sample));
    write_file_atomic(folder.path / "step_000003.jsonl", to_lines(records));
    return read_replay(folder.path, 3, 2, with_baselines);
  };
  const auto both = replay({baseline(1), baseline(0)}, true);
  REQUIRE(both.size() == 6);
  for (size_t i = 0; i < both.size(); ++i) {
    CHECK(both[i].group_index == static_cast<int64_t>(i / 3));
    CHECK(both[i].sample_index == static_cast<int64_t>(i % 3));
    CHECK(both[i].is_baseline == (i % 3 == 2));
  }
  CHECK(replay({baseline(1), baseline(0)}, false).size() == 4);
  CHECK_THROWS_WITH(replay({}, true), Catch::Contains("step_000003.jsonl: group 0: greedy responses: 0 "));
  CHECK_THROWS_WITH(replay({baseline(0)}, true), Catch::Contains("group 1: greedy responses: 0 "));
  CHECK_THROWS_WITH(replay({baseline(1)}, true), Catch::Contains("group 0: greedy responses: 0 "));
  CHECK_THROWS_WITH(replay({baseline(0), baseline(0), baseline(1)}, true),
                    Catch::Contains("group 0: greedy responses: 2 "));
  CHECK_THROWS_WITH(replay({baseline(0), baseline(1), baseline(2)}, true),
                    Catch::Contains("group 2: greedy responses: 1 "));
  CHECK_THROWS_WITH(replay({baseline(0), baseline(1, 3)}, true), Catch::Contains("sample_index 2"));
}

TEST_CASE("a replay holds only tokens of the model", "[train]") {
  const std::vector<RolloutRecord> records{test::written_record(0, 0), test::written_record(0, 1)};
  CHECK_NOTHROW(check_vocabulary(records, 10, "f"));
  CHECK_THROWS_WITH(
      check_vocabulary(records, 9, "f"),
      Catch::Contains("f: step 3, group 0, sample 0: response_ids contains token 9: the model's tokens are 0 to 8"));
}

}  // namespace roll
