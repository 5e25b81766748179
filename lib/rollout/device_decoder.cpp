#include "rollout/device_decoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "model/rotary.h"
#include "model/transformer.h"
#include "rollout/step_model.h"

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

at::Tensor together(const std::vector<at::Tensor>& parts) {
  return parts[0].defined() ? at::cat(parts).detach() : at::Tensor();
}

at::Tensor plain(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().contiguous() : tensor;
}

template <class T>
class DeviceDecoderOf : public DeviceDecoder {
 public:
  DeviceDecoderOf(const Transformer& model, const DecoderSizes& sizes, int64_t num_slots, KernelLauncher& launcher)
      : model_(model), sizes_(sizes), num_slots_(num_slots), launcher_(launcher) {
    const at::NoGradGuard no_grad;
    const ModelSpec& spec = model.spec();
    heads_ = spec.num_heads, kv_heads_ = spec.num_kv_heads, head_dim_ = spec.head_dim, hidden_ = spec.hidden_size;
    inner_ = spec.intermediate_size, eps_ = static_cast<float>(spec.rms_norm_eps);
    for (const LayerWeights& weights : model.backbone().layers()) add_layer(weights);
    embedding_ = plain(model.backbone().embedding()), final_norm_ = plain(model.backbone().final_norm());
    head_ = plain(model.head_weight());
    const at::Tensor angles = at::outer(at::arange(sizes.max_length, at::kFloat), inverse_frequencies(spec));
    cos_ = angles.cos().to(model.device()), sin_ = angles.sin().to(model.device());
    make_buffers();
    make_memory();
  }

  StepMemory& memory() override { return memory_; }

  void update(const StepUpdates& updates) override {
    const int64_t page_words = kv_heads_ * sizes_.page_size * head_dim_ * static_cast<int64_t>(sizeof(T)) / 8;
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
                       .num_tensors = 2 * std::ssize(layers_),
                       .num_pages = sizes_.num_pages,
                       .page_words = page_words,
                       .cache = data_of<uint64_t>(cache_)});
  }

  void run(int64_t num_rows, int64_t num_draws) override {
    const at::NoGradGuard no_grad;
    num_rows_ = num_rows;
    launch(StartRows<T>{.plan = planned_rows(),
                        .rows = data_of<StepRow>(rows_),
                        .slots = data_of<SlotState>(memory_.slots),
                        .embedding = data_of<T>(embedding_),
                        .norm = data_of<T>(layers_.front().input_norm),
                        .x = data_of<float>(x_),
                        .input = data_of<T>(input_),
                        .num_rows = num_rows,
                        .hidden = hidden_,
                        .eps = eps_});
    for (size_t i = 0; i < layers_.size(); ++i) {
      run_layer(i);
      if (i + 1 < layers_.size()) add_and_norm(layers_[i].down_bias, layers_[i + 1].input_norm, nullptr, num_rows);
    }
    if (num_draws > 0) draw(num_draws);
  }

 private:
  struct Layer {
    at::Tensor qkv, o, gate_up, down, input_norm, post_norm;
    at::Tensor q_norm, k_norm, qkv_bias, o_bias, gate_up_bias, down_bias;  // undefined where the model has none
  };

  template <class Kernel>
  void launch(const Kernel& kernel) {
    launcher_.launch(AnyKernelOf<T>(kernel));
  }

  void add_layer(const LayerWeights& weights) {
    layers_.push_back({.qkv = together({weights.q.weight, weights.k.weight, weights.v.weight}),
                       .o = plain(weights.o.weight),
                       .gate_up = together({weights.gate.weight, weights.up.weight}),
                       .down = plain(weights.down.weight),
                       .input_norm = plain(weights.input_norm),
                       .post_norm = plain(weights.post_norm),
                       .q_norm = plain(weights.q_norm),
                       .k_norm = plain(weights.k_norm),
                       .qkv_bias = together({weights.q.bias, weights.k.bias, weights.v.bias}),
                       .o_bias = plain(weights.o.bias),
                       .gate_up_bias = together({weights.gate.bias, weights.up.bias}),
                       .down_bias = plain(weights.down.bias)});
  }

  void make_buffers() {
    const auto options = at::TensorOptions().device(model_.device()).dtype(kScalarType<T>);
    const auto rows = [&](int64_t width) { return at::empty({sizes_.max_rows, width}, options); };
    x_ = at::empty({sizes_.max_rows, hidden_}, options.dtype(at::kFloat));
    input_ = rows(hidden_), branch_ = rows(hidden_), qkv_ = rows((heads_ + 2 * kv_heads_) * head_dim_);
    mixed_ = rows(heads_ * head_dim_), gate_up_ = rows(2 * inner_), gated_ = rows(inner_);
    rows_ = at::empty({sizes_.max_rows * static_cast<int64_t>(sizeof(StepRow))}, options.dtype(at::kByte));
    head_input_ = at::empty({num_slots_, hidden_}, options);
    logits_ = at::empty({num_slots_, model_.spec().vocab_size}, options.dtype(at::kFloat));
    cache_ = at::empty({std::ssize(layers_), 2, sizes_.num_pages, kv_heads_ * sizes_.page_size * head_dim_}, options);
    int64_t most_parts = 0;
    for (int64_t n = 1; n <= sizes_.max_rows && splits_for(n) > 1; ++n)
      most_parts = std::max(most_parts, n * splits_for(n));
    parts_ = at::empty({most_parts * heads_ * (head_dim_ + 2)}, options.dtype(at::kFloat));
  }

  void make_memory() {
    const auto options = at::TensorOptions().device(model_.device());
    const auto bytes = [&](int64_t count, size_t size) {
      return at::zeros({count * static_cast<int64_t>(size)}, options.dtype(at::kByte));
    };
    memory_.plan = bytes(1, num_slots_ * sizeof(RowDraw) + sizes_.max_rows * sizeof(StepRow));
    memory_.slots = bytes(num_slots_, sizeof(SlotState)), memory_.drawn = bytes(num_slots_, sizeof(DrawnToken));
    memory_.tables = at::zeros({num_slots_, pages_for(sizes_.max_length, sizes_.page_size)}, options.dtype(at::kInt));
  }

  const RowDraw* planned_draws() const { return data_of<RowDraw>(memory_.plan); }
  const StepRow* planned_rows() const { return reinterpret_cast<const StepRow*>(planned_draws() + num_slots_); }

  /// Queries that share a read of their keys.
  int64_t queries() const {
    const int64_t group = heads_ / kv_heads_;
    return group >= 5 ? 8 : group >= 3 ? 4 : group;
  }

  int64_t splits_for(int64_t num_rows) const {
    const int64_t blocks = num_rows * kv_heads_ * ceil_of(heads_ / kv_heads_, queries());
    const int64_t tiles = ceil_of(sizes_.max_length, AttendPages<T, 1>::kTile);
    return std::clamp<int64_t>(ceil_of(kWantedBlocks, blocks), 1, std::min<int64_t>(32, tiles));
  }

  PagedLayer<T> paged(size_t layer) const {
    const int64_t size = cache_[0][0].numel();
    T* const keys = data_of<T>(cache_) + 2 * static_cast<int64_t>(layer) * size;
    return {.keys = keys,
            .values = keys + size,
            .tables = data_of<int32_t>(memory_.tables),
            .table_width = memory_.tables.size(1),
            .page_size = sizes_.page_size,
            .kv_heads = kv_heads_,
            .head_dim = head_dim_};
  }

  void multiply(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight) {
    launcher_.multiply(rows_of(y, num_rows_), rows_of(x, num_rows_), weight);
  }

  void run_layer(size_t index) {
    const Layer& layer = layers_[index];
    multiply(qkv_, input_, layer.qkv);
    launch(PlaceHeads<T>{.qkv = data_of<T>(qkv_),
                         .bias = data_of<T>(layer.qkv_bias),
                         .q_norm = data_of<T>(layer.q_norm),
                         .k_norm = data_of<T>(layer.k_norm),
                         .cos = data_of<float>(cos_),
                         .sin = data_of<float>(sin_),
                         .rows = data_of<StepRow>(rows_),
                         .layer = paged(index),
                         .num_rows = num_rows_,
                         .heads = heads_,
                         .eps = eps_});
    attend(index);
    multiply(branch_, mixed_, layer.o);
    add_and_norm(layer.o_bias, layer.post_norm, nullptr, num_rows_);
    multiply(gate_up_, input_, layer.gate_up);
    launch(Gate<T>{.gate_up = data_of<T>(gate_up_),
                   .bias = data_of<T>(layer.gate_up_bias),
                   .gated = data_of<T>(gated_),
                   .num_rows = num_rows_,
                   .inner = inner_});
    multiply(branch_, gated_, layer.down);
  }

  void attend(size_t layer) {
    const int64_t count = queries();
    if (count == 8)
      attend_with<8>(layer);
    else if (count == 4)
      attend_with<4>(layer);
    else if (count == 2)
      attend_with<2>(layer);
    else
      attend_with<1>(layer);
  }

  template <int kQueries>
  void attend_with(size_t layer) {
    const int64_t splits = splits_for(num_rows_);
    launch(AttendPages<T, kQueries>{.qkv = data_of<T>(qkv_),
                                    .rows = data_of<StepRow>(rows_),
                                    .layer = paged(layer),
                                    .mixed = data_of<T>(mixed_),
                                    .parts = data_of<float>(parts_),
                                    .num_rows = num_rows_,
                                    .heads = heads_,
                                    .splits = splits,
                                    .scale = 1.0f / std::sqrt(static_cast<float>(head_dim_))});
    if (splits == 1) return;
    launch(CombineParts<T>{.parts = data_of<float>(parts_),
                           .rows = data_of<StepRow>(rows_),
                           .mixed = data_of<T>(mixed_),
                           .num_rows = num_rows_,
                           .heads = heads_,
                           .splits = splits,
                           .head_dim = head_dim_});
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
    add_and_norm(layers_.back().down_bias, final_norm_, planned_draws(), num_draws);
    launcher_.multiply(rows_of(logits_, num_draws), rows_of(head_input_, num_draws), head_);
    launch(SampleRows{.logits = data_of<float>(logits_),
                      .stride = logits_.size(1),
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
  int64_t heads_ = 0, kv_heads_ = 0, head_dim_ = 0, hidden_ = 0, inner_ = 0;
  float eps_ = 0;
  std::vector<Layer> layers_;
  at::Tensor embedding_, final_norm_, head_;
  at::Tensor cos_, sin_;  // [max_length, D/2] float32
  at::Tensor cache_;      // [layers, 2, pages, elements of a page]: keys, then values
  // x: the residual stream. input: what the next product reads. branch: what is to be added to x.
  at::Tensor x_, input_, qkv_, mixed_, parts_, branch_, gate_up_, gated_, rows_, head_input_, logits_;
  StepMemory memory_;
  int64_t num_rows_ = 0;  // of the call that runs
};

}  // namespace

bool has_device_kernels(const Transformer& model) {
  const ModelSpec& spec = model.spec();
  return model.parallel().tp_size() == 1 && (model.dtype() == at::kFloat || model.dtype() == at::kBFloat16) &&
         spec.head_dim % 8 == 0 && spec.head_dim <= HeadShared::kMaxHeadDim;
}

int64_t device_decoder_bytes(const Transformer& model, int64_t max_rows, int64_t num_slots) {
  const ModelSpec& spec = model.spec();
  const auto element = static_cast<int64_t>(at::elementSize(model.dtype()));
  const int64_t qkv = (spec.num_heads + 2 * spec.num_kv_heads) * spec.head_dim, hidden = spec.hidden_size;
  const int64_t copies = spec.num_layers * (qkv + 2 * spec.intermediate_size) * (hidden + 1);
  const int64_t row = qkv + spec.num_heads * spec.head_dim + 2 * hidden + 3 * spec.intermediate_size;
  const int64_t wide = max_rows * hidden + num_slots * spec.vocab_size +
                       4 * kWantedBlocks * HeadShared::kMaxHeadDim * spec.num_heads;  // the stream, logits, parts
  return (copies + max_rows * row + num_slots * hidden) * element + wide * static_cast<int64_t>(sizeof(float));
}

std::unique_ptr<DeviceDecoder> make_device_decoder(const Transformer& model, const DecoderSizes& sizes,
                                                   int64_t num_slots, KernelLauncher& launcher) {
  if (model.dtype() == at::kFloat) return std::make_unique<DeviceDecoderOf<float>>(model, sizes, num_slots, launcher);
  return std::make_unique<DeviceDecoderOf<Bf16>>(model, sizes, num_slots, launcher);
}

}  // namespace roll
