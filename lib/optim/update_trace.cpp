#include "optim/update_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace roll {

namespace {

enum Thread { kComputation, kCommunication };

Json span(const std::string& name, size_t process, Thread thread, double begin_s, double end_s) {
  return {{"name", name},        {"ph", "X"},
          {"pid", process},      {"tid", static_cast<int>(thread)},
          {"ts", begin_s * 1e6}, {"dur", (end_s - begin_s) * 1e6}};
}

Json metadata_event(const char* kind, size_t process, int thread, const std::string& name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

void add_update(Json& events, size_t process, const std::string& name, const UpdateTrace& trace, double zero_s) {
  events.push_back(metadata_event("process_name", process, 0, name));
  events.push_back(metadata_event("thread_name", process, kComputation, "computation"));
  events.push_back(metadata_event("thread_name", process, kCommunication, "gradients between ranks"));
  const auto add = [&](const std::string& event_name, Thread thread, double begin_s, double end_s) {
    events.push_back(span(event_name, process, thread, begin_s - zero_s, end_s - zero_s));
  };
  add("micro-batches before the last backward", kComputation, trace.begin_s, trace.last_begin_s);
  add("last backward", kComputation, trace.last_begin_s, trace.last_end_s);
  add("wait for gradients", kComputation, trace.last_end_s, trace.reduced_s);
  add("optimizer, parameters gathered", kComputation, trace.reduced_s, trace.end_s);
  for (const BucketTrace& bucket : trace.buckets) {
    add(fmt::format("bucket {}", bucket.bucket), kCommunication, bucket.begin_s, bucket.end_s);
    events.back()["args"] = {{"bytes", bucket.bytes}, {"waited_us", (bucket.begin_s - bucket.ready_s) * 1e6}};
  }
}

}  // namespace

double UpdateTrace::reduce_s() const {
  double total = 0;
  for (const BucketTrace& bucket : buckets) total += bucket.end_s - bucket.begin_s;
  return total;
}

double UpdateTrace::hidden_s() const {
  double total = 0;
  for (const BucketTrace& bucket : buckets) total += std::max(0.0, std::min(bucket.end_s, last_end_s) - bucket.begin_s);
  return total;
}

Json chrome_trace(const std::vector<std::pair<std::string, UpdateTrace>>& updates) {
  Json events = Json::array();
  for (size_t i = 0; i < updates.size(); ++i)
    add_update(events, i, updates[i].first, updates[i].second, updates.front().second.begin_s);
  return {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
}

}  // namespace roll
