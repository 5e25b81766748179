#include "machine/processor.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>

namespace roll {

namespace {

// Features by which the kernels of ops/simd.h, LibTorch and oneDNN choose their code.
constexpr std::array kFeatures = {"avx2",     "fma",      "avx512f", "avx512_bf16", "avx512_vnni",
                                  "amx_tile", "amx_bf16", "asimd",   "sve",         "bf16"};

}  // namespace

Processor read_processor(const std::filesystem::path& cpuinfo) {
  Processor processor{.model = "unknown", .features = {}};
  std::ifstream file(cpuinfo);
  std::set<std::string> flags;
  for (std::string line; std::getline(file, line) && flags.empty();) {
    const std::string name = line.substr(0, line.find_first_of("\t:"));
    const size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    const std::string value = line.substr(colon + 2);
    if (name == "model name") processor.model = value;
    if (name != "flags" && name != "Features") continue;
    std::istringstream words(value);
    for (std::string word; words >> word;) flags.insert(word);
  }
  std::ranges::copy_if(kFeatures, std::back_inserter(processor.features),
                       [&](const char* feature) { return flags.contains(feature); });
  return processor;
}

bool has_bf16_products(const Processor& processor) {
  static constexpr std::array kProducts = {"avx512_bf16", "amx_bf16", "bf16"};
  return std::ranges::any_of(kProducts, [&](const char* name) {
    return std::ranges::find(processor.features, name) != processor.features.end();
  });
}

}  // namespace roll
