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
struct PieceLocation {
  std::vector<int64_t> shape;
  int64_t dim, offset, begin, end;
  bool is_same_tensor(const PieceLocation& other) const {
    return shape == other.shape && dim == other.dim && offset == other.offset;
  }
};

PieceLocation parse_location(const Json& json, const std::string& origin) {
  try {
    PieceLocation location{json.at("shape").get<std::vector<int64_t>>(), json.at("dim").get<int64_t>(),
                           json.at("offset").get<int64_t>(), json.at("begin").get<int64_t>(),
                           json.at("end").get<int64_t>()};
    const int64_t numel = c10::multiply_integers(location.shape);
    const bool fits = location.dim >= -1 && location.dim < std::ssize(location.shape) && location.offset >= 0 &&
                      location.begin >= 0 && location.begin < location.end && location.end <= numel;
    if (fits) return location;
  } catch (const nlohmann::json::exception&) {  // reported below
  }
  throw user_error("{}: needs valid shape, dim, offset, begin and end; the file is damaged", origin);
}

bool is_master(const std::string& state) {
  return state == "low_bits" || state == "master";
}

at::ScalarType state_dtype(const std::string& state) {
  return state == "low_bits" ? at::kShort : at::kFloat;
}

class ShardFiles {
 public:
  ShardFiles(const fs::path& folder, const std::string& name) : folder_(folder) {
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
  at::Tensor read(const std::string& parameter, const std::string& state, const PieceLocation& wanted) const {
    const auto found = pieces_.find(parameter);
    if (found == pieces_.end())
      throw user_error("{}: holds no optimizer state of {}; was it frozen in that run?", folder_.string(), parameter);
    for (const Piece& piece : found->second)
      if (piece.location.is_same_tensor(wanted) && piece.location.begin <= wanted.begin &&
          wanted.end <= piece.location.end)
        return read_piece(piece, parameter, state)
            .narrow(0, wanted.begin - piece.location.begin, wanted.end - wanted.begin);
    at::Tensor whole = assemble(found->second, parameter, state);
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
    PieceLocation location;
  };

  void add(const fs::path& file) {
    const Json about = read_json(file);
    const bool fits = about.is_object() && about.contains("steps") && about["steps"].is_number_integer() &&
                      about.contains("parameters") && about["parameters"].is_object();
    if (!fits) throw user_error("{}: needs steps and parameters; the file is damaged", file.string());
    num_steps_ = about["steps"].get<int64_t>();
    const fs::path tensors = fs::path(file).replace_extension(".safetensors");
    files_.push_back({tensors, SafetensorsFile(tensors), {}});
    for (const TensorEntry& entry : files_.back().tensors.entries()) files_.back().entry_names.insert(entry.name);
    for (const auto& [parameter, location] : about["parameters"].items())
      pieces_[parameter].push_back(
          {files_.size() - 1, parse_location(location, fmt::format("{}: {}", file.string(), parameter))});
  }

  at::Tensor read_piece(const Piece& piece, const std::string& parameter, const std::string& state) const {
    const File& file = files_[piece.file];
    const at::Tensor tensor = file.tensors.read(parameter + "." + state);
    if (tensor.dim() != 1 || tensor.numel() != piece.location.end - piece.location.begin ||
        tensor.scalar_type() != state_dtype(state))
      throw user_error("{}: {}.{}: must hold {} {} values; the file is damaged", file.path.string(), parameter, state,
                       piece.location.end - piece.location.begin, state == "low_bits" ? "int16" : "float32");
    return tensor;
  }

  /// Assembles the state of a whole parameter from all pieces; pieces of tensor ranks with copies are equal.
  at::Tensor assemble(const std::vector<Piece>& pieces, const std::string& parameter, const std::string& state) const {
    std::vector<int64_t> shape = pieces.front().location.shape;
    const int64_t dim = pieces.front().location.dim;
    if (dim >= 0)
      for (const Piece& piece : pieces)
        shape[dim] = std::max(shape[dim], piece.location.offset + piece.location.shape[dim]);
    const at::Tensor whole = at::zeros(shape, state_dtype(state)), written = at::zeros(shape, at::kBool);
    std::map<int64_t, std::pair<at::Tensor, at::Tensor>> parts;  // by offset: elements, and a presence mask
    for (const Piece& piece : pieces) {
      auto& [elements, is_present] = parts[piece.location.offset];
      const int64_t numel = c10::multiply_integers(piece.location.shape),
                    size = piece.location.end - piece.location.begin;
      if (!elements.defined()) {
        elements = at::zeros({numel}, state_dtype(state));
        is_present = at::zeros({numel}, at::kBool);
      }
      if (piece.location.end > elements.numel()) refuse_shape(parameter, piece.location);
      elements.narrow(0, piece.location.begin, size).copy_(read_piece(piece, parameter, state));
      is_present.narrow(0, piece.location.begin, size).fill_(true);
    }
    for (const Piece& piece : pieces) {
      const auto& [elements, is_present] = parts[piece.location.offset];
      const int64_t length = dim < 0 ? 0 : piece.location.shape[dim];
      const auto into = [&](const at::Tensor& all) {
        return dim < 0 ? all : all.narrow(dim, piece.location.offset, length);
      };
      into(whole).copy_(elements.view(piece.location.shape));
      into(written).copy_(is_present.view(piece.location.shape));
    }
    if (!written.all().item<bool>())
      throw user_error("{}: a part of {}.{} is missing; the checkpoint is incomplete", folder_.string(), parameter,
                       state);
    return whole;
  }

  [[noreturn]] void refuse_shape(const std::string& parameter, const PieceLocation& wanted) const {
    throw user_error("{}: the optimizer state of {} does not fit this model's {}", folder_.string(), parameter,
                     shape_text(wanted.shape));
  }

  fs::path folder_;
  std::vector<File> files_;
  std::map<std::string, std::vector<Piece>> pieces_;  // by parameter
  int64_t num_steps_ = 0;
};

PieceLocation locate_piece(const FlatOptimizer& optimizer, const ParameterShards* parts, const StatePiece& piece) {
  const std::string& name = optimizer.names()[piece.parameter];
  const TensorShard part = parts ? parts->part(name) : TensorShard{};
  return {optimizer.shape(piece.parameter).vec(), part.dim, std::max<int64_t>(part.begin, 0), piece.begin, piece.end};
}

}  // namespace

OptimizerShard optimizer_shard(const FlatOptimizer& optimizer, const ParameterShards* parts) {
  OptimizerShard shard{{{"steps", optimizer.num_steps()}, {"parameters", Json::object()}}, {}};
  for (const StatePiece& piece : optimizer.state_pieces()) {
    const std::string& name = optimizer.names()[piece.parameter];
    const PieceLocation location = locate_piece(optimizer, parts, piece);
    shard.about["parameters"][name] = {{"shape", location.shape},
                                       {"dim", location.dim},
                                       {"offset", location.offset},
                                       {"begin", location.begin},
                                       {"end", location.end}};
    for (const auto& [state, tensor] : piece.states) shard.tensors.emplace_back(name + "." + state, tensor);
  }
  return shard;
}

FileSums write_optimizer_shard(const fs::path& folder, const std::string& name, const OptimizerShard& shard) {
  const std::string tensors = name + ".safetensors", about = name + ".json";
  return {{tensors, write_safetensors(folder / tensors, shard.tensors)},
          {about, write_file_atomic(folder / about, shard.about.dump() + "\n")}};
}

void load_optimizer(FlatOptimizer& optimizer, const ParameterShards* parts, const fs::path& folder,
                    const std::string& name) {
  const at::NoGradGuard no_grad;
  const ShardFiles shards(folder, name);
  for (StatePiece& piece : optimizer.state_pieces()) {
    const std::string& parameter = optimizer.names()[piece.parameter];
    const PieceLocation location = locate_piece(optimizer, parts, piece);
    for (auto& [state, tensor] : piece.states)
      if (!is_master(state) || shards.has(parameter, state)) tensor.copy_(shards.read(parameter, state, location));
  }
  optimizer.set_num_steps(shards.num_steps());
}

}  // namespace roll
