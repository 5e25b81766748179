// Multi-token prediction (MTP; DeepSeek-V3, section 2.2): a head beside the policy that predicts the token after the
// next one, so that a server can guess tokens. At token t it reads h_t, the policy's hidden state after the final norm,
// and e_{t+1}, the embedding of the next token:
//   x_t = projection([embedding_norm(e_{t+1}); hidden_norm(h_t)])
//   log-probs of token t + 2 = log softmax(lm_head(norm(layer(x)_t)))
// The layer is a decoder layer with attention over x_0 ... x_t. No gradient flows from the head to h, the embedding and
// the lm head: it learns to follow the policy, and the policy's own gradient stays as it is.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/backbone.h"
#include "model/mtp_head.h"
#include "model/packed.h"
#include "model/spec.h"
#include "model/token_layout.h"

namespace roll {

/// Returns the names of the tensors of a folder that are copies of parameters, beside the head's, and the parameters'
/// names.
std::map<std::string, std::string> mtp_copies(const ModelSpec& spec);

/// Returns the spec with the folder's head among the policy's parameters. `folder`: from open_weights(). Throws
/// UserError if the architecture or the folder has no head, or the folder has several.
ModelSpec with_mtp(ModelSpec spec, const HfFolder& folder);

/// Computes the FLOPs of training the head, fast for many sequences, like ForwardFlops.
class MtpTrainingFlops {
 public:
  explicit MtpTrainingFlops(const ModelSpec& spec);
  /// length: tokens of a sequence; head_rows: those at which the head predicts. Returns 0 without spec.trains_mtp.
  double operator()(int64_t length, int64_t head_rows) const;

 private:
  std::optional<ForwardFlops> layer_;  // null: 0 FLOPs
  double projection_ = 0;              // forward, per token
};

/// A head's tensors.
struct MtpWeights {
  Linear projection;
  at::Tensor embedding_norm, hidden_norm, norm;
  LayerWeights layer;
};

/// Returns the tensors of the model's head, which share the storage of `parameters`. Throws Bug if one is missing.
MtpWeights find_mtp(const ModelSpec& spec, const ParameterIndex& parameters, const ModelParallel& parallel);

/// Returns the mask [T] of the tokens t for which the head predicts token t + 2: those before a token t + 1 of the same
/// context that is in `wanted` [T] and has a next token. Both masks are on the host; `wanted` undefined: all 1.
at::Tensor further_mask(const PackedTokens& tokens, const at::Tensor& wanted);

}  // namespace roll
