// Encodes and reads TensorBoard event files, which are TFRecord frames of Event messages (protobuf.h). Used by
// make_tensorboard_sink() (tracker.h) and truncate.h.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "track/metrics.h"

namespace roll {

/// Returns the CRC-32C (Castagnoli) of `bytes`.
uint32_t crc32c(std::string_view bytes);

/// Returns a TFRecord frame: the payload's length, a masked checksum of the length, the payload, a masked checksum of
/// the payload.
std::string tfrecord(std::string_view payload);

/// Reads the next frame and sets `payload`; returns false at the end, or if the frame is incomplete or damaged.
bool read_tfrecord(std::istream& in, std::string& payload);
/// Returns the step of an encoded Event; 0 for the first Event of a file.
int64_t step_of_event(std::string_view event);
/// Returns the part of a file name by which a run's event files are found; `run` is the run id.
std::string event_file_mark(const std::string& run);

/// Returns the encoded Event that opens every file ("brain.Event:2"). `wall_time_s`: seconds since 1970.
std::string first_event(double wall_time_s);
/// Returns an encoded Event with one simple_value per metric (as float32; NaN and infinities are kept).
std::string scalars_event(double wall_time_s, int64_t step, const MetricValues& values);

}  // namespace roll
