// Allocator of KV-cache pages with reference counts and a prefix cache; used by the scheduler. take() prefers free
// pages with unknown content, then the least recently used page of the prefix cache.
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
  /// page_size: tokens per page.
  PagePool(int64_t num_pages, int64_t page_size);

  int64_t page_size() const { return page_size_; }
  int64_t num_pages() const { return std::ssize(pages_); }
  /// Returns the number of pages that take() can allocate.
  int64_t num_free() const { return num_free_; }

  /// Allocates a page for one holder and forgets its old content; nullopt if all pages are held.
  std::optional<int32_t> take();
  /// Adds a holder to a held page.
  void share(int32_t page);
  /// Removes a holder; the last one frees the page.
  void give_back(int32_t page);

  /// Returns the cached pages of the longest known prefix of `ids`, in whole pages, and makes the caller a holder.
  std::vector<int32_t> find_prefix(std::span<const int64_t> ids);
  /// Adds `pages`, which hold the keys and values of `ids`, to the prefix cache; only full pages are added.
  void remember(std::span<const int64_t> ids, std::span<const int32_t> pages);
  /// Empties the prefix cache, because the weights have changed.
  void forget();

 private:
  /// Key of a cached page: content number of the prefix before it (0: none), and the page's own token ids.
  using Content = std::pair<uint64_t, std::vector<int64_t>>;
  struct Page {
    int64_t num_holders = 0;
    uint64_t content = 0;  // unique number of the prefix up to the page's end; 0: unknown
    std::map<Content, int32_t>::iterator cache_entry{};
    std::list<int32_t>::iterator idle_position{};  // position in idle_pages_ while cached and not held
  };

  void hold(int32_t page);
  void remove_from_cache(Page& page);
  Content page_content(std::span<const int64_t> ids, int64_t index, uint64_t prefix_content) const;

  int64_t page_size_, num_free_;
  std::vector<Page> pages_;
  std::vector<int32_t> uncached_pages_;  // free pages with unknown content
  std::list<int32_t> idle_pages_;        // cached pages that nobody holds, least recently used first
  std::map<Content, int32_t> cached_pages_;
  uint64_t last_content_ = 0;
};

}  // namespace roll
