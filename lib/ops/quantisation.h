// How the numbers of a frozen matrix may be kept, in the layout of bitsandbytes.
#pragma once

#include "base/names.h"

namespace roll {

enum class Quantisation {
  kInt8,  // of LLM.int8() (Dettmers et al. 2022): a scale for each row
  kNf4    // of QLoRA (Dettmers et al. 2023): 16 values for which normal numbers are equally likely, a scale for 64
};
constexpr auto names_of(Quantisation) {
  return std::to_array<Named<Quantisation>>({{Quantisation::kInt8, "int8"}, {Quantisation::kNf4, "nf4"}});
}

constexpr long kNf4Block = 64;  // numbers that share a scale

}  // namespace roll
