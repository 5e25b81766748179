// Standard output and standard error as people read them. Once guard_console() was called, all that this process writes
// there through stdio or streams, libraries too, comes out harmless (base/harmless.h): there is no way past it but the
// two below and write(2), which scripts/check_house.py allows to few files.
#pragma once

#include <ostream>
#include <streambuf>
#include <string_view>

namespace roll {

/// To be called by main(), before anything is written.
void guard_console();

/// Writes our own codes that style or erase, unchanged.
void write_codes(std::ostream& out, std::string_view codes);

/// Where data goes that programs read: standard output, byte by byte, but where it is a terminal.
std::streambuf* data_buffer();

}  // namespace roll
