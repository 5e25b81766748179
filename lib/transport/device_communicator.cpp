#include "transport/device_communicator.h"

#include <ATen/ATen.h>

#include <exception>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

c10d::ReduceOp c10d_reduce_op(Reduce op) {
  return op == Reduce::kSum ? c10d::ReduceOp::SUM : op == Reduce::kMax ? c10d::ReduceOp::MAX : c10d::ReduceOp::MIN;
}

using Work = c10::intrusive_ptr<c10d::Work>;

class DeviceCommunicator : public Communicator {
 public:
  DeviceCommunicator(std::unique_ptr<Communicator> host, at::Device device, StartBackend start_backend,
                     Membership membership)
      : Communicator(std::move(membership)),
        host_(std::move(host)),
        device_(device),
        start_backend_(std::move(start_backend)),
        group_(start_backend_(*host_)),
        kind_(group_->getBackendName()) {
    connect();
  }
  ~DeviceCommunicator() override {
    // Only a healthy group is shut down cleanly; after an error the peers may be gone.
    if (std::uncaught_exceptions() == 0 && !broken_) group_->shutdown();
  }

  std::string_view kind() const override { return kind_; }
  std::vector<std::string> all_gather_bytes(std::string_view local, std::string_view name) override {
    return host_->all_gather_bytes(local, name);
  }
  std::vector<std::string> gather_bytes(std::string_view local, std::string_view name) override {
    return host_->gather_bytes(local, name);
  }
  std::unique_ptr<Pending> start_all_gather_bytes(std::string local, std::shared_ptr<std::vector<std::string>> all,
                                                  std::string_view name) override {
    return host_->start_all_gather_bytes(std::move(local), std::move(all), name);
  }
  std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) override {
    auto host = host_->split(members, group);
    if (members.size() == 1 && size() > 1) return host;  // an explicit one-rank back-end is kept
    return std::make_unique<DeviceCommunicator>(std::move(host), device_, start_backend_,
                                                membership_in(members, group));
  }

 protected:
  void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view name) override {
    if (tensor.is_cpu()) return host_->all_reduce(tensor, op, name);
    count("all_reduce", 2 * tensor.nbytes() / static_cast<size_t>(size()) * static_cast<size_t>(size() - 1));
    if (op == Reduce::kSum && is_narrow(tensor.scalar_type())) return reduce_narrow(tensor, name);
    std::vector<at::Tensor> tensors = {tensor};
    c10d::AllreduceOptions options;
    options.reduceOp = c10d_reduce_op(op);
    run("all-reduce", name, [&] { return group_->allreduce(tensors, options); });
  }
  void broadcast_dense(at::Tensor& tensor, int root, std::string_view name) override {
    if (tensor.is_cpu()) return host_->broadcast(tensor, root, name);
    std::vector<at::Tensor> tensors = {tensor};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    count("broadcast", rank() == root ? tensor.nbytes() : 0);
    run("broadcast", name, [&] { return group_->broadcast(tensors, options); });
  }
  void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view name) override {
    if (tensor.is_cpu()) {
      all.view({-1}).copy_(host_->all_gather_rows(tensor.view({-1}), name));
      return;
    }
    at::Tensor local = tensor;
    at::Tensor flat = all.view({-1});
    at::Tensor flat_local = local.view({-1});
    count("all_gather", tensor.nbytes() * static_cast<size_t>(size() - 1));
    run("all-gather", name, [&] { return group_->_allgather_base(flat, flat_local); });
  }

  void reduce_scatter_dense(const at::Tensor& all, at::Tensor& local, std::string_view name) override {
    if (all.is_cpu()) {
      local.copy_(host_->reduce_scatter_rows(all, name).view(local.sizes()));
      return;
    }
    at::Tensor flat = local.view({-1}), flat_all = all.view({-1});
    count("reduce_scatter", all.nbytes() - local.nbytes());
    if (is_narrow(all.scalar_type())) return scatter_narrow(flat_all, flat, name, [] {});
    run("reduce-scatter", name, [&] { return group_->_reduce_scatter_base(flat, flat_all); });
  }

  void all_to_all_dense(const at::Tensor& out, at::Tensor& in, std::string_view name) override {
    if (out.is_cpu()) return Communicator::all_to_all_dense(out, in, name);
    at::Tensor flat_out = out.view({-1}), flat_in = in.view({-1});
    count("all_to_all", out.nbytes() / static_cast<size_t>(size()) * static_cast<size_t>(size() - 1));
    run("all-to-all", name, [&] { return group_->alltoall_base(flat_in, flat_out, even_, even_); });
  }

  void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                      std::string_view name) override {
    if (out.front().is_cpu()) return host_->exchange(out, in, name);
    const auto on_device = [&](const std::vector<at::Tensor>& tensors) {
      std::vector<at::Tensor> bytes;
      for (int peer = 0; peer < size(); ++peer) {
        const bool is_message = peer != rank() && tensors[peer].numel() > 0;
        bytes.push_back(is_message ? tensors[peer].view({-1}).view(at::kByte)
                                   : at::empty({0}, at::TensorOptions(device_).dtype(at::kByte)));
      }
      return bytes;
    };
    std::vector<at::Tensor> sent = on_device(out), received = on_device(in);
    size_t bytes = 0;
    for (const at::Tensor& tensor : sent) bytes += tensor.nbytes();
    count("all_to_all", bytes);
    run("all-to-all", name, [&] { return group_->alltoall(received, sent); });
  }

  /// The back-end runs beside the current stream's kernels until somebody waits.
  std::unique_ptr<Pending> start(std::function<void()> collective) override {
    auto pending = std::make_unique<Started>(*this);
    started_ = pending.get();
    try {
      collective();
    } catch (...) {
      started_ = nullptr;
      throw;
    }
    started_ = nullptr;
    return pending;
  }

 private:
  struct Started : Pending {
    explicit Started(DeviceCommunicator& communicator) : owner(communicator) { begin_s_ = monotonic_s(); }
    void wait() override {
      if (work) owner.finish(work, call_name);
      if (on_result) on_result();
      end_s_ = monotonic_s();
    }
    bool is_done() override { return !work || work->isCompleted(); }
    DeviceCommunicator& owner;
    Work work;
    std::string call_name;
    std::function<void()> on_result;
  };

  /// Sums one number. NCCL connects and allocates its buffers now, before anything takes the rest of the memory, and a
  /// broken network ends the run at its start.
  void connect() {
    const std::string call_name = fmt::format("first all-reduce of its {} group", group());
    float found = 0;
    guard(call_name, [&] {
      std::vector<at::Tensor> tensors = {at::ones({1}).to(device_)};
      group_->allreduce(tensors, c10d::AllreduceOptions())->wait();
      found = tensors.front().item<float>();
    });
    if (found != static_cast<float>(size()))
      throw system_error("{}: the {} over {} gives {} of {} ranks", to_string(place()), call_name, kind_, found,
                         size());
  }

  /// Sums narrow floats. NCCL would round at every hop; instead, each rank receives all parts of its slice, adds them
  /// in float32 and rounds once, with the traffic of a ring. `all` [size * n] -> `local` [n].
  void scatter_narrow(at::Tensor all, at::Tensor local, std::string_view name, std::function<void()> on_result) {
    at::Tensor parts = at::empty_like(all);
    const auto add = [parts, local, ranks = size(), on_result = std::move(on_result)] {
      local.copy_(parts.view({ranks, local.numel()}).sum(0, /*keepdim=*/false, at::kFloat));
      on_result();
    };
    run(
        "reduce-scatter", name, [&] { return group_->alltoall_base(parts, all, even_, even_); }, add);
  }

  void reduce_narrow(at::Tensor& tensor, std::string_view name) {
    const int64_t width = (tensor.numel() + size() - 1) / size();
    at::Tensor all = at::constant_pad_nd(tensor.view({-1}), {0, width * size() - tensor.numel()});
    at::Tensor local = at::empty({width}, all.options());
    scatter_narrow(all, local, name, [this, tensor, all, local, call_name = std::string(name)]() mutable {
      run("all-gather", call_name, [&] { return group_->_allgather_base(all, local); });
      tensor.copy_(all.narrow(0, 0, tensor.numel()).view(tensor.sizes()));
    });
  }

  /// Counts the bytes of a ring algorithm.
  void count(std::string_view operation, size_t bytes) {
    traffic().add_call(group(), operation);
    traffic().add_bytes(group(), operation, static_cast<int64_t>(bytes));
  }

  /// Enqueues a collective on the stream. The host does not wait; c10d's watchdog ends overlong waits. `on_result`
  /// launches kernels that use the result.
  template <class F>
  void run(
      std::string_view call, std::string_view name, F&& begin, const std::function<void()>& on_result = [] {}) {
    const std::string call_name = fmt::format("{} '{}' of its {} group", call, name, group());
    Work work;
    guard(call_name, [&] { work = begin(); });
    if (!started_) {
      finish(work, call_name);
      return on_result();
    }
    started_->work = work;
    started_->call_name = call_name;
    started_->on_result = on_result;
  }

  void finish(const Work& work, const std::string& call_name) {
    guard(call_name, [&] { work->wait(); });
  }

  template <class F>
  void guard(const std::string& call_name, F&& f) {
    try {
      f();
    } catch (const c10::Error& error) {
      broken_ = true;
      throw system_error("{}: {} over {} failed: {}", to_string(place()), call_name, kind_,
                         error.what_without_backtrace());
    }
  }

  std::unique_ptr<Communicator> host_;
  at::Device device_;
  StartBackend start_backend_;
  c10::intrusive_ptr<c10d::Backend> group_;
  std::string kind_;
  std::vector<int64_t> even_;   // empty: every rank sends equally much
  Started* started_ = nullptr;  // receives the work of the collective being started
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<Communicator> make_device_communicator(std::unique_ptr<Communicator> host, at::Device device,
                                                       StartBackend start_backend) {
  const Whereabouts world{host->rank(), host->size(), -1};
  // Traffic of the host communicator, which has the step for errors and lives as long as this.
  const std::shared_ptr<Traffic> traffic(std::shared_ptr<void>(), &host->traffic());
  Membership membership{.rank = world.rank, .size = world.size, .world = world, .traffic = traffic};
  return std::make_unique<DeviceCommunicator>(std::move(host), device, std::move(start_backend), std::move(membership));
}

}  // namespace roll
