// Partition of a row of logits (all tokens of the vocabulary) among thread blocks, for the sampling kernels
// (sample_rows.h), which divide a row if there are few rows.
#pragma once

#include "base/host_device.h"

namespace roll {

/// Three levels of ranges of token ids, made by make_row_cut():
///   shard   tokens whose logits one tensor-parallel rank computed; a row has `shards` shards
///   part    tokens that one block scans; a shard has `splits` parts
///   chunk   tokens that one warp scans, summing their probability mass; a part has `chunks` chunks
struct RowCut {
  int32_t vocab = 0;                      // tokens of the row
  int32_t shards = 1, splits = 1;         // shards per row, parts per shard
  int32_t shard_size = 0;                 // tokens per shard, rounded down
  int32_t longer = 0;                     // number of shards, the first ones, that have one token more
  int32_t part_size = 0, chunk_size = 0;  // tokens; multiples of 128 (one warp read), but the last may be shorter
  int32_t chunks = 0;                     // chunks per part

  /// Returns the number of parts per row.
  ROLL_HOST_DEVICE int32_t parts() const { return shards * splits; }
  /// Returns the first token of a shard; `vocab` for shard = shards.
  ROLL_HOST_DEVICE int32_t shard_begin(int32_t shard) const {
    return shard * shard_size + (shard < longer ? shard : longer);
  }
  /// Returns the shard that holds a token.
  ROLL_HOST_DEVICE int32_t token_shard(int32_t token) const {
    const int32_t in_longer = longer * (shard_size + 1);
    return token < in_longer ? token / (shard_size + 1) : longer + (token - in_longer) / shard_size;
  }
};

constexpr int32_t kMostParts = 256, kMostChunks = 2048;  // largest numbers of parts and chunks of a row

/// Returns a partition of a row of `vocab` tokens into `shards` shards, at most kMostParts and at most `vocab`. splits:
/// desired parts per shard; the result has fewer if kMostParts or the size of a shard allows fewer.
inline RowCut make_row_cut(int64_t vocab, int64_t shards = 1, int64_t splits = 1) {
  const auto rounded_up = [](int64_t x, int64_t y) { return (x + y - 1) / y * y; };
  const int64_t widest = (vocab + shards - 1) / shards;
  const int64_t most = kMostParts / shards, wanted = splits < 1 ? 1 : splits > most ? most : splits;
  const int64_t part_size = rounded_up((widest + wanted - 1) / wanted, 128);
  const int64_t parts = (widest + part_size - 1) / part_size, most_chunks = kMostChunks / (shards * parts);
  const int64_t chunk_size = rounded_up((part_size + most_chunks - 1) / most_chunks, 128);
  RowCut cut;
  cut.vocab = static_cast<int32_t>(vocab);
  cut.shards = static_cast<int32_t>(shards);
  cut.splits = static_cast<int32_t>(parts);
  cut.shard_size = static_cast<int32_t>(vocab / shards);
  cut.longer = static_cast<int32_t>(vocab % shards);
  cut.part_size = static_cast<int32_t>(part_size);
  cut.chunk_size = static_cast<int32_t>(chunk_size);
  cut.chunks = static_cast<int32_t>((part_size + chunk_size - 1) / chunk_size);
  return cut;
}

/// Returns the partition to use for each of `rows` rows that are sampled together on a device with `processors`
/// multiprocessors: about two blocks per multiprocessor over all rows, but parts of at least 2048 tokens.
inline RowCut cut_for(int64_t rows, int64_t vocab, int64_t shards, int64_t processors) {
  constexpr int64_t kLeast = 2048;
  const int64_t wanted_splits = (2 * processors + rows * shards - 1) / (rows * shards),
                most_splits = vocab / shards / kLeast;
  return make_row_cut(vocab, shards, wanted_splits < most_splits ? wanted_splits : most_splits);
}

}  // namespace roll
