#include "optim/optimizer_shard.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// Location of a piece in a parameter's tensor.
struct PiecePlace {
  std::vector<int64_t> shape;
  int64_t dim, offset, begin, end;
  bool is_same_tensor(const PiecePlace& other) const {
    return shape == other.shape && dim == other.dim && offset == other.offset;
  }
};

PiecePlace place_of(const Json& json, const std::string& where) {
  try {
    PiecePlace place{json.at("shape").get<std::vector<int64_t>>(), json.at("dim").get<int64_t>(),
                     json.at("offset").get<int64_t>(), json.at("begin").get<int64_t>(), json.at("end").get<int64_t>()};
    const int64_t numel = c10::multiply_integers(place.shape);
    const bool fits = place.dim >= -1 && place.dim < std::ssize(place.shape) && place.offset >= 0 && place.begin >= 0 &&
                      place.begin < place.end && place.end <= numel;
    if (fits) return place;
  } catch (const nlohmann::json::exception&) {  // reported below
  }
  throw user_error("{}: shape, dim, offset, begin and end of a piece are needed; the file is damaged", where);
}

bool is_of_masters(const std::string& state) {
  return state == "low_bits" || state == "master";
}

at::ScalarType dtype_of(const std::string& state) {
  return state == "low_bits" ? at::kShort : at::kFloat;
}

class Shards {
 public:
  Shards(const fs::path& folder, const std::string& name) : folder_(folder) {
    std::vector<fs::path> files;
    for (const fs::path& entry : list_folder(folder))
      if (entry.filename().string().starts_with(name + "_") && entry.extension() == ".json") files.push_back(entry);
    if (files.empty()) throw user_error("{}: holds no optimizer state of {}", folder.string(), name);
    std::sort(files.begin(), files.end());
    for (const auto& file : files) add(file);
  }

  int64_t num_steps() const { return num_steps_; }

  bool has(const std::string& parameter, const std::string& state) const {
    const auto found = pieces_.find(parameter);
    return found != pieces_.end() && files_[found->second.front().file].entry_names.contains(parameter + "." + state);
  }

  /// Returns [end - begin]: the elements of a parameter's state that `wanted` names.
  at::Tensor read(const std::string& parameter, const std::string& state, const PiecePlace& wanted) const {
    const auto found = pieces_.find(parameter);
    if (found == pieces_.end())
      throw user_error("{}: holds no optimizer state of {}; was it frozen in that run?", folder_.string(), parameter);
    for (const Piece& piece : found->second)
      if (piece.place.is_same_tensor(wanted) && piece.place.begin <= wanted.begin && wanted.end <= piece.place.end)
        return tensor_of(piece, parameter, state)
            .narrow(0, wanted.begin - piece.place.begin, wanted.end - wanted.begin);
    at::Tensor whole = whole_of(found->second, parameter, state);
    if (wanted.dim >= 0) {
      const int64_t size = wanted.shape[wanted.dim];
      if (whole.dim() <= wanted.dim || wanted.offset + size > whole.size(wanted.dim)) refuse_shape(parameter, wanted);
      whole = whole.narrow(wanted.dim, wanted.offset, size);
    }
    if (whole.sizes() != at::IntArrayRef(wanted.shape)) refuse_shape(parameter, wanted);
    return whole.reshape({-1}).narrow(0, wanted.begin, wanted.end - wanted.begin);
  }

 private:
  struct File {
    fs::path path;
    SafetensorsFile tensors;
    std::set<std::string> entry_names;
  };
  struct Piece {
    size_t file;
    PiecePlace place;
  };

  void add(const fs::path& file) {
    const Json about = read_json(file);
    const bool fits = about.is_object() && about.contains("steps") && about["steps"].is_number_integer() &&
                      about.contains("parameters") && about["parameters"].is_object();
    if (!fits) throw user_error("{}: steps and parameters are needed; the file is damaged", file.string());
    num_steps_ = about["steps"].get<int64_t>();
    const fs::path tensors = fs::path(file).replace_extension(".safetensors");
    files_.push_back({tensors, SafetensorsFile(tensors), {}});
    for (const TensorEntry& entry : files_.back().tensors.entries()) files_.back().entry_names.insert(entry.name);
    for (const auto& [parameter, place] : about["parameters"].items())
      pieces_[parameter].push_back(
          {files_.size() - 1, place_of(place, fmt::format("{}: {}", file.string(), parameter))});
  }

  at::Tensor tensor_of(const Piece& piece, const std::string& parameter, const std::string& state) const {
    const File& file = files_[piece.file];
    const at::Tensor tensor = file.tensors.read(parameter + "." + state);
    if (tensor.dim() != 1 || tensor.numel() != piece.place.end - piece.place.begin ||
        tensor.scalar_type() != dtype_of(state))
      throw user_error("{}: {}.{}: {} {} numbers are needed; the file is damaged", file.path.string(), parameter, state,
                       piece.place.end - piece.place.begin, state == "low_bits" ? "int16" : "float32");
    return tensor;
  }

  /// Assembles the state of a whole parameter from all pieces; pieces of tensor ranks with copies are equal.
  at::Tensor whole_of(const std::vector<Piece>& pieces, const std::string& parameter, const std::string& state) const {
    std::vector<int64_t> shape = pieces.front().place.shape;
    const int64_t dim = pieces.front().place.dim;
    if (dim >= 0)
      for (const Piece& piece : pieces) shape[dim] = std::max(shape[dim], piece.place.offset + piece.place.shape[dim]);
    const at::Tensor whole = at::zeros(shape, dtype_of(state)), written = at::zeros(shape, at::kBool);
    std::map<int64_t, std::pair<at::Tensor, at::Tensor>> parts;  // by offset: elements, and a presence mask
    for (const Piece& piece : pieces) {
      auto& [numbers, there] = parts[piece.place.offset];
      const int64_t numel = c10::multiply_integers(piece.place.shape), size = piece.place.end - piece.place.begin;
      if (!numbers.defined()) {
        numbers = at::zeros({numel}, dtype_of(state));
        there = at::zeros({numel}, at::kBool);
      }
      if (piece.place.end > numbers.numel()) refuse_shape(parameter, piece.place);
      numbers.narrow(0, piece.place.begin, size).copy_(tensor_of(piece, parameter, state));
      there.narrow(0, piece.place.begin, size).fill_(true);
    }
    for (const Piece& piece : pieces) {
      const auto& [numbers, there] = parts[piece.place.offset];
      const int64_t length = dim < 0 ? 0 : piece.place.shape[dim];
      const auto into = [&](const at::Tensor& all) {
        return dim < 0 ? all : all.narrow(dim, piece.place.offset, length);
      };
      into(whole).copy_(numbers.view(piece.place.shape));
      into(written).copy_(there.view(piece.place.shape));
    }
    if (!written.all().item<bool>())
      throw user_error("{}: a part of {}.{} is missing; the checkpoint is incomplete", folder_.string(), parameter,
                       state);
    return whole;
  }

  [[noreturn]] void refuse_shape(const std::string& parameter, const PiecePlace& wanted) const {
    throw user_error("{}: the optimizer state of {} does not fit this model's {}", folder_.string(), parameter,
                     shape_text(wanted.shape));
  }

  fs::path folder_;
  std::vector<File> files_;
  std::map<std::string, std::vector<Piece>> pieces_;  // by parameter
  int64_t num_steps_ = 0;
};

PiecePlace place_in(const FlatAdamW& optimizer, const ParameterShards* parts, const StatePiece& piece) {
  const std::string& name = optimizer.names()[piece.parameter];
  const TensorShard part = parts ? parts->part(name) : TensorShard{};
  return {optimizer.shape(piece.parameter).vec(), part.dim, std::max<int64_t>(part.begin, 0), piece.begin, piece.end};
}

}  // namespace

OptimizerShard optimizer_shard(const FlatAdamW& optimizer, const ParameterShards* parts) {
  OptimizerShard shard{{{"steps", optimizer.num_steps()}, {"parameters", Json::object()}}, {}};
  for (const StatePiece& piece : optimizer.state_pieces()) {
    const std::string& name = optimizer.names()[piece.parameter];
    const PiecePlace place = place_in(optimizer, parts, piece);
    shard.about["parameters"][name] = {{"shape", place.shape},
                                       {"dim", place.dim},
                                       {"offset", place.offset},
                                       {"begin", place.begin},
                                       {"end", place.end}};
    for (const auto& [state, tensor] : piece.states) shard.tensors.emplace_back(name + "." + state, tensor);
  }
  return shard;
}

FileSums write_optimizer_shard(const fs::path& folder, const std::string& name, const OptimizerShard& shard) {
  const std::string tensors = name + ".safetensors", about = name + ".json";
  return {{tensors, write_safetensors(folder / tensors, shard.tensors)},
          {about, write_file_atomic(folder / about, shard.about.dump() + "\n")}};
}

void load_optimizer(FlatAdamW& optimizer, const ParameterShards* parts, const fs::path& folder,
                    const std::string& name) {
  const at::NoGradGuard no_grad;
  const Shards shards(folder, name);
  for (StatePiece& piece : optimizer.state_pieces()) {
    const std::string& parameter = optimizer.names()[piece.parameter];
    const PiecePlace place = place_in(optimizer, parts, piece);
    for (auto& [state, tensor] : piece.states)
      if (!is_of_masters(state) || shards.has(parameter, state)) tensor.copy_(shards.read(parameter, state, place));
  }
  optimizer.set_num_steps(shards.num_steps());
}

}  // namespace roll
