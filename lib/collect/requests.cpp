#include "collect/requests.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "dist/messages.h"
#include "records/messages.h"
#include "step/redistribution.h"

namespace roll {

namespace {

constexpr int64_t kWord_bytes = 4;

/// Packets of all ranks, rank 0's first.
struct Packets {
  std::vector<int64_t> bytes, words, lengths;
  Distribution distribution;  // each rank is a group
};

/// Gathers the packet sizes of all ranks. **Collective**.
Packets all_gather_packet_lengths(const std::vector<Packet>& local, Communicator& world, std::string_view name) {
  PacketLengths local_lengths;
  for (const Packet& packet : local)
    local_lengths.packets.push_back({static_cast<uint32_t>(packet.bytes.size()), static_cast<uint32_t>(packet.length)});
  Packets all;
  for (const PacketLengths& rank_lengths : all_gather_messages(local_lengths, world, name)) {
    all.distribution.ranks.push_back({static_cast<int>(all.distribution.ranks.size())});
    std::vector<int64_t>& share = all.distribution.shares.emplace_back();
    for (const auto& [bytes, length] : rank_lengths.packets) {
      share.push_back(std::ssize(all.bytes));
      all.bytes.push_back(bytes);
      all.words.push_back((int64_t{bytes} + kWord_bytes - 1) / kWord_bytes);
      all.lengths.push_back(length);
    }
  }
  return all;
}

/// Returns the packets that `to` gives this rank. **Collective**.
std::vector<Packet> redistribute(const std::vector<Packet>& local, const Packets& all, const Distribution& to,
                                 Communicator& world, std::string_view name) {
  std::string words;  // redistribute() moves columns of words
  for (const Packet& packet : local) {
    words += packet.bytes;
    words.resize((words.size() + kWord_bytes - 1) / kWord_bytes * kWord_bytes);
  }
  const at::Tensor column = at::empty({std::ssize(words) / kWord_bytes}, at::kInt);
  std::ranges::copy(words, static_cast<char*>(column.mutable_data_ptr()));
  const at::Tensor redistributed = redistribute({column}, all.words, all.distribution, to, world, name)[0];
  const char* word = static_cast<const char*>(redistributed.const_data_ptr());
  std::vector<Packet> wanted;
  for (const int64_t packet : to.rank_share(world.rank())) {
    wanted.push_back({.bytes = {word, word + all.bytes[packet]}, .length = all.lengths[packet]});
    word += all.words[packet] * kWord_bytes;
  }
  return wanted;
}

}  // namespace

std::vector<std::optional<Packet>> request_packets(const std::vector<Packet>& local, RoleMesh& role,
                                                   const AssignRequests& share_out, const AnswerPackets& answer,
                                                   std::string_view name) {
  Communicator& world = role.world();
  const Packets asked = all_gather_packet_lengths(local, world, name);
  const Distribution answering_groups{world_groups(role), share_out(asked.lengths)};
  const std::vector<Packet> questions = redistribute(local, asked, answering_groups, world, name);
  std::vector<Packet> answers;
  if (role.is_here()) answers = answer(questions);

  const std::string answers_name = fmt::format("answers: {}", name);
  const Packets answer_packets = all_gather_packet_lengths(answers, world, answers_name);
  std::vector<int64_t> answer_to(asked.lengths.size(), -1);  // [Q] index of the answer; -1: none
  for (size_t group = 0; group < answering_groups.ranks.size(); ++group) {
    const std::vector<int64_t>& answer_indices =
        answer_packets.distribution.shares[answering_groups.ranks[group].front()];
    ROLL_CHECK_EQ(answer_indices.size(), answering_groups.shares[group].size(), "every question gets an answer");
    for (size_t i = 0; i < answer_indices.size(); ++i) answer_to[answering_groups.shares[group][i]] = answer_indices[i];
  }
  Distribution return_distribution = asked.distribution;
  for (std::vector<int64_t>& share : return_distribution.shares) {
    for (int64_t& question : share) question = answer_to[question];
    std::erase(share, -1);
  }
  std::vector<Packet> redistributed = redistribute(answers, answer_packets, return_distribution, world, answers_name);
  std::vector<std::optional<Packet>> results;
  auto next = redistributed.begin();
  for (const int64_t question : asked.distribution.rank_share(world.rank()))
    results.push_back(answer_to[question] < 0 ? std::nullopt : std::optional(std::move(*next++)));
  return results;
}

}  // namespace roll
