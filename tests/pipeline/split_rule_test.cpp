#include "pipeline/split_rule.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/config.h"

using namespace roll;

namespace {

/// "0-3 3-8", or the rule that is broken.
std::string text_of(const StrategyConfig& strategy, int64_t num_layers) {
  const auto found = try_stage_split(strategy, num_layers);
  if (const auto* fault = std::get_if<SplitFault>(&found)) return fault->rule;
  const auto& split = std::get<StageSplit>(found);
  std::string text;
  for (int64_t chunk = 0; chunk < split.num_chunks(); ++chunk)
    for (int64_t s = 0; s < split.num_stages(); ++s)
      text += fmt::format("{}{}-{}",
                          text.empty() ? ""
                          : s          ? " "
                                       : "; ",
                          split.chunk_layers(s, chunk).first, split.chunk_layers(s, chunk).second);
  return text;
}

std::string by_layout(const char* layout, int64_t stages, int64_t num_layers) {
  return text_of({.pipeline_model_parallel_size = stages, .pipeline_model_parallel_layout = layout}, num_layers);
}

}  // namespace

TEST_CASE("Layers are split evenly, by the ends, by what counts as a layer, or by Megatron's text", "[pipeline]") {
  CHECK(text_of({.pipeline_model_parallel_size = 3}, 6) == "0-2 2-4 4-6");
  CHECK(text_of({.pipeline_model_parallel_size = 3, .num_layers_in_first_pipeline_stage = 1}, 5) == "0-1 1-3 3-5");
  CHECK(text_of({.pipeline_model_parallel_size = 3, .num_layers_in_last_pipeline_stage = 1}, 5) == "0-2 2-4 4-5");
  CHECK(text_of({.pipeline_model_parallel_size = 2,
                 .num_layers_in_first_pipeline_stage = 1,
                 .num_layers_in_last_pipeline_stage = 4},
                5) == "0-1 1-5");
  CHECK(text_of({.pipeline_model_parallel_size = 2, .account_for_embedding_in_pipeline_split = true}, 5) == "0-2 2-5");
  CHECK(text_of({.pipeline_model_parallel_size = 2, .account_for_loss_in_pipeline_split = true}, 5) == "0-3 3-5");
  CHECK(text_of({.pipeline_model_parallel_size = 4,
                 .account_for_embedding_in_pipeline_split = true,
                 .account_for_loss_in_pipeline_split = true},
                14) == "0-3 3-7 7-11 11-14");
  CHECK(by_layout("Et|ttt|tL", 3, 5) == "0-1 1-4 4-5");
  CHECK(by_layout("Et*2|(t,t|)*2t*3L", 4, 9) == "0-2 2-4 4-6 6-9");
}

TEST_CASE("Interleaved stages have a chunk of layers each, then each a second one", "[pipeline]") {
  CHECK(text_of({.pipeline_model_parallel_size = 2, .virtual_pipeline_model_parallel_size = 2}, 8) ==
        "0-2 2-4; 4-6 6-8");
  CHECK(text_of({.pipeline_model_parallel_size = 2,
                 .virtual_pipeline_model_parallel_size = 2,
                 .account_for_embedding_in_pipeline_split = true,
                 .account_for_loss_in_pipeline_split = true},
                6) == "0-1 1-3; 3-5 5-6");
  CHECK(text_of({.pipeline_model_parallel_size = 3,
                 .virtual_pipeline_model_parallel_size = 2,
                 .num_layers_in_first_pipeline_stage = 2},
                10) == "0-1 1-3 3-5; 5-6 6-8 8-10");
  CHECK(by_layout("Et|tt|t|L", 2, 4) == "0-1 1-3; 3-4 4-4");
  CHECK(by_layout("E|t|t|tL", 2, 3) == "0-0 0-1; 1-2 2-3");
  CHECK_THAT(text_of({.pipeline_model_parallel_size = 2, .virtual_pipeline_model_parallel_size = 3}, 8),
             Catch::Contains("with 3 chunks of each stage, divide the model's 8 layers"));
  CHECK_THAT(text_of({.pipeline_model_parallel_size = 2,
                      .virtual_pipeline_model_parallel_size = 2,
                      .num_layers_in_last_pipeline_stage = 3},
                     7),
             Catch::Contains("must divide the 3 layers"));
  CHECK_THAT(text_of({.pipeline_model_parallel_size = 2,
                      .virtual_pipeline_model_parallel_size = 2,
                      .pipeline_model_parallel_layout = "Et|tL"},
                     2),
             Catch::Contains("names 2 stages, but pipeline_model_parallel_size = 2, with 2 chunks each"));
  CHECK_THAT(by_layout("Et|t|t|L", 4, 3), Catch::Contains("leaves a stage without a layer"));
  const StageSplit split({1, 2, 0, 3}, 2);
  CHECK(split.stage_layers(0) == std::vector<int64_t>{0});
  CHECK(split.stage_layers(1) == std::vector<int64_t>{1, 2, 3, 4, 5});
  for (const auto& [layer, stage] : {std::pair{-1, 0}, {0, 0}, {1, 1}, {3, 1}, {6, 1}})
    CHECK(split.layer_stage(layer) == stage);
}

TEST_CASE("A split that does not fit says why", "[pipeline]") {
  CHECK_THAT(text_of({.pipeline_model_parallel_size = 2}, 5), Catch::Contains("must divide the model's 5 layers"));
  CHECK_THAT(text_of({.pipeline_model_parallel_size = 4}, 2), Catch::Contains("must divide the model's 2 layers"));
  CHECK_THAT(text_of({.pipeline_model_parallel_size = 3, .num_layers_in_first_pipeline_stage = 2}, 5),
             Catch::Contains("leaves 3 of the model's 5 layers for 2 stages"));
  CHECK_THAT(text_of({.pipeline_model_parallel_size = 2, .account_for_loss_in_pipeline_split = true}, 1),
             Catch::Contains("with at least one layer for each stage"));
  CHECK_THAT(by_layout("Et|tL", 3, 2), Catch::Contains("names 2 stages"));
  CHECK_THAT(by_layout("Et|t|L", 3, 2), Catch::Contains("leaves a stage without a layer"));
  CHECK_THAT(by_layout("Et|ttL", 2, 5), Catch::Contains("has 3 layers, but the model has 5"));
  for (const char* wrong : {"", "tt|t", "Et|t", "t|tL", "Et|mtL", "E(t|tL", "Et)|tL", "Et*|tL", "E*0t|tL",
                            "Et*99999999|tL", "*3Et|tL", "E((t|))tL"})
    CHECK_THAT(by_layout(wrong, 2, 2), Catch::Contains("is not a layout"));
}

TEST_CASE("What lies before the layers is the first stage's, what lies behind them the last one's", "[pipeline]") {
  const StageSplit split({2, 1, 3});
  CHECK(split.layer_stage(-1) == 0);
  CHECK(split.layer_stage(0) == 0);
  CHECK(split.layer_stage(2) == 1);
  CHECK(split.layer_stage(3) == 2);
  CHECK(split.layer_stage(6) == 2);
  CHECK(StageSplit().num_stages() == 1);
  CHECK(StageSplit().layer_stage(5) == 0);
}
