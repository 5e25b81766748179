#include "forecast/sampling_traffic.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "cuda/sampling_math.h"

namespace roll {

void add_sampling_traffic(const Transformer& model, bool on_device, Communicator& tp, const ThinStep& step,
                          const std::vector<int64_t>& sequences) {
  if (tp.size() == 1) return;
  int64_t computed = 0, logits = 0, last_group = -1;
  for (const int64_t s : sequences) {
    bool is_shared = s / step.group_size == last_group;  // later responses of a group reuse the prompt and its logits
    last_group = s / step.group_size;
    for (const ThinTurn& turn : step.thin_turns(s)) {
      const int64_t after_first = std::max<int64_t>(0, turn.num_sampled - 1);
      const int64_t last_drawn = turn.num_cached > 0 ? 1 : 0;  // computed only when its context continues
      computed += after_first + last_drawn;
      logits += after_first;
      if (std::exchange(is_shared, false)) continue;
      computed += turn.num_prompt;
      ++logits;
    }
  }
  const ModelSpec& spec = model.spec();
  const auto options = at::TensorOptions(at::kMeta).dtype(at::kFloat);
  const auto sum = [&](int64_t tokens, int64_t times) {
    at::Tensor hidden = at::empty({tokens, spec.hidden_size}, options);
    tp.count_times(times * (2 * spec.num_layers + 1));
    tp.all_reduce_sum(hidden, "activations");
  };
  const int64_t vocab = (spec.vocab_size + tp.size() - 1) / tp.size();  // per rank
  const auto gather = [&](int64_t tokens, int64_t times) {
    tp.count_times(times);
    if (on_device) {
      const int64_t rows = (tokens + tp.size() - 1) / tp.size();  // rows that a rank samples
      const at::Tensor logits = at::empty({tp.size() * rows, vocab}, options);
      tp.start_all_to_all(logits, logits, "logits")->wait();
      const at::Tensor drawn = at::empty({rows * static_cast<int64_t>(sizeof(DrawnToken))}, options.dtype(at::kByte));
      tp.start_all_gather(drawn, at::empty({tp.size() * drawn.numel()}, drawn.options()), "drawn tokens")->wait();
      return;
    }
    model.gather_vocabulary(at::empty({tokens, model.head_weight().size(0)}, options));
  };
  // One pass per token of all sequences, then a pass for the remainder.
  const int64_t num_sequences = std::max<int64_t>(1, std::ssize(sequences));
  sum(num_sequences, computed / num_sequences);
  sum(computed % num_sequences, 1);
  gather(num_sequences, logits / num_sequences);
  gather(logits % num_sequences, 1);
  tp.count_times(1);
}

}  // namespace roll
