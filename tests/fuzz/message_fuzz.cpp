// What a rank takes from another: the first letter picks which message is expected.
#include <array>

#include "input.h"
#include "records/messages.h"

namespace {

using namespace roll;

/// Bytes that are read are those that are written, but for JSON, which has several spellings.
template <class M>
void read(std::string_view bytes) {
  M message;
  try {
    message = decode_message<M>(bytes);
  } catch (const SystemError&) {
    return;
  }
  const std::string written = encode_message(message);
  constexpr bool kHasJson =
      std::is_same_v<M, StartMessage> || std::is_same_v<M, StateMessage> || std::is_same_v<M, Rollouts>;
  if (!kHasJson && written != bytes) __builtin_trap();
  if (encode_message(decode_message<M>(written)) != written) __builtin_trap();
}

constexpr auto kReaders = std::to_array<void (*)(std::string_view)>(
    {read<StartMessage>, read<StateMessage>, read<SamplingNews>, read<GroupMessage>, read<StopWish>,
     read<SamplingContinues>, read<ResponseLengths>, read<FactsMessage>, read<Rollouts>, read<ShownSamples>,
     read<PacketLengths>, read<ScorePrompt>, read<ScoreReply>, read<JudgeRequest>, read<JudgeResponse>,
     read<FirstUpdateMessage>});

}  // namespace

FUZZ(input) {
  if (input.empty()) return;
  const auto pick = static_cast<unsigned char>(input[0]) - 'a';
  if (pick >= 0 && pick < std::ssize(kReaders)) roll::fuzz::allow_refusal([&] { kReaders[pick](input.substr(1)); });
}
