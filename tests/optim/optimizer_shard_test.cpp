// State that some ranks wrote, read by others; tests/e2e/resume_test.py does the same through the binary.
#include "optim/optimizer_shard.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "error_of.h"

namespace roll {

using Catch::Contains;
using test::TemporaryFolder;
using testing::error_of;

namespace {

NamedTensors some_parameters(at::ScalarType dtype) {
  NamedTensors parameters;
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{251, 301}, {7}, {300, 301}, {13, 5}})
    parameters.emplace_back(fmt::format("p{}", parameters.size()), at::zeros(shape, dtype).requires_grad_());
  return parameters;
}

struct SlicedOptimizer {
  SlicedOptimizer(at::ScalarType dtype, int64_t num_slices, int64_t own)
      : parameters(some_parameters(dtype)), optimizer(parameters, {}, {.num_slices = num_slices, .index = own}) {}
  NamedTensors parameters;
  FlatOptimizer optimizer;
};

/// Another number for each element of each parameter's states, whoever holds it.
void fill(FlatOptimizer& optimizer) {
  for (const StatePiece& piece : optimizer.state_pieces())
    for (size_t k = 0; k < piece.states.size(); ++k)
      at::Tensor(piece.states[k].second)
          .copy_(at::arange(piece.begin, piece.end, at::kFloat) * 8 + static_cast<double>(piece.parameter * 1e6 + k));
  optimizer.set_num_steps(9);
}

void write_all(const std::filesystem::path& folder, at::ScalarType dtype, int64_t num_slices) {
  for (int64_t own = 0; own < num_slices; ++own) {
    SlicedOptimizer rank(dtype, num_slices, own);
    fill(rank.optimizer);
    write_optimizer_shard(folder, fmt::format("actor_{:05}", own), optimizer_shard(rank.optimizer, nullptr));
  }
}

/// How many numbers of a rank are not what fill() gives; the rank must hold something.
int64_t num_wrong(const std::filesystem::path& folder, at::ScalarType dtype, int64_t num_slices, int64_t own) {
  SlicedOptimizer rank(dtype, num_slices, own), expected(dtype, num_slices, own);
  fill(expected.optimizer);
  load_optimizer(rank.optimizer, nullptr, folder, "actor");
  REQUIRE(rank.optimizer.num_steps() == 9);
  const auto local = rank.optimizer.state_pieces(), theirs = expected.optimizer.state_pieces();
  REQUIRE((!local.empty() && local.size() == theirs.size()));
  int64_t wrong = 0;
  for (size_t i = 0; i < local.size(); ++i)
    for (size_t k = 0; k < local[i].states.size(); ++k)
      wrong += local[i].states[k].second.ne(theirs[i].states[k].second).sum().item<int64_t>();
  return wrong;
}

}  // namespace

TEST_CASE("optimizer state comes back on any number of slices", "[optim]") {
  for (const auto dtype : {at::kFloat, at::kBFloat16})
    for (const int64_t before : {1, 2, 3}) {
      const TemporaryFolder folder;
      write_all(folder.path(), dtype, before);
      for (const int64_t now : {1, 2, 3, 4})
        for (int64_t own = 0; own < now; ++own) {
          INFO(before << " slices, then " << own << " of " << now);
          CHECK(num_wrong(folder.path(), dtype, now, own) == 0);
        }
    }
}

TEST_CASE("all state of a rank is in its pieces, each element once", "[optim]") {
  int64_t held = 0, whole = 0;
  for (int64_t own = 0; own < 3; ++own) {
    SlicedOptimizer rank(at::kFloat, 3, own);
    fill(rank.optimizer);
    for (const StatePiece& piece : rank.optimizer.state_pieces()) {
      held += piece.end - piece.begin;
      const double first = piece.states[0].second[0].item<double>();  // that no other piece has written over
      CHECK(first == static_cast<double>(static_cast<float>(8.0 * piece.begin + 1e6 * piece.parameter)));
    }
  }
  for (const auto& [name, tensor] : some_parameters(at::kFloat)) whole += tensor.numel();
  CHECK(held == whole);
}

TEST_CASE("state that is missing, torn or of another model is refused", "[optim]") {
  const TemporaryFolder folder;
  write_all(folder.path(), at::kFloat, 2);
  const auto loading = [&] {
    return error_of([&] {
      SlicedOptimizer rank(at::kFloat, 1, 0);
      load_optimizer(rank.optimizer, nullptr, folder.path(), "actor");
    });
  };
  CHECK(loading() == "no error");
  CHECK_THAT(error_of([&] {
               SlicedOptimizer rank(at::kFloat, 1, 0);
               load_optimizer(rank.optimizer, nullptr, folder.path(), "critic");
             }),
             Contains("holds no optimizer state of critic"));
  const std::string about = read_file(folder / "actor_00001.json");
  folder.write("actor_00001.json", "{}");
  CHECK_THAT(loading(), Contains("actor_00001.json: needs steps and parameters"));
  Json changed = parse_json(about, "test");
  changed["parameters"].begin().value()["end"] = 1 << 30;
  folder.write("actor_00001.json", changed.dump());
  CHECK_THAT(loading(), Contains("the file is damaged"));
  changed = parse_json(about, "test");
  for (auto& [name, place] : changed["parameters"].items()) place["shape"] = {1, 251 * 301};
  folder.write("actor_00001.json", changed.dump());
  CHECK_THAT(loading(), Contains("does not fit") || Contains("damaged"));
  std::filesystem::remove(folder / "actor_00001.json");
  CHECK_THAT(loading(), Contains("holds no optimizer state of p") || Contains("is missing"));
}

}  // namespace roll
