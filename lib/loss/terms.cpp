#include "loss/terms.h"

#include <ATen/ATen.h>

#include <cmath>

#include "base/error.h"
#include "device/transfers.h"
#include "loss/roll/loss.h"

namespace roll {

at::Tensor kl_term(const at::Tensor& d, KlPenalty penalty) {
  switch (penalty) {
    case KlPenalty::kKl:
      return d;
    case KlPenalty::kAbs:
      return d.abs();
    case KlPenalty::kMse:
      return d.square() * 0.5;
    case KlPenalty::kK3:
      return k3_term(d);
  }
  throw Bug("a KL penalty without its formula");
}

at::Tensor token_ratio(const at::Tensor& log_ratio) {
  return bounded_exp(log_ratio);
}

at::Tensor SequenceSums::on_tokens(const at::Tensor& sequence_values) const {
  return sequence_values.index_select(0, sequence);
}

namespace {

/// Returns [T] int64: the index of each token's sequence.
at::Tensor token_sequences(const std::vector<int64_t>& cu_seqlens, const at::Tensor& bounds, at::Device device) {
  if (bounds.defined())
    return at::bucketize(at::arange(cu_seqlens.back(), bounds.options()), bounds, /*out_int32=*/false, /*right=*/true) -
           1;
  const at::Tensor boundaries = at::tensor(cu_seqlens, at::kLong);
  return copy_to_device(at::repeat_interleave(boundaries.slice(0, 1) - boundaries.slice(0, 0, -1)), device);
}

}  // namespace

SequenceSums sequence_sums(const at::Tensor& x, const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens,
                           const at::Tensor& bounds) {
  const at::Tensor sequence = token_sequences(cu_seqlens, bounds, mask.device());
  const at::Tensor m = mask.to(x.scalar_type());
  const at::Tensor zeros = at::zeros({std::ssize(cu_seqlens) - 1}, x.options().requires_grad(false));
  return {zeros.index_add(0, sequence, x * m), zeros.index_add(0, sequence, m).clamp_min(1), sequence};
}

at::Tensor sequence_ratio(const at::Tensor& log_ratio, const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens,
                          const at::Tensor& bounds) {
  const SequenceSums sums = sequence_sums(log_ratio, mask, cu_seqlens, bounds);
  return sums.on_tokens(token_ratio(sums.sums / sums.counts));
}

namespace {

/// Returns KL(p || q) over the last dimension; arguments are log-probs.
at::Tensor kl(const at::Tensor& log_p, const at::Tensor& log_q) {
  return (log_p.exp() * (log_p - log_q)).sum(-1);
}

/// Returns log((1 - part) p + part q).
at::Tensor mixed(const at::Tensor& log_p, const at::Tensor& log_q, double part) {
  if (part <= 0) return log_p;
  return part >= 1 ? log_q : at::logaddexp(log_p + std::log1p(-part), log_q + std::log(part));
}

/// Returns the weight [T] of KL(p || q) against KL(q || p): the head's share of the gaps |p - q|.
at::Tensor head_share(const at::Tensor& log_p, const at::Tensor& log_q, double alpha) {
  const auto [sorted, indices] = log_p.exp().sort(-1);
  const at::Tensor gaps = (sorted - log_q.exp().gather(-1, indices)).abs();
  const at::Tensor in_head = gaps * sorted.cumsum(-1).gt(alpha);
  return in_head.sum(-1) / gaps.sum(-1).clamp_min(1e-30);  // if p = q, both KLs are 0
}

}  // namespace

at::Tensor divergence_term(const at::Tensor& logits, const at::Tensor& teacher, const DivergenceArgs& args) {
  const at::Tensor student = at::log_softmax(logits / args.kd_temperature, -1);
  const double skew = args.skew_lambda;
  switch (args.kd_objective) {
    case KdObjective::kForwardKl:
      return kl(teacher, student);
    case KdObjective::kReverseKl:
      return kl(student, teacher);
    case KdObjective::kAdaptiveKl: {
      const at::Tensor head = head_share(teacher, student.detach(), args.adaptive_kl_alpha);
      return head * kl(teacher, student) + (1 - head) * kl(student, teacher);
    }
    case KdObjective::kSkewedForwardKl:
      return kl(teacher, mixed(student, teacher, skew));
    case KdObjective::kSkewedReverseKl:
      return kl(student, mixed(teacher, student, skew));
    case KdObjective::kJsDivergence: {
      const at::Tensor middle = mixed(teacher, student, 0.5);
      return (kl(teacher, middle) + kl(student, middle)) / 2;
    }
  }
  throw Bug("an objective without its formula");
}

PolicyTerm policy_term(const at::Tensor& ratio, const at::Tensor& advantages, ClipRange clip) {
  const at::Tensor free = ratio * advantages;
  const at::Tensor bounded = ratio.clamp(1 - clip.low, 1 + clip.high) * advantages;
  return {-at::minimum(free, bounded), bounded.detach().lt(free.detach()).to(ratio.scalar_type())};
}

at::Tensor dual_clip(const at::Tensor& loss, const at::Tensor& advantages, double c) {
  return at::where(advantages < 0, -at::maximum(-loss, advantages * c), loss);
}

ValueTerm value_term(const at::Tensor& values, const at::Tensor& old_values, const at::Tensor& returns,
                     std::optional<double> value_clip) {
  const at::Tensor free = (values - returns).square();
  if (!value_clip) return {free * 0.5, at::zeros_like(free.detach())};
  // Not old + clamp(values - old): rounding would count half of the values inside the range as clipped.
  const at::Tensor near = at::clamp(values, old_values - *value_clip, old_values + *value_clip);
  const at::Tensor bounded = (near - returns).square();
  return {at::maximum(free, bounded) * 0.5, bounded.detach().gt(free.detach()).to(values.scalar_type())};
}

}  // namespace roll
