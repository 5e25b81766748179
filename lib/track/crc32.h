// Reflected CRC-32 checksums, for the files of TensorBoard (CRC-32C) and W&B (CRC-32).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace roll {

/// Returns the checksum of `bytes`. kPolynomial, bit-reversed: 0xEDB88320 for zlib's CRC-32, 0x82F63B78 for CRC-32C
/// (Castagnoli; iSCSI).
template <uint32_t kPolynomial>
uint32_t crc32(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
      table[i] = crc;
    }
    return table;
  }();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  return ~crc;
}

}  // namespace roll
