#include "run/saver.h"

#include <ATen/ATen.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "dist/agree.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr int kNice = 10;  // training has priority if cores are few
constexpr useconds_t kPollPause_us = 20'000;
constexpr int64_t kSpareBytes = int64_t{16} << 20;  // for JSON, folders, and the file system's rounding

std::string part_file(int rank) {
  return fmt::format("part_{:05}.json", rank);
}

int64_t tensor_bytes(const NamedTensors& tensors) {
  int64_t bytes = 0;
  for (const auto& named : tensors) bytes += static_cast<int64_t>(named.second.nbytes());
  return bytes;
}

bool is_finite(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return true;
  const auto [smallest, largest] = tensor.aminmax();
  return std::isfinite(smallest.item<double>()) && std::isfinite(largest.item<double>());
}

/// Copies tensors to the host, reusing the memory of earlier copies, since fresh pages cost more than copying. `fault`
/// names the first tensor that is not finite; each is checked while in the CPU cache.
NamedTensors copy_to_host(const NamedTensors& tensors, NamedTensors old_copies, const std::string& owner,
                          std::string& fault) {
  old_copies.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, tensor] = tensors[i];
    at::Tensor& copy = old_copies[i].second;
    if (!copy.defined() || copy.sizes() != tensor.sizes() || copy.scalar_type() != tensor.scalar_type())
      copy = at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
    copy.copy_(tensor);
    old_copies[i].first = name;
    if (fault.empty() && !is_finite(copy)) fault = owner + " " + name;
  }
  return old_copies;
}

}  // namespace

/// The copy of a checkpoint that the thread writes.
struct Saver::Staged {
  Checkpoint checkpoint;
  std::vector<NamedTensors> weights;                  // by part; empty if another rank has them
  std::vector<std::optional<OptimizerShard>> shards;  // by part

  int64_t bytes() const {
    int64_t bytes = 0;
    for (const auto& tensors : weights) bytes += tensor_bytes(tensors);
    for (const auto& shard : shards)
      if (shard) bytes += tensor_bytes(shard->tensors);
    return bytes;
  }
};

Saver::Saver(CheckpointStore store, Keeping keeping, double timeout_s, Communicator& ranks, Log& log)
    : store_(std::move(store)),
      keeping_(keeping),
      timeout_s_(timeout_s),
      ranks_(ranks),
      log_(log),
      staged_(std::make_unique<Staged>()) {}

Saver::~Saver() {
  gives_up_ = true;
  join();
}

void Saver::join() {
  if (thread_.joinable()) thread_.join();
}

bool Saver::save(const Checkpoint& checkpoint) {
  failed(/*waits=*/true);
  ranks_.traffic().set_phase("checkpoint");
  Staged& staged = *staged_;
  staged.checkpoint = checkpoint;
  staged.weights.resize(checkpoint.parts.size());
  staged.shards.resize(checkpoint.parts.size());
  std::string fault;
  for (size_t i = 0; i < checkpoint.parts.size(); ++i) {
    const CheckpointPart& part = checkpoint.parts[i];
    staged.weights[i] = copy_to_host(part.gather(), std::move(staged.weights[i]), part.name, fault);
    auto old_copies = std::exchange(staged.shards[i], part.optimizer());
    if (auto& shard = staged.shards[i])
      shard->tensors = copy_to_host(shard->tensors, old_copies ? std::move(old_copies->tensors) : NamedTensors(),
                                    part.name + "'s optimizer state:", fault);
  }
  agree(ranks_, [&] {
    if (!fault.empty())
      throw system_error(
          "step {}: {} holds NaN or infinite numbers: training has diverged, so no checkpoint is written and none is "
          "removed; resume from an earlier one with a lower learning rate",
          checkpoint.step, fault);
  });
  if (!reserve_space(staged)) return false;
  step_ = checkpoint.step;
  done_ = false;
  error_.clear();
  thread_ = std::thread([this] {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice);
    try {
      write(*staged_);
    } catch (const std::exception& error) {
      error_ = error.what();
    }
    done_ = true;
  });
  return true;
}

/// Returns true if there is room for all ranks' files; then rank 0 has made the folder.
bool Saver::reserve_space(const Staged& staged) {
  const int64_t needed = ranks_.all_reduce_sum(staged.bytes(), "size of the checkpoint") + kSpareBytes;
  int64_t has_room = 1;
  if (ranks_.is_first()) {
    try {
      const int64_t free = free_bytes(store_.folder());
      if (free < needed)
        throw system_error("{}: a checkpoint takes {:.2f} GB, but only {:.2f} GB are free", store_.folder().string(),
                           static_cast<double>(needed) / 1e9, static_cast<double>(free) / 1e9);
      store_.begin(staged.checkpoint.step);
      make_folder(store_.saving_path(staged.checkpoint.step) / "optimizer");
    } catch (const std::exception& error) {
      warn_failed(staged.checkpoint.step, error.what());
      store_.abandon(staged.checkpoint.step);
      has_room = 0;
    }
  }
  return ranks_.all_reduce_min(has_room, "place for the checkpoint") == 1;
}

void Saver::warn_failed(int64_t step, const std::string& why) {
  log_.warn("checkpoint of step {} is not written: {}; earlier checkpoints are kept", step, why);
}

void Saver::write(const Staged& staged) {
  const Checkpoint& checkpoint = staged.checkpoint;
  const fs::path folder = store_.saving_path(checkpoint.step);
  FileSums sums;
  for (size_t i = 0; i < checkpoint.parts.size(); ++i) {
    if (!staged.shards[i]) continue;
    const std::string name = fmt::format("optimizer/{}_{:05}", checkpoint.parts[i].name, ranks_.rank());
    sums.merge(write_optimizer_shard(folder, name, *staged.shards[i]));
  }
  for (size_t i = 0; i < checkpoint.parts.size(); ++i) {
    if (staged.weights[i].empty()) continue;  // held by another rank
    const CheckpointPart& part = checkpoint.parts[i];
    make_folder(folder / part.name);
    for (const auto& [file, sum] : part.write(folder / part.name, staged.weights[i]))
      sums[part.name + "/" + file] = sum;
  }
  if (!ranks_.is_first()) {
    write_file_atomic(folder / part_file(ranks_.rank()), to_json(sums).dump());
    return;
  }
  sums["state.json"] = write_file_atomic(folder / "state.json", checkpoint.state.dump(1) + "\n");
  sums["config.resolved.yaml"] = write_file_atomic(folder / "config.resolved.yaml", checkpoint.config);
  collect_parts(checkpoint.step, sums);
  store_.commit(checkpoint.step, checkpoint.about, sums);
  try {
    store_.rotate(checkpoint.about.at("run").get<std::string>(), keeping_);
  } catch (const SystemError& error) {
    log_.warn("an old checkpoint was not removed: {}", error.what());
  }
}

/// Waits for the other ranks' lists of files, and adds their checksums.
void Saver::collect_parts(int64_t step, FileSums& sums) const {
  const Stopwatch watch;
  for (int rank = 1; rank < ranks_.size(); ++rank) {
    const fs::path file = store_.saving_path(step) / part_file(rank);
    while (!is_there(file)) {
      if (gives_up_) throw system_error("rank {} has not written its part of the checkpoint", rank);
      if (watch.seconds() > timeout_s_)
        throw system_error("waited {} for rank {}'s part of the checkpoint (the limit is backend_timeout)",
                           duration_text(timeout_s_), rank);
      ::usleep(kPollPause_us);
    }
    sums.merge(sums_from_json(parse_json(read_file(file), file.string()), file.string()));
    fs::remove(file);
  }
}

bool Saver::failed(bool waits) {
  while (step_ >= 0) {
    const bool is_done = done_;
    const bool has_failed = is_done && !error_.empty();
    if (ranks_.all_reduce_max(static_cast<int64_t>(has_failed), "failed checkpoint") > 0) {
      gives_up_ = true;
      join();
      if (!error_.empty()) warn_failed(step_, error_);
      ranks_.barrier("failed checkpoint");  // after this, nobody writes there
      if (ranks_.is_first()) store_.abandon(step_);
      gives_up_ = false;
      step_ = -1;
      return true;
    }
    if (ranks_.all_reduce_min(static_cast<int64_t>(is_done), "finished checkpoint") == 1) {
      join();
      step_ = -1;
    } else if (!waits) {
      return false;
    } else {
      ::usleep(kPollPause_us);
    }
  }
  return false;
}

}  // namespace roll
