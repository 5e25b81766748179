#include "experience/experience.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "sample.h"

namespace roll {
namespace {

std::vector<double> numbers(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

Experience three_sequences() {
  Experience e = make_experience({{{10, 11}, {12, 13}, 0, 0, 0.5, false},
                                  {{20}, {21, 22, 23}, 1, 0, 1, true},
                                  {{30, 31, 32}, {}, 2, 1, 0, false}});
  e.values = at::arange(11, at::kFloat);
  return e;
}

}  // namespace

TEST_CASE("index t of the response mask is about token t + 1", "[experience]") {
  const Experience e = three_sequences();
  CHECK(e.tokens.cu_seqlens == std::vector<int64_t>{0, 4, 8, 11});
  CHECK(numbers(e.tokens.ids) == std::vector<double>{10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32});
  CHECK(numbers(e.tokens.positions) == std::vector<double>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2});
  CHECK(numbers(e.response_mask()) == std::vector<double>{0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0});
  CHECK(e.response_mask().scalar_type() == at::kFloat);
}

TEST_CASE("selected sequences take everything of theirs along", "[experience]") {
  const Experience part = select(three_sequences(), {2, 0});
  CHECK(part.tokens.cu_seqlens == std::vector<int64_t>{0, 3, 7});
  CHECK(numbers(part.tokens.ids) == std::vector<double>{30, 31, 32, 10, 11, 12, 13});
  CHECK(numbers(part.tokens.positions) == std::vector<double>{0, 1, 2, 0, 1, 2, 3});
  CHECK(numbers(part.response_mask()) == std::vector<double>{0, 0, 0, 0, 1, 1, 0});
  CHECK(numbers(part.values) == std::vector<double>{8, 9, 10, 0, 1, 2, 3});
  CHECK(part.sequence_index == std::vector<int64_t>{2, 0});
  CHECK(part.group_index == std::vector<int64_t>{1, 0});
  CHECK(column(part.responses, &ResponseFacts::prompt_length) == std::vector<int64_t>{3, 2});
  CHECK(column(part.responses, &ResponseFacts::response_length) == std::vector<int64_t>{0, 2});
  CHECK(column(part.responses, &ResponseFacts::score) == std::vector<double>{0, 0.5});
  CHECK(column(part.responses, &ResponseFacts::is_truncated) == std::vector<bool>{false, false});
  CHECK_FALSE(part.advantages.defined());
  const Experience none = select(part, {});
  CHECK(none.num_sequences() == 0);
  CHECK(none.tokens.num_tokens() == 0);
  CHECK(none.values.numel() == 0);
  CHECK_THROWS_AS(select(part, {2}), Bug);
  CHECK_THROWS_AS(select(part, {-1}), Bug);
}

TEST_CASE("response_part is what an experience line shows of a tensor", "[experience]") {
  const Experience e = three_sequences();
  CHECK(numbers(response_part(e, e.values, 0)) == std::vector<double>{1, 2});
  CHECK(numbers(response_part(e, e.values, 1)) == std::vector<double>{4, 5, 6});
  CHECK(numbers(response_part(e, e.values, 2)).empty());
  CHECK(numbers(response_part(e, e.response_mask(), 1)) == std::vector<double>{1, 1, 1});
}

TEST_CASE("a response without a prompt is a bug", "[experience]") {
  CHECK_THROWS_AS(make_experience({{{}, {1}, 0, 0, 0, false}}), Bug);
}

}  // namespace roll
