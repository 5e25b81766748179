// Escapes harmful characters (base/harmless.h) in everything that this process prints. After guard_console(), this
// covers stdio and streams, also those of libraries. Only write_codes(), data_buffer() and write(2) bypass it;
// scripts/check_house.py allows write(2) in few files.
#pragma once

#include <ostream>
#include <streambuf>
#include <string_view>

namespace roll {

/// Starts the escaping. main() calls it before anything is written.
void guard_console();

/// Writes terminal codes of our own (style, erase) unchanged.
void write_codes(std::ostream& out, std::string_view codes);

/// Returns the buffer for data that programs read: standard output, unescaped unless it is a terminal.
std::streambuf* data_buffer();

}  // namespace roll
