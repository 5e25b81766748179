#include "loss/aggregate.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "device/transfers.h"

namespace roll {
namespace {

void check_axis(const at::Tensor& mask, const TokenAxis& axis) {
  ROLL_CHECK(!axis.cu_seqlens.empty(), "a token axis has at least the boundary 0");
  ROLL_CHECK_EQ(mask.dim(), 1, "a mask lives on the packed token axis");
  ROLL_CHECK_EQ(mask.size(0), axis.cu_seqlens.back(), "every token belongs to one sequence");
}

double inverse(double count) {
  return count > 0 ? 1 / count : 0;
}

/// Returns the weight of each selected token of one sequence.
double sequence_factor(AggMode mode, int64_t tokens, int64_t prompt_tokens, const MaskCounts& counts, double divisor) {
  const auto samples = static_cast<double>(counts.global_valid_samples);
  switch (mode) {
    case AggMode::kTokenMean:
      return inverse(static_cast<double>(counts.batch_num_tokens));
    case AggMode::kSeqMeanTokenSum:
      return inverse(samples);
    case AggMode::kSeqMeanTokenMean:
      return inverse(static_cast<double>(tokens) * samples);
    case AggMode::kSeqMeanTokenSumNorm:
      return inverse(divisor);
    case AggMode::kPromptMean:
      return inverse(static_cast<double>(prompt_tokens) * static_cast<double>(counts.valid_prompts()));
    case AggMode::kConstant:
      return inverse(divisor * samples);
  }
  throw Bug("an aggregation mode without a factor");
}

const at::Tensor& on_host(const at::Tensor& mask, const TokenAxis& axis) {
  const auto found = std::ranges::find_if(axis.host_masks, [&](const auto& pair) { return pair.first.is_same(mask); });
  return found == axis.host_masks.end() ? mask : found->second;
}

int64_t count_prompt_tokens(const MaskCounts& counts, const TokenAxis& axis, size_t sequence) {
  ROLL_CHECK_EQ(axis.group_index.size() + 1, axis.cu_seqlens.size(), "prompt-mean needs every sequence's prompt");
  const int64_t group = axis.group_index[sequence];
  ROLL_CHECK(group >= 0 && group < static_cast<int64_t>(counts.prompt_tokens.size()),
             "prompt-mean needs the counts of every prompt");
  return counts.prompt_tokens[group];
}

}  // namespace

std::vector<int64_t> tokens_per_sequence(const at::Tensor& mask, const std::vector<int64_t>& cu_seqlens) {
  const at::Tensor flags = mask.detach().ne(0).to(at::kCPU).contiguous();
  const bool* flag = flags.const_data_ptr<bool>();
  std::vector<int64_t> tokens(cu_seqlens.size() - 1);
  for (size_t b = 0; b < tokens.size(); ++b)
    tokens[b] = std::count(flag + cu_seqlens[b], flag + cu_seqlens[b + 1], true);
  return tokens;
}

at::Tensor spread(const std::vector<float>& factors, const TokenAxis& axis, at::Device device) {
  for (const auto& [known_factors, on_tokens] : axis.spread)
    if (known_factors == factors) return on_tokens;
  const std::vector<int64_t>& cu_seqlens = axis.cu_seqlens;
  ROLL_CHECK_EQ(factors.size() + 1, cu_seqlens.size(), "one factor per sequence");
  const at::Tensor on_tokens = at::empty({cu_seqlens.back()}, at::kFloat);
  float* out = on_tokens.mutable_data_ptr<float>();
  for (size_t b = 0; b < factors.size(); ++b) std::fill(out + cu_seqlens[b], out + cu_seqlens[b + 1], factors[b]);
  return copy_to_device(on_tokens, device);
}

std::vector<float> are_positive(const std::vector<double>& scores) {
  std::vector<float> positive;
  for (const double score : scores) positive.push_back(score > 0 ? 1.0F : 0.0F);
  return positive;
}

AggMode agg_mode(std::string_view name) {
  AggMode mode{};
  if (Words<AggMode>::read(name, mode)) return mode;
  Aggregation aggregation{};
  if (Words<Aggregation>::read(name, aggregation)) return agg_mode(aggregation);
  throw user_error("loss_agg_mode = {}: unknown; one of {}", name, fmt::join(Words<AggMode>::all(), ", "));
}

AggMode agg_mode(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kTokenMean:
      return AggMode::kTokenMean;
    case Aggregation::kSampleMean:
      return AggMode::kSeqMeanTokenMean;
    case Aggregation::kPromptMean:
      return AggMode::kPromptMean;
    case Aggregation::kConstant:
      return AggMode::kConstant;
  }
  throw Bug("an aggregation without its mode");
}

LossModes loss_modes(const LossConfig& config) {
  LossModes modes;
  modes.policy = config.loss_aggregation           ? agg_mode(*config.loss_aggregation)
                 : config.calculate_per_token_loss ? AggMode::kTokenMean
                                                   : config.loss_agg_mode;
  modes.divisor = config.loss_aggregation_divisor.value_or(1);
  if (modes.policy == AggMode::kTokenMean) modes.diagnostics = AggMode::kTokenMean;
  const bool mode_covers_policy_only = config.loss_aggregation.has_value();
  modes.kl = modes.value = mode_covers_policy_only ? modes.diagnostics : modes.policy;
  return modes;
}

bool has_divisor(AggMode mode) {
  return mode == AggMode::kConstant || mode == AggMode::kSeqMeanTokenSumNorm;
}

bool needs_whole_groups(const LossModes& modes) {
  return modes.policy == AggMode::kPromptMean;
}

int64_t MaskCounts::valid_prompts() const {
  return std::count_if(prompt_tokens.begin(), prompt_tokens.end(), [](int64_t tokens) { return tokens > 0; });
}

MaskCounts local_counts(const at::Tensor& mask, const TokenAxis& axis, int64_t num_groups) {
  check_axis(mask, axis);
  ROLL_CHECK_EQ(axis.group_index.size() + 1, axis.cu_seqlens.size(), "every sequence has its prompt's index");
  MaskCounts counts;
  counts.prompt_tokens.resize(num_groups);
  const std::vector<int64_t> tokens = tokens_per_sequence(mask, axis.cu_seqlens);
  for (size_t b = 0; b < tokens.size(); ++b) {
    const int64_t group = axis.group_index[b];
    ROLL_CHECK(group >= 0 && group < num_groups, "a group index numbers a prompt of the step");
    counts.batch_num_tokens += tokens[b];
    counts.global_valid_samples += tokens[b] > 0;
    counts.prompt_tokens[group] += tokens[b];
  }
  return counts;
}

const MaskCounts& MiniBatchCounts::at(const std::string& mask) const {
  if (const auto found = counts_.find(mask); found != counts_.end()) return found->second;
  std::string known;
  for (const auto& [name, counts] : counts_) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  throw user_error("loss_mask_keys = [{}]: the loss uses the mask {}, which is not counted; add it", known, mask);
}

at::Tensor token_weights(const at::Tensor& mask, const TokenAxis& axis, AggMode mode, const MaskCounts& counts,
                         double divisor) {
  check_axis(mask, axis);
  for (const auto& [sent_mask, rule, weights] : axis.sent)
    if (sent_mask.is_same(mask) && rule.mode == mode && rule.divisor == divisor) return weights;
  const std::vector<int64_t> tokens = tokens_per_sequence(on_host(mask, axis), axis.cu_seqlens);
  std::vector<float> factors(tokens.size());
  for (size_t b = 0; b < tokens.size(); ++b) {
    const int64_t prompt_tokens = mode == AggMode::kPromptMean ? count_prompt_tokens(counts, axis, b) : 0;
    factors[b] = static_cast<float>(sequence_factor(mode, tokens[b], prompt_tokens, counts, divisor));
  }
  return spread(factors, axis, mask.device()) * mask.ne(0);
}

at::Tensor weighted_sum(const at::Tensor& token_loss, const at::Tensor& weights) {
  return (at::where(weights.ne(0), token_loss, at::zeros({}, token_loss.options())) * weights).sum();
}

double loss_scale(bool apply_loss_scale, int64_t num_micro_batches) {
  ROLL_CHECK(num_micro_batches >= 1, "an update has a micro-batch");
  return apply_loss_scale ? 1 : 1 / static_cast<double>(num_micro_batches);
}

}  // namespace roll
