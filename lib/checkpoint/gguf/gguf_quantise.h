// Functions that convert float32 values to the blocks of GGUF's number formats, for the table in gguf_types.cpp.
#pragma once

#include <cstdint>

namespace roll::gguf {

// Each converts `count` blocks of consecutive values, which are finite and at most 65504 in size.

/// These round to the nearest value, and to the even one of two.
void quantise_f32(const float* values, int64_t count, unsigned char* blocks);
void quantise_f16(const float* values, int64_t count, unsigned char* blocks);
void quantise_bf16(const float* values, int64_t count, unsigned char* blocks);

/// These are bit-equal to the Python package gguf.
void quantise_q4_0(const float* values, int64_t count, unsigned char* blocks);
void quantise_q4_1(const float* values, int64_t count, unsigned char* blocks);
void quantise_q5_0(const float* values, int64_t count, unsigned char* blocks);
void quantise_q5_1(const float* values, int64_t count, unsigned char* blocks);
void quantise_q8_0(const float* values, int64_t count, unsigned char* blocks);

/// These search scales (and minima) with small squared errors. The package gguf has no such functions, and ggml's
/// weigh errors otherwise, so the bytes differ.
void quantise_q4_k(const float* values, int64_t count, unsigned char* blocks);
void quantise_q6_k(const float* values, int64_t count, unsigned char* blocks);

}  // namespace roll::gguf
