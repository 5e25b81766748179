#include "ops/fused_layer.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "device/on_device.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class CudaLayerLauncher : public LayerLauncher {
 public:
  explicit CudaLayerLauncher(at::Device device) : device_(device) {}
  void launch(const LayerKernelOf<float>& kernel) const override { start(kernel); }
  void launch(const LayerKernelOf<Bf16>& kernel) const override { start(kernel); }

 private:
  template <class Kernel>
  void start(const Kernel& kernel) const {
    launch_on(device_, [&](void* stream) { cuda::launch_layer_kernel(kernel, stream); });
  }
  at::Device device_;
};

template <class T>
const T* read(const at::Tensor& x) {
  return x.defined() ? static_cast<const T*>(x.const_data_ptr()) : nullptr;
}

template <class T>
T* written(const at::Tensor& x) {
  return x.defined() ? static_cast<T*>(x.mutable_data_ptr()) : nullptr;
}

/// Calls launcher.launch(make(T{})), with T the element type of x.
template <class F>
void launch(const LayerLauncher& launcher, const at::Tensor& x, const F& make) {
  if (x.scalar_type() == at::kBFloat16)
    launcher.launch(LayerKernelOf<Bf16>(make(Bf16{})));
  else
    launcher.launch(LayerKernelOf<float>(make(0.0f)));
}

/// Keeps a launcher alive for backward.
struct KeptLauncher : torch::CustomClassHolder {
  explicit KeptLauncher(const LayerLauncher& launcher) : launcher(launcher.shared_from_this()) {}
  std::shared_ptr<const LayerLauncher> launcher;
};

void save_launcher(AutogradContext* ctx, const LayerLauncher& launcher) {
  ctx->saved_data["launcher"] = c10::IValue::make_capsule(c10::make_intrusive<KeptLauncher>(launcher));
}

const LayerLauncher& kept_launcher(AutogradContext* ctx) {
  return *c10::static_intrusive_pointer_cast<KeptLauncher>(ctx->saved_data["launcher"].toCapsule())->launcher;
}

bool has_wide_gradient(const at::Tensor& weight) {
  return weight.grad().defined() && weight.grad().scalar_type() == at::kFloat;
}

/// Sums the columns of parts [R, W], which may be columns of a wider tensor, into the gradient of `weight` [W]. Returns
/// undefined if it was added to weight.grad().
at::Tensor summed(const LayerLauncher& launcher, const at::Tensor& parts, const at::Tensor& weight) {
  const bool adds = has_wide_gradient(weight);
  const at::Tensor out = adds ? weight.grad() : at::empty(weight.sizes(), parts.options());
  launcher.launch(LayerKernelOf<float>(SumParts{.parts = read<float>(parts),
                                                .out = written<float>(out),
                                                .rows = parts.size(0),
                                                .width = parts.size(1),
                                                .stride = parts.stride(0),
                                                .adds = adds}));
  return adds ? at::Tensor() : out.to(weight.scalar_type());
}

std::optional<at::Tensor> if_defined(const at::Tensor& x) {
  return x.defined() ? std::optional(x) : std::nullopt;
}

class FusedNorm : public torch::autograd::Function<FusedNorm> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, const std::optional<at::Tensor>& branch,
                               const at::Tensor& weight, double eps, const LayerLauncher* launcher) {
    const at::Tensor in = x.contiguous(), added = branch ? branch->contiguous() : at::Tensor();
    const at::Tensor sum = branch ? at::empty_like(in) : x, normed = at::empty_like(in);
    launch(*launcher, in, [&](auto t) {
      using T = decltype(t);
      return NormRows<T>{.x = read<T>(in),
                         .branch = read<T>(added),
                         .weight = read<T>(weight),
                         .sum = branch ? written<T>(sum) : nullptr,
                         .normed = written<T>(normed),
                         .rows = in.size(0),
                         .width = in.size(1),
                         .eps = static_cast<float>(eps),
                         .inverse_width = 1.0f / static_cast<float>(in.size(1))};
    });
    ctx->save_for_backward({branch ? sum : x, weight});
    ctx->saved_data["eps"] = eps;
    ctx->saved_data["has_branch"] = branch.has_value();
    ctx->set_materialize_grads(false);
    save_launcher(ctx, *launcher);
    return {sum, normed};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor x = saved[0].contiguous(), &weight = saved[1];
    const bool has_branch = ctx->saved_data["has_branch"].toBool();
    variable_list found(5);
    if (!grads[1].defined()) {
      found[0] = grads[0];
    } else {
      const at::Tensor d_normed = grads[1].contiguous();
      const at::Tensor d_sum = grads[0].defined() ? grads[0].contiguous() : at::Tensor();
      const at::Tensor dx = at::empty_like(x);
      at::Tensor parts;
      launch(kept_launcher(ctx), x, [&](auto t) {
        using T = decltype(t);
        NormRowsBackward<T> kernel{.x = read<T>(x),
                                   .weight = read<T>(weight),
                                   .d_normed = read<T>(d_normed),
                                   .d_sum = read<T>(d_sum),
                                   .dx = written<T>(dx),
                                   .rows = x.size(0),
                                   .width = x.size(1),
                                   .eps = static_cast<float>(ctx->saved_data["eps"].toDouble()),
                                   .inverse_width = 1.0f / static_cast<float>(x.size(1))};
        parts = at::empty({kernel.num_blocks(), kernel.width}, x.options().dtype(at::kFloat));
        kernel.d_weight_parts = written<float>(parts);
        return kernel;
      });
      found[0] = dx;
      const size_t weight_input = has_branch ? 2 : 1;  // index of the weight among the defined inputs
      if (ctx->needs_input_grad(weight_input)) found[2] = summed(kept_launcher(ctx), parts, weight);
    }
    if (has_branch) found[1] = found[0];
    return found;
  }
};

/// Arguments that RotateHeads and its backward share.
struct HeadCall {
  const LayerLauncher* launcher;
  HeadShape shape;
  double eps;
  Rotation rotation;
};

template <class T>
HeadRows<T> head_rows(const HeadCall& call, const at::Tensor& q_norm, const at::Tensor& k_norm) {
  const int64_t dim = call.shape.head_dim, vectors = dim / 2 / kVec<T>;
  return {.q_norm = read<T>(q_norm),
          .k_norm = read<T>(k_norm),
          .cos = read<float>(call.rotation.cos),
          .sin = read<float>(call.rotation.sin),
          .angles = read<int64_t>(call.rotation.rows),
          .rows = call.rotation.rows.size(0),
          .heads = call.shape.heads,
          .kv_heads = call.shape.kv_heads,
          .head_dim = dim,
          .shift = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(vectors) - 1)),
          .eps = static_cast<float>(call.eps),
          .inverse_dim = 1.0f / static_cast<float>(dim)};
}

class FusedHeads : public torch::autograd::Function<FusedHeads> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& qkv, const std::optional<at::Tensor>& q_norm,
                               const std::optional<at::Tensor>& k_norm, const HeadCall& call) {
    const int64_t heads = call.shape.heads, kv_heads = call.shape.kv_heads, dim = call.shape.head_dim;
    const at::Tensor q_weight = q_norm.value_or(at::Tensor()), k_weight = k_norm.value_or(at::Tensor());
    const int64_t num_rotated_heads = heads + kv_heads;
    const at::Tensor out = q_norm ? at::empty({qkv.size(0), num_rotated_heads * dim}, qkv.options()) : qkv;
    launch(*call.launcher, qkv, [&](auto t) {
      using T = decltype(t);
      return RotateHeads<T>{.shape = head_rows<T>(call, q_weight, k_weight),
                            .qkv = read<T>(qkv),
                            .out = written<T>(out),
                            .out_heads = q_norm ? num_rotated_heads : num_rotated_heads + kv_heads};
    });
    ctx->save_for_backward(
        {q_norm ? qkv : at::Tensor(), q_weight, k_weight, call.rotation.cos, call.rotation.sin, call.rotation.rows});
    ctx->saved_data["shape"] = std::vector<int64_t>{heads, kv_heads, dim};
    ctx->saved_data["eps"] = call.eps;
    save_launcher(ctx, *call.launcher);
    // The results are plain tensors over the memory, not views that autograd would trace to qkv.
    const at::AutoDispatchBelowADInplaceOrView guard;
    const auto part = [&](const at::Tensor& from, int64_t first, int64_t count) {
      return from.as_strided({from.size(0), count, dim}, {from.stride(0), dim, 1}, from.storage_offset() + first * dim);
    };
    return {part(out, 0, heads), part(out, heads, kv_heads), part(qkv, num_rotated_heads, kv_heads)};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &qkv = saved[0], &q_norm = saved[1], &k_norm = saved[2];
    const std::vector<int64_t> sizes = ctx->saved_data["shape"].toIntVector();
    const HeadCall call{&kept_launcher(ctx),
                        {sizes[0], sizes[1], sizes[2]},
                        ctx->saved_data["eps"].toDouble(),
                        {saved[3], saved[4], saved[5]}};
    const at::Tensor dq = grads[0].contiguous(), dk = grads[1].contiguous(), dv = grads[2].contiguous();
    const at::Tensor d_qkv = at::empty({dq.size(0), (sizes[0] + 2 * sizes[1]) * sizes[2]}, dq.options());
    at::Tensor parts;
    launch(*call.launcher, dq, [&](auto t) {
      using T = decltype(t);
      RotateHeadsBackward<T> kernel{.shape = head_rows<T>(call, q_norm, k_norm),
                                    .qkv = read<T>(qkv),
                                    .dq = read<T>(dq),
                                    .dk = read<T>(dk),
                                    .dv = read<T>(dv),
                                    .d_qkv = written<T>(d_qkv)};
      if (q_norm.defined()) parts = at::empty({kernel.num_blocks(), 2 * sizes[2]}, dq.options().dtype(at::kFloat));
      kernel.d_norm_parts = written<float>(parts);
      return kernel;
    });
    variable_list found(4);
    found[0] = d_qkv;
    for (const size_t norm : {0, 1})
      if (q_norm.defined() && ctx->needs_input_grad(1 + norm))
        found[1 + norm] = summed(*call.launcher, parts.narrow(1, static_cast<int64_t>(norm) * sizes[2], sizes[2]),
                                 norm ? k_norm : q_norm);
    return found;
  }
};

class FusedGate : public torch::autograd::Function<FusedGate> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate_up, const LayerLauncher* launcher) {
    const at::Tensor in = gate_up.contiguous();
    const int64_t rows = in.size(0), inner = in.size(1) / 2;
    const at::Tensor gated = at::empty({rows, inner}, in.options());
    launch(*launcher, in, [&](auto t) {
      using T = decltype(t);
      return GateRows<T>{.gate_up = read<T>(in), .gated = written<T>(gated), .rows = rows, .inner = inner};
    });
    ctx->save_for_backward({in});
    save_launcher(ctx, *launcher);
    return gated;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const at::Tensor gate_up = ctx->get_saved_variables()[0], d_gated = grads[0].contiguous();
    const at::Tensor d_gate_up = at::empty_like(gate_up);
    launch(kept_launcher(ctx), gate_up, [&](auto t) {
      using T = decltype(t);
      return GateRowsBackward<T>{.gate_up = read<T>(gate_up),
                                 .d_gated = read<T>(d_gated),
                                 .d_gate_up = written<T>(d_gate_up),
                                 .rows = d_gated.size(0),
                                 .inner = d_gated.size(1)};
    });
    return {d_gate_up, at::Tensor()};
  }
};

class FusedRows : public torch::autograd::Function<FusedRows> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& weight, const at::Tensor& ids,
                            const LayerLauncher* launcher) {
    ctx->save_for_backward({weight, ids});
    save_launcher(ctx, *launcher);
    return weight.index_select(0, ids);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &weight = saved[0], d_rows = grads[0].contiguous();
    const auto [ids, tokens] = at::sort(saved[1], std::optional(true), 0, false);  // stable
    const bool adds = has_wide_gradient(weight);
    const at::Tensor table = adds ? weight.grad() : at::zeros_like(weight, weight.options().dtype(at::kFloat));
    launch(kept_launcher(ctx), d_rows, [&, &ids = ids, &tokens = tokens](auto t) {
      using T = decltype(t);
      return AddToRows<T>{.ids = read<int64_t>(ids),
                          .tokens = read<int64_t>(tokens),
                          .d_rows = read<T>(d_rows),
                          .d_table = written<float>(table),
                          .rows = d_rows.size(0),
                          .width = d_rows.size(1)};
    });
    return {adds ? at::Tensor() : table.to(weight.scalar_type()), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

std::shared_ptr<const LayerLauncher> make_layer_launcher(c10::Device device) {
  return device.is_cuda() ? std::make_shared<const CudaLayerLauncher>(device) : nullptr;
}

bool takes_layer(const at::Tensor& x, const std::vector<int64_t>& sizes, const std::vector<at::Tensor>& weights) {
  const bool has_kernels = x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
  const auto is_whole = [&](int64_t size) { return size * static_cast<int64_t>(x.element_size()) % 16 == 0; };
  const auto starts_at = [](const at::Tensor& t, uintptr_t multiple) {
    return reinterpret_cast<uintptr_t>(t.const_data_ptr()) % multiple == 0;
  };
  const auto is_aligned = [&](const at::Tensor& weight) {  // a float32 gradient is aligned for equally many elements
    return starts_at(weight, 16) && (!weight.grad().defined() || starts_at(weight.grad(), 64 / x.element_size()));
  };
  return has_kernels && std::ranges::all_of(sizes, is_whole) && std::ranges::all_of(weights, is_aligned);
}

NormedSum fused_norm(const LayerLauncher& launcher, const at::Tensor& x, const at::Tensor& branch,
                     const at::Tensor& weight, double eps) {
  const variable_list found = FusedNorm::apply(x, if_defined(branch), weight, eps, &launcher);
  return {found[0], found[1]};
}

RotatedHeads fused_heads(const LayerLauncher& launcher, const at::Tensor& qkv, const HeadShape& shape,
                         const at::Tensor& q_norm, const at::Tensor& k_norm, double eps, const Rotation& rotation) {
  ROLL_CHECK_EQ(q_norm.defined(), k_norm.defined(), "queries and keys have norms, or neither has");
  const HeadCall call{&launcher, shape, eps, rotation};
  const variable_list found = FusedHeads::apply(qkv, if_defined(q_norm), if_defined(k_norm), call);
  return {found[0], found[1], found[2]};
}

at::Tensor fused_gate(const LayerLauncher& launcher, const at::Tensor& gate_up) {
  return FusedGate::apply(gate_up, &launcher);
}

at::Tensor fused_rows(const LayerLauncher& launcher, const at::Tensor& weight, const at::Tensor& ids) {
  return FusedRows::apply(weight, ids, &launcher);
}

}  // namespace roll
