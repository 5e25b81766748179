#include "ops/dropout.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/error.h"
#include "base/random.h"
#include "ops/simd.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// SplitMix64 (Steele, Lea and Flood 2014): a token's key is the start state; product and column count the steps.
constexpr uint64_t kStep = 0x9E3779B97F4A7C15, kFirst = 0xBF58476D1CE4E5B9, kSecond = 0x94D049BB133111EB;

ROLL_INLINE uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * kFirst;
  z = (z ^ (z >> 27)) * kSecond;
  return z ^ (z >> 31);
}

/// Elements whose 32 random bits are below it are dropped.
uint64_t threshold(const DropoutRule& rule) {
  return static_cast<uint64_t>(rule.rate * 0x1.0p32);
}

uint64_t first_count(const DropoutRule& rule) {
  return (uint64_t{rule.product} << 32) + static_cast<uint64_t>(rule.first_column) + 1;
}

#define ROLL_DROP_ROW(T)                                                                                \
  ROLL_SIMD void drop_row(const T* x, T* out, int64_t width, uint64_t state, uint64_t least, T scale) { \
    for (int64_t c = 0; c < width; ++c)                                                                 \
      out[c] = (mixed(state + static_cast<uint64_t>(c) * kStep) >> 32) >= least ? x[c] * scale : T{0};  \
  }
ROLL_DROP_ROW(float)
ROLL_DROP_ROW(double)
#undef ROLL_DROP_ROW

template <class T>
at::Tensor drop_rows(const at::Tensor& x, const at::Tensor& token_keys, const DropoutRule& rule) {
  const at::Tensor from = x.contiguous(), contiguous_keys = token_keys.contiguous();
  at::Tensor out = at::empty_like(from);
  const int64_t width = x.size(1);
  const uint64_t first = first_count(rule) * kStep, least = threshold(rule);
  at::parallel_for(0, x.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      drop_row(from.const_data_ptr<T>() + t * width, out.mutable_data_ptr<T>() + t * width, width,
               static_cast<uint64_t>(contiguous_keys.const_data_ptr<int64_t>()[t]) + first, least,
               static_cast<T>(1 / (1 - rule.rate)));
  });
  return out;
}

at::Tensor drop(const at::Tensor& x, const at::Tensor& token_keys, const DropoutRule& rule) {
  ROLL_CHECK_EQ(x.size(0), token_keys.size(0), "each token has a random key");
  if (x.is_cpu())
    return x.scalar_type() == at::kDouble ? drop_rows<double>(x, token_keys, rule)
                                          : drop_rows<float>(x, token_keys, rule);
  return x * kept_columns(token_keys, x.size(1), rule).to(x.scalar_type()).mul_(1 / (1 - rule.rate));
}

class DroppedOut : public torch::autograd::Function<DroppedOut> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& token_keys, double rate,
                            int64_t product, int64_t first_column) {
    ctx->save_for_backward({token_keys});
    ctx->saved_data["rate"] = rate;
    ctx->saved_data["product"] = product;
    ctx->saved_data["first_column"] = first_column;
    return drop(x, token_keys, {rate, static_cast<uint32_t>(product), first_column});
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const DropoutRule rule = {ctx->saved_data["rate"].toDouble(),
                              static_cast<uint32_t>(ctx->saved_data["product"].toInt()),
                              ctx->saved_data["first_column"].toInt()};
    return {drop(grads[0], ctx->get_saved_variables()[0], rule), {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor dropout_keys(const at::Tensor& ids, const std::vector<int64_t>& cu_seqlens, uint64_t seed, uint32_t step) {
  const at::Tensor contiguous_ids = ids.contiguous(), token_keys = at::empty_like(contiguous_ids);
  const auto* id = contiguous_ids.const_data_ptr<int64_t>();
  auto* key = token_keys.mutable_data_ptr<int64_t>();
  for (size_t b = 0; b + 1 < cu_seqlens.size(); ++b) {
    uint64_t prefix_hash = 0;  // hash of all tokens so far
    for (int64_t t = cu_seqlens[b]; t < cu_seqlens[b + 1]; ++t) {
      prefix_hash = mixed(prefix_hash + kStep + static_cast<uint64_t>(id[t]));
      const RandomName token = {.seed = seed,
                                .purpose = Purpose::kDropout,
                                .step = step,
                                .sequence = prefix_hash >> 16,
                                .position = static_cast<uint32_t>(t - cu_seqlens[b])};
      const RandomWords words = named_words(plain_name(token));
      key[t] = static_cast<int64_t>(uint64_t{words.word[0]} << 32 | words.word[1]);
    }
  }
  return token_keys;
}

at::Tensor dropped_out(const at::Tensor& x, const at::Tensor& token_keys, const DropoutRule& rule) {
  return DroppedOut::apply(x, token_keys, rule.rate, static_cast<int64_t>(rule.product), rule.first_column);
}

at::Tensor kept_columns(const at::Tensor& token_keys, int64_t width, const DropoutRule& rule) {
  const auto shifted = [](const at::Tensor& z, int64_t bits) {  // unsigned shift right
    return z.bitwise_right_shift(bits).bitwise_and_((int64_t{1} << (64 - bits)) - 1);
  };
  const auto step = static_cast<int64_t>(kStep), first = static_cast<int64_t>(first_count(rule) * kStep);
  at::Tensor z = token_keys.unsqueeze(1) + (at::arange(width, token_keys.options()) * step + first);
  z = z.bitwise_xor(shifted(z, 30)).mul_(static_cast<int64_t>(kFirst));
  z = z.bitwise_xor(shifted(z, 27)).mul_(static_cast<int64_t>(kSecond));
  return shifted(z.bitwise_xor(shifted(z, 31)), 32).ge(static_cast<int64_t>(threshold(rule)));
}

}  // namespace roll
