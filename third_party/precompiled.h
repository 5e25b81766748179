// Precompiled for every source file: what costs seconds to parse. Files still include what they use.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <nlohmann/json.hpp>
