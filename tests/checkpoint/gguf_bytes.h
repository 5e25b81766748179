// Writes GGUF files byte by byte, sound ones and others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roll::test {

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline std::string gguf_text(std::string_view text) {
  return bytes_of(uint64_t{text.size()}) + std::string(text);
}

/// The parts of a file: keys and tensors that are written already.
struct GgufBytes {
  uint32_t version = 3;
  std::vector<std::string> keys{}, tensors{};
  std::string data{};
  uint64_t alignment = 32;

  template <class T>
  void add(const std::string& key, uint32_t type, T value) {
    keys.push_back(gguf_text(key) + bytes_of(type) + bytes_of(value));
  }
  void add(const std::string& key, std::string_view text) {
    keys.push_back(gguf_text(key) + bytes_of(uint32_t{8}) + gguf_text(text));
  }
  void add_list(const std::string& key, uint32_t type, const std::vector<std::string>& elements) {
    std::string all = gguf_text(key) + bytes_of(uint32_t{9}) + bytes_of(type) + bytes_of(uint64_t{elements.size()});
    for (const std::string& element : elements) all += element;
    keys.push_back(all);
  }
  /// Adds a tensor of these bytes; `dims` innermost first.
  void add_tensor(const std::string& name, uint32_t type, const std::vector<uint64_t>& dims, const std::string& bytes) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    add_tensor_at(name, type, dims, data.size());
    data += bytes;
  }
  void add_tensor_at(const std::string& name, uint32_t type, const std::vector<uint64_t>& dims, uint64_t offset) {
    std::string all = gguf_text(name) + bytes_of(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) all += bytes_of(dim);
    tensors.push_back(all + bytes_of(type) + bytes_of(offset));
  }
  std::string head() const {
    std::string all = "GGUF" + bytes_of(version) + bytes_of(uint64_t{tensors.size()}) + bytes_of(uint64_t{keys.size()});
    for (const std::string& key : keys) all += key;
    for (const std::string& tensor : tensors) all += tensor;
    return all;
  }
  std::string whole() const {
    std::string all = head();
    all.resize((all.size() + alignment - 1) / alignment * alignment);
    return all + data;
  }
};

/// A llama of one layer with a byte-level tokenizer of three tokens.
inline GgufBytes small_gguf() {
  GgufBytes file;
  file.add("general.architecture", "llama");
  for (const auto& [key, value] :
       {std::pair("block_count", 1), std::pair("context_length", 64), std::pair("embedding_length", 8),
        std::pair("feed_forward_length", 4), std::pair("attention.head_count", 2)})
    file.add(std::string("llama.") + key, 4, static_cast<uint32_t>(value));
  file.add("llama.attention.layer_norm_rms_epsilon", 6, 1e-5F);
  file.add("tokenizer.ggml.model", "gpt2");
  file.add("tokenizer.ggml.pre", "gpt-2");
  file.add_list("tokenizer.ggml.tokens", 8, {gguf_text("a"), gguf_text("b"), gguf_text("ab"), gguf_text("<end>")});
  file.add_list("tokenizer.ggml.token_type", 5, {bytes_of(1), bytes_of(1), bytes_of(1), bytes_of(3)});
  file.add_list("tokenizer.ggml.merges", 8, {gguf_text("a b")});
  file.add("tokenizer.ggml.eos_token_id", 4, uint32_t{3});
  const auto floats = [](int64_t count) {
    std::string all;
    for (int64_t i = 0; i < count; ++i) all += bytes_of(static_cast<float>(i));
    return all;
  };
  file.add_tensor("token_embd.weight", 0, {8, 4}, floats(32));
  file.add_tensor("output_norm.weight", 0, {8}, floats(8));
  for (const char* norm : {"attn_norm", "ffn_norm"})
    file.add_tensor(std::string("blk.0.") + norm + ".weight", 0, {8}, floats(8));
  for (const char* square : {"attn_q", "attn_k", "attn_v", "attn_output"})
    file.add_tensor(std::string("blk.0.") + square + ".weight", 0, {8, 8}, floats(64));
  for (const char* inner : {"ffn_gate", "ffn_up"})
    file.add_tensor(std::string("blk.0.") + inner + ".weight", 0, {8, 4}, floats(32));
  file.add_tensor("blk.0.ffn_down.weight", 0, {4, 8}, floats(32));
  return file;
}

}  // namespace roll::test
