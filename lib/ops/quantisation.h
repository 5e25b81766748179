// Formats of quantised frozen weights, in the layout of bitsandbytes; quantised.h computes them.
#pragma once

#include "base/names.h"

namespace roll {

enum class Quantisation {
  kInt8,  // LLM.int8() (Dettmers et al. 2022): a scale per row
  kNf4    // QLoRA (Dettmers et al. 2023): 16 values, equally likely for normal weights; a scale per 64 elements
};
constexpr auto enum_names(Quantisation) {
  return std::to_array<Named<Quantisation>>({{Quantisation::kInt8, "int8"}, {Quantisation::kNf4, "nf4"}});
}

constexpr long kNf4Block = 64;  // elements that share a scale

}  // namespace roll
