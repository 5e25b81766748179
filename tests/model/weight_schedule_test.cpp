#include "model/weight_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "dist/mesh.h"
#include "model/spec.h"

namespace roll {

namespace {

/// 12 heads over 6 key/value heads: 1, 2, 3, 6 or 12 tensor ranks, the last with copies of key/value heads. The
/// vocabulary and the inner size divide by none of them.
ModelSpec small_spec() {
  return {.vocab_size = 31,
          .hidden_size = 8,
          .intermediate_size = 17,
          .num_layers = 1,
          .num_heads = 12,
          .num_kv_heads = 6,
          .head_dim = 2,
          .qkv_bias = true,
          .o_bias = true,
          .qk_norm = true};
}

/// The same with 2 key/value heads: also 4 tensor ranks.
ModelSpec few_heads() {
  ModelSpec spec = small_spec();
  spec.num_kv_heads = 2;
  return spec;
}

/// Qwen2.5-7B.
ModelSpec large_spec() {
  return {.vocab_size = 152064,
          .hidden_size = 3584,
          .intermediate_size = 18944,
          .num_layers = 28,
          .num_heads = 28,
          .num_kv_heads = 4,
          .head_dim = 128,
          .qkv_bias = true};
}

std::vector<int> ranks_from(int first, int count) {
  std::vector<int> ranks(static_cast<size_t>(count));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

/// Of a layout's rank, or -1.
int64_t tensor_rank(const WeightLayout& layout, int rank) {
  const auto found = std::ranges::find(layout.ranks, rank);
  return found == layout.ranks.end() ? -1 : (found - layout.ranks.begin()) % layout.tp;
}

/// What is counted for each element of a model.
class Elements {
 public:
  explicit Elements(const std::vector<ParameterShape>& parameters) {
    for (const auto& parameter : parameters) {
      const int64_t num_columns = parameter.shape.size() == 1 ? 1 : parameter.shape[1];
      columns_.push_back(num_columns);
      counts_.emplace_back(parameter.shape[0] * num_columns, 0);
    }
  }
  double& at(int64_t parameter, int64_t row, int64_t column) {
    return counts_[parameter].at(row * columns_[parameter] + column);
  }
  void add(const WeightBlock& block) {
    for (int64_t row = block.row; row < block.row + block.num_rows; ++row)
      for (int64_t column = block.column; column < block.column + block.num_columns; ++column)
        at(block.parameter, row, column) += 1;
  }
  void add(const std::map<int, WeightBlocks>& messages) {
    for (const auto& [peer, blocks] : messages)
      for (const WeightBlock& block : blocks) add(block);
  }
  template <class F>
  void for_each(const F& use) {
    for (size_t p = 0; p < counts_.size(); ++p)
      for (size_t i = 0; i < counts_[p].size(); ++i)
        use(p, static_cast<int64_t>(i) / columns_[p], static_cast<int64_t>(i) % columns_[p], counts_[p][i]);
  }

 private:
  std::vector<int64_t> columns_;
  std::vector<std::vector<double>> counts_;
};

struct Case {
  ModelSpec spec;
  WeightLayout trainer, sampler;
  std::vector<ParameterShape> parameters = {};  // of the spec

  WeightSchedule schedule() const { return {spec, parameters, trainer, sampler}; }
  int num_ranks() const { return 1 + std::max(trainer.ranks.back(), sampler.ranks.back()); }
  std::string text() const {
    return fmt::format("tp {} on {} to tp {} on {}", trainer.tp, fmt::join(trainer.ranks, " "), sampler.tp,
                       fmt::join(sampler.ranks, " "));
  }
  /// Whether a rank of a layout has an element.
  bool has(const WeightLayout& layout, int rank, int64_t parameter, int64_t row, int64_t column) const {
    const int64_t tp = tensor_rank(layout, rank);
    if (tp < 0) return false;
    const TensorShard part = make_tensor_shard(parameters[parameter].cut, tp, layout.tp);
    const int64_t place = part.dim == 0 ? row : column;
    const auto in_layout = std::ranges::find(layout.ranks, rank) - layout.ranks.begin();
    const MeshPlace mesh = mesh_place(in_layout, {.cp = layout.cp, .tp = layout.tp, .pp = layout.stages.num_stages()});
    if (mesh.pp != layout.stages.layer_stage(parameters[parameter].layer)) return false;
    const auto& expert = parameters[parameter].expert;
    if (expert && expert->owner(layout.ep) != (mesh.dp * layout.cp + mesh.cp) % layout.ep) return false;
    return part.dim < 0 || (part.begin <= place && place < part.end);
  }
};

std::vector<Case> cases() {
  const auto of = [](const ModelSpec& spec, int first, int count, int64_t tp, int to, int to_count, int64_t to_tp) {
    return Case{spec, {ranks_from(first, count), tp}, {ranks_from(to, to_count), to_tp}};
  };
  const auto staged = [](Case c, int64_t cp, const std::vector<int64_t>& sizes) {
    c.spec.num_layers = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    c.trainer.cp = cp;
    c.trainer.stages = StageSplit(sizes);
    return c;
  };
  const auto sharing_experts = [](Case c, int64_t ep) {
    c.spec.architecture = &find_architecture("qwen3_moe", "test");
    c.spec.qkv_bias = c.spec.o_bias = false;
    c.spec.mixture = MixtureSpec{.routing = {.count = 4, .chosen = 2}, .inner = 9};
    c.trainer.ep = ep;
    return c;
  };
  const ModelSpec six = small_spec(), two = few_heads();
  std::vector<Case> all = {
      staged(of(six, 0, 2, 1, 0, 2, 1), 1, {1, 2}),       // of two stages, to the same ranks
      staged(of(six, 0, 8, 2, 0, 4, 2), 1, {2, 1}),       // of two data ranks, stages and tensor ranks each
      staged(of(two, 1, 12, 2, 10, 4, 4), 2, {1, 1, 1}),  // and context ranks, of three stages
      sharing_experts(staged(of(six, 0, 4, 1, 0, 4, 2), 1, {1, 1}), 2),  // of experts shared within each stage
      sharing_experts(staged(of(six, 0, 8, 1, 6, 2, 1), 2, {1, 1}), 4),  // over data and context ranks
      of(six, 0, 1, 1, 1, 2, 2),                                         // apart
      of(six, 0, 2, 2, 2, 2, 2),                                         // apart, alike
      of(six, 0, 2, 2, 2, 1, 1),                                         //
      of(six, 0, 2, 2, 0, 2, 1),                                         // the same ranks
      of(six, 0, 2, 1, 0, 2, 2),                                         //
      of(two, 0, 4, 2, 0, 4, 4),                                         // to copies of key/value heads
      of(two, 0, 4, 4, 0, 4, 2),                                         // from copies of them
      of(two, 0, 4, 4, 4, 4, 1),                                         //
      of(six, 0, 3, 3, 3, 2, 2),                                         // boundaries that cross
      of(six, 2, 6, 3, 0, 4, 2),                                         // overlapping
      of(six, 0, 12, 12, 12, 3, 3),                                      //
      of(six, 0, 6, 2, 6, 1, 1),                                         // three replicas to one
      of(six, 3, 1, 1, 0, 3, 1),                                         // one to three
      of(six, 0, 4, 2, 1, 2, 2),                                         // shifted groups
      of(six, 0, 3, 1, 1, 5, 1),                                         // some have all of it
      of(two, 0, 8, 4, 6, 5, 1),                                         // copies, overlapping
      {six, {{1, 4, 6, 7}, 2}, {{0, 2, 4, 7, 8, 9}, 3}},
  };
  for (Case& c : all) c.parameters = policy_parameters(c.spec);
  return all;
}

}  // namespace

TEST_CASE("each rank of the sampler gets each element of its part once, from a rank that has it", "[model]") {
  for (const Case& c : cases()) {
    const WeightSchedule schedule = c.schedule();
    int64_t wrong = 0;
    for (int rank = 0; rank < c.num_ranks(); ++rank) {
      const WeightMoves moves = schedule.moves(rank);
      Elements got(c.parameters), kept(c.parameters);
      got.add(moves.receives);
      for (const WeightBlock& block : moves.kept) kept.add(block);
      got.for_each([&](int64_t parameter, int64_t row, int64_t column, double times) {
        const bool has = c.has(c.trainer, rank, parameter, row, column);
        const bool wants = c.has(c.sampler, rank, parameter, row, column);
        wrong += times != (wants && !has) || kept.at(parameter, row, column) != (wants && has);
      });
      for (const auto& [peer, blocks] : moves.sends)
        for (const WeightBlock& block : blocks) {
          const auto has = [&](const WeightLayout& layout, int who) {
            return c.has(layout, who, block.parameter, block.row, block.column) &&
                   c.has(layout, who, block.parameter, block.row + block.num_rows - 1,
                         block.column + block.num_columns - 1);
          };
          wrong += peer == rank || block.numel() == 0 || !has(c.trainer, rank) || !has(c.sampler, peer);
        }
    }
    INFO(c.text());
    CHECK(wrong == 0);
  }
}

TEST_CASE("sender and receiver name the same blocks in the same order", "[model]") {
  for (const Case& c : cases()) {
    std::map<std::pair<int, int>, WeightBlocks> sent, received;
    for (int rank = 0; rank < c.num_ranks(); ++rank) {
      const WeightMoves moves = c.schedule().moves(rank);
      for (const auto& [peer, blocks] : moves.sends) sent[{rank, peer}] = blocks;
      for (const auto& [peer, blocks] : moves.receives) received[{peer, rank}] = blocks;
    }
    INFO(c.text());
    CHECK(sent == received);
  }
}

TEST_CASE("who has an element sends it as often as the others who have it, to a row of each part", "[model]") {
  for (const Case& c : cases()) {
    Elements needed(c.parameters);
    for (int rank = 0; rank < c.num_ranks(); ++rank) needed.add(c.schedule().moves(rank).receives);
    std::vector<double> fair(c.num_ranks());
    needed.for_each([&](int64_t parameter, int64_t row, int64_t column, double times) {
      std::vector<int> holders;
      for (const int rank : c.trainer.ranks)
        if (c.has(c.trainer, rank, parameter, row, column)) holders.push_back(rank);
      for (const int holder : holders) fair[holder] += times / static_cast<double>(std::ssize(holders));
    });
    const auto elements = c.schedule().elements();
    // For each tensor rank of the sampler: what has no copies, what has some, what all have; the widest row is
    // o_proj's.
    const double row = static_cast<double>(3 * c.sampler.tp * c.spec.num_heads * c.spec.head_dim);
    INFO(c.text());
    for (int rank = 0; rank < c.num_ranks(); ++rank)
      CHECK(static_cast<double>(elements[rank].sent) == Approx(fair[rank]).margin(row));
  }
}

TEST_CASE("numbers of elements are those of the lists", "[model]") {
  const auto numel = [](const std::map<int, WeightBlocks>& messages) {
    int64_t total = 0;
    for (const auto& [peer, blocks] : messages)
      for (const WeightBlock& block : blocks) total += block.numel();
    return total;
  };
  for (const Case& c : cases()) {
    const WeightSchedule schedule = c.schedule();
    const std::vector<WeightElements> elements = schedule.elements();
    INFO(c.text());
    CHECK(std::ssize(elements) == c.num_ranks());
    for (int rank = 0; rank < c.num_ranks(); ++rank) {
      const WeightMoves moves = schedule.moves(rank);
      CHECK(elements[rank].sent == numel(moves.sends));
      CHECK(elements[rank].received == numel(moves.receives));
      CHECK(elements[rank].kept == numel({{rank, moves.kept}}));
    }
  }
}

TEST_CASE("what moves is what the sampler's ranks lack, and no rank sends it all", "[model]") {
  const ModelSpec spec = large_spec();
  const int64_t all = spec.num_parameters();
  int64_t whole = 0;  // norms: on every tensor rank
  for (const auto& parameter : policy_parameters(spec))
    if (parameter.cut == Cut{}) whole += parameter.shape[0];
  const auto elements = [&](WeightLayout trainer, WeightLayout sampler) {
    return WeightSchedule(spec, policy_parameters(spec), std::move(trainer), std::move(sampler)).elements();
  };
  // As apart as they can be: each receiver gets its half, each sender sends one.
  auto apart = elements({{0, 1}, 2}, {{2, 3}, 2});
  for (const int rank : {2, 3}) CHECK(apart[rank].received == (all - whole) / 2 + whole);
  for (const int rank : {0, 1}) CHECK(apart[rank].sent == Approx((all + whole) / 2).margin(2 * spec.intermediate_size));
  // From two tensor ranks to whole models there: each lacks the other's half.
  for (const auto& rank : elements({{0, 1}, 2}, {{0, 1}, 1})) {
    CHECK(rank.sent == (all - whole) / 2);
    CHECK(rank.received == (all - whole) / 2);
    CHECK(rank.kept == (all + whole) / 2);
  }
  // From whole models to parts: everybody has it already, and so where layouts agree.
  for (const auto& sampler : {WeightLayout{{0, 1}, 2}, WeightLayout{{0, 1}, 1}, WeightLayout{{1}, 1}})
    for (const auto& rank : elements({{0, 1}, 1}, sampler)) CHECK(rank.sent + rank.received == 0);
  // Four replicas fill one: a quarter each.
  const auto one = elements({{0, 1, 2, 3}, 1}, {{4}, 1});
  CHECK(one[4].received == all);
  for (int rank = 0; rank < 4; ++rank) CHECK(one[rank].sent == Approx(all / 4).margin(spec.intermediate_size));
}

TEST_CASE("a layout that the model does not have is a bug", "[model]") {
  const auto make = [](const WeightLayout& layout) {
    WeightSchedule(small_spec(), policy_parameters(small_spec()), layout, {{0}, 1});
  };
  CHECK_NOTHROW(make({{0, 1, 2}, 3}));
  CHECK_THROWS_WITH(make({ranks_from(0, 5), 5}), Catch::Contains("must divide the model's 12 attention heads"));
  CHECK_THROWS_WITH(make({{0, 1, 2}, 2}), Catch::Contains("tensor ranks are complete"));
}

TEST_CASE("ten thousand ranks of a 7B model: all that is sent is received, and like ranks send as much", "[model]") {
  const ModelSpec spec = large_spec();
  const WeightSchedule schedule(spec, policy_parameters(spec), {ranks_from(0, 6000), 4}, {ranks_from(5000, 5000), 2});
  const std::vector<WeightElements> elements = schedule.elements();
  REQUIRE(elements.size() == 10000);
  int64_t sent = 0, received = 0;
  for (const WeightElements& rank : elements) {
    sent += rank.sent;
    received += rank.received;
  }
  CHECK(sent == received);
  // Ranks 5000 to 5999 keep the parts of their own, so not all tensor ranks are asked for as much.
  const std::vector<int64_t> wanted = {2250, 2500, 2500, 2250};
  for (int tp = 0; tp < 4; ++tp) {
    int64_t least = elements[tp].sent, most = least;
    for (int rank = tp; rank < 6000; rank += 4) {
      least = std::min(least, elements[rank].sent);
      most = std::max(most, elements[rank].sent);
    }
    CHECK(most - least <= 6 * spec.intermediate_size);
    CHECK(static_cast<double>(most) == Approx(spec.num_parameters() / 4.0 * wanted[tp] / 1500.0).epsilon(1e-3));
  }
  const WeightMoves moves = schedule.moves(9999);
  int64_t of_last = 0;
  for (const auto& [peer, blocks] : moves.receives)
    for (const WeightBlock& block : blocks) of_last += block.numel();
  CHECK(of_last == elements[9999].received);
}

}  // namespace roll
