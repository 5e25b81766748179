// The pages of a KV cache, by number: who holds which, and which hold the beginning of a text that may come again.
// Pages that nobody holds are taken first where their content is unknown, else the least recently used.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace roll {

class PagePool {
 public:
  /// page_size: tokens of a page.
  PagePool(int64_t num_pages, int64_t page_size);

  int64_t page_size() const { return page_size_; }
  int64_t num_pages() const { return std::ssize(pages_); }
  /// Pages that take() can give.
  int64_t num_free() const { return num_free_; }

  /// A page for one holder, its content lost. Nothing: all are held.
  std::optional<int32_t> take();
  /// One more holder.
  void share(int32_t page);
  void give_back(int32_t page);

  /// The known pages with which `ids` begin, whole pages only; the caller becomes a holder of each.
  std::vector<int32_t> find_prefix(std::span<const int64_t> ids);
  /// `pages` hold `ids`, as many as are whole; from now on find_prefix() knows them.
  void remember(std::span<const int64_t> ids, std::span<const int32_t> pages);
  /// Nothing is known any more: the weights have changed.
  void forget();

 private:
  /// What a known page holds, and the number of all that stands before it; no two contents share a number.
  using Content = std::pair<uint64_t, std::vector<int64_t>>;
  struct Page {
    int64_t holders = 0;
    uint64_t content = 0;  // number of what it holds and all before; 0: unknown
    std::map<Content, int32_t>::iterator known{};
    std::list<int32_t>::iterator place{};  // in idle_, while known and not held
  };

  void hold(int32_t page);
  void make_unknown(Page& page);
  Content content_of(std::span<const int64_t> ids, int64_t index, uint64_t before) const;

  int64_t page_size_, num_free_;
  std::vector<Page> pages_;
  std::vector<int32_t> unknown_;  // not held
  std::list<int32_t> idle_;       // known and not held, the least recently used first
  std::map<Content, int32_t> known_;
  uint64_t last_content_ = 0;
};

}  // namespace roll
