#include "experience/moments.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "dist/single.h"
#include "experience/build.h"
#include "tensors.h"

namespace roll {

using testing::list;

TEST_CASE("moments are masked and use n - 1", "[experience]") {
  const Moments moments = masked_moments(list({1, 100, 2, 6}), list({1, 0, 1, 1}));
  CHECK(moments.count == 3);
  CHECK(moments.mean == 3);
  CHECK(moments.variance() == 7);
  CHECK(moments.deviation() == Approx(std::sqrt(7)));
  CHECK(masked_moments(list({5}), list({1})).variance() == 0);
  CHECK(masked_moments(list({5}), list({0})).mean == 0);
}

TEST_CASE("moments keep their digits however far the mean lies", "[experience]") {
  CHECK(masked_moments(at::arange(10, at::kDouble) + 1e9, at::ones({10})).variance() == Approx(55. / 6));
}

TEST_CASE("whitening needs two values and leaves nothing outside the mask", "[experience]") {
  const auto alone = make_single_communicator();
  CHECK(at::equal(whiten(list({3, 7}), list({1, 0}), *alone), list({3, 0})));
  CHECK(at::equal(whiten(list({3, 7}), list({0, 0}), *alone), list({0, 0})));
  CHECK(at::equal(whiten(list({3, 3}), list({1, 1}), *alone), list({0, 0})));
  CHECK(at::allclose(whiten(list({1, 3, 50}), list({1, 1, 0}), *alone), list({-M_SQRT1_2, M_SQRT1_2, 0})));
}

TEST_CASE("running moments add batch after batch and survive a restart", "[experience]") {
  const at::Tensor values = list({1, 5, 2, 8, -3, 4}), mask = at::ones({6});
  RunningMoments running;
  running.add(masked_moments(values.slice(0, 0, 2), mask.slice(0, 0, 2)));
  running.add(Moments{});  // an empty batch
  RunningMoments resumed;
  resumed.load_state(running.state());
  resumed.add(masked_moments(values.slice(0, 2, 6), mask.slice(0, 2, 6)));
  const Moments whole = masked_moments(values, mask);
  CHECK(resumed.moments().count == 6);
  CHECK(resumed.moments().mean == Approx(whole.mean));
  CHECK(resumed.moments().variance() == Approx(whole.variance()));
}

TEST_CASE("the KL coefficient follows its target in bounded steps, or stays", "[experience]") {
  ExperienceConfig config{.init_kl_coef = 0.1, .kl_horizon = 100};
  KlController fixed(config);
  fixed.update(5, 50);
  CHECK(fixed.coefficient() == 0.1);
  config.target_kl = 0.5;
  KlController adaptive(config);
  adaptive.update(0.55, 50);  // 10 % over
  CHECK(adaptive.coefficient() == Approx(0.1 * 1.05));
  adaptive.update(100, 50);
  CHECK(adaptive.coefficient() == Approx(0.1 * 1.05 * 1.1));
  adaptive.update(0, 50);
  CHECK(adaptive.coefficient() == Approx(0.1 * 1.05 * 1.1 * 0.9));
  KlController resumed(config);
  resumed.load_state(adaptive.state());
  CHECK(resumed.coefficient() == adaptive.coefficient());
}

}  // namespace roll
