#include "model/router_training.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "model/backbone.h"
#include "model/spec.h"
#include "model/token_layout.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Returns x; backward adds `gradient` to its gradient.
class AddGradient : public torch::autograd::Function<AddGradient> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& gradient) {
    ctx->save_for_backward({gradient});
    return x.clone();
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {grads[0] + ctx->get_saved_variables()[0], at::Tensor()};
  }
};

/// Returns [S, 1] float32: the share of each token's experts, chosen [S, K], that are not in router_choice [S, K].
at::Tensor share_outside(const at::Tensor& chosen, const at::Tensor& router_choice) {
  return chosen.unsqueeze(2).ne(router_choice.unsqueeze(1)).all(2).to(at::kFloat).mean(1, /*keepdim=*/true);
}

}  // namespace

void ExpertLoads::add(int64_t number, const at::Tensor& counts) {
  at::Tensor& sum = counts_[number];
  sum = sum.defined() ? sum + counts : counts;
}

void ExpertLoads::balance(const Backbone& backbone, bool was_made, Communicator& ranks) {
  const at::NoGradGuard no_grad;
  for (const LayerWeights& layer : backbone.layers())
    for (const Block& block : layer.layer()) {
      const auto* const experts = std::get_if<Experts>(&block.mixer);
      if (!experts || experts->bias.name.empty()) continue;
      at::Tensor bias = layer[experts->bias];
      at::Tensor counts = counts_.contains(experts->number) ? counts_[experts->number] : at::zeros_like(bias);
      counts = counts.to(at::kDouble);
      ranks.all_reduce_sum(counts, "loads of experts");
      bias.add_((counts.mean() - counts).sign().to(bias.scalar_type()), was_made ? step_ : 0);
    }
  counts_.clear();
}

std::function<void(bool)> balancing(const Backbone& backbone, const RouterRule& rule, Communicator& ranks) {
  if (!rule.loads) return {};
  return [&backbone, loads = rule.loads, &ranks](bool was_made) { loads->balance(backbone, was_made, ranks); };
}

PackedTokens with_routers(PackedTokens tokens, const ModelSpec& spec, const RouterRule& rule) {
  if (spec.mixture && tokens.token_weight > 0)
    tokens.routers = std::make_shared<RouterTraining>(rule, choices_per_token(spec) / spec.mixture->routing.chosen,
                                                      tokens.token_weight, tokens.loss_scale,
                                                      /*replays=*/tokens.routed_experts.defined());
  return tokens;
}

void RouterTraining::set_layout(const at::Tensor& slots, const at::Tensor& sequences, const at::Tensor& ends,
                                int64_t num_sequences, const ModelParallel& parallel) {
  slots_ = slots;
  sequences_ = sequences;
  ends_ = ends.defined() ? ends.to(at::kBool) : ends;
  num_sequences_ = num_sequences;
  tp_ = parallel.tp_size();
  cp_ = parallel.cp_size() > 1 ? parallel.cp : nullptr;
}

at::Tensor RouterTraining::train(const at::Tensor& logits, const at::Tensor& chosen, const at::Tensor& router_choice,
                                 const at::Tensor& sampled, int64_t number, bool is_sigmoid) {
  if (logits.is_meta()) return logits;
  const bool has_gradient = costs_.any() && logits.requires_grad();
  at::Tensor gradient;
  {
    const at::NoGradGuard no_grad;
    const auto select_tokens = [&](const at::Tensor& slot_values) {
      return slots_.defined() ? slot_values.index_select(0, slots_) : slot_values;
    };
    const at::Tensor x = select_tokens(logits.detach()), own_probs = is_sigmoid ? at::sigmoid(x) : at::softmax(x, 1);
    const at::Tensor p = is_sigmoid ? own_probs / own_probs.sum(1, /*keepdim=*/true) : own_probs;
    const at::Tensor z = at::logsumexp(x, 1, /*keepdim=*/true);
    at::Tensor counts = at::zeros({num_sequences_, x.size(1)}, x.options());  // per sequence and expert
    counts.view({-1}).index_add_(0, (sequences_.unsqueeze(1) * x.size(1) + select_tokens(chosen)).reshape({-1}),
                                 at::ones({sequences_.numel() * chosen.size(1)}, x.options()));
    if (cp_) cp_->all_reduce_sum(counts, "choices of experts");
    const at::Tensor load = counts / counts.sum(1, /*keepdim=*/true).clamp_min(1) * static_cast<double>(x.size(1));
    const at::Tensor busy = load.index_select(0, sequences_);  // N f_i
    const at::Tensor balance = (p * busy).sum(1, /*keepdim=*/true);
    if (has_gradient) {
      const at::Tensor by_share = p * (busy - balance);  // gradient of a softmax; a sigmoid's is smaller
      gradient = (costs_.balance * (is_sigmoid ? by_share * (1 - own_probs) : by_share) +
                  costs_.z * 2 * z * (is_sigmoid ? at::softmax(x, 1) : p)) *
                 (token_weight_ * loss_scale_ / static_cast<double>(tp_));
      if (slots_.defined()) gradient = at::zeros_like(logits).index_add_(0, slots_, gradient);
    }
    std::vector<at::Tensor> columns = {balance, z.square(), -at::xlogy(p, p).sum(1, true), busy.amax(1, true)};
    if (replays_) {
      columns.push_back(select_tokens(share_outside(chosen, router_choice).to(x.scalar_type())));
      const at::Tensor agreement = 1 - select_tokens(share_outside(chosen, sampled));
      columns.push_back(agreement.masked_fill(ends_.unsqueeze(1), 1).to(x.scalar_type()));
    }
    const at::Tensor measurements = at::cat(columns, 1);
    const bool is_repeated = std::ranges::any_of(sums_, [&](const auto& sum) { return sum.first == number; });
    if (!is_repeated) sums_.emplace_back(number, measurements.sum(0, false, at::kDouble) * token_weight_);
    if (!is_repeated && loads_) loads_->add(number, counts.sum(0));
  }
  return has_gradient ? AddGradient::apply(logits, gradient) : logits;
}

std::vector<std::string> RouterTraining::names(const std::string& prefix) const {
  std::vector<std::string> all;
  const auto add = [&](const char* name) { all.push_back(prefix + "/moe/" + name + "@sum"); };
  for (const char* name : {"balance_loss", "z_loss", "router_entropy", "busiest_load"}) add(name);
  for (const char* name : {"replayed_otherwise", "agreement"})
    if (replays_) add(name);
  return all;
}

std::vector<at::Tensor> RouterTraining::sums() const {
  const at::Device device = sums_.empty() ? at::Device(at::kCPU) : sums_.front().second.device();
  at::Tensor sum = at::zeros({replays_ ? 6 : 4}, at::TensorOptions(device).dtype(at::kDouble));
  for (const auto& [router, router_sum] : sums_) sum = sum + router_sum / static_cast<double>(num_routers_);
  if (cp_) cp_->all_reduce_sum(sum, "router measurements");
  return sum.unbind();
}

}  // namespace roll
