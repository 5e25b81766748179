#include "convert/deciding.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/nearest.h"
#include "config/scalar.h"

namespace roll {

namespace {

constexpr auto kDecidingWords = std::to_array<std::string_view>(
    {"adapter",     "adapters",     "adv",        "advantage",  "advantages", "baseline",      "beta",      "clip",
     "cliprange",   "coef",         "coeff",      "correction", "distill",    "distillation",  "dora",      "dropout",
     "ema",         "entropy",      "epsilon",    "filter",     "filters",    "freeze",        "freezing",  "frozen",
     "gamma",       "icepop",       "importance", "kl",         "lambd",      "lambda",        "lora",      "loss",
     "lr",          "mask",         "masks",      "mtp",        "normalize",  "normalization", "objective", "onpolicy",
     "offpolicy",   "optim",        "opd",        "peft",       "penalty",    "policyloss",    "qat",       "qlora",
     "quant",       "quantization", "quantize",   "rejection",  "reward",     "rewards",       "reweight",  "rslora",
     "standardize", "tau",          "teacher",    "tis",        "trainable",  "weighting",     "whiten"});

}  // namespace

bool decides_training(std::string_view name) {
  const std::string lower = lower_ascii(name);
  std::string word;
  for (size_t i = 0; i <= lower.size(); ++i) {
    const char c = i < lower.size() ? lower[i] : ' ';
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += c;
      continue;
    }
    if (std::ranges::find(kDecidingWords, word) != kDecidingWords.end()) return true;
    word.clear();
  }
  return false;
}

bool is_same(std::string_view value, std::string_view other) {
  const auto number = parse_number(value);
  return value == other || (number && number == parse_number(other));
}

bool is_off(std::string_view value, std::string_view default_value) {
  static constexpr std::array<std::string_view, 11> kOffValues{"",     "false", "False", "FALSE", "null", "None",
                                                               "none", "~",     "[]",    "{}",    "no"};
  return std::ranges::find(kOffValues, value) != kOffValues.end() || is_same(value, "0") ||
         is_same(value, default_value);
}

}  // namespace roll
