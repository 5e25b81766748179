#include "serve/token_scores.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "model/log_probs.h"

namespace roll {

std::vector<TokenScore> score_tokens(const Transformer& model, const std::vector<int64_t>& ids, int64_t first,
                                     int64_t num_likeliest, double temperature) {
  const at::NoGradGuard no_grad;
  const double divisor = temperature > 0 ? temperature : 1;
  const int64_t begin = first - 1, count = std::ssize(ids) - first;  // position p predicts token p + 1
  if (count <= 0) return {};
  const PackedTokens tokens = pack_tokens({ids}, model.device());
  const at::Tensor mask = at::zeros({std::ssize(ids)}, at::kFloat);
  mask.narrow(0, begin, count).fill_(1);
  const at::Tensor next = at::roll(tokens.ids, -1).unsqueeze(1);
  const TokenLogProbs sampled = token_log_probs(model, tokens, divisor, /*with_entropy=*/false, {}, mask,
                                                /*with_energy=*/false, next);
  const auto predicted_rows = [&](const at::Tensor& x) { return x.narrow(0, begin, count).cpu().contiguous(); };
  const at::Tensor log_probs = predicted_rows(sampled.log_probs).to(at::kFloat);
  std::vector<TokenScore> scores(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) scores[i].log_prob = log_probs.const_data_ptr<float>()[i];
  const int64_t k = std::min(num_likeliest, model.spec().vocab_size);
  if (k == 0) return scores;
  const TopLogits top = token_top_logits(model, tokens, k, model.spec().vocab_size, mask);
  // Log-probs differ as logits do, so the given token's log-prob yields the normaliser.
  const at::Tensor likeliest =
      ((predicted_rows(top.logits) - predicted_rows(sampled.choice_logits)) / divisor + log_probs.unsqueeze(1))
          .to(at::kFloat)
          .contiguous();
  const at::Tensor top_ids = predicted_rows(top.ids).to(at::kLong);
  for (int64_t i = 0; i < count * k; ++i)
    scores[i / k].likeliest.emplace_back(top_ids.const_data_ptr<int64_t>()[i], likeliest.const_data_ptr<float>()[i]);
  return scores;
}

}  // namespace roll
