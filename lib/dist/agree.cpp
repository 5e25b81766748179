#include "dist/agree.h"

#include <ATen/ATen.h>

#include <exception>

#include "base/error.h"

namespace roll {

AnotherRankFailed::AnotherRankFailed(int failed_rank, int code)
    : std::runtime_error(fmt::format("rank {} failed and has printed the reason", failed_rank)), exit_code(code) {}

int exit_code_for(const std::exception& error) {
  if (const auto* other = dynamic_cast<const AnotherRankFailed*>(&error)) return other->exit_code;
  if (const auto* stopped = dynamic_cast<const Stopped*>(&error)) return stopped->exit_code();
  if (dynamic_cast<const UserError*>(&error)) return 2;
  return dynamic_cast<const Bug*>(&error) ? 70 : 1;
}

void agree(Communicator& ranks, const std::function<void()>& check) {
  constexpr int64_t kSecondary =
      1000;  // added to the code of a rank that failed in check() only because another had failed
  std::exception_ptr own_error;
  int64_t code = 0;
  try {
    check();
  } catch (const std::exception& error) {
    own_error = std::current_exception();
    code = exit_code_for(error) + (dynamic_cast<const AnotherRankFailed*>(&error) ? kSecondary : 0);
  }
  std::vector<at::Tensor> codes;
  try {
    codes = ranks.all_gather(at::full({1}, code, at::kLong), "agreement on errors");
  } catch (const SystemError&) {
    if (own_error) std::rethrow_exception(own_error);  // the root cause: the connection broke within check()
    throw;
  }
  for (const bool is_secondary : {false, true})
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const int64_t rank_code = codes[static_cast<size_t>(rank)].item<int64_t>();
      if (rank_code == 0 || (rank_code >= kSecondary) != is_secondary) continue;
      if (rank == ranks.rank()) std::rethrow_exception(own_error);
      throw AnotherRankFailed(rank, static_cast<int>(rank_code % kSecondary));
    }
}

std::optional<StopKind> stop_agreed(Communicator& ranks) {
  const std::optional<StopKind> own_request = requested_stop();
  const int64_t strongest_request =
      ranks.all_reduce_max(own_request ? static_cast<int64_t>(*own_request) : 0, "stop request");
  if (strongest_request == 0) return std::nullopt;
  request_stop(static_cast<StopKind>(strongest_request));
  return static_cast<StopKind>(strongest_request);
}

}  // namespace roll
