// Formats of quantised frozen weights, those of bitsandbytes; quantised.h has the layout of their tensors.
#pragma once

#include "base/names.h"

namespace roll {

enum class Quantisation {
  kInt8,  // LLM.int8() (Dettmers et al. 2022): 8 bits per element, a scale per row
  kNf4    // QLoRA (Dettmers et al. 2023): 4 bits per element, which select one of 16 values; a scale per 64 elements
};
constexpr auto enum_names(Quantisation) {
  return std::to_array<Named<Quantisation>>({{Quantisation::kInt8, "int8"}, {Quantisation::kNf4, "nf4"}});
}

constexpr long kNf4Block = 64;  // elements that share a scale in kNf4

}  // namespace roll
