#include "experience/response_facts.h"

#include <algorithm>
#include <numeric>

namespace roll {

int64_t ResponseFacts::num_model_tokens() const {
  if (turns.empty()) return response_length;
  int64_t count = 0;
  for (const TurnFact& turn : turns) count += turn.end - turn.begin;
  return count;
}

std::map<std::string, std::vector<int64_t>> sequences_by_domain(const std::vector<ResponseFacts>& responses) {
  std::map<std::string, std::vector<int64_t>> sequences;
  for (size_t b = 0; b < responses.size(); ++b) sequences[responses[b].domain].push_back(static_cast<int64_t>(b));
  return sequences;
}

std::vector<int64_t> StepFacts::lengths() const {
  std::vector<int64_t> lengths;
  for (const ResponseFacts& response : responses) lengths.push_back(response.length());
  return lengths;
}

int64_t StepFacts::num_tokens() const {
  const std::vector<int64_t> all = lengths();
  return std::accumulate(all.begin(), all.end(), int64_t{0});
}

SequenceSizes StepFacts::sizes() const {
  SequenceSizes sizes{lengths(), column(responses, &ResponseFacts::group),
                      column(responses, &ResponseFacts::prompt_length)};
  for (const ResponseFacts& r : responses)
    sizes.contexts.push_back(context_lengths(r.prompt_length, r.response_length, r.turns));
  if (std::ranges::all_of(sizes.contexts, [](const auto& contexts) { return contexts.size() == 1; }))
    sizes.contexts.clear();
  return sizes;
}

}  // namespace roll
