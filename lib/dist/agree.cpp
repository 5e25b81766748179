#include "dist/agree.h"

#include <ATen/ATen.h>

#include <exception>

#include "base/error.h"

namespace roll {

AnotherRankFailed::AnotherRankFailed(int failed_rank, int code)
    : std::runtime_error(fmt::format("rank {} failed and has said why", failed_rank)), exit_code(code) {}

int exit_code_for(const std::exception& error) {
  if (const auto* other = dynamic_cast<const AnotherRankFailed*>(&error)) return other->exit_code;
  if (const auto* stopped = dynamic_cast<const Stopped*>(&error)) return stopped->exit_code();
  if (dynamic_cast<const UserError*>(&error)) return 2;
  return dynamic_cast<const Bug*>(&error) ? 70 : 1;
}

void agree(Communicator& ranks, const std::function<void()>& check) {
  constexpr int64_t kHeard =
      1000;  // added to the code of a rank that failed in check() only because another had failed
  std::exception_ptr own;
  int64_t code = 0;
  try {
    check();
  } catch (const std::exception& error) {
    own = std::current_exception();
    code = exit_code_for(error) + (dynamic_cast<const AnotherRankFailed*>(&error) ? kHeard : 0);
  }
  std::vector<at::Tensor> codes;
  try {
    codes = ranks.all_gather(at::full({1}, code, at::kLong), "agreement on errors");
  } catch (const SystemError&) {
    if (own) std::rethrow_exception(own);  // the root cause: the connection broke within check()
    throw;
  }
  for (const bool has_heard : {false, true})
    for (int speaker = 0; speaker < ranks.size(); ++speaker) {
      const int64_t failed = codes[static_cast<size_t>(speaker)].item<int64_t>();
      if (failed == 0 || (failed >= kHeard) != has_heard) continue;
      if (speaker == ranks.rank()) std::rethrow_exception(own);
      throw AnotherRankFailed(speaker, static_cast<int>(failed % kHeard));
    }
}

std::optional<StopKind> stop_agreed(Communicator& ranks) {
  const std::optional<StopKind> own = requested_stop();
  const int64_t any = ranks.all_reduce_max(own ? static_cast<int64_t>(*own) : 0, "wish to stop");
  if (any == 0) return std::nullopt;
  request_stop(static_cast<StopKind>(any));
  return static_cast<StopKind>(any);
}

}  // namespace roll
