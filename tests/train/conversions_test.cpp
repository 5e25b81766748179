// Losses and estimators of verl, TRL, slime and OpenRLHF against what their keys convert to: the same gradient.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <numeric>

#include "convert/convert.h"
#include "golden_gradient.h"
#include "settings/load_config.h"

namespace roll {

namespace {

Config converted(const std::string& trainer, const Json& keys) {
  std::vector<ForeignKey> given;
  for (const auto& key : keys) given.push_back({key[0], key[1], "golden:1", ""});
  const std::string yaml = convert_config(given, trainer, 1).yaml;
  CAPTURE(yaml);
  return load_config_text(yaml, "converted.yaml", {}, {.offline = true}).config;
}

}  // namespace

TEST_CASE("each loss and estimator of other trainers has their gradient once it is converted", "[train]") {
  const Json golden = testing::golden_maths("conversions");
  const std::map<std::string, std::string> trainers{
      {"verl", "verl"}, {"TRL", "trl"}, {"slime", "slime"}, {"OpenRLHF", "openrlhf"}};
  for (const auto& [name, its] : golden["cases"].items()) {
    INFO(name);
    const Config config = converted(trainers.at(name.substr(0, name.find(':'))), its["keys"]);
    const Experience step = testing::golden_step(golden, config);
    std::vector<int64_t> all(step.num_sequences());
    std::iota(all.begin(), all.end(), 0);
    const at::Tensor ours = testing::golden_gradient(config, golden, step, all, golden["entropy_factor"]);
    const at::Tensor theirs = testing::floats(its["gradient"]).to(at::kDouble);
    const double cosine = testing::cosine_of(ours, theirs), norms = (ours.norm() / theirs.norm()).item<double>();
    CAPTURE(cosine, norms);
    // TRL divides by a deviation plus 1e-4, ours by one plus 1e-6.
    CHECK(cosine == Approx(1).margin(1e-6));
    CHECK(norms * its["longer"].get<double>() == Approx(1).margin(5e-4));
  }
}

}  // namespace roll
