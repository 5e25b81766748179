#include "text/decoder.h"

namespace roll {

namespace {

constexpr std::string_view kDecoders =
    "unsupported decoder; supported: ByteLevel, a Sequence of ByteLevel and Fuse, null";

/// Fuse joins tokens, which ByteLevel has done already.
DecoderKind read_sequence(const JsonView& json) {
  const JsonView parts = json.at("decoders");
  if (parts.array().size() == 0 || parts.at(size_t{0}).at("type").string() != "ByteLevel") json.fail(kDecoders);
  for (size_t i = 1; i < parts.size(); ++i)
    if (const JsonView type = parts.at(i).at("type"); type.string() != "Fuse") type.fail(kDecoders);
  return DecoderKind::kByteLevel;
}

}  // namespace

DecoderKind read_decoder(const JsonView& tokenizer_json) {
  const auto json = tokenizer_json.get("decoder");
  if (!json) return DecoderKind::kNone;
  const JsonView type = json->at("type");
  if (type.string() == "ByteLevel") return DecoderKind::kByteLevel;
  if (type.string() == "Sequence") return read_sequence(*json);
  type.fail(kDecoders);
}

}  // namespace roll
