#include "compiler/engines/register_job/testing/toy_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/engines/register_job/backend.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "ops/quantized_parameters.h"
#include "target/layout.h"
#include "target/layout_parts.h"
#include "target/register_jobs.h"

namespace edgekiln::compiler::register_job {
namespace {

using v1::RegisterJobs;

constexpr char kMachine[] = R"(
clock_hz: 100000000
host_clock_hz: 100000000
memories { name: "flash" holds: CODE holds: CONSTANTS capacity_bytes: 16777216
           host_reaches: true alignment_bytes: 1 }
memories { name: "ram" holds: ACTIVATIONS capacity_bytes: 16777216
           base_address: 2147483648 host_reaches: true alignment_bytes: 1 }
memories { name: "tile_mem" holds: CONSTANTS holds: ACTIVATIONS engines: 0
           alignment_bytes: 16 }
links { name: "mover" owner: -1 from: 0 from: 1 from: 2 to: 1 to: 2
        contention: BLOCKING bytes_per_cycle: 8 setup_cycles: 16
        dimensions: 4 }
engines { name: "array" model: REGISTER_JOB clock_hz: 100000000
          macs_per_cycle: 64 register_write_cycles: 2 poll_cycles: 5 }
)";

void AddTerms(const std::string& height, const std::string& width,
              const std::string& select, RegisterJobs::Operand& operand) {
  const auto add = [&](const char* axis, const char* divide, const char* modulo,
                       const std::string& stride) {
    RegisterJobs::Operand::Term& term = *operand.add_terms();
    term.set_axis(axis);
    term.set_divide_expr(divide);
    term.set_modulo_expr(modulo);
    term.set_stride_bytes_expr(absl::StrCat(stride, "*", select));
  };
  const std::string image = absl::StrCat(height, "*", width, "*block");
  add("c", "block", "", image);
  add("h", "", "", absl::StrCat(width, "*block"));
  add("w", "", "", "block");
  add("c", "", "block", "1");
}

void AddOperand(const std::string& name, const std::string& role,
                const std::string& element_bytes, RegisterJobs::Job& job) {
  RegisterJobs::Operand& operand = *job.add_operands();
  operand.set_name(name);
  AddTerms(role + "_h", role + "_w", element_bytes, operand);
  operand.set_size_bytes_expr(absl::StrCat("ceildiv(", role, "_c,block)*", role,
                                           "_h*", role, "_w*block*",
                                           element_bytes));
}

void AddWeights(bool depthwise, RegisterJobs::Job& job) {
  RegisterJobs::Operand& operand = *job.add_operands();
  operand.set_name("weights");
  const std::string inner = depthwise ? "1" : "in_c";
  const auto add = [&](const char* axis, const char* divide, const char* modulo,
                       const std::string& stride) {
    RegisterJobs::Operand::Term& term = *operand.add_terms();
    term.set_axis(axis);
    term.set_divide_expr(divide);
    term.set_modulo_expr(modulo);
    term.set_stride_bytes_expr(stride);
  };
  add("o", "block", "", absl::StrCat("kernel_h*kernel_w*block*", inner));
  add("h", "", "", absl::StrCat("kernel_w*block*", inner));
  add("w", "", "", absl::StrCat("block*", inner));
  if (!depthwise) add("i", "", "", "block");
  add("o", "", "block", "1");
  operand.set_size_bytes_expr(
      absl::StrCat("ceildiv(out_c,block)*kernel_h*kernel_w*block*", inner));
}

RegisterJobs Jobs() {
  RegisterJobs jobs;
  for (int v = 0; v < target::kNumJobVariables; ++v) {
    const std::string name(
        target::JobVariableName(static_cast<target::JobVariable>(v)));
    RegisterJobs::Register& reg = *jobs.add_registers();
    reg.set_name(name);
    reg.set_offset(static_cast<uint32_t>(4 * v));
    reg.set_is_signed(!absl::EndsWith(name, "_addr"));
    reg.set_bits(32);
    reg.set_value_expr(name);
  }
  jobs.set_start_offset(4096);
  jobs.set_start_value(1);
  jobs.set_status_offset(4100);
  jobs.set_status_mask(1);
  jobs.set_status_done(1);
  jobs.set_register_write_cycles_expr("2");
  jobs.set_poll_cycles_expr("5");
  for (int k = RegisterJobs::CONVOLUTION; k <= RegisterJobs::REQUANTIZATION;
       ++k) {
    const auto kernel = static_cast<RegisterJobs::Kernel>(k);
    RegisterJobs::Job& job = *jobs.add_jobs();
    job.set_kernel(kernel);
    job.set_code(10 + k);
    const bool requantizes = kernel == RegisterJobs::REQUANTIZATION;
    AddOperand("in", "in", requantizes ? "4" : "1", job);
    if (kernel == RegisterJobs::ADDITION) AddOperand("in2", "in", "1", job);
    const bool depthwise = kernel == RegisterJobs::DEPTHWISE_CONVOLUTION;
    if (depthwise || kernel == RegisterJobs::CONVOLUTION) {
      AddWeights(depthwise, job);
    }
    AddOperand("out", "out", "select(out_int32,4,1)", job);
    job.set_occupancy_cycles_expr(
        kernel == RegisterJobs::CONVOLUTION
            ? "8+out_h*out_w*kernel_h*kernel_w*in_c*ceildiv(out_c,64)"
            : "8+out_h*out_w*kernel_h*kernel_w*ceildiv(out_c,64)");
  }
  return jobs;
}

class Builder {
 public:
  explicit Builder(const OpSpec& spec) : spec_(spec) {}

  Graph Build() && {
    graph_.name = spec_.name;
    Op op;
    op.id = spec_.kind;
    if (spec_.half_even) op.attributes.set_rounding(v1::HALF_EVEN);
    const bool dense = spec_.kind == "fully_connected";
    const bool sums = spec_.kind == "requantize";
    const std::vector<int64_t> in_shape =
        dense ? std::vector<int64_t>{spec_.w, spec_.c}
              : std::vector<int64_t>{1, spec_.h, spec_.w, spec_.c};
    AddTensor("x", sums ? v1::INT32 : v1::INT8, in_shape, 0.5F, sums ? 0 : -3);
    op.inputs.push_back(0);
    if (spec_.kind == "add") {
      AddTensor("x2", v1::INT8, in_shape, 0.25F, 5);
      op.inputs.push_back(1);
    }
    for (TensorId t : op.inputs) graph_.inputs.push_back(t);
    std::vector<int64_t> out_shape = in_shape;
    SetAttributes(op, out_shape);
    const auto output = static_cast<TensorId>(graph_.tensors.size());
    const bool pool = absl::EndsWith(spec_.kind, "pool2d");
    AddTensor("y", spec_.int32_output ? v1::INT32 : v1::INT8, out_shape,
              pool ? 0.5F : 4.0F, pool ? -3 : 7);
    if (spec_.int32_output) SetSumScales(op, graph_.tensors.back());
    op.outputs.push_back(output);
    graph_.outputs.push_back(output);
    graph_.ops.push_back(std::move(op));
    return std::move(graph_);
  }

 private:
  void AddTensor(const char* name, v1::ElementType type,
                 std::vector<int64_t> shape, float scale, int32_t zero) {
    Tensor& tensor = graph_.tensors.emplace_back();
    tensor.name = name;
    tensor.type = type;
    tensor.shape = std::move(shape);
    tensor.quantization = Quantization{{scale}, {zero}, 0};
  }

  // As VerifyGraph() wants them.
  void SetSumScales(const Op& op, Tensor& sums) {
    const Quantization& weights = *graph_.tensors[op.inputs[1]].quantization;
    Quantization quantization;
    for (const float scale : weights.scale) {
      quantization.scale.push_back(static_cast<float>(0.5 * double{scale}));
    }
    quantization.zero_point.assign(weights.scale.size(), 0);
    quantization.axis = static_cast<int32_t>(sums.shape.size()) - 1;
    sums.quantization = std::move(quantization);
  }

  void AddWeights(std::vector<int64_t> shape, int32_t axis, int64_t channels,
                  Op& op) {
    Tensor weights;
    weights.name = "w";
    weights.type = v1::INT8;
    weights.shape = std::move(shape);
    Quantization quantization;
    for (int64_t c = 0; c < channels; ++c) {
      quantization.scale.push_back(0.01F + 0.001F * static_cast<float>(c % 7));
      quantization.zero_point.push_back(0);
    }
    quantization.axis = axis;
    weights.quantization = std::move(quantization);
    std::string bytes(static_cast<size_t>(weights.num_elements()), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng_.Below(255) - 127);
    weights.data = ConstantData(std::move(bytes));
    op.inputs.push_back(static_cast<TensorId>(graph_.tensors.size()));
    graph_.tensors.push_back(std::move(weights));
    Tensor bias;
    bias.name = "b";
    bias.type = v1::INT32;
    bias.shape = {channels};
    std::string values(static_cast<size_t>(channels) * 4, '\0');
    for (size_t i = 0; i < values.size(); i += 4) {
      values[i] = static_cast<char>(rng_.Below(256));
      values[i + 1] = static_cast<char>(rng_.Below(8));
    }
    bias.data = ConstantData(std::move(values));
    op.inputs.push_back(static_cast<TensorId>(graph_.tensors.size()));
    graph_.tensors.push_back(std::move(bias));
  }

  void SetWindow(v1::Window2d& window) const {
    window.set_stride_h(spec_.stride);
    window.set_stride_w(spec_.stride);
    window.set_dilation_h(spec_.dilation);
    window.set_dilation_w(spec_.dilation);
    window.set_pad_top(spec_.pad);
    window.set_pad_bottom(spec_.pad);
    window.set_pad_left(spec_.pad);
    window.set_pad_right(spec_.pad);
  }

  int64_t OutExtent(int64_t extent, int64_t kernel) const {
    return (extent + 2 * spec_.pad - (kernel - 1) * spec_.dilation - 1) /
               spec_.stride +
           1;
  }

  void SetAttributes(Op& op, std::vector<int64_t>& out_shape) {
    const int64_t h = OutExtent(spec_.h, spec_.kernel_h);
    const int64_t w = OutExtent(spec_.w, spec_.kernel_w);
    if (spec_.kind == "conv2d") {
      SetWindow(*op.attributes.mutable_conv2d()->mutable_window());
      AddWeights({spec_.out_c, spec_.kernel_h, spec_.kernel_w, spec_.c}, 0,
                 spec_.out_c, op);
      out_shape = {1, h, w, spec_.out_c};
    } else if (spec_.kind == "depthwise_conv2d") {
      auto& depthwise = *op.attributes.mutable_depthwise_conv2d();
      SetWindow(*depthwise.mutable_window());
      depthwise.set_depth_multiplier(
          static_cast<int32_t>(spec_.out_c / spec_.c));
      AddWeights({1, spec_.kernel_h, spec_.kernel_w, spec_.out_c}, 3,
                 spec_.out_c, op);
      out_shape = {1, h, w, spec_.out_c};
    } else if (spec_.kind == "fully_connected") {
      op.attributes.mutable_fully_connected();
      AddWeights({spec_.out_c, spec_.c}, 0, spec_.out_c, op);
      out_shape = {spec_.w, spec_.out_c};
    } else if (spec_.kind == "add") {
      op.attributes.mutable_add()->mutable_clamp()->set_min(0);
    } else if (spec_.kind == "requantize") {
      auto& requantize = *op.attributes.mutable_requantize();
      for (int64_t c = 0; c < spec_.c; ++c) {
        const ops::FixedPointMultiplier factor =
            ops::QuantizeMultiplier(0.001 + 0.0001 * static_cast<double>(c));
        requantize.add_multiplier(factor.multiplier);
        requantize.add_shift(factor.shift);
      }
    } else {
      out_shape = {1, h, w, spec_.c};
      if (spec_.kind == "average_pool2d") {
        auto& pool = *op.attributes.mutable_average_pool2d();
        pool.set_kernel_h(static_cast<int32_t>(spec_.kernel_h));
        pool.set_kernel_w(static_cast<int32_t>(spec_.kernel_w));
        SetWindow(*pool.mutable_window());
      } else {
        auto& pool = *op.attributes.mutable_max_pool2d();
        pool.set_kernel_h(static_cast<int32_t>(spec_.kernel_h));
        pool.set_kernel_w(static_cast<int32_t>(spec_.kernel_w));
        SetWindow(*pool.mutable_window());
      }
    }
  }

  const OpSpec& spec_;
  Rng rng_{1};
  Graph graph_;
};

}  // namespace

v1::Machine ToyMachine(int64_t block, int64_t tile_bytes) {
  v1::Machine machine;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(kMachine, &machine));
  machine.mutable_memories(kTiles)->set_capacity_bytes(tile_bytes);
  v1::Setting& setting = *machine.add_parameters();
  setting.set_name("block");
  setting.set_value(block);
  *machine.mutable_engines(0)->mutable_jobs() = Jobs();
  return machine;
}

Graph GraphOf(const OpSpec& spec) { return Builder(spec).Build(); }

namespace {

// An array of `shape`, [h, w] of channels behind one another.
v1::Layout ChannelsFirst(const std::vector<int64_t>& shape,
                         int64_t element_bytes) {
  std::vector<int64_t> extents = shape;
  std::rotate(extents.begin() + (shape.size() == 4 ? 1 : 0), extents.end() - 1,
              extents.end());
  const v1::Layout dense = target::DenseLayout(extents, element_bytes);
  if (shape.size() == 4) return target::Permuted(dense, {0, 2, 3, 1});
  return target::Permuted(dense, {1, 0});
}

}  // namespace

Budget BudgetOf(const Region& region, const v1::Machine& machine,
                int64_t tile_bytes, Stays stays) {
  Budget budget;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    budget.memory_bytes.push_back(memory.capacity_bytes());
  }
  budget.memory_bytes[kTiles] = tile_bytes;
  const auto add = [&](TensorId id, bool resident) {
    const Tensor& tensor = region.graph->tensors[id];
    Budget::Border border;
    border.tensor = id;
    border.memory = resident ? kTiles : kRam;
    border.layout =
        target::DenseLayout(tensor.shape, ElementBytes(tensor.type));
    border.resident = resident;
    if (resident) {
      const auto layout = Backend().OperandLayout(region, id, machine, 0);
      EXPECT_TRUE(layout.ok()) << layout.status();
      border.layout = layout.value_or(v1::Layout());
    }
    if (stays.channels_first) {
      border.layout = ChannelsFirst(tensor.shape, ElementBytes(tensor.type));
    }
    budget.borders.push_back(std::move(border));
  };
  for (const TensorId input : region.inputs) add(input, stays.inputs);
  for (const TensorId output : OutputsOf(region)) add(output, stays.output);
  return budget;
}

absl::StatusOr<v1::RegionPlan> PlanOf(const Region& region,
                                      const v1::Machine& machine,
                                      int64_t tile_bytes, Stays stays) {
  return Backend().Plan(region, BudgetOf(region, machine, tile_bytes, stays),
                        machine, 0, {});
}

}  // namespace edgekiln::compiler::register_job
