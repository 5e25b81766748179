#include "base/html.h"

#include <catch2/catch.hpp>

TEST_CASE("text in a page is no markup") {
  CHECK(roll::escaped_html("<a href=\"x\">&</a>") == "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;");
}

TEST_CASE("JSON in a page can neither end its script nor a line of it") {
  CHECK(roll::json_in_html(R"(["</script><!--", "a&b"])") == R"(["\u003c/script\u003e\u003c!--", "a\u0026b"])");
  CHECK(roll::json_in_html("\"x\xe2\x80\xa8y\xe2\x80\xa9z\"") == "\"x\\u2028y\\u2029z\"");
  CHECK(roll::json_in_html("\"\xe2\x80\xa6 \xc3\xa9\"") == "\"\xe2\x80\xa6 \xc3\xa9\"");  // other characters stay
  CHECK(roll::json_in_html("\xe2\x80") == "\xe2\x80");
}
