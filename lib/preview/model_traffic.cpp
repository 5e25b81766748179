#include "preview/model_traffic.h"

#include <algorithm>

#include "packing/alignment.h"

namespace roll {

namespace {

constexpr int64_t kFloat_bytes = 4;  // log-probs and values are float32, whatever the model is

/// Of a micro-batch on one context rank.
struct Rows {
  int64_t slots = 0;   // tokens and padding
  int64_t labels = 0;  // that predict a token of a response
};

/// Responses' labels in slots [begin, end) of a sequence: those of the tokens before them.
int64_t labels_in(int64_t prompt, int64_t response, int64_t begin, int64_t end) {
  return std::max<int64_t>(0, std::min(end, prompt + response - 1) - std::max(begin, prompt - 1));
}

Rows rows_of(const ModelGroups& groups, const ThinStep& step, const std::vector<int64_t>& micro_batch) {
  const int64_t cp = groups.cp.own.size, rank = groups.cp.own.index;
  const int64_t alignment = sequence_alignment(cp, groups.tp.own.size);
  Rows rows;
  for (const int64_t s : micro_batch) {
    const int64_t prompt = step.prompt_lengths[s], response = step.response_lengths[s];
    const int64_t aligned = aligned_length(prompt + response, alignment);
    rows.slots += aligned / cp;
    if (cp == 1) {
      rows.labels += response;
      continue;
    }
    const int64_t chunk = aligned / (2 * cp);
    for (const int64_t c : {rank, 2 * cp - 1 - rank})
      rows.labels += labels_in(prompt, response, c * chunk, (c + 1) * chunk);
  }
  return rows;
}

int64_t own_kv_numbers(const ModelSpec& spec, int64_t tp) {
  return 2 * std::max<int64_t>(1, spec.num_kv_heads / tp) * spec.head_dim;
}

/// Each layer gathers its tokens twice and scatters sums twice, the embedding scatters, the lm head gathers; backward
/// turns each into the other, and recomputation does a layer's again.
void add_tensor_traffic(PhaseTraffic& traffic, const ModelPass& pass, const Group& tp, const Rows& rows) {
  const int64_t layers = pass.spec.num_layers, head = pass.gives_values ? 0 : 1;
  const int64_t forwards = pass.trains && pass.recomputes ? 2 : 1;
  const int64_t gathers = 2 * layers * forwards + head + (pass.trains ? 2 * layers + 1 : 0);
  const int64_t scatters = 2 * layers * forwards + 1 + (pass.trains ? 2 * layers + head : 0);
  const int64_t whole = rows.slots * pass.spec.hidden_size * pass.element;
  traffic.all_gather(tp, pass.path, whole / tp.own.size, gathers);
  traffic.reduce_scatter(tp, pass.path, whole, scatters);
  if (pass.gives_values)
    traffic.all_gather(tp, pass.path, rows.slots / tp.own.size * kFloat_bytes);
  else
    traffic.all_gather(tp, pass.path, 4 * rows.labels * kFloat_bytes);  // what merges the parts of the vocabulary
}

/// Keys and values of all layers, and the results.
void add_context_traffic(PhaseTraffic& traffic, const ModelPass& pass, const ModelGroups& groups, const Rows& rows) {
  const int64_t kv = rows.slots * own_kv_numbers(pass.spec, groups.tp.own.size) * pass.element;
  const int64_t layers = pass.spec.num_layers;
  traffic.all_gather(groups.cp, pass.path, kv, pass.trains && pass.recomputes ? 2 * layers : layers);
  if (pass.trains) traffic.reduce_scatter(groups.cp, pass.path, groups.cp.own.size * kv, layers);
  traffic.all_gather(groups.cp, pass.path, rows.slots * kFloat_bytes, pass.trains && !pass.gives_values ? 2 : 1);
}

}  // namespace

void add_model_traffic(PhaseTraffic& traffic, const ModelPass& pass, const ModelGroups& groups, const ThinStep& step,
                       const std::vector<int64_t>& micro_batch) {
  if (micro_batch.empty() || groups.tp.own.size * groups.cp.own.size == 1) return;
  const Rows rows = rows_of(groups, step, micro_batch);
  if (groups.tp.own.size > 1) add_tensor_traffic(traffic, pass, groups.tp, rows);
  if (groups.cp.own.size > 1) add_context_traffic(traffic, pass, groups, rows);
}

void add_sampling_traffic(PhaseTraffic& traffic, const ModelPass& pass, const Group& tp, const ThinStep& step,
                          const std::vector<int64_t>& sequences) {
  if (tp.own.size == 1) return;
  int64_t computed = 0, logits = 0, last_group = -1;
  for (const int64_t s : sequences) {
    const int64_t after_first = std::max<int64_t>(0, step.response_lengths[s] - 1);
    computed += after_first, logits += after_first;  // nobody computes the last token that is drawn
    if (s / step.group_size == last_group) continue;
    last_group = s / step.group_size;
    computed += step.prompt_lengths[s], ++logits;  // from which the group's first tokens are drawn
  }
  const ModelSpec& spec = pass.spec;
  const int64_t sums = 2 * spec.num_layers + 1, own_rows = (spec.vocab_size + tp.own.size - 1) / tp.own.size;
  // As many tokens at a time as there are sequences, then the rest.
  const int64_t together = std::max<int64_t>(1, std::ssize(sequences));
  traffic.all_reduce(tp, pass.path, together * spec.hidden_size, pass.element, computed / together * sums);
  traffic.all_reduce(tp, pass.path, computed % together * spec.hidden_size, pass.element, sums);
  traffic.all_gather(tp, pass.path, together * own_rows * kFloat_bytes, logits / together);
  traffic.all_gather(tp, pass.path, logits % together * own_rows * kFloat_bytes);
}

}  // namespace roll
