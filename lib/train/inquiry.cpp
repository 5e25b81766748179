#include "train/inquiry.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "dist/messages.h"
#include "train/messages.h"
#include "train/routes.h"

namespace roll {

namespace {

constexpr int64_t kWord_bytes = 4;

/// Letters of all ranks, numbered rank after rank.
struct Letters {
  std::vector<int64_t> bytes, words, lengths;
  Distribution at;  // each rank in a group of its own
};

/// **Collective**.
Letters tell_letters(const std::vector<Letter>& mine, Communicator& world, std::string_view name) {
  LetterLengths own;
  for (const Letter& letter : mine)
    own.letters.push_back({static_cast<uint32_t>(letter.bytes.size()), static_cast<uint32_t>(letter.length)});
  Letters all;
  for (const LetterLengths& told : all_gather_messages(own, world, name)) {
    all.at.ranks.push_back({static_cast<int>(all.at.ranks.size())});
    std::vector<int64_t>& share = all.at.shares.emplace_back();
    for (const auto& [bytes, length] : told.letters) {
      share.push_back(std::ssize(all.bytes));
      all.bytes.push_back(bytes);
      all.words.push_back((int64_t{bytes} + kWord_bytes - 1) / kWord_bytes);
      all.lengths.push_back(length);
    }
  }
  return all;
}

/// **Collective**.
std::vector<Letter> bring(const std::vector<Letter>& mine, const Letters& all, const Distribution& to,
                          Communicator& world, std::string_view name) {
  std::string words;  // routes have columns of words
  for (const Letter& letter : mine) {
    words += letter.bytes;
    words.resize((words.size() + kWord_bytes - 1) / kWord_bytes * kWord_bytes);
  }
  const at::Tensor column = at::empty({std::ssize(words) / kWord_bytes}, at::kInt);
  std::ranges::copy(words, static_cast<char*>(column.mutable_data_ptr()));
  const at::Tensor brought = Routes(all.words, all.at, to, world).bring({column}, name)[0];
  const char* word = static_cast<const char*>(brought.const_data_ptr());
  std::vector<Letter> wanted;
  for (const int64_t letter : to.share_of(world.rank())) {
    wanted.push_back({.bytes = {word, word + all.bytes[letter]}, .length = all.lengths[letter]});
    word += all.words[letter] * kWord_bytes;
  }
  return wanted;
}

}  // namespace

std::vector<std::optional<Letter>> inquire_letters(const std::vector<Letter>& mine, RoleMesh& role,
                                                   const ShareOut& share_out, const AnswerLetters& answer,
                                                   std::string_view name) {
  Communicator& world = role.world();
  const Letters asked = tell_letters(mine, world, name);
  const Distribution answering_groups{world_groups(role), share_out(asked.lengths)};
  const std::vector<Letter> questions = bring(mine, asked, answering_groups, world, name);
  std::vector<Letter> answers;
  if (role.is_here()) answers = answer(questions);

  const std::string what = fmt::format("answers: {}", name);
  const Letters given = tell_letters(answers, world, what);
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
