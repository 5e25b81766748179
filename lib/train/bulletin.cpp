#include "train/bulletin.h"

#include <fmt/ranges.h>

#include <ranges>

#include "base/error.h"

namespace roll {

void Bulletin::post(std::string news) {
  ROLL_CHECK(!pending_ && news.find('\n') == std::string::npos, "news are a line, one at a time");
  told_ = std::make_shared<std::vector<std::string>>();
  pending_ = mesh_.dp().start_all_gather_bytes(std::move(news), told_, "news of sampling");
}

Bulletin::Heard Bulletin::look(bool waits, const std::string& aside) {
  Heard heard;
  if (mesh_.is_leader() && pending_ && (waits || pending_->is_done())) {
    pending_->wait();
    pending_.reset();
    heard.news = std::move(*told_);
  }
  if (!mesh_.tp().communicates()) return heard;
  const std::string mine = mesh_.is_leader() ? fmt::format("{}", fmt::join(heard.news, "\n")) : aside;
  auto said = mesh_.tp().all_gather_bytes(mine, "news of sampling");
  heard.news.clear();
  for (const auto line : std::views::split(said.front(), '\n')) heard.news.emplace_back(line.begin(), line.end());
  heard.asides.assign(said.begin() + 1, said.end());
  return heard;
}

}  // namespace roll
