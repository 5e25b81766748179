#include "model/weight_transfer.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "dist/mesh.h"
#include "dist/single.h"
#include "dist/test_ranks.h"
#include "model/golden.h"
#include "model/init_spec.h"
#include "model/model_folder.h"
#include "model/spec.h"

namespace roll {

using test::run_local_ranks;
using test::TemporaryFolder;

namespace {

/// 12 heads over 6 key/value heads, so that 1, 2, 3 and 12 tensor ranks can share it; 71 and 46 divide by few.
Transformer tiny(uint64_t seed, at::ScalarType dtype = at::kFloat) {
  InitSizes sizes;
  sizes.arch = "qwen3";
  sizes.tie = false;
  sizes.vocab = 71;
  sizes.hidden = 48;
  sizes.layers = 2;
  sizes.heads = 12;
  sizes.kv_heads = 6;
  sizes.intermediate = 46;
  return Transformer::init(make_spec(sizes, {}), seed, at::kCPU, dtype);
}

/// A model where a layout has this rank.
struct Placed {
  Placed(Meshes& meshes, const WeightLayout& layout, const std::filesystem::path& folder, at::ScalarType dtype) {
    RoleMesh& role = meshes.of(layout.ranks, {.tp = layout.tp});
    if (!role.is_here()) return;
    const ModelParallel parallel{.tp = layout.tp > 1 ? &role.mesh().tp() : nullptr};
    model.emplace(Transformer::load(folder, at::kCPU, dtype, parallel));
  }
  Transformer* get() { return model ? &*model : nullptr; }
  std::optional<Transformer> model;
};

std::string differences(const Transformer& model, const Transformer& expected) {
  std::string wrong;
  for (size_t i = 0; i < model.parameters().size(); ++i)
    if (!at::equal(model.parameters()[i].second, expected.parameters()[i].second))
      wrong += model.parameters()[i].first + " ";
  return wrong;
}

struct Layouts {
  WeightLayout trainer, sampler;
};

WeightSchedule schedule_of(const Layouts& layouts) {
  const ModelSpec spec = tiny(1).spec();
  return {spec, policy_parameters(spec), layouts.trainer, layouts.sampler};
}

/// The weights of folder a, as the trainer holds them, brought into the sampler's, which begin as those of b: "" or
/// what differs from a model that was loaded from a, and from theory.
std::string moved(Communicator& ranks, const std::filesystem::path& folder, const Layouts& layouts,
                  at::ScalarType dtype, int64_t bucket_elements) {
  Meshes meshes(ranks);
  Placed from(meshes, layouts.trainer, folder / "a", dtype), to(meshes, layouts.sampler, folder / "b", dtype);
  Placed expected(meshes, layouts.sampler, folder / "a", dtype);
  const WeightSchedule schedule = schedule_of(layouts);
  WeightTransfer transfer(schedule, ranks, bucket_elements);
  ranks.traffic().take();
  transfer.run(from.get(), to.get());
  const TrafficCount count = ranks.traffic().take()["start/world/all_to_all"];
  std::string wrong = to.get() ? differences(*to.model, *expected.model) : "";
  // Each message has 8 bytes for its sum; a bucket is a call.
  std::vector<WeightElements> all = schedule.elements();
  all.resize(ranks.size());  // some may be in no layout
  const int64_t elements = all[ranks.rank()].sent;
  const int64_t rest = count.bytes - elements * static_cast<int64_t>(at::elementSize(dtype));
  const auto num_peers = std::ssize(schedule.moves(ranks.rank()).sends);
  if (rest % 8 != 0 || rest < 8 * num_peers || rest > 8 * num_peers * count.calls)
    wrong += fmt::format("{} bytes for {} elements in {} buckets", count.bytes, elements, count.calls);
  ranks.barrier("all are done");
  return wrong;
}

/// Gives a bit of what arrives another value.
class FlippingRanks : public Communicator {
 public:
  explicit FlippingRanks(Communicator& inner)
      : Communicator({.rank = inner.rank(), .size = inner.size()}), inner_(inner) {}
  std::string_view kind() const override { return inner_.kind(); }
  std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) override {
    return inner_.split(members, group);
  }
  std::vector<std::string> all_gather_bytes(std::string_view local, std::string_view name) override {
    return inner_.all_gather_bytes(local, name);
  }
  std::vector<std::string> gather_bytes(std::string_view local, std::string_view name) override {
    return inner_.gather_bytes(local, name);
  }
  std::unique_ptr<Pending> start_all_gather_bytes(std::string, std::shared_ptr<std::vector<std::string>>,
                                                  std::string_view) override {
    return nullptr;
  }

 protected:
  void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view name) override {
    inner_.all_reduce(tensor, op, name);
  }
  void broadcast_dense(at::Tensor&, int, std::string_view) override {}
  void gather_dense(const at::Tensor&, at::Tensor&, std::string_view) override {}
  void reduce_scatter_dense(const at::Tensor&, at::Tensor&, std::string_view) override {}
  void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                      std::string_view name) override {
    inner_.exchange(out, in, name);
    for (const at::Tensor& tensor : in)
      if (tensor.numel() > 0) static_cast<uint8_t*>(tensor.data_ptr())[tensor.numel() / 2] ^= 1;
  }
  std::unique_ptr<Pending> start(std::function<void()>) override { return nullptr; }

 private:
  Communicator& inner_;
};

}  // namespace

TEST_CASE("weights get into another layout, onto other ranks, to the bit", "[model][dist]") {
  const Layouts layouts = GENERATE(Layouts{{{0, 1}, 2}, {{2, 3}, 2}}, Layouts{{{0, 1, 2, 3}, 2}, {{0, 1, 2, 3}, 1}},
                                   Layouts{{{0, 1, 2, 3}, 1}, {{0, 1, 2, 3}, 2}}, Layouts{{{0, 1, 2}, 3}, {{2, 3}, 2}},
                                   Layouts{{{1, 2, 3}, 1}, {{0, 1}, 1}}, Layouts{{{2}, 1}, {{0, 1, 3}, 3}},
                                   Layouts{{{0, 1, 2, 3}, 2}, {{1, 2}, 2}}, Layouts{{{0, 1, 2, 3}, 2}, {{2, 3}, 2}});
  const auto [dtype, bucket_elements] =
      GENERATE(table<at::ScalarType, int64_t>({{at::kFloat, 1 << 20}, {at::kBFloat16, 300}}));
  const TemporaryFolder folder;
  tiny(1).save(folder / "a");
  tiny(2).save(folder / "b");
  for (const auto& wrong : run_local_ranks(4, [&, type = dtype, bucket = bucket_elements](Communicator& ranks) {
         return moved(ranks, folder.path(), layouts, type, bucket);
       }))
    CHECK(wrong == "");
}

TEST_CASE("weights of more than two dimensions get into another layout, too", "[model][dist]") {
  const TemporaryFolder folder;
  test::write_golden_folder(test::read_golden("qwen3_next"), false, folder / "a");  // its convolutions have three
  const ModelSpec spec = read_spec(folder / "a");
  const auto said = run_local_ranks(3, [&](Communicator& ranks) {
    Meshes meshes(ranks);
    const Layouts layouts = {{{0, 1}, 2}, {{1, 2}, 1}};
    Placed from(meshes, layouts.trainer, folder / "a", at::kFloat);
    Placed to(meshes, layouts.sampler, folder / "a", at::kFloat);
    Placed expected(meshes, layouts.sampler, folder / "a", at::kFloat);
    const at::NoGradGuard no_grad;
    if (to.get())
      for (auto& [name, tensor] : to.model->parameters()) tensor.zero_();
    WeightTransfer({spec, policy_parameters(spec), layouts.trainer, layouts.sampler}, ranks).run(from.get(), to.get());
    return to.get() ? differences(*to.model, *expected.model) : "";
  });
  CHECK(said == std::vector<std::string>(3));
}

TEST_CASE("weights get into another layout, onto other ranks, over MPI", "[mpi]") {
  Communicator& ranks = test::mpi_ranks();
  std::vector<int> others;
  for (int rank = 1; rank < ranks.size(); ++rank) others.push_back(rank);
  const TemporaryFolder folder;
  tiny(1).save(folder / "a");
  tiny(2).save(folder / "b");
  const std::vector<Layouts> all = {{{{0}, 1}, {others, 1}},
                                    {others.size() == 1 ? WeightLayout{{0, 1}, 2} : WeightLayout{{1, 2}, 2}, {{0}, 1}}};
  for (const Layouts& layouts : all)
    for (const int64_t bucket_elements : {500, 1 << 20})
      CHECK(moved(ranks, folder.path(), layouts, at::kFloat, bucket_elements) == "");
}

TEST_CASE("a transfer goes on with weights as they are by then", "[model][dist]") {
  const TemporaryFolder folder;
  tiny(1).save(folder / "a");
  const Layouts layouts{{{0}, 1}, {{1}, 1}};
  const auto said = run_local_ranks(2, [&](Communicator& ranks) {
    Meshes meshes(ranks);
    Placed from(meshes, layouts.trainer, folder / "a", at::kFloat),
        to(meshes, layouts.sampler, folder / "a", at::kFloat);
    WeightTransfer transfer(schedule_of(layouts), ranks);
    transfer.run(from.get(), to.get());
    const auto data = [](const Transformer& model) { return model.parameters()[3].second.data_ptr(); };
    const void* held = to.get() ? data(*to.model) : nullptr;
    const at::NoGradGuard no_grad;
    if (from.get())
      for (auto& [name, tensor] : from.model->parameters()) tensor.add_(1);
    transfer.run(from.get(), to.get());
    if (!to.get()) return std::string();
    Transformer expected = tiny(1);
    for (auto& [name, tensor] : expected.parameters()) tensor.add_(1);
    return differences(*to.model, expected) + (held == data(*to.model) ? "" : "in other memory");
  });
  CHECK(said == std::vector<std::string>(2));
}

TEST_CASE("a bit that changes on the way is a bug that names sender and parameter", "[model][dist]") {
  const TemporaryFolder folder;
  tiny(1).save(folder / "a");
  const Layouts layouts{{{0}, 1}, {{1}, 1}};
  const auto said = run_local_ranks(2, [&](Communicator& ranks) {
    Meshes meshes(ranks);
    Placed from(meshes, layouts.trainer, folder / "a", at::kFloat),
        to(meshes, layouts.sampler, folder / "a", at::kFloat);
    FlippingRanks flipping(ranks);
    WeightTransfer(schedule_of(layouts), flipping).run(from.get(), to.get());
    return std::string();
  });
  CHECK_THAT(said[1],
             Catch::Contains("model.embed_tokens.weight and the weights after it arrive unchanged from rank 0"));
}

TEST_CASE("replicas of the trainer that hold other weights than the first are found out", "[model][dist]") {
  const TemporaryFolder folder;
  tiny(1).save(folder / "a");
  const Layouts layouts{{{0, 1}, 1}, {{2}, 1}};
  const auto said = run_local_ranks(3, [&](Communicator& ranks) {
    Meshes meshes(ranks);
    Placed from(meshes, layouts.trainer, folder / "a", at::kFloat),
        to(meshes, layouts.sampler, folder / "a", at::kFloat);
    const at::NoGradGuard no_grad;
    if (ranks.rank() == 1) from.model->parameters().back().second[70][3] += 1;  // in the second half, which it sends
    WeightTransfer(schedule_of(layouts), ranks).run(from.get(), to.get());
    return std::string();
  });
  CHECK(said[0].empty());
  CHECK_THAT(said[2], Catch::Contains("the sampler has the trainer's weights"));
}

TEST_CASE("who sends weights has them, and who gets them has a place for them", "[model]") {
  const auto first = make_single_communicator({.rank = 0, .size = 2});
  const auto second = make_single_communicator({.rank = 1, .size = 2});
  const WeightSchedule schedule = schedule_of({{{0}, 1}, {{1}, 1}});
  CHECK_THROWS_WITH(WeightTransfer(schedule, *first).run(nullptr, nullptr),
                    Catch::Contains("a rank that sends weights"));
  CHECK_THROWS_WITH(WeightTransfer(schedule, *second).run(nullptr, nullptr),
                    Catch::Contains("a rank that receives weights"));
}

TEST_CASE("weights that are rounded are not those of the trainer", "[model]") {
  const auto alone = make_single_communicator();
  Transformer narrow = tiny(1, at::kBFloat16);
  const Transformer from = tiny(1);
  WeightTransfer transfer(schedule_of({{{0}, 1}, {{0}, 1}}), *alone);
  CHECK_THROWS_WITH(transfer.run(&from, &narrow), Catch::Contains("the sampler has the trainer's weights"));
}

}  // namespace roll
