#include "decode/device_decoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>

#include "model/backbone.h"
#include "model/transformer.h"

namespace roll {

namespace {

constexpr int64_t kWantedBlocks = 264;  // of attention: two for each processor of an H100

int64_t ceil_of(int64_t x, int64_t y) {
  return (x + y - 1) / y;
}

template <class T>
constexpr at::ScalarType kScalarType = std::is_same_v<T, float> ? at::kFloat : at::kBFloat16;

template <class T>
T* data_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.mutable_data_ptr()) : nullptr;
}

at::Tensor rows_of(const at::Tensor& tensor, int64_t count) {
  return tensor.narrow(0, 0, count);
}

/// Rows of so many numbers, one behind the other, in a buffer whose own may be wider.
at::Tensor dense_rows(const at::Tensor& buffer, int64_t count, int64_t width) {
  return buffer.view({-1}).narrow(0, 0, count * width).view({count, width});
}

at::Tensor together(const std::vector<at::Tensor>& parts) {
  return parts[0].defined() ? at::cat(parts).detach() : at::Tensor();
}

at::Tensor plain(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().contiguous() : tensor;
}

/// Numbers of a row of each buffer: the widest of all blocks.
struct RowWidths {
  int64_t qkv = 0, mixed = 0, inner = 0, cached = 0;
  int64_t heads = 0;

  void add(const Attention& attention) {
    qkv = std::max(qkv, attention.q.outputs + attention.k.outputs + attention.v.outputs);
    mixed = std::max(mixed, attention.o.inputs);
    heads = std::max(heads, attention.num_heads);
    cached = std::max(cached, attention.own_cost(1).cached);
  }
  void add(const GatedMlp& mlp) { inner = std::max(inner, mlp.inner); }
};

RowWidths widest(const ModelSpec& spec) {
  RowWidths widths;
  for (const Layer& layer : spec.layers())
    for (const Block& block : layer) DeviceMixers::visit(block.mixer, [&](const auto& mixer) { widths.add(mixer); });
  return widths;
}

/// Numbers of the weights and biases that stand together as copies, or are merged.
int64_t copied(const Attention& attention) {
  return (attention.q.outputs + 2 * attention.k.outputs) * (attention.q.inputs + 1) + merged_numel(attention.o);
}
int64_t copied(const GatedMlp& mlp) {
  return 2 * mlp.inner * (mlp.gate.inputs + 1) + merged_numel(mlp.down);
}

/// `cached`: numbers that a token leaves in each cache.
bool has_kernels(const Attention& attention, int64_t cached) {
  return attention.head_dim % 8 == 0 && attention.head_dim <= kMaxHeadDim && attention.own_cost(1).cached == cached;
}
bool has_kernels(const GatedMlp& mlp, int64_t) {
  return mlp.inner % 4 == 0;
}

template <class T>
class DeviceDecoderOf : public DeviceDecoder {
 public:
  DeviceDecoderOf(const Transformer& model, const DecoderSizes& sizes, int64_t num_slots, KernelLauncher& launcher)
      : model_(model), sizes_(sizes), num_slots_(num_slots), launcher_(launcher) {
    const at::NoGradGuard no_grad;
    const ModelSpec& spec = model.spec();
    hidden_ = spec.hidden_size;
    eps_ = static_cast<float>(spec.rms_norm_eps);
    for (const LayerWeights& weights : model.backbone().layers())
      for (const Block& block : weights.layer())
        DeviceMixers::visit(block.mixer, [&](const auto& mixer) { add_block(mixer, block, weights); });
    embedding_ = plain(model.backbone().embedding().to(model.dtype()));
    final_norm_ = plain(model.backbone().final_norm());
    head_ = plain(model.head_weight());
    const at::Tensor angles = at::outer(at::arange(sizes.max_length, at::kFloat), inverse_frequencies(spec));
    cos_ = angles.cos().to(model.device());
    sin_ = angles.sin().to(model.device());
    make_buffers();
  }

  StepMemory& memory() override { return memory_; }

  void update(const StepUpdates& updates) override {
    if (updates.num_seats + updates.num_entries > 0)
      launch(UpdateSlots{.seats = updates.seats,
                         .entries = updates.entries,
                         .num_seats = updates.num_seats,
                         .num_entries = updates.num_entries,
                         .table_width = memory_.tables.size(1),
                         .slots = data_of<SlotState>(memory_.slots),
                         .tables = data_of<int32_t>(memory_.tables)});
    if (updates.num_moves > 0)
      launch(CopyPages{.moves = updates.moves,
                       .num_moves = updates.num_moves,
                       .num_tensors = 2 * num_caches_,
                       .num_pages = sizes_.num_pages,
                       .page_words = cache_.size(-1) * static_cast<int64_t>(sizeof(T)) / 8,
                       .cache = data_of<uint64_t>(cache_)});
  }

  void run(int64_t num_rows, int64_t num_prompt_rows, int64_t num_draws) override {
    const at::NoGradGuard no_grad;
    num_rows_ = num_rows;
    num_prompt_rows_ = num_prompt_rows;
    launch(StartRows<T>{.plan = planned_rows(),
                        .rows = data_of<StepRow>(rows_),
                        .slots = data_of<SlotState>(memory_.slots),
                        .embedding = data_of<T>(embedding_),
                        .norm = data_of<T>(blocks_.front().norm),
                        .x = data_of<float>(x_),
                        .input = data_of<T>(input_),
                        .num_rows = num_rows,
                        .hidden = hidden_,
                        .eps = eps_});
    for (size_t i = 0; i < blocks_.size(); ++i) {
      std::visit([&](const auto& mixer) { mix(mixer); }, blocks_[i].mixer);
      if (i + 1 < blocks_.size()) add_and_norm(blocks_[i].out_bias, blocks_[i + 1].norm, nullptr, num_rows);
    }
    if (num_draws > 0) draw(num_draws);
  }

 private:
  // Biases and norms are undefined where the model has none.
  struct AttentionBlock {
    Attention sizes;
    int64_t cache = 0;  // which of the caches is its
    at::Tensor qkv, o, q_norm, k_norm, qkv_bias;
  };
  struct GatedBlock {
    int64_t inner = 0;
    at::Tensor gate_up, down, gate_up_bias;
  };
  struct DecoderBlock {
    at::Tensor norm;
    std::variant<AttentionBlock, GatedBlock> mixer;
    at::Tensor out_bias;  // of what the mixer adds to the residual stream
  };

  template <class Kernel>
  void launch(const Kernel& kernel) {
    launcher_.launch(AnyKernelOf<T>(kernel));
  }

  void add_block(const Attention& attention, const Block& block, const LayerWeights& weights) {
    const Linear &q = weights[attention.q], &k = weights[attention.k], &v = weights[attention.v];
    AttentionBlock own{.sizes = attention,
                       .cache = num_caches_++,
                       .qkv = together({merged_weight(q), merged_weight(k), merged_weight(v)}),
                       .o = plain(merged_weight(weights[attention.o])),
                       .q_norm = plain(weights[attention.q_norm]),
                       .k_norm = plain(weights[attention.k_norm]),
                       .qkv_bias = together({q.bias, k.bias, v.bias})};
    blocks_.push_back({plain(weights[block.norm]), std::move(own), plain(weights[attention.o].bias)});
  }

  void add_block(const GatedMlp& mlp, const Block& block, const LayerWeights& weights) {
    const Linear &gate = weights[mlp.gate], &up = weights[mlp.up], &down = weights[mlp.down];
    GatedBlock own{.inner = mlp.inner,
                   .gate_up = together({merged_weight(gate), merged_weight(up)}),
                   .down = plain(merged_weight(down)),
                   .gate_up_bias = together({gate.bias, up.bias})};
    blocks_.push_back({plain(weights[block.norm]), std::move(own), plain(down.bias)});
  }

  void make_buffers() {
    const auto options = at::TensorOptions().device(model_.device()).dtype(kScalarType<T>);
    const auto rows = [&](int64_t width) { return launcher_.empty({sizes_.max_rows, width}, options); };
    const RowWidths widths = widest(model_.spec());
    x_ = launcher_.empty({sizes_.max_rows, hidden_}, options.dtype(at::kFloat));
    input_ = rows(hidden_);
    branch_ = rows(hidden_);
    qkv_ = rows(widths.qkv);
    mixed_ = rows(widths.mixed);
    gate_up_ = rows(2 * widths.inner);
    gated_ = rows(widths.inner);
    rows_ = launcher_.empty({sizes_.max_rows * static_cast<int64_t>(sizeof(StepRow))}, options.dtype(at::kByte));
    head_input_ = launcher_.empty({num_slots_, hidden_}, options);
    const int64_t vocab = model_.spec().vocab_size, stride = ceil_of(vocab, 4) * 4;  // rows begin at 16 bytes
    logits_ = launcher_.empty({num_slots_, stride}, options.dtype(at::kFloat)).narrow(1, 0, vocab);
    cache_ = launcher_.empty({num_caches_, 2, sizes_.num_pages, sizes_.page_size * widths.cached / 2}, options);
    int64_t parts = 0;
    for (const DecoderBlock& block : blocks_)
      if (const auto* attention = std::get_if<AttentionBlock>(&block.mixer))
        parts = std::max(parts, most_parts(attention->sizes));
    parts_ = launcher_.empty({parts}, options.dtype(at::kFloat));
    const auto bytes = [&](int64_t count, size_t size) {
      return at::zeros({count * static_cast<int64_t>(size)}, options.dtype(at::kByte));
    };
    memory_.plan = bytes(1, num_slots_ * sizeof(RowDraw) + sizes_.max_rows * sizeof(StepRow));
    memory_.slots = bytes(num_slots_, sizeof(SlotState));
    memory_.drawn = bytes(num_slots_, sizeof(DrawnToken));
    memory_.tables = at::zeros({num_slots_, pages_for(sizes_.max_length, sizes_.page_size)}, options.dtype(at::kInt));
  }

  const RowDraw* planned_draws() const { return data_of<RowDraw>(memory_.plan); }
  const StepRow* planned_rows() const { return reinterpret_cast<const StepRow*>(planned_draws() + num_slots_); }

  int64_t splits_for(const Attention& sizes, int64_t num_rows) const {
    using Attend = AttendPages<T, kMaxHeadDim>;
    const int64_t blocks =
        num_rows * sizes.num_kv_heads * ceil_of(sizes.num_heads / sizes.num_kv_heads, Attend::kQueries);
    const int64_t pieces = ceil_of(sizes_.max_length, Attend::kTile * Attend::kLanes / kWarp);
    return std::clamp<int64_t>(ceil_of(kWantedBlocks, blocks), 1, std::min<int64_t>(32, pieces));
  }

  /// Numbers of what rows that are split leave for CombineParts.
  int64_t most_parts(const Attention& sizes) const {
    int64_t most = 0;
    for (int64_t n = 1; n <= sizes_.max_rows && splits_for(sizes, n) > 1; ++n)
      most = std::max(most, n * splits_for(sizes, n));
    return most * sizes.num_heads * (sizes.head_dim + 4);
  }

  PagedLayer<T> paged(const AttentionBlock& block) const {
    return {.keys = data_of<T>(cache_[block.cache][0]),
            .values = data_of<T>(cache_[block.cache][1]),
            .tables = data_of<int32_t>(memory_.tables),
            .table_width = static_cast<int32_t>(memory_.tables.size(1)),
            .page_size = static_cast<int32_t>(sizes_.page_size),
            .kv_heads = static_cast<int32_t>(block.sizes.num_kv_heads),
            .head_dim = static_cast<int32_t>(block.sizes.head_dim),
            .page_factor = PagedLayer<T>::page_factor_of(sizes_.page_size)};
  }

  void multiply(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight) {
    launcher_.multiply(dense_rows(y, num_rows_, weight.size(0)), dense_rows(x, num_rows_, weight.size(1)), weight);
  }

  /// input -> branch, without its bias.
  void mix(const AttentionBlock& block) {
    multiply(qkv_, input_, block.qkv);
    launch(PlaceHeads<T>{.qkv = data_of<T>(qkv_),
                         .bias = data_of<T>(block.qkv_bias),
                         .q_norm = data_of<T>(block.q_norm),
                         .k_norm = data_of<T>(block.k_norm),
                         .cos = data_of<float>(cos_),
                         .sin = data_of<float>(sin_),
                         .rows = data_of<StepRow>(rows_),
                         .layer = paged(block),
                         .num_rows = num_rows_,
                         .heads = block.sizes.num_heads,
                         .eps = eps_});
    attend(block);
    multiply(branch_, mixed_, block.o);
  }

  void mix(const GatedBlock& block) {
    multiply(gate_up_, input_, block.gate_up);
    launch(Gate<T>{.gate_up = data_of<T>(gate_up_),
                   .bias = data_of<T>(block.gate_up_bias),
                   .gated = data_of<T>(gated_),
                   .num_rows = num_rows_,
                   .inner = block.inner});
    multiply(branch_, gated_, block.down);
  }

  void attend(const AttentionBlock& block) {
    if (block.sizes.head_dim <= 64)
      attend_with<64>(block);
    else if (block.sizes.head_dim <= 128)
      attend_with<128>(block);
    else
      attend_with<kMaxHeadDim>(block);
  }

  /// Rows of prompts by tiles, which share their keys; then those of single tokens.
  template <int kDim>
  void attend_with(const AttentionBlock& block) {
    AttendPages<T, kDim> kernel{.qkv = data_of<T>(qkv_),
                                .rows = data_of<StepRow>(rows_),
                                .layer = paged(block),
                                .mixed = data_of<T>(mixed_),
                                .parts = data_of<float>(parts_),
                                .num_rows = num_prompt_rows_,
                                .heads = block.sizes.num_heads,
                                .tile = AttendPages<T, kDim>::kQueries,
                                .scale = 1.0f / std::sqrt(static_cast<float>(block.sizes.head_dim))};
    if (num_prompt_rows_ > 0) launch(kernel);
    if (num_prompt_rows_ == num_rows_) return;
    kernel.first_row = num_prompt_rows_;
    kernel.num_rows = num_rows_ - num_prompt_rows_;
    kernel.tile = 1;
    kernel.splits = splits_for(block.sizes, kernel.num_rows);
    launch(kernel);
    if (kernel.splits > 1)
      launch(CombineParts<T>{.parts = data_of<float>(parts_),
                             .rows = data_of<StepRow>(rows_),
                             .mixed = data_of<T>(mixed_),
                             .first_row = kernel.first_row,
                             .num_rows = kernel.num_rows,
                             .heads = block.sizes.num_heads,
                             .splits = kernel.splits,
                             .head_dim = block.sizes.head_dim});
  }

  void add_and_norm(const at::Tensor& bias, const at::Tensor& norm, const RowDraw* draws, int64_t count) {
    launch(AddNorm<T>{.x = data_of<float>(x_),
                      .branch = data_of<T>(branch_),
                      .bias = data_of<T>(bias),
                      .norm = data_of<T>(norm),
                      .input = data_of<T>(draws ? head_input_ : input_),
                      .draws = draws,
                      .num_rows = count,
                      .hidden = hidden_,
                      .eps = eps_});
  }

  void draw(int64_t num_draws) {
    add_and_norm(blocks_.back().out_bias, final_norm_, planned_draws(), num_draws);
    launcher_.multiply(rows_of(logits_, num_draws), rows_of(head_input_, num_draws), head_);
    launch(SampleRows{.logits = data_of<float>(logits_),
                      .stride = logits_.stride(0),
                      .vocab = logits_.size(1),
                      .rows = num_draws,
                      .draws = planned_draws(),
                      .slots = data_of<SlotState>(memory_.slots),
                      .touched = data_of<TouchedToken>(memory_.touched),
                      .untouched = data_of<float>(memory_.untouched),
                      .touched_per_slot = memory_.touched_per_slot,
                      .drawn = data_of<DrawnToken>(memory_.drawn)});
  }

  const Transformer& model_;
  DecoderSizes sizes_;
  int64_t num_slots_;
  KernelLauncher& launcher_;
  int64_t hidden_ = 0, num_caches_ = 0;
  float eps_ = 0;
  std::vector<DecoderBlock> blocks_;  // of all layers
  at::Tensor embedding_, final_norm_, head_;
  at::Tensor cos_, sin_;  // [max_length, D/2] float32
  at::Tensor cache_;      // [caches, 2, pages, elements of a page]: keys, then values
  // x: the residual stream. input: what the next product reads. branch: what is to be added to x.
  at::Tensor x_, input_, qkv_, mixed_, parts_, branch_, gate_up_, gated_, rows_, head_input_, logits_;
  StepMemory memory_;
  int64_t num_rows_ = 0, num_prompt_rows_ = 0;  // of the call that runs
};

}  // namespace

bool has_device_kernels(const Transformer& model) {
  const std::vector<Layer> layers = model.spec().layers();
  bool has_all = model.spec().hidden_size % 4 == 0 && model.parallel().tp_size() == 1 &&
                 (model.dtype() == at::kFloat || model.dtype() == at::kBFloat16) &&
                 DeviceMixers::include_all_of(layers);
  if (!has_all) return false;
  const int64_t cached = widest(model.spec()).cached;  // by all attention: pages are copied in one launch
  for (const Layer& layer : layers)
    for (const Block& block : layer)
      DeviceMixers::visit(block.mixer, [&](const auto& mixer) { has_all = has_all && has_kernels(mixer, cached); });
  return has_all;
}

int64_t device_decoder_bytes(const Transformer& model, int64_t max_rows, int64_t num_slots) {
  const int64_t hidden = model.spec().hidden_size, vocab = model.spec().vocab_size;
  const RowWidths widths = widest(model.spec());
  int64_t copies = 0;
  for (const Layer& layer : model.spec().layers())
    for (const Block& block : layer)
      DeviceMixers::visit(block.mixer, [&](const auto& mixer) { copies += copied(mixer); });
  const int64_t row = widths.qkv + widths.mixed + 2 * hidden + 3 * widths.inner;
  const int64_t wide = max_rows * hidden + num_slots * vocab +
                       4 * kWantedBlocks * kMaxHeadDim * widths.heads;  // the stream, logits, parts
  return (copies + max_rows * row + num_slots * hidden) * static_cast<int64_t>(at::elementSize(model.dtype())) +
         wide * static_cast<int64_t>(sizeof(float));
}

std::unique_ptr<DeviceDecoder> make_device_decoder(const Transformer& model, const DecoderSizes& sizes,
                                                   int64_t num_slots, KernelLauncher& launcher) {
  if (model.dtype() == at::kFloat) return std::make_unique<DeviceDecoderOf<float>>(model, sizes, num_slots, launcher);
  return std::make_unique<DeviceDecoderOf<Bf16>>(model, sizes, num_slots, launcher);
}

}  // namespace roll
