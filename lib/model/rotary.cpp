#include "model/rotary.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

namespace roll {

namespace {

/// Long waves are slowed by `factor`, short ones kept, those between blended (Llama 3.1, "llama3" in transformers).
at::Tensor scale_llama3(const at::Tensor& frequencies, const Llama3Scaling& scaling) {
  const auto context = static_cast<double>(scaling.original_max_positions);
  const at::Tensor wavelength = 2 * std::numbers::pi / frequencies;
  const at::Tensor slowed = frequencies / scaling.factor;
  const at::Tensor blend =
      (context / wavelength - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  const at::Tensor blended = (1 - blend) * slowed + blend * frequencies;
  const at::Tensor long_or_short = at::where(wavelength > context / scaling.low_freq_factor, slowed, frequencies);
  const at::Tensor is_medium =
      (wavelength >= context / scaling.high_freq_factor).logical_and(wavelength <= context / scaling.low_freq_factor);
  return at::where(is_medium, blended, long_or_short);
}

}  // namespace

at::Tensor inverse_frequencies(const ModelSpec& spec) {
  const at::Tensor exponents = at::arange(0, spec.head_dim, 2, at::kFloat) / static_cast<double>(spec.head_dim);
  const at::Tensor frequencies = at::reciprocal(at::pow(spec.rope_theta, exponents));
  return spec.rope_scaling ? scale_llama3(frequencies, *spec.rope_scaling) : frequencies;
}

}  // namespace roll
