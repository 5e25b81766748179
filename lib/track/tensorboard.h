// The bytes of a TensorBoard event file: TFRecord frames of Event messages (track/protobuf.h).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "track/metrics.h"

namespace roll {

/// CRC-32C (Castagnoli), as in iSCSI.
uint32_t crc32c(std::string_view bytes);

/// One TFRecord frame: length, its masked checksum, the payload, its masked checksum.
std::string tfrecord(std::string_view payload);

/// The next frame's payload; false at the end, or where a frame is not whole or not sound.
bool read_tfrecord(std::istream& in, std::string& payload);
/// The step that an Event was written for; 0 in the first one of a file.
int64_t step_of_event(std::string_view event);
/// What the names of a run's event files have in them.
std::string event_file_mark(const std::string& run);

/// The Event that opens every file ("brain.Event:2").
std::string first_event(double wall_time_s);
/// An Event with one simple_value per metric (float32; NaN and infinities are kept).
std::string scalars_event(double wall_time_s, int64_t step, const MetricValues& values);

}  // namespace roll
