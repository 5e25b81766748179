#include "convert/convert.h"

#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <sstream>

#include "base/error.h"
#include "config/yaml.h"

namespace roll {
namespace {

using Catch::Matchers::Contains;

Converted converted(const std::string& script) {
  return convert_config(keys_of_script(script, "s"), "auto", 1);
}

/// The value of the top-level `key` of what is written.
std::string value_in(const Converted& converted, const std::string& key) {
  const Node tree = parse_yaml(converted.yaml, "converted");
  const Node* value = tree.find(key);
  return value ? value->text : "none";
}

}  // namespace

TEST_CASE("a value that YAML would read otherwise is quoted", "[convert]") {
  for (const char* path :
       {"a: b", "[a", "x # y", "'a", "*a", "a\nmax_steps: 1", "[a,\nb]", "${HOME}/m", "${oc.env:HOME}/m"}) {
    INFO(path);
    const ForeignKey key{"actor_rollout_ref.model.path", path, "y:1"};
    CHECK(value_in(convert_config({key}, "verl", 8), "pretrain") == path);
  }
}

TEST_CASE("what has no counterpart stays on its line of the comment", "[convert]") {
  const Converted out = converted("run actor_rollout_ref.model.path=m trainer.nobody_knows='a\nb\tc\nmax_steps: 3'");
  REQUIRE(out.without.size() == 1);
  CHECK_THAT(out.without[0], Contains("trainer.nobody_knows"));
  CHECK(out.without[0].find('\n') == std::string::npos);
  CHECK(value_in(out, "max_steps") == "none");
}

TEST_CASE("no keys, and none that any trainer has, are refused", "[convert]") {
  for (const char* trainer : {"auto", "verl"})
    CHECK_THROWS_WITH(convert_config({}, trainer, 1), Contains("no keys: give a YAML file"));
  CHECK_THROWS_WITH(converted("run a.b=1"), Contains("s:1: a.b: not a key of verl, trl, slime, openrlhf"));
}

TEST_CASE("a count that is none is named with its place", "[convert]") {
  const std::string verl = "run actor_rollout_ref.model.path=m trainer.nnodes=";
  for (const char* count : {"0", "-1", "1.5", "1e300", "2000000"}) {
    INFO(count);
    CHECK_THROWS_WITH(converted(verl + count),
                      Contains("s:1: trainer.nnodes = " + std::string(count) + ": must be a whole number from 1 to"));
  }
  CHECK_THROWS_WITH(converted(verl + "$N"),
                    Contains("s:1: trainer.nnodes = ${oc.env:N}: must be a number; write it out"));
}

TEST_CASE("a passing of TRL's samples makes at least one update, and a step of slime's too", "[convert]") {
  const Converted trl = converted(
      "run --num_generations 8 --per_device_train_batch_size 8 --steps_per_generation null --num_iterations 2 "
      "--gradient_accumulation_steps 1 --max_steps 5 --beta 0.1 --loss_type grpo");
  CHECK(value_in(trl, "max_steps") == "3");
  const Converted slime = converted(
      "run --hf-checkpoint m --rollout-batch-size 2 --n-samples-per-prompt 2 --num-steps-per-rollout 9 --num-rollout "
      "3");
  CHECK_THAT(slime.yaml, Contains("per_device_train_batch_size: 1 "));
}

TEST_CASE("the estimate of the KL in the loss, and the range of a policy loss, are taken over", "[convert]") {
  const auto verl = [](const std::string& keys) {
    const std::string actor = "actor_rollout_ref.actor.";
    std::string script = "run actor_rollout_ref.model.path=m";
    std::istringstream words(keys);
    for (std::string word; words >> word;) script += " " + actor + word;
    return converted(script);
  };
  const std::string kl = "use_kl_loss=True kl_loss_type=";
  CHECK(value_in(verl(kl + "k2"), "kl_loss_penalty") == "mse");
  CHECK(value_in(verl(kl + "kl"), "kl_loss_penalty") == "kl");
  CHECK(value_in(verl(kl + "low_var_kl"), "kl_loss_penalty") == "none");
  CHECK_THAT(fmt::format("{}", fmt::join(verl(kl + "full").differences, "; ")), Contains("kl_loss_type was full"));
  const std::string cispo = verl("policy_loss.loss_mode=cispo clip_ratio_low=10 clip_ratio_high=0.25").yaml;
  CHECK_THAT(cispo, Contains("cispo_epsilon_low: 1.0") && Contains("cispo_epsilon_high: 0.25"));
  CHECK_THAT(cispo, !Contains("use_pg_clip_range"));
  const std::string gmpo = verl("policy_loss.loss_mode=geo_mean clip_ratio_low=0.4 clip_ratio_high=0.5").yaml;
  CHECK_THAT(gmpo, Contains("pg_variant: gmpo") && Contains("gmpo_epsilon_low: 0.4"));
  CHECK_THAT(gmpo, Contains("gmpo_epsilon_high: 0.5"));
}

}  // namespace roll
