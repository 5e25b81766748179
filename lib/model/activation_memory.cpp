#include "model/activation_memory.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "model/handover.h"
#include "model/mtp_head.h"
#include "ops/products.h"

namespace roll {

namespace {

/// Bytes per token of token ids, masks and what the loss keeps. Each rank counts all tokens of the micro-batch.
constexpr double kTokenBytes = 128;

/// Bytes of a mixer per token of the rank's sequences.
struct MixerBytes {
  double kept = 0;      // needed by backward, beside the mixer's input
  double backward = 0;  // peak in backward, beside `kept` and the gradient of the result
  double forward = 0;   // peak without backward, beside the mixer's input
};

struct LayerBytes {
  double kept = 0;      // needed by backward, including the layer's input
  double backward = 0;  // peak in the layer's backward, including `kept`
  double forward = 0;   // peak without backward
};

struct ElementSizes {
  explicit ElementSizes(const ActivationRule& r)
      : rule(r),
        bytes(static_cast<double>(c10::elementSize(r.dtype))),
        tokens(static_cast<double>(std::max<int64_t>(1, r.tokens / r.cp))),
        shares(r.whole > r.tokens),
        keys(shares ? static_cast<double>(r.whole) / static_cast<double>(r.tokens) : 1),
        is_wide(bytes >= 4),
        widens(!r.on_gpu && !is_wide && !multiplies_bfloat16()) {}

  const ActivationRule& rule;
  double bytes;   // per element
  double tokens;  // tokens on this rank
  bool shares;    // shared prefixes are computed once
  double keys;    // keys per computed token; each piece counts its shared prefix
  bool is_wide;   // float32
  bool widens;    // products convert their operands to float32

  double num_bytes(int64_t numbers) const { return bytes * static_cast<double>(numbers); }
  /// Bytes per token of the residual stream, whose tokens tensor ranks share.
  double stream(int64_t hidden) const { return num_bytes(hidden) / static_cast<double>(rule.tp); }
  /// Bytes per token of a product's operands and result in float32; in backward also its weight's gradient in both
  /// dtypes.
  double widened(const LinearShape& product, bool trains) const {
    if (!widens) return 0;
    const int64_t outputs = product.outputs / (product.cut.dim == 0 ? rule.tp : 1);
    const int64_t inputs = product.inputs / (product.cut.dim == 1 ? rule.tp : 1);
    return static_cast<double>(outputs * inputs) * (trains ? 6 : 4) / tokens +
           4.0 * static_cast<double>(outputs + inputs);
  }
};

/// Bytes per token of float32 buffers in the backward of LibTorch's flash kernels: the queries' gradients and one value
/// per query. The deterministic kernel splits the gradients over the GPU's processors. Each piece of a sequence is
/// padded by some rows.
double flash_sums(const Attention& attention, int64_t heads, const ElementSizes& n) {
  constexpr int64_t kProcessors = 132, kMore = 128;  // SMs of an H100 or H200; padding rows of a piece
  const int64_t dim = attention.head_dim, width = dim <= 128 ? (dim + 31) / 32 * 32 : dim <= 192 ? 192 : 256;
  const int64_t whole = std::max(n.rule.tokens, n.rule.whole);
  const int64_t sequences = (whole + n.rule.longest - 1) / std::max<int64_t>(1, n.rule.longest);
  const int64_t pieces = (n.rule.cp > 1 ? 2 : 1) * std::max<int64_t>(1, sequences);
  const int64_t parts = n.rule.deterministic ? (kProcessors + pieces * heads - 1) / (pieces * heads) : 1;
  return 4.0 * static_cast<double>(heads * (parts * width + 1)) * (1 + static_cast<double>(kMore * pieces) / n.tokens);
}

/// True if a GPU has no flash kernel for it, so that the whole score matrix exists.
bool has_whole_scores(const Attention& attention, const ElementSizes& n) {
  constexpr int64_t kLargestFlashHead = 256;
  return n.rule.on_gpu && (n.is_wide || attention.head_dim > kLargestFlashHead);
}

/// Gathered keys under context parallelism, in rows per token of this rank. `all`: keys of all ranks. `named`: keys
/// that this rank's pieces attend to; each piece sees half of all on average.
struct GatheredKeys {
  explicit GatheredKeys(int64_t cp) : all(cp > 1 ? static_cast<double>(cp) : 0), named(cp > 1 ? all + 0.5 : 0) {}
  double all, named;
};

/// Attention whose pieces share prefixes.
MixerBytes shared_attention_bytes(const Attention& attention, int64_t hidden, const ElementSizes& n) {
  const int64_t tp = n.rule.tp, cp = n.rule.cp, heads = attention.num_heads / tp;
  const double q = n.num_bytes(heads * attention.head_dim),
               kv = n.num_bytes(attention.kv_heads_per_rank(tp) * attention.head_dim);
  const bool has_norms = attention.q_norm.width > 0, is_grouped = kv < q;
  const double packed = q + 2 * kv, rotated = has_norms ? q + kv : 0;
  const double gathered = cp > 1 ? 2 * kv * (static_cast<double>(cp) + 0.5) : 0;  // keys and values of all ranks
  const double copies = n.rule.on_gpu ? 2 * kv * n.keys : 0;                      // keys and values of all pieces
  MixerBytes found;
  found.forward = packed + (n.rule.on_gpu ? rotated : 0) + q + std::max(q, n.num_bytes(hidden)) + gathered + copies;
  // Scaled queries and keys, values for each query head, probabilities, the result.
  if (has_whole_scores(attention, n)) {
    found.kept = (has_norms || !is_grouped ? packed : 0) + gathered + 2 * q + (is_grouped ? 2 : 1) * q * n.keys +
                 n.num_bytes(heads * n.rule.longest) + (is_grouped ? 0 : copies / 2);
    found.backward = 3 * q + 2 * q * n.keys;
    return found;
  }
  found.kept = packed + rotated + q + gathered + 4.0 * static_cast<double>(heads);  // log-sums in float32
  found.backward = 2 * q + 2 * kv * n.keys + copies;
  found.backward += (n.is_wide ? 1 : 4 / n.bytes * (1 + n.keys)) * kv;  // float32 sums per row
  if (n.rule.on_gpu)
    found.backward += flash_sums(attention, heads, n) + (is_grouped ? 2 * q * n.keys : 0);  // gradients per query head
  if (!n.rule.on_gpu && !n.is_wide) {                                                       // computed in float32
    found.forward = std::max(found.forward, 3 * (packed + q) + gathered);
    found.backward += 2 * (3 * q + 2 * kv * n.keys) + 2 * packed;
  }
  return found;
}

MixerBytes mixer_bytes(const Attention& attention, int64_t hidden, const ElementSizes& n) {
  if (n.shares) return shared_attention_bytes(attention, hidden, n);
  const int64_t tp = n.rule.tp, cp = n.rule.cp, heads = attention.num_heads / tp;
  const double q = n.num_bytes(heads * attention.head_dim),
               kv = n.num_bytes(attention.kv_heads_per_rank(tp) * attention.head_dim);
  const bool has_norms = attention.q_norm.width > 0, is_grouped = kv < q;
  const bool is_cut = cp > 1;
  const double packed = q + 2 * kv, rotated = has_norms ? q + kv : 0;
  const GatheredKeys keys(cp);
  const double gathered = 2 * kv * keys.all, named = 2 * kv * keys.named;
  MixerBytes found;
  found.forward = packed + q + std::max({q, n.num_bytes(hidden), gathered + (n.rule.on_gpu ? named : gathered)});
  if (n.rule.on_gpu) found.forward += rotated;
  // Scaled queries and keys, values for each query head, probabilities, the result.
  if (has_whole_scores(attention, n)) {
    const bool has_own_values = !is_grouped && !is_cut;  // values stay where their product wrote them
    const double rows = is_cut ? keys.named : 1, seen = is_cut ? keys.named / (2 * keys.all) : 1;
    if (is_cut) found.forward += q;  // results of each piece, and joined
    found.kept = (has_norms || has_own_values ? packed : 0) + (2 + rows + (has_own_values ? 0 : rows)) * q +
                 seen * n.num_bytes(heads * n.rule.longest);
    found.backward = 5 * q;
    return found;
  }
  found.kept = packed + rotated + q + gathered + 4.0 * static_cast<double>(heads);  // log-sums in float32
  found.backward = is_cut ? 2 * q + named + gathered : 2 * q + 2 * kv;
  if (n.rule.on_gpu) {
    const double head_gradients = is_grouped ? 2 * q : 0, sums = flash_sums(attention, heads, n);
    if (is_cut)  // gradients of named keys are added up in float32
      found.backward = 2 * q + 2 * named + std::max(head_gradients * keys.named + sums, 2 * gathered);
    else
      found.backward += head_gradients + sums;
    return found;
  }
  if (is_cut) found.kept -= 2 * kv;  // nobody reads this rank's own keys and values
  if (!n.is_wide) {                  // computed in float32
    const double seen = is_cut ? gathered : 2 * kv, own = is_cut ? named : 2 * kv;  // keys and values, their gradients
    found.forward = std::max(found.forward, packed + 5 * q + 2 * (seen + gathered));
    found.backward = 10 * q + 2 * kv + 2 * (seen + own);
  }
  return found;
}

/// Attention over heads, the products before it, and padded copies of heads.
MixerBytes mixer_bytes(const LatentAttention& attention, int64_t hidden, const ElementSizes& n) {
  const Attention heads = attention.over_heads();
  const int64_t own = attention.num_heads / n.rule.tp;
  const double query = n.num_bytes(own * (attention.key_dim + attention.rotated_dim)),
               up = n.num_bytes(own * (attention.key_dim + attention.value_dim)),
               latents = n.num_bytes(2 * attention.q_down.outputs + 2 * attention.cached_dim());
  MixerBytes found = mixer_bytes(heads, hidden, n);
  found.kept += latents + n.num_bytes(own * attention.value_dim);
  found.forward += latents + query + up;
  found.backward += latents + query + up;
  return found;
}

/// Mostly float32: rows around the convolution, heads in chunks, token pairs of a chunk, one state per chunk.
MixerBytes mixer_bytes(const GatedDeltaNet& net, int64_t hidden, const ElementSizes& n) {
  const auto tp = static_cast<double>(n.rule.tp), chunk = static_cast<double>(std::min<int64_t>(64, n.rule.longest));
  const double heads = static_cast<double>(net.value_heads) / tp, mixed = static_cast<double>(net.convolved()) / tp;
  const double keys = heads * static_cast<double>(net.key_dim), values = heads * static_cast<double>(net.value_dim);
  const double pairs = heads * chunk, states = keys * static_cast<double>(net.value_dim) / chunk;
  const double gathered = n.rule.cp > 1 ? static_cast<double>(n.rule.cp) : 1;  // each context rank has all tokens
  const double inside = 3 * mixed + 8 * keys + 4 * values + 5 * pairs + states;
  MixerBytes found;
  found.kept = 4 * gathered * inside + n.bytes * (n.is_wide ? 4 : 5) * values;
  found.backward = 4 * gathered * (2 * mixed + 3 * keys + 3 * values + 2 * pairs + states);
  found.forward =
      4 * gathered * (2 * mixed + 7 * keys + 3 * values + 3 * pairs + states) + n.bytes * mixed + n.num_bytes(hidden);
  return found;
}

MixerBytes mixer_bytes(const GatedMlp& mlp, int64_t hidden, const ElementSizes& n) {
  const double inner = n.num_bytes((mlp.inner + n.rule.tp - 1) / n.rule.tp);
  // oneDNN's weight-gradient product of gate and up makes transposed copies of their output gradients.
  const double copied = !n.rule.on_gpu && n.is_wide && multiplies_by_onednn() ? 2 * inner : 0;
  return {
      .kept = 3 * inner,
      .backward = std::max(2 * inner + copied, inner + n.widened(mlp.down, /*trains=*/true)),
      .forward = std::max({3 * inner, inner + n.num_bytes(hidden), 2 * inner + n.widened(mlp.up, /*trains=*/false)})};
}

MixerBytes mixer_bytes(const LayerInput& input, int64_t hidden, const ElementSizes& n) {
  const double width = n.num_bytes(input.gate.outputs) / static_cast<double>(n.rule.tp);  // on one tensor rank
  return {.kept = 3 * width, .backward = 3 * width, .forward = 2 * width + n.stream(hidden)};
}

/// Each token has `chosen` rows: input, gate, up, their product, output. Under expert parallelism a rank receives as
/// many rows as it sends, on average. They also exist in rank order, with two index lists between the orders.
MixerBytes mixer_bytes(const Experts& experts, int64_t hidden, const ElementSizes& n) {
  const auto chosen = static_cast<double>(experts.routing.chosen),
             wide = 4.0 * static_cast<double>(experts.routing.count);
  const double row = n.num_bytes(hidden), inner = n.num_bytes((experts.inner + n.rule.tp - 1) / n.rule.tp);
  const double routing = 16 * chosen + wide, sum = 4.0 * static_cast<double>(hidden);
  MixerBytes found{.kept = chosen * (2 * row + 3 * inner) + routing + wide,
                   .backward = chosen * std::max(row + 2 * inner, 2 * row + inner) + sum,
                   .forward = chosen * (2 * row + 3 * inner) + routing + 2 * sum};
  if (n.rule.ep > 1) {
    const double index_bytes = 2 * 8 * chosen;
    found.kept += index_bytes;
    found.backward = std::max(found.backward, chosen * 2 * row + sum);  // rows being exchanged
    found.forward += chosen * 2 * row + index_bytes;
  }
  if (!experts.shared) return found;
  const MixerBytes shared = mixer_bytes(*experts.shared, hidden, n);
  found.kept += shared.kept + row;
  found.backward = std::max(found.backward, shared.backward);
  found.forward += std::max(shared.forward, row) + row;
  return found;
}

MixerBytes mixer_bytes(const MlpBesideExperts& both, int64_t hidden, const ElementSizes& n) {
  const MixerBytes mlp = mixer_bytes(both.mlp, hidden, n), experts = mixer_bytes(both.experts, hidden, n);
  const double norms = 3 * n.num_bytes(hidden) + 2 * n.stream(hidden);  // outputs and inputs of norms
  return {.kept = mlp.kept + experts.kept + norms,
          .backward = std::max(mlp.backward, experts.backward) + n.num_bytes(hidden),
          .forward = std::max(mlp.forward, experts.forward + n.stream(hidden)) + n.num_bytes(hidden)};
}

/// Number of weights in the blocks after `block`.
double weights_behind(const Layer& layer, size_t block) {
  int64_t weights = 0;
  for (size_t i = block + 1; i < layer.size(); ++i)
    for_each_part({layer[i]}, [&](const auto& part) {
      if constexpr (requires { part.outputs; }) weights += part.outputs * part.inputs;
    });
  return static_cast<double>(weights);
}

/// Bytes per token that adapters keep: x A^T in float32, and with DoRA the product before it is stretched. Experts keep
/// their inputs in float32, too; others read the layer's own (ops/low_rank.h).
double adapter_bytes(const Block& block, const ElementSizes& n) {
  double numbers = 0;
  for_each_part({block}, [&](const auto& part) {
    if constexpr (requires { part.adapter; })
      if (part.adapter.rank > 0) {
        const int64_t copied = (part.expert && !n.is_wide) || part.adapter.has_magnitude ? part.inputs : 0;
        const int64_t stretched = part.adapter.has_magnitude ? part.outputs : 0;
        numbers += part.share * static_cast<double>(part.adapter.rank + copied + stretched);
      }
  });
  return 4.0 * numbers;
}

/// `again`: backward recomputes the layer under a separate graph, which keeps its gradients until it is done.
LayerBytes layer_bytes(const Layer& layer, const ElementSizes& n, bool again = false) {
  LayerBytes found;
  for (size_t i = 0; i < layer.size(); ++i) {
    const int64_t hidden = layer[i].hidden();
    const double stream = n.stream(hidden), normed = n.rule.tp > 1 ? n.num_bytes(hidden) : stream;
    const MixerBytes mixer_memory =
        std::visit([&](const auto& mixer) { return mixer_bytes(mixer, hidden, n); }, layer[i].mixer);
    const double streams = i == 0 ? 1 : n.rule.on_gpu ? 3 : 2;  // layer input, sum, branch result
    // Tokens gathered over tensor ranks exist beside this rank's own.
    const double gathered = n.rule.tp > 1 ? stream : 0;
    found.forward = std::max(found.forward, streams * stream + gathered + normed + mixer_memory.forward);
    const double behind = layer[i].after.width > 0 ? stream : 0;  // input of the block's output norm
    found.kept += stream + normed + mixer_memory.kept + behind + adapter_bytes(layer[i], n);
    double gradients = again ? stream + (i + 1 < layer.size() ? stream : 0) : 0;  // gradients of input and result
    if (again && !n.rule.on_gpu && !n.is_wide)
      gradients += weights_behind(layer, i) * n.bytes / (n.tokens * static_cast<double>(n.rule.tp));
    found.backward = std::max(found.backward, found.kept + stream + mixer_memory.backward + gradients);
  }
  return found;
}

/// Bytes of a model's head if every token has a label.
struct HeadBytes {
  double forward = 0, backward = 0;  // peaks, beside what the layers keep
  double waits = 0;                  // the head's gradient, kept until the embedding's exists
  double embedding = 0;              // peak in the embedding's backward
};

HeadBytes head_bytes(const ModelSpec& spec, const ElementSizes& n) {
  const ActivationRule& rule = n.rule;
  const double tokens = n.tokens, hidden = tokens * n.num_bytes(spec.hidden_size);
  if (!rule.has_lm_head) {  // the value head computes in float32
    const double wide = n.is_wide ? 0 : tokens * 4.0 * static_cast<double>(spec.hidden_size);
    return {.forward = hidden + wide, .backward = hidden + 2 * wide};
  }
  const int64_t vocab_rows = spec.vocab_size / rule.tp;
  const auto vocab = static_cast<double>(vocab_rows);
  const double row = 4 * vocab;
  const double rows = std::clamp(std::floor(static_cast<double>(logits_chunk_bytes(rule.on_gpu)) / row), 1.0, tokens);
  const double logits = rows * row, weight = 4 * vocab * static_cast<double>(spec.hidden_size);
  const double narrow = n.is_wide ? 0 : logits / 2 + (n.widens ? logits : 0);  // gradient in the dtype of products
  HeadBytes head{.forward = 2 * hidden + logits, .backward = 2 * hidden + logits + narrow};
  if (rule.on_gpu) return head;  // weight gradients are accumulated in place
  // The gradient's sum, and beside it either the narrow product and its float32 copy, or the head in float32.
  head.backward += weight + (n.is_wide ? 0 : n.widens ? weight : 1.5 * weight);
  head.waits = spec.tied_head ? weight * n.bytes / 4 : 0;
  head.embedding = head.waits + weight * (n.is_wide ? 1 : 1.5);
  return head;
}

/// Bytes of the RoPE table.
double rope_table_bytes(const ModelSpec& spec, const ActivationRule& rule) {
  return 4.0 * static_cast<double>(rule.longest * spec.head_dim);
}

std::vector<Layer> chunk_layers(const ModelSpec& spec, const ActivationRule& rule) {
  const std::vector<Layer> all_layers = spec.layers();
  if (rule.layers.empty()) return all_layers;
  std::vector<Layer> chunk;
  for (const int64_t layer : rule.layers) chunk.push_back(all_layers[layer]);
  return chunk;
}

/// Bytes of the tensors given to layers beside x (Carried in mixers.h), and of their gradients.
struct CarriedBytes {
  double inputs = 0, heads = 0;
  bool is_made = false;  // this rank makes the inputs, so backward needs their norm's input

  double kept() const { return (is_made ? 2 : 1) * inputs + heads; }
  double forward() const { return inputs + heads; }
  double backward() const { return 2 * inputs + heads; }  // one layer's gradient, and the sum over later layers
};

CarriedBytes carried_bytes(const ModelSpec& spec, const ActivationRule& rule, const ElementSizes& n) {
  const std::vector<Layer> all_layers = spec.layers();
  const bool is_begin = rule.layers.empty() || rule.layers.front() == 0;
  CarriedBytes found{.is_made = is_begin};
  const auto add_before = [&](int64_t layer) {
    const Handover handover = handover_before(all_layers, layer, rule.tp);
    found.inputs += n.tokens * n.stream(handover.num_inputs * handover.width);
    for (const auto& [number, dim] : handover.heads) found.heads += n.tokens * n.num_bytes(2 * number * dim);
  };
  if (is_begin) add_before(0);
  for (int64_t before = 0; const int64_t layer : rule.layers) {
    if (layer > before) add_before(layer);  // a chunk of this stage begins here
    before = layer + 1;
  }
  return found;
}

}  // namespace

double training_activation_bytes(const ModelSpec& spec, const ActivationRule& rule) {
  const ElementSizes n(rule);
  std::vector<Layer> layers = chunk_layers(spec, rule);
  const double input = n.tokens * n.stream(spec.hidden_size);
  const HeadBytes head = head_bytes(spec, n);
  const CarriedBytes carried = carried_bytes(spec, rule, n);
  double kept = carried.kept(), most = head.embedding;
  if (spec.trains_mtp && rule.has_lm_head && (rule.layers.empty() || rule.layers.back() == spec.num_layers - 1)) {
    layers.push_back(describe_mtp(spec).layer);
    kept += 6 * input;  // inputs of its three norms, results of two and of the third; both joined are the projection's
  }
  for (const LayerUnit& unit : layer_units(rule.recomputation, std::ssize(layers))) {
    Layer unit_layers;
    for (int64_t i = 0; i < unit.size; ++i) std::ranges::copy(layers[unit.first + i], std::back_inserter(unit_layers));
    const LayerBytes unit_bytes = layer_bytes(unit_layers, n, unit.is_recomputed);
    most = std::max(most, kept + n.tokens * unit_bytes.backward + head.waits);
    kept += unit.is_recomputed ? input : n.tokens * unit_bytes.kept;
  }
  kept += input;  // input of the final norm
  most = std::max({most, kept + head.forward, kept + head.backward});
  const double micro_batch_bytes =
      static_cast<double>(std::max(rule.tokens, rule.whole)) * kTokenBytes + rope_table_bytes(spec, rule);
  return most + carried.backward() + micro_batch_bytes + (rule.in_flight - 1) * (kept + micro_batch_bytes);
}

double forward_activation_bytes(const ModelSpec& spec, const ActivationRule& rule) {
  const ElementSizes n(rule);
  double most = head_bytes(spec, n).forward;
  for (const Layer& layer : chunk_layers(spec, rule)) most = std::max(most, n.tokens * layer_bytes(layer, n).forward);
  return most + carried_bytes(spec, rule, n).forward() +
         static_cast<double>(std::max(rule.tokens, rule.whole)) * kTokenBytes / 2 + rope_table_bytes(spec, rule);
}

}  // namespace roll
