#include "decode/device_decoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "decode/attention_splits.h"
#include "decode/device_draws.h"
#include "decode/device_experts.h"
#include "decode/device_sizes.h"
#include "decode/float_weights.h"
#include "decode/rows.h"
#include "model/backbone.h"
#include "model/transformer.h"

namespace roll {

namespace {

at::Tensor concatenated(const std::vector<at::Tensor>& parts) {
  return parts[0].defined() ? at::cat(parts).detach() : at::Tensor();
}

template <class T>
class DeviceDecoderImpl : public DeviceDecoder {
 public:
  DeviceDecoderImpl(const Transformer& model, const DecoderSizes& sizes, int64_t num_slots, KernelLauncher& launcher)
      : model_(model),
        sizes_(sizes),
        num_slots_(num_slots),
        launcher_(launcher),
        target_blocks_(2 * launcher.num_processors()),
        tp_(model.parallel().tp_size() > 1 ? model.parallel().tp : nullptr),
        widths_(row_widths(model.spec(), model.parallel().tp_size())),
        draws_(model, widths_, num_slots, launcher),
        experts_(model, widths_.mixture, sizes, launcher) {
    const at::NoGradGuard no_grad;
    const ModelSpec& spec = model.spec();
    hidden_ = spec.hidden_size;
    eps_ = static_cast<float>(spec.rms_norm_eps);
    for (const LayerWeights& weights : model.backbone().layers())
      for (const Block& block : weights.layer())
        DeviceMixers::visit(block.mixer, [&](const auto& mixer) { add_block(mixer, block, weights); });
    embedding_ = plain(model.backbone().embedding().to(model.dtype()));
    final_norm_ = final_norm_weight(model.backbone(), spec);
    for (Angles angles : rope_angles(spec, sizes.max_length)) {
      for (at::Tensor* table : {&angles.cos, &angles.sin, &angles.growth})
        if (table->defined()) *table = table->to(model.device());
      rope_tables_.push_back(std::move(angles));
    }
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
                         .slots = tensor_data<SlotState>(memory_.slots),
                         .tables = tensor_data<int32_t>(memory_.tables)});
    if (updates.num_moves == 0) return;
    CopyPages copy{.moves = updates.moves,
                   .num_moves = updates.num_moves,
                   .num_tensors = 2 * num_caches_,
                   .num_pages = sizes_.num_pages,
                   .page_words = cache_.size(-1) * static_cast<int64_t>(sizeof(T)) / 8,
                   .cache = tensor_data<uint64_t>(cache_)};
    launch(copy);
    if (!memory_.experts.defined()) return;
    copy.num_tensors = 1;
    copy.page_words = static_cast<int64_t>(memory_.experts[0].nbytes()) / 8;
    copy.cache = tensor_data<uint64_t>(memory_.experts);
    launch(copy);
  }

  void run(int64_t num_rows, int64_t num_prompt_rows, int64_t num_draws) override {
    const at::NoGradGuard no_grad;
    num_rows_ = num_rows;
    num_prompt_rows_ = num_prompt_rows;
    start_rows(num_rows);
    for (size_t i = 0; i < blocks_.size(); ++i) {
      std::visit([&](const auto& mixer) { mix(mixer); }, blocks_[i].mixer);
      if (i + 1 < blocks_.size()) add_and_norm(blocks_[i], blocks_[i + 1].norm, nullptr, num_rows);
    }
    if (num_draws == 0) return;
    add_and_norm(blocks_.back(), final_norm_, planned_draws(), num_draws);
    draws_.draw(first_rows(head_input_, num_draws), num_draws, memory_);
  }

 private:
  // Biases and norms are undefined if the model has none. Norms are float32.
  struct AttentionBlock {
    int64_t heads = 0, kv_heads = 0, head_dim = 0;  // on this rank
    float scale = 1;                                // factor of scores
    int64_t cache = 0;                              // index in cache_
    RotaryRule rotary;
    at::Tensor qkv, o, q_norm, k_norm, qkv_bias;
  };
  struct GatedBlock {
    int64_t inner = 0;
    bool is_gelu = false;
    at::Tensor gate_up, down, gate_up_bias;
  };
  struct ExpertsBlock {
    DeviceMixture mixture;
    std::optional<GatedBlock> shared;
  };
  struct DecoderBlock {
    at::Tensor norm;
    std::variant<AttentionBlock, GatedBlock, ExpertsBlock> mixer;
    at::Tensor out_bias;  // bias of the mixer's output
    at::Tensor after;     // norm of the mixer's output
    float scale = 1;      // factor of the mixer's output, behind that norm
  };

  template <class Kernel>
  void launch(const Kernel& kernel) {
    launcher_.launch(AnyKernelOf<T>(kernel));
  }

  void add_block(const Attention& attention, const Block& block, const LayerWeights& weights) {
    const Linear &q = weights[attention.q], &k = weights[attention.k], &v = weights[attention.v];
    AttentionBlock mixer_block{.heads = q.outputs() / attention.head_dim,
                               .kv_heads = k.outputs() / attention.head_dim,
                               .head_dim = attention.head_dim,
                               .scale = static_cast<float>(attention.scale()),
                               .cache = num_caches_++,
                               .rotary = attention.rotary,
                               .qkv = concatenated({merged_weight(q), merged_weight(k), merged_weight(v)}),
                               .o = plain(merged_weight(weights[attention.o])),
                               .q_norm = norm_weight(weights, attention.q_norm),
                               .k_norm = norm_weight(weights, attention.k_norm),
                               .qkv_bias = concatenated({q.bias, k.bias, v.bias})};
    push_block(std::move(mixer_block), block, weights, weights[attention.o].bias);
  }

  GatedBlock gated_block(const GatedMlp& mlp, const LayerWeights& weights) const {
    const Linear &gate = weights[mlp.gate], &up = weights[mlp.up];
    return {.inner = gate.outputs(),
            .is_gelu = mlp.activation == Activation::kGeluTanh,
            .gate_up = concatenated({merged_weight(gate), merged_weight(up)}),
            .down = plain(merged_weight(weights[mlp.down])),
            .gate_up_bias = concatenated({gate.bias, up.bias})};
  }

  void add_block(const GatedMlp& mlp, const Block& block, const LayerWeights& weights) {
    push_block(gated_block(mlp, weights), block, weights, weights[mlp.down].bias);
  }

  void add_block(const Experts& experts, const Block& block, const LayerWeights& weights) {
    ExpertsBlock mixer_block{.mixture = experts_.make_mixture(experts, weights), .shared = {}};
    if (experts.shared) mixer_block.shared = gated_block(*experts.shared, weights);
    push_block(std::move(mixer_block), block, weights, /*out_bias=*/{});
  }

  void push_block(decltype(DecoderBlock::mixer) mixer, const Block& block, const LayerWeights& weights,
                  const at::Tensor& out_bias) {
    blocks_.push_back({.norm = norm_weight(weights, block.norm),
                       .mixer = std::move(mixer),
                       .out_bias = plain(out_bias),
                       .after = norm_weight(weights, block.after),
                       .scale = static_cast<float>(block.scale)});
  }

  void make_buffers() {
    const auto options = at::TensorOptions().device(model_.device()).dtype(kScalarType<T>);
    const auto rows = [&](int64_t width) { return launcher_.empty({sizes_.max_rows, width}, options); };
    input_ = rows(hidden_);
    const auto wide_rows = [&] { return launcher_.empty({sizes_.max_rows, hidden_}, options.dtype(at::kFloat)); };
    x_ = wide_rows();
    if (tp_ || widths_.mixture.chosen > 0)
      sums_ = wide_rows();
    else
      branch_ = rows(hidden_);
    if (widths_.mixture.chosen > 0 && widths_.inner > 0) shared_ = wide_rows();
    qkv_ = rows(widths_.qkv);
    mixed_ = rows(widths_.mixed);
    gate_up_ = rows(2 * widths_.inner);
    gated_ = rows(widths_.inner);
    rows_ = launcher_.empty({sizes_.max_rows * static_cast<int64_t>(sizeof(StepRow))}, options.dtype(at::kByte));
    head_input_ = launcher_.empty({num_slots_, hidden_}, options);
    tokens_ = vocabulary_shard(model_.spec(), model_.parallel().tp_rank(), model_.parallel().tp_size());
    cache_ = launcher_.empty({num_caches_, 2, sizes_.num_pages, sizes_.page_size * widths_.cached / 2}, options);
    int64_t parts = 0;
    for (const DecoderBlock& block : blocks_)
      if (const auto* attention = std::get_if<AttentionBlock>(&block.mixer))
        parts = std::max(parts, splits_of(*attention).most_parts(sizes_.max_rows));
    parts_ = launcher_.empty({parts}, options.dtype(at::kFloat));
    const auto bytes = [&](int64_t count, size_t size) {
      return at::zeros({count * static_cast<int64_t>(size)}, options.dtype(at::kByte));
    };
    memory_.plan = bytes(1, num_slots_ * sizeof(RowDraw) + sizes_.max_rows * sizeof(StepRow));
    memory_.slots = bytes(num_slots_, sizeof(SlotState));
    memory_.drawn = draws_.make_drawn();
    memory_.experts = experts_.record();
    memory_.tables = at::zeros({num_slots_, pages_for(sizes_.max_length, sizes_.page_size)}, options.dtype(at::kInt));
  }

  const RowDraw* planned_draws() const { return tensor_data<RowDraw>(memory_.plan); }
  const StepRow* planned_rows() const { return reinterpret_cast<const StepRow*>(planned_draws() + num_slots_); }

  AttentionSplits<T> splits_of(const AttentionBlock& block) const {
    return {block.heads, block.kv_heads, block.head_dim, sizes_.max_length, target_blocks_};
  }

  PagedLayer<T> paged_layer(const AttentionBlock& block) const {
    return {.keys = tensor_data<T>(cache_[block.cache][0]),
            .values = tensor_data<T>(cache_[block.cache][1]),
            .tables = tensor_data<int32_t>(memory_.tables),
            .table_width = static_cast<int32_t>(memory_.tables.size(1)),
            .page_size = static_cast<int32_t>(sizes_.page_size),
            .kv_heads = static_cast<int32_t>(block.kv_heads),
            .head_dim = static_cast<int32_t>(block.head_dim),
            .page_factor = PagedLayer<T>::reciprocal(sizes_.page_size)};
  }

  void multiply(const at::Tensor& y, const at::Tensor& x, const at::Tensor& weight) {
    launcher_.multiply(dense_rows(y, num_rows_, weight.size(0)), dense_rows(x, num_rows_, weight.size(1)), weight);
  }

  /// Computes rows_, x_ and the first GEMM's input from the plan. Tensor-parallel ranks sum their shards' embeddings.
  void start_rows(int64_t num_rows) {
    launch(StartRows<T>{.plan = planned_rows(),
                        .rows = tensor_data<StepRow>(rows_),
                        .slots = tensor_data<SlotState>(memory_.slots),
                        .embedding = tensor_data<T>(embedding_),
                        .norm = tensor_data<float>(blocks_.front().norm),
                        .x = tensor_data<float>(x_),
                        .input = tensor_data<T>(input_),
                        .sums = tp_ ? tensor_data<float>(sums_) : nullptr,
                        .num_rows = num_rows,
                        .hidden = hidden_,
                        .first_token = tokens_.begin,
                        .num_tokens = tokens_.end - tokens_.begin,
                        .eps = eps_,
                        .embedding_scale = static_cast<float>(model_.backbone().embedding_scale())});
    if (!tp_) return;
    reduce_sums();
    add_and_norm({}, blocks_.front().norm, nullptr, num_rows);
  }

  /// All-reduces sums_ over the tensor-parallel ranks.
  void reduce_sums() {
    at::Tensor sums = first_rows(sums_, num_rows_);
    tp_->all_reduce_sum(sums, "activations");
  }

  /// Computes the branch, x weight^T without bias. Tensor-parallel ranks all-reduce float32 partial sums, so that they
  /// round no more than one rank does.
  void multiply_to_branch(const at::Tensor& x, const at::Tensor& weight) {
    multiply(sums_.defined() ? sums_ : branch_, x, weight);
    if (tp_) reduce_sums();
  }

  /// Computes branch_ (or sums_) from input_, without the output bias.
  void mix(const AttentionBlock& block) {
    multiply(qkv_, input_, block.qkv);
    const Angles angles = block.rotary.rope < 0 ? Angles() : rope_tables_[static_cast<size_t>(block.rotary.rope)];
    launch(PlaceHeads<T>{.qkv = tensor_data<T>(qkv_),
                         .bias = tensor_data<T>(block.qkv_bias),
                         .q_norm = tensor_data<float>(block.q_norm),
                         .k_norm = tensor_data<float>(block.k_norm),
                         .cos = tensor_data<float>(angles.cos),
                         .sin = tensor_data<float>(angles.sin),
                         .growth = tensor_data<float>(angles.growth),
                         .rows = tensor_data<StepRow>(rows_),
                         .layer = paged_layer(block),
                         .num_rows = num_rows_,
                         .heads = block.heads,
                         .rotated = angles.cos.defined() ? 2 * angles.cos.size(1) : 0,
                         .eps = eps_,
                         .is_interleaved = block.rotary.interleaved});
    attend(block);
    multiply_to_branch(mixed_, block.o);
  }

  void mix(const GatedBlock& block) {
    gate(block);
    multiply_to_branch(gated_, block.down);
  }

  void mix(const ExpertsBlock& block) {
    if (block.shared) {
      gate(*block.shared);
      multiply(shared_, gated_, block.shared->down);
    }
    const MixedRows rows{tensor_data<StepRow>(rows_), num_rows_, dense_rows(input_, num_rows_, hidden_),
                         block.shared ? shared_ : at::Tensor()};
    experts_.mix(block.mixture, rows, memory_.tables, sums_);
    if (tp_) reduce_sums();
  }

  /// Computes gated_ from input_.
  void gate(const GatedBlock& block) {
    multiply(gate_up_, input_, block.gate_up);
    launch(Gate<T>{.gate_up = tensor_data<T>(gate_up_),
                   .bias = tensor_data<T>(block.gate_up_bias),
                   .gated = tensor_data<T>(gated_),
                   .num_rows = num_rows_,
                   .inner = block.inner,
                   .is_gelu = block.is_gelu});
  }

  void attend(const AttentionBlock& block) {
    if (block.head_dim <= 64)
      attend_with<64>(block);
    else if (block.head_dim <= 128)
      attend_with<128>(block);
    else
      attend_with<kMaxHeadDim>(block);
  }

  /// Attends prompt rows, several per block, which share the reads of keys; then decode rows one by one.
  template <int kDim>
  void attend_with(const AttentionBlock& block) {
    AttendPages<T, kDim> kernel{.qkv = tensor_data<T>(qkv_),
                                .rows = tensor_data<StepRow>(rows_),
                                .layer = paged_layer(block),
                                .mixed = tensor_data<T>(mixed_),
                                .parts = tensor_data<float>(parts_),
                                .num_rows = num_prompt_rows_,
                                .heads = block.heads,
                                .rows_per_block = AttendPages<T, kDim>::kQueries,
                                .scale = block.scale};
    if (num_prompt_rows_ > 0) launch(kernel);
    if (num_prompt_rows_ == num_rows_) return;
    kernel.first_row = num_prompt_rows_;
    kernel.num_rows = num_rows_ - num_prompt_rows_;
    kernel.rows_per_block = 1;
    kernel.splits = splits_of(block).for_rows(kernel.num_rows);
    launch(kernel);
    if (kernel.splits > 1)
      launch(CombineParts<T>{.parts = tensor_data<float>(parts_),
                             .rows = tensor_data<StepRow>(rows_),
                             .mixed = tensor_data<T>(mixed_),
                             .first_row = kernel.first_row,
                             .num_rows = kernel.num_rows,
                             .heads = block.heads,
                             .splits = kernel.splits,
                             .head_dim = block.head_dim});
  }

  /// Adds the block's branch to x_ and norms it for the next one, or for the head if `draws` is set.
  void add_and_norm(const DecoderBlock& block, const at::Tensor& norm, const RowDraw* draws, int64_t count) {
    launch(AddNorm<T>{.x = tensor_data<float>(x_),
                      .branch = tensor_data<T>(branch_),
                      .bias = tensor_data<T>(block.out_bias),
                      .after = tensor_data<float>(block.after),
                      .norm = tensor_data<float>(norm),
                      .sums = tensor_data<float>(sums_),
                      .input = tensor_data<T>(draws ? head_input_ : input_),
                      .draws = draws,
                      .num_rows = count,
                      .hidden = hidden_,
                      .eps = eps_,
                      .scale = block.scale});
  }

  const Transformer& model_;
  DecoderSizes sizes_;
  int64_t num_slots_;
  KernelLauncher& launcher_;
  int64_t target_blocks_;  // attention blocks that fill the device
  Communicator* tp_;       // null: no tensor parallelism
  int64_t hidden_ = 0, num_caches_ = 0;
  float eps_ = 0;
  std::vector<DecoderBlock> blocks_;  // all layers
  at::Tensor embedding_, final_norm_;
  TensorShard tokens_;               // vocabulary shard of the embedding
  std::vector<Angles> rope_tables_;  // one per Rope of the model
  at::Tensor cache_;                 // [attention blocks, keys and values, pages, elements per page]
  // x_: residual stream. input_: input of the next GEMM. branch_: mixer output to add to x_; with tensor parallelism or
  // mixtures sums_ (float32) instead. shared_: results of a shared expert.
  at::Tensor x_, input_, qkv_, mixed_, parts_, branch_, sums_, shared_, gate_up_, gated_, rows_, head_input_;
  RowWidths widths_;
  DeviceDraws draws_;
  DeviceExperts<T> experts_;
  StepMemory memory_;
  int64_t num_rows_ = 0, num_prompt_rows_ = 0;  // rows of the current run()
};

}  // namespace

std::unique_ptr<DeviceDecoder> make_device_decoder(const Transformer& model, const DecoderSizes& sizes,
                                                   int64_t num_slots, KernelLauncher& launcher) {
  if (model.dtype() == at::kFloat) return std::make_unique<DeviceDecoderImpl<float>>(model, sizes, num_slots, launcher);
  if (model.dtype() == at::kHalf) return std::make_unique<DeviceDecoderImpl<Fp16>>(model, sizes, num_slots, launcher);
  return std::make_unique<DeviceDecoderImpl<Bf16>>(model, sizes, num_slots, launcher);
}

}  // namespace roll
