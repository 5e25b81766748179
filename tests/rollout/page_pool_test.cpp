#include "rollout/page_pool.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"

namespace roll {

namespace {

std::vector<int64_t> ids_from(int64_t first, int64_t count) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(first + i);
  return ids;
}

std::vector<int32_t> take_pages(PagePool& pool, int64_t count) {
  std::vector<int32_t> pages;
  for (int64_t i = 0; i < count; ++i) pages.push_back(pool.take().value());
  return pages;
}

void give_back(PagePool& pool, const std::vector<int32_t>& pages) {
  for (size_t i = pages.size(); i-- > 0;) pool.give_back(pages[i]);
}

}  // namespace

TEST_CASE("a page has one holder until it is shared, and is free when all gave it back", "[rollout]") {
  PagePool pool(2, 4);
  const int32_t first = pool.take().value(), second = pool.take().value();
  CHECK(first != second);
  CHECK(!pool.take());
  pool.share(first);
  pool.give_back(first);
  CHECK(pool.num_free() == 0);
  pool.give_back(first);
  CHECK(pool.num_free() == 1);
  CHECK(pool.take() == first);
  CHECK_THROWS_AS((pool.give_back(second), pool.give_back(second)), Bug);
  CHECK_THROWS_AS(pool.share(second), Bug);
}

TEST_CASE("a remembered beginning is found by whole pages, also after it was given back", "[rollout]") {
  PagePool pool(8, 4);
  const auto pages = take_pages(pool, 3);
  pool.remember(ids_from(10, 10), pages);
  if (GENERATE(true, false)) {
    give_back(pool, pages);
    CHECK(pool.num_free() == 8);
  }
  CHECK(pool.find_prefix(ids_from(10, 3)).empty());
  CHECK(pool.find_prefix(ids_from(10, 7)) == std::vector<int32_t>{pages[0]});
  CHECK(pool.find_prefix(ids_from(10, 12)) == std::vector<int32_t>{pages[0], pages[1]});  // the third was not whole
  CHECK(pool.find_prefix(ids_from(14, 4)).empty());  // the second page's tokens, but nothing before them
  std::vector<int64_t> parted = ids_from(10, 8);
  parted[6] = 99;
  CHECK(pool.find_prefix(parted) == std::vector<int32_t>{pages[0]});
}

TEST_CASE("what was used longest ago is overwritten first, ends of texts before their beginnings", "[rollout]") {
  PagePool pool(4, 2);
  const auto old = take_pages(pool, 2), young = take_pages(pool, 2);
  pool.remember(ids_from(0, 4), old);
  pool.remember(ids_from(50, 4), young);
  give_back(pool, old);
  give_back(pool, young);
  give_back(pool, pool.find_prefix(ids_from(0, 4)));  // used again
  CHECK(pool.take() == young[1]);
  CHECK(pool.take() == young[0]);
  CHECK(pool.take() == old[1]);
  CHECK(pool.find_prefix(ids_from(50, 4)).empty());
  CHECK(pool.find_prefix(ids_from(0, 4)) == std::vector<int32_t>{old[0]});
}

TEST_CASE("a page behind an overwritten one is never found by what replaced it", "[rollout]") {
  PagePool pool(2, 2);
  const auto pages = take_pages(pool, 2);
  pool.remember(ids_from(0, 4), pages);
  give_back(pool, {pages[1], pages[0]});  // the beginning is given back first, so it is overwritten first
  REQUIRE(pool.take() == pages[0]);
  pool.remember(std::vector<int64_t>{7, 7}, std::vector<int32_t>{pages[0]});
  const std::vector<int64_t> mixed = {7, 7, 2, 3};
  CHECK(pool.find_prefix(mixed) == std::vector<int32_t>{pages[0]});
}

TEST_CASE("two pages with the same content: one is known, and both texts go on behind it", "[rollout]") {
  PagePool pool(6, 2);
  const auto first = take_pages(pool, 1), second = take_pages(pool, 2);
  pool.remember(ids_from(0, 2), first);
  pool.remember(ids_from(0, 4), second);
  CHECK(pool.find_prefix(ids_from(0, 4)) == std::vector<int32_t>{first[0], second[1]});
}

TEST_CASE("nothing is known after forgetting, and every page can be taken once", "[rollout]") {
  PagePool pool(3, 2);
  const auto pages = take_pages(pool, 2);
  pool.remember(ids_from(0, 4), pages);
  pool.give_back(pages[1]);
  pool.forget();
  CHECK(pool.find_prefix(ids_from(0, 4)).empty());
  pool.give_back(pages[0]);
  CHECK(pool.num_free() == 3);
  const auto all = take_pages(pool, 3);
  CHECK(std::set<int32_t>(all.begin(), all.end()).size() == 3);
  CHECK(!pool.take());
}

}  // namespace roll
