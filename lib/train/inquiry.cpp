#include "train/inquiry.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "dist/messages.h"
#include "train/messages.h"
#include "train/routes.h"

namespace roll {

namespace {

/// Lists of all ranks, numbered rank after rank.
struct Lists {
  std::vector<int64_t> lengths;
  Distribution at;  // each rank in a group of its own
};

/// **Collective**.
Lists tell_lengths(const std::vector<Letter>& mine, Communicator& world, std::string_view name) {
  ListLengths own;
  for (const Letter& words : mine) own.lengths.push_back(static_cast<uint32_t>(words.size()));
  Lists lists;
  for (const ListLengths& told : all_gather_messages(own, world, name)) {
    lists.at.ranks.push_back({static_cast<int>(lists.at.ranks.size())});
    std::vector<int64_t>& share = lists.at.shares.emplace_back();
    for (const uint32_t length : told.lengths) {
      share.push_back(std::ssize(lists.lengths));
      lists.lengths.push_back(length);
    }
  }
  return lists;
}

/// **Collective**.
std::vector<Letter> bring(const std::vector<Letter>& mine, const Lists& lists, const Distribution& to,
                          Communicator& world, std::string_view name) {
  Letter all;
  for (const Letter& words : mine) all.insert(all.end(), words.begin(), words.end());
  const at::Tensor brought = Routes(lists.lengths, lists.at, to, world).bring({at::tensor(all, at::kInt)}, name)[0];
  const int32_t* word = brought.const_data_ptr<int32_t>();
  std::vector<Letter> wanted;
  for (const int64_t list : to.share_of(world.rank())) {
    wanted.emplace_back(word, word + lists.lengths[list]);
    word += lists.lengths[list];
  }
  return wanted;
}

}  // namespace

std::vector<std::optional<Letter>> inquire(const std::vector<Letter>& mine, RoleMesh& role, const Answering& answering,
                                           std::string_view name) {
  Communicator& world = role.world();
  const Lists asked = tell_lengths(mine, world, name);
  const Distribution answering_groups{world_groups(role), answering.share_out(asked.lengths)};
  const std::vector<Letter> questions = bring(mine, asked, answering_groups, world, name);
  std::vector<Letter> answers;
  if (role.is_here()) answers = answering.answer(questions);

  const std::string what = fmt::format("answers: {}", name);
  const Lists given = tell_lengths(answers, world, what);
  std::vector<int64_t> answer_to(asked.lengths.size(), -1);  // [Q] its number
  for (size_t group = 0; group < answering_groups.ranks.size(); ++group) {
    const std::vector<int64_t>& numbers = given.at.shares[answering_groups.ranks[group].front()];
    ROLL_CHECK_EQ(numbers.size(), answering_groups.shares[group].size(), "every question gets an answer");
    for (size_t i = 0; i < numbers.size(); ++i) answer_to[answering_groups.shares[group][i]] = numbers[i];
  }
  Distribution home = asked.at;
  for (std::vector<int64_t>& share : home.shares) {
    for (int64_t& question : share) question = answer_to[question];
    std::erase(share, -1);
  }
  std::vector<Letter> brought = bring(answers, given, home, world, what);
  std::vector<std::optional<Letter>> own;
  auto next = brought.begin();
  for (const int64_t question : asked.at.share_of(world.rank()))
    own.push_back(answer_to[question] < 0 ? std::nullopt : std::optional(std::move(*next++)));
  return own;
}

}  // namespace roll
