#include "experience/correction.h"

#include <ATen/ATen.h>

#include <limits>

#include "base/error.h"
#include "loss/roll/loss.h"

namespace roll {

namespace {

/// Aggregates values per token of one response at a level: [response_length].
at::Tensor at_level(const at::Tensor& tokens, CorrectionLevel level) {
  if (level == CorrectionLevel::kToken) return tokens;
  return (level == CorrectionLevel::kSequence ? tokens.sum() : tokens.mean()).expand_as(tokens);
}

at::Tensor concatenate_spans(const at::Tensor& tensor, const std::vector<TokenSpan>& spans) {
  if (spans.size() == 1) return tensor.slice(0, spans[0].begin, spans[0].end);
  std::vector<at::Tensor> pieces;
  for (const auto& [begin, end] : spans) pieces.push_back(tensor.slice(0, begin, end));
  return at::cat(pieces);
}

/// Functions of old and sampler log-probs, per response.
class Responses {
 public:
  explicit Responses(Experience& experience) : experience_(experience) {}

  /// Returns a [T] tensor, 0 outside sampled tokens, with f(old, sampler) applied per context, or per turn at level
  /// segment.
  template <class F>
  at::Tensor map(CorrectionLevel level, F&& f) const {
    at::Tensor result = at::zeros_like(experience_.old_log_probs);
    for (int64_t b = 0; b < experience_.num_sequences(); ++b) {
      if (experience_.responses[b].response_length == 0) continue;
      std::vector<std::vector<TokenSpan>> pieces = context_spans(experience_, b);
      if (level == CorrectionLevel::kSegment) {
        pieces.clear();
        for (const TokenSpan& turn : model_spans(experience_, b)) pieces.push_back({turn});
      }
      for (const auto& piece : pieces) {
        const at::Tensor found = f(concatenate_spans(experience_.old_log_probs, piece),
                                   concatenate_spans(experience_.sampler_log_probs, piece));
        int64_t offset = 0;
        for (const auto& [begin, end] : piece) {
          result.slice(0, begin, end).copy_(found.slice(0, offset, offset + end - begin));
          offset += end - begin;
        }
      }
    }
    return result;
  }
  at::Tensor ratio(CorrectionLevel level) const {
    return map(level, [&](const at::Tensor& old, const at::Tensor& sampler) {
      return bounded_exp(at_level(old - sampler, level));
    });
  }
  at::Tensor difference(CorrectionLevel level) const {
    return map(level, [&](const at::Tensor& old, const at::Tensor& sampler) {
      return at_level(old.exp() - sampler.exp(), level);
    });
  }

 private:
  Experience& experience_;
};

void add_mean(Metrics& metrics, const std::string& name, const at::Tensor& values, const at::Tensor& mask) {
  const double tokens = mask.sum(at::kDouble).item<double>();
  if (tokens > 0) metrics.add(name, (values * mask).sum(at::kDouble).item<double>() / tokens, tokens);
}

at::Tensor inside(const at::Tensor& values, double low, double high) {
  return values.ge(low).logical_and(values.le(high));
}

/// Applies the bounds to the weights.
at::Tensor bounded(const at::Tensor& weights, const ImportanceWeights& config, const at::Tensor& mask,
                   Metrics& metrics) {
  if (!config.upper_bound && !config.lower_bound) return weights;
  const at::Tensor kept = inside(weights, config.lower_bound.value_or(0),
                                 config.upper_bound.value_or(std::numeric_limits<double>::infinity()));
  add_mean(metrics, "actor/is_weight_clipfrac", kept.logical_not().to(at::kFloat), mask);
  if (config.zero_outside) return weights * kept;
  const auto limit = [](const std::optional<double>& bound) {
    return bound ? std::optional<at::Scalar>(*bound) : std::nullopt;
  };
  return weights.clamp(limit(config.lower_bound), limit(config.upper_bound));
}

}  // namespace

Metrics correct_for_sampler(Experience& experience, const TrainInferCorrection& config) {
  Metrics metrics;
  if (!config.is_enabled()) return metrics;
  ROLL_CHECK(experience.old_log_probs.defined() && experience.sampler_log_probs.defined(),
             "a correction compares old log-probs with the sampler's");
  const Responses responses(experience);
  const at::Tensor& mask = experience.response_mask();
  if (config.is_weight.enabled) {
    experience.is_weights = responses.ratio(config.is_weight.weight_type);
    experience.is_weights = bounded(experience.is_weights, config.is_weight, mask, metrics);
    add_mean(metrics, "actor/is_weight/mean", experience.is_weights, mask);
  }
  at::Tensor kept = at::ones_like(mask);
  for (const auto& filter : config.filters) {
    if (!filter.enabled) continue;
    const auto apply = [&](const char* statistic, const at::Tensor& values, double low, double high) {
      add_mean(metrics, fmt::format("actor/train_infer_{}_{}/mean", statistic, enum_name(filter.agg_type)), values,
               mask);
      kept = kept * inside(values, low, high);
    };
    if (filter.ratio_enabled) apply("ratio", responses.ratio(filter.agg_type), filter.ratio_low, filter.ratio_high);
    if (filter.diff_enabled) apply("diff", responses.difference(filter.agg_type), filter.diff_low, filter.diff_high);
  }
  add_mean(metrics, "actor/train_infer_kept_ratio", kept, mask);
  experience.masks["final_response_mask"] = experience.final_response_mask() * kept;
  return metrics;
}

}  // namespace roll
