#include "compiler/codegen/c/table_kernels.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/codegen/c/emit_common.h"
#include "ops/exp_table.h"
#include "ops/quantized_parameters.h"
#include "ops/window.h"

namespace edgekiln::compiler {
namespace {

using ops::WindowGeometry;

constexpr int64_t kCallBytes = 24;  // Of a layer that calls its kernel.

bool IsInt8(const Tensor& tensor) {
  return tensor.type == v1::INT8 && tensor.quantization.has_value();
}

// Absent ones are 0.
std::string InputOr0(StepWriter& w, size_t i) {
  return w.Has(i) ? w.AddressOfIn(i) : "0";
}

// Adds an entry, and the call of its kernel to the layer.
void EmitEntry(StepWriter& w, absl::string_view kernel,
               std::vector<std::string> in, const std::vector<int64_t>& p) {
  in.resize(5, "0");
  const std::vector<int32_t> shape(p.begin(), p.end());
  const std::string type = w.Use("entry");
  const int64_t entry = w.AddEntry(
      absl::StrCat("{", w.Use(kernel), ", {", absl::StrJoin(in, ", "), "}, ",
                   w.AddressOfOut(0), ", ", w.Array(v1::INT32, shape), "}"));
  w.code().Line("const struct ", type, " *const e = ", w.Use("hidden_entry"),
                "(", w.TableName(), " + ", entry, ");");
  w.code().Line("e->kernel(e);");
}

const v1::Clamp& ClampOf(const v1::OpAttributes& op) {
  if (op.has_conv2d()) return op.conv2d().clamp();
  if (op.has_depthwise_conv2d()) return op.depthwise_conv2d().clamp();
  return op.fully_connected().clamp();
}

WindowGeometry PoolGeometry(const StepWriter& w) {
  const auto of = [&w](const auto& pool) {
    return ops::GeometryOf(pool.window(), w.In(0).shape,
                           {pool.kernel_h(), pool.kernel_w()}, w.Out(0).shape);
  };
  return w.op().has_max_pool2d() ? of(w.op().max_pool2d())
                                 : of(w.op().average_pool2d());
}

int64_t GroupsOf(const StepWriter& w) {
  return w.op().has_conv2d() ? std::max(w.op().conv2d().groups(), 1) : 1;
}

int64_t MultiplierOf(const StepWriter& w) {
  return w.op().has_depthwise_conv2d()
             ? w.op().depthwise_conv2d().depth_multiplier()
             : 0;
}

std::vector<int64_t> ShapeOf(const WindowGeometry& g) {
  return {g.batch,     g.in[1],       g.in[2],       g.in_c,      g.out[1],
          g.out[2],    g.out_c,       g.kernel[1],   g.kernel[2], g.stride[1],
          g.stride[2], g.dilation[1], g.dilation[2], g.pad[1],    g.pad[2]};
}

std::string LimitsOf(StepWriter& w, const v1::Clamp& clamp) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return w.Array(v1::FLOAT32,
                 std::vector<float>{clamp.has_min() ? clamp.min() : -kInfinity,
                                    clamp.has_max() ? clamp.max() : kInfinity});
}

bool EmitFloatDot(StepWriter& w) {
  std::vector<int64_t> p = ShapeOf(DotGeometry(w));
  p.push_back(GroupsOf(w));
  p.push_back(MultiplierOf(w));
  std::vector<std::string> in = {w.AddressOfIn(0), w.AddressOfIn(1),
                                 InputOr0(w, 2), LimitsOf(w, ClampOf(w.op()))};
  EmitEntry(w, "table_dot_float", std::move(in), p);
  return true;
}

}  // namespace

bool FitsTableDot(const StepWriter& w) {
  const v1::OpAttributes& op = w.op();
  if (!op.has_conv2d() && !op.has_depthwise_conv2d() &&
      !op.has_fully_connected()) {
    return false;
  }
  if (w.In(0).type == v1::FLOAT32) {
    // Weights that are not finite make padding count.
    return w.Out(0).type == v1::FLOAT32 && w.In(1).is_constant();
  }
  if (!IsInt8(w.In(0)) || !IsInt8(w.In(1))) return false;
  const auto zeros = w.InQuantization(1).zero_point;
  return std::all_of(zeros.begin(), zeros.end(),
                     [&](int32_t zero) { return zero == zeros[0]; }) &&
         (IsInt8(w.Out(0)) || w.Out(0).type == v1::INT32);
}

KernelChoice CostOfTableDot(const StepWriter& w) {
  const WindowGeometry g = DotGeometry(w);
  const int64_t results = g.pixels() * g.out_c;
  const int64_t depth = w.In(1).num_elements() / g.out_c;
  const int64_t each = w.In(0).type == v1::FLOAT32 ? 120 : 11;
  return {"table", results * (each * depth + 60), kCallBytes};
}

bool EmitTableDot(StepWriter& w) {
  if (w.In(0).type == v1::FLOAT32) return EmitFloatDot(w);
  const WindowGeometry g = DotGeometry(w);
  const bool sums = w.Out(0).type == v1::INT32;
  const auto parameters =
      sums ? ops::AccumulatorParameters(w.InQuantization(0),
                                        w.InQuantization(1), g.out_c)
           : ops::DotParameters(ClampOf(w.op()), w.op().rounding(),
                                w.InQuantization(0), w.InQuantization(1),
                                w.OutQuantization(0), w.Out(0).type, g.out_c);
  if (!parameters.ok()) return false;
  std::vector<int32_t> multipliers, shifts;
  for (const ops::FixedPointMultiplier& factor : parameters->multiplier) {
    multipliers.push_back(factor.multiplier);
    shifts.push_back(31 - factor.shift);
  }
  std::vector<std::string> in = {w.AddressOfIn(0), w.AddressOfIn(1),
                                 InputOr0(w, 2)};
  v1::Rounding rounding = v1::HALF_UP;
  if (!sums) {
    in.push_back(w.Array(v1::INT32, multipliers));
    in.push_back(w.Array(v1::INT32, shifts));
    rounding = parameters->multiplier[0].rounding;
  }
  std::vector<int64_t> p;
  if (w.op().has_fully_connected()) {
    p = {g.batch, g.in_c, g.out_c};
  } else {
    p = ShapeOf(g);
  }
  p.insert(p.end(),
           {parameters->input_zero_point, w.InQuantization(1).zero_point[0],
            parameters->output_zero_point, parameters->clamp.min,
            parameters->clamp.max, rounding});
  if (w.op().has_fully_connected()) {
    EmitEntry(w, "table_fully_connected", std::move(in), p);
  } else if (w.op().has_depthwise_conv2d()) {
    p.push_back(MultiplierOf(w));
    EmitEntry(w, "table_depthwise", std::move(in), p);
  } else {
    p.push_back(GroupsOf(w));
    EmitEntry(w, "table_conv", std::move(in), p);
  }
  return true;
}

bool FitsTableAdd(const StepWriter& w) {
  if (!w.op().has_add() || w.In(0).shape != w.In(1).shape ||
      w.In(0).shape != w.Out(0).shape) {
    return false;
  }
  if (w.Out(0).type == v1::FLOAT32) return true;
  return w.op().rounding() == v1::HALF_UP && IsInt8(w.Out(0));
}

KernelChoice CostOfTableAdd(const StepWriter& w) {
  const int64_t each = w.Out(0).type == v1::FLOAT32 ? 80 : 70;
  return {"table", each * w.Out(0).num_elements(), kCallBytes};
}

bool EmitTableAdd(StepWriter& w) {
  const int64_t elements = w.Out(0).num_elements();
  if (w.Out(0).type == v1::FLOAT32) {
    EmitEntry(
        w, "table_add_float",
        {w.AddressOfIn(0), w.AddressOfIn(1), LimitsOf(w, w.op().add().clamp())},
        {elements});
    w.MayOverwrite(0);
    w.MayOverwrite(1);
    return true;
  }
  const auto p = ops::AddParameters(w.op().add().clamp(), w.op().rounding(),
                                    w.InQuantization(0), w.InQuantization(1),
                                    w.OutQuantization(0), w.Out(0).type);
  if (!p.ok()) return false;
  w.MayOverwrite(0);
  w.MayOverwrite(1);
  EmitEntry(w, "table_add", {w.AddressOfIn(0), w.AddressOfIn(1)},
            {elements, p->zero_point[0], p->zero_point[1],
             int64_t{1} << p->left_shift, p->multiplier[0].multiplier,
             31 - p->multiplier[0].shift, p->multiplier[1].multiplier,
             31 - p->multiplier[1].shift, p->output_multiplier.multiplier,
             31 - p->output_multiplier.shift, p->output_zero_point,
             p->clamp.min, p->clamp.max});
  return true;
}

bool FitsTablePool(const StepWriter& w) {
  // Sums of so many stay in 32 bits.
  constexpr int64_t kMostPositions = 1 << 22;
  const v1::OpAttributes& op = w.op();
  return (op.has_average_pool2d() || op.has_max_pool2d()) && w.outputs() == 1 &&
         op.rounding() != v1::HALF_EVEN && IsInt8(w.In(0)) &&
         IsInt8(w.Out(0)) && PoolGeometry(w).positions() <= kMostPositions;
}

KernelChoice CostOfTablePool(const StepWriter& w) {
  return {"table",
          w.Out(0).num_elements() * (16 * PoolGeometry(w).positions() + 40),
          kCallBytes};
}

bool EmitTablePool(StepWriter& w) {
  const v1::OpAttributes& op = w.op();
  const bool maximum = op.has_max_pool2d();
  const WindowGeometry g = PoolGeometry(w);
  const ops::QuantizedRange range = ops::ClampRange(
      maximum ? op.max_pool2d().clamp() : op.average_pool2d().clamp(),
      op.rounding(), w.OutQuantization(0), w.Out(0).type);
  EmitEntry(
      w, maximum ? "table_maximum" : "table_average", {w.AddressOfIn(0)},
      {g.batch, g.in[1], g.in[2], g.in_c, g.out[1], g.out[2], g.kernel[1],
       g.kernel[2], g.stride[1], g.stride[2], g.dilation[1], g.dilation[2],
       g.pad[1], g.pad[2], w.InQuantization(0).zero_point[0], range.min,
       range.max, op.average_pool2d().count_include_pad() ? 1 : 0});
  return true;
}

bool FitsTableSoftmax(const StepWriter& w) {
  return w.op().has_softmax() && IsInt8(w.In(0)) && IsInt8(w.Out(0));
}

KernelChoice CostOfTableSoftmax(const StepWriter& w) {
  return {"table", 500 * w.Out(0).num_elements(), kCallBytes};
}

bool EmitTableSoftmax(StepWriter& w) {
  const v1::Softmax& op = w.op().softmax();
  const ops::ExpTable table(op.beta(), w.InQuantization(0).scale[0]);
  std::vector<float> powers;
  for (int d = 0; d < 256; ++d) powers.push_back(table[d]);
  const auto shape = absl::MakeConstSpan(w.Out(0).shape);
  const ops::QuantizationView out = w.OutQuantization(0);
  w.MayOverwrite(0);
  EmitEntry(w, "table_softmax",
            {w.AddressOfIn(0), w.Array(v1::FLOAT32, powers),
             w.Array(v1::FLOAT32, std::vector<float>{out.scale[0]})},
            {Product(shape.first(op.axis())), shape[op.axis()],
             Product(shape.subspan(op.axis() + 1)), out.zero_point[0]});
  return true;
}

}  // namespace edgekiln::compiler
