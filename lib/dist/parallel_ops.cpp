// Each of these collectives is the other's gradient: gathering copies rows to all ranks, so backward sums them.
#include "dist/parallel_ops.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <utility>

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Saves the group and the name for backward. The group outlives every graph.
void save_ranks_and_name(AutogradContext* ctx, Communicator* ranks, const std::string& name) {
  ctx->saved_data["ranks"] = reinterpret_cast<int64_t>(ranks);
  ctx->saved_data["name"] = name;
}

Communicator& saved_ranks(AutogradContext* ctx) {
  return *reinterpret_cast<Communicator*>(ctx->saved_data["ranks"].toInt());
}

std::string backward_name(AutogradContext* ctx) {
  return ctx->saved_data["name"].toStringRef() + " backward";
}

class GatherRows : public torch::autograd::Function<GatherRows> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Communicator* ranks, const std::string& name) {
    save_ranks_and_name(ctx, ranks, name);
    return ranks->all_gather_rows(x, name);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {saved_ranks(ctx).reduce_scatter_rows(grads[0], backward_name(ctx)), at::Tensor(), at::Tensor()};
  }
};

class SumScatterRows : public torch::autograd::Function<SumScatterRows> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Communicator* ranks, const std::string& name) {
    save_ranks_and_name(ctx, ranks, name);
    return ranks->reduce_scatter_rows(x, name);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {saved_ranks(ctx).all_gather_rows(grads[0], backward_name(ctx)), at::Tensor(), at::Tensor()};
  }
};

class SumOverRanks : public torch::autograd::Function<SumOverRanks> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Communicator* ranks, const std::string& name) {
    save_ranks_and_name(ctx, ranks, name);
    return summed(x, *ranks, name);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {summed(grads[0], saved_ranks(ctx), backward_name(ctx)), at::Tensor(), at::Tensor()};
  }

 private:
  static at::Tensor summed(const at::Tensor& x, Communicator& ranks, const std::string& name) {
    at::Tensor sum = x.clone(at::MemoryFormat::Contiguous);
    ranks.all_reduce_sum(sum, name);
    return sum;
  }
};

class GatherResults : public torch::autograd::Function<GatherResults> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Communicator* ranks, const std::string& name) {
    save_ranks_and_name(ctx, ranks, name);
    return ranks->all_gather_rows(x, name);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Communicator& ranks = saved_ranks(ctx);
    const int64_t rows = grads[0].size(0) / ranks.size();
    return {grads[0].narrow(0, ranks.rank() * rows, rows), at::Tensor(), at::Tensor()};
  }
};

/// Rows being exchanged; they stay in `out` and `in` until the exchange ends.
struct RowsUnderWay : torch::CustomClassHolder {
  std::vector<int64_t> send, receive;
  at::Tensor out, in;
  std::unique_ptr<Pending> pending;

  void start(const at::Tensor& x, at::IntArrayRef sent, at::IntArrayRef received, Communicator& ranks,
             const std::string& name) {
    out = x.detach().contiguous();
    in = at::empty({c10::sum_integers(received), x.size(1)}, x.options().requires_grad(false));
    pending = ranks.start_exchange(out.split_with_sizes(sent), in.split_with_sizes(received), name);
  }
  at::Tensor arrived() {
    pending->wait();
    pending.reset();
    out.reset();
    return std::move(in);
  }
};

c10::intrusive_ptr<RowsUnderWay> saved_rows(AutogradContext* ctx) {
  return c10::static_intrusive_pointer_cast<RowsUnderWay>(ctx->saved_data["rows"].toCapsule());
}

/// Returns a placeholder for the exchange in progress. Only FinishExchange uses it; that one's backward starts the
/// exchange of gradients, which ends here.
class StartExchange : public torch::autograd::Function<StartExchange> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const c10::intrusive_ptr<RowsUnderWay>& rows,
                            Communicator* ranks, const std::string& name) {
    ctx->saved_data["rows"] = c10::IValue::make_capsule(rows);
    rows->start(x, rows->send, rows->receive, *ranks, name);
    return at::empty({}, x.options().requires_grad(false));
  }
  static variable_list backward(AutogradContext* ctx, const variable_list&) {
    return {saved_rows(ctx)->arrived(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

class FinishExchange : public torch::autograd::Function<FinishExchange> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& placeholder,
                            const c10::intrusive_ptr<RowsUnderWay>& rows, Communicator* ranks,
                            const std::string& name) {
    save_ranks_and_name(ctx, ranks, name);
    ctx->saved_data["rows"] = c10::IValue::make_capsule(rows);
    ctx->save_for_backward({placeholder});
    return rows->arrived();
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto rows = saved_rows(ctx);
    rows->start(grads[0], rows->receive, rows->send, saved_ranks(ctx), backward_name(ctx));
    return {at::zeros_like(ctx->get_saved_variables()[0]), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

class CountTimes : public torch::autograd::Function<CountTimes> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Communicator* ranks, int64_t times,
                            int64_t in_backward) {
    save_ranks_and_name(ctx, ranks, "");
    ctx->saved_data["in_backward"] = in_backward;
    ranks->count_times(times);
    return x;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    saved_ranks(ctx).count_times(ctx->saved_data["in_backward"].toInt());
    return {grads[0], at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor gather_rows(const at::Tensor& x, Communicator& ranks, std::string_view name) {
  return ranks.size() == 1 ? x : GatherRows::apply(x, &ranks, std::string(name));
}

at::Tensor sum_scatter_rows(const at::Tensor& x, Communicator& ranks, std::string_view name) {
  return ranks.size() == 1 ? x : SumScatterRows::apply(x, &ranks, std::string(name));
}

at::Tensor sum_over_ranks(const at::Tensor& x, Communicator& ranks, std::string_view name) {
  return ranks.size() == 1 ? x : SumOverRanks::apply(x, &ranks, std::string(name));
}

at::Tensor gather_results(const at::Tensor& x, Communicator& ranks, std::string_view name) {
  return ranks.size() == 1 ? x : GatherResults::apply(x, &ranks, std::string(name));
}

at::Tensor exchange_rows(const at::Tensor& x, const std::vector<int64_t>& send, const std::vector<int64_t>& receive,
                         Communicator& ranks, std::string_view name) {
  return exchange_rows_beside(x, send, receive, ranks, name, [] {});
}

at::Tensor exchange_rows_beside(const at::Tensor& x, const std::vector<int64_t>& send,
                                const std::vector<int64_t>& receive, Communicator& ranks, std::string_view name,
                                const std::function<void()>& work) {
  const auto rows = c10::make_intrusive<RowsUnderWay>();
  rows->send = send;
  rows->receive = receive;
  const at::Tensor placeholder = StartExchange::apply(x, rows, &ranks, std::string(name));
  work();
  return FinishExchange::apply(placeholder, rows, &ranks, std::string(name));
}

at::Tensor count_times(const at::Tensor& x, Communicator& ranks, int64_t times, int64_t times_in_backward) {
  return CountTimes::apply(x, &ranks, times, times_in_backward);
}

}  // namespace roll
