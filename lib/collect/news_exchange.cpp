#include "collect/news_exchange.h"

#include <algorithm>

#include "base/error.h"
#include "dist/messages.h"

namespace roll {

void NewsExchange::post(const SamplingNews& news) {
  ROLL_CHECK(!pending_, "news go out one at a time");
  told_ = std::make_shared<std::vector<std::string>>();
  pending_ = mesh_.dp().start_all_gather_bytes(encode_message(news), told_, SamplingNews::kMessage.name);
}

NewsExchange::Heard NewsExchange::look(bool waits, std::optional<StopKind> wish) {
  Heard heard;
  if (mesh_.is_leader() && pending_ && (waits || pending_->is_done())) {
    pending_->wait();
    pending_.reset();
    heard.news = decode_messages<SamplingNews>(*told_, mesh_.dp().group());
  }
  if (!mesh_.tp().communicates()) return heard;
  GroupMessage local;
  if (mesh_.is_leader())
    local.news = std::move(heard.news);
  else
    local.wish = wish;
  std::vector<GroupMessage> said = all_gather_messages(local, mesh_.tp());
  for (const GroupMessage& own : said) heard.wish = std::max(heard.wish, own.wish);
  heard.news = std::move(said.front().news);
  return heard;
}

}  // namespace roll
