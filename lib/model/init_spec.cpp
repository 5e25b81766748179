#include "model/init_spec.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace roll {

namespace {

int64_t vocabulary(const InitSizes& sizes, std::optional<int64_t> needed) {
  if (!sizes.vocab && !needed) throw user_error("--vocab: is missing; without a tokenizer it must be given");
  if (needed && sizes.vocab && *sizes.vocab < *needed)
    throw user_error("--vocab = {}: the tokenizer needs at least {}", *sizes.vocab, *needed);
  return sizes.vocab ? *sizes.vocab : *needed;
}

void check_flag(const char* flag, int64_t value, int64_t most) {
  if (value < 1 || value > most) throw user_error("{} = {}: must be from 1 to {}", flag, value, most);
}

void check(const ModelSpec& spec) {
  check_flag("--hidden", spec.hidden_size, 1 << 20);
  check_flag("--layers", spec.num_layers, 1 << 12);
  check_flag("--heads", spec.num_heads, 1 << 14);
  check_flag("--kv-heads", spec.num_kv_heads, spec.num_heads);
  check_flag("--intermediate", spec.intermediate_size, 1 << 22);
  check_flag("--vocab", spec.vocab_size, 1 << 24);
  check_flag("--max-positions", spec.max_positions, 1 << 30);
  check_flag("--head-dim", spec.head_dim, 1 << 14);
  if (spec.num_heads % spec.num_kv_heads != 0)
    throw user_error("--kv-heads = {}: must divide --heads ({})", spec.num_kv_heads, spec.num_heads);
  if (spec.head_dim % 2 != 0)
    throw user_error("--head-dim = {}: must be even, rotary embeddings turn pairs", spec.head_dim);
  if (!(spec.rope_theta > 0)) throw user_error("--rope-theta = {}: must be above 0", spec.rope_theta);
}

}  // namespace

ModelSpec make_spec(const InitSizes& sizes, std::optional<int64_t> needed_vocab) {
  ModelSpec spec;
  spec.architecture = &find_architecture(sizes.arch, "--arch");
  spec.vocab_size = vocabulary(sizes, needed_vocab);
  spec.hidden_size = sizes.hidden, spec.num_layers = sizes.layers, spec.num_heads = sizes.heads;
  check_flag("--heads", sizes.heads, 1 << 14);
  if (!sizes.head_dim && sizes.hidden % sizes.heads != 0)
    throw user_error("--hidden = {}: must be divisible by --heads ({}), or give --head-dim", sizes.hidden, sizes.heads);
  spec.num_kv_heads = sizes.kv_heads.value_or(sizes.heads);
  spec.head_dim = sizes.head_dim.value_or(sizes.hidden / sizes.heads);
  spec.intermediate_size = sizes.intermediate.value_or(4 * sizes.hidden);
  spec.rope_theta = sizes.rope_theta, spec.max_positions = sizes.max_positions, spec.tied_head = sizes.tie;
  spec.qk_norm = spec.architecture->qk_norm;
  spec.qkv_bias = spec.architecture->qkv_bias == Bias::kAlways;
  spec.o_bias = spec.architecture->o_bias == Bias::kAlways;
  spec.mlp_bias = spec.architecture->mlp_bias == Bias::kAlways;
  check(spec);
  return spec;
}

}  // namespace roll
