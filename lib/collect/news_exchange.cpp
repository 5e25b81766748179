#include "collect/news_exchange.h"

#include <algorithm>

#include "base/error.h"
#include "dist/messages.h"

namespace roll {

void NewsExchange::post(const SamplingNews& news) {
  ROLL_CHECK(!pending_, "news go out one at a time");
  gathered_ = std::make_shared<std::vector<std::string>>();
  pending_ = mesh_.dp().start_all_gather_bytes(encode_message(news), gathered_, SamplingNews::kMessage.name);
}

NewsExchange::ReceivedNews NewsExchange::receive(bool waits, std::optional<StopKind> wish) {
  ReceivedNews received;
  if (mesh_.is_leader() && pending_ && (waits || pending_->is_done())) {
    pending_->wait();
    pending_.reset();
    received.news = decode_messages<SamplingNews>(*gathered_, mesh_.dp().group());
  }
  if (!mesh_.tp().communicates()) return received;
  GroupMessage local;
  if (mesh_.is_leader())
    local.news = std::move(received.news);
  else
    local.wish = wish;
  std::vector<GroupMessage> messages = all_gather_messages(local, mesh_.tp());
  for (const GroupMessage& message : messages) received.wish = std::max(received.wish, message.wish);
  received.news = std::move(messages.front().news);
  return received;
}

}  // namespace roll
