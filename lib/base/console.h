// Escapes characters that could harm a terminal (base/harmless.h) in everything that this process prints. After
// guard_console(), this covers stdout, stderr, std::cout, std::cerr and std::clog, also when libraries use them. Only
// write_codes(), data_buffer() and write(2) bypass it; scripts/check_house.py allows write(2) in few files.
#pragma once

#include <ostream>
#include <streambuf>
#include <string_view>

namespace roll {

/// Starts the escaping, until the process ends. main() calls it once, before anything is written.
void guard_console();

/// Writes our own terminal codes (colour, erase line) to `out`, std::cout or std::cerr, without escaping them.
void write_codes(std::ostream& out, std::string_view codes);

/// Returns the buffer for an std::ostream whose data other programs read. It writes to standard output, unescaped if
/// that is a file or pipe, escaped if it is a terminal. It lives as long as the process.
std::streambuf* data_buffer();

}  // namespace roll
