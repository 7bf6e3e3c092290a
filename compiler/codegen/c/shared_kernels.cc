#include "compiler/codegen/c/shared_kernels.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/c/emit_common.h"
#include "ops/quantized_parameters.h"
#include "ops/window.h"

namespace edgekiln::compiler {
namespace {

const v1::Clamp& ClampOf(const v1::OpAttributes& op) {
  if (op.has_conv2d()) return op.conv2d().clamp();
  if (op.has_depthwise_conv2d()) return op.depthwise_conv2d().clamp();
  return op.fully_connected().clamp();
}

bool IsInt8(const Tensor& tensor) { return tensor.type == v1::INT8; }

std::string BiasOf(StepWriter& w, int64_t channels) {
  if (w.Has(2)) return w.X(2);
  return w.Array(v1::INT32, std::vector<int32_t>(channels, 0));
}

}  // namespace

bool FitsSharedConv(const StepWriter& w) {
  const v1::OpAttributes& op = w.op();
  if (!op.has_conv2d() && !op.has_depthwise_conv2d() &&
      !op.has_fully_connected()) {
    return false;
  }
  if (!IsInt8(w.In(0)) || !IsInt8(w.In(1)) || !IsInt8(w.Out(0)) ||
      op.rounding() != v1::HALF_UP || op.has_converter()) {
    return false;
  }
  const auto zeros = w.InQuantization(1).zero_point;
  return (!op.has_conv2d() || op.conv2d().groups() <= 1) &&
         std::all_of(zeros.begin(), zeros.end(),
                     [](int32_t zero) { return zero == 0; });
}

KernelChoice CostOfSharedConv(const StepWriter& w) {
  const ops::WindowGeometry g = DotGeometry(w);
  const int64_t results = g.pixels() * g.out_c;
  const int64_t depth = w.op().has_depthwise_conv2d() ? 1 : g.in_c;
  return {"shared", results * (10 * g.positions() * depth + 40), 50};
}

bool EmitSharedConv(StepWriter& w) {
  const ops::WindowGeometry g = DotGeometry(w);
  const auto parameters = ops::DotParameters(
      ClampOf(w.op()), w.op().rounding(), w.InQuantization(0),
      w.InQuantization(1), w.OutQuantization(0), w.Out(0).type, g.out_c);
  if (!parameters.ok()) return false;
  std::vector<int32_t> multipliers;
  std::vector<uint8_t> shifts;
  for (const ops::FixedPointMultiplier& factor : parameters->multiplier) {
    multipliers.push_back(factor.multiplier);
    shifts.push_back(static_cast<uint8_t>(31 - factor.shift));
  }
  const int64_t multiplier = w.op().has_depthwise_conv2d()
                                 ? w.op().depthwise_conv2d().depth_multiplier()
                                 : 0;
  std::vector<int32_t> shape;
  for (const int64_t value : {g.batch,
                              g.in[1],
                              g.in[2],
                              g.in_c,
                              g.out[1],
                              g.out[2],
                              g.out_c,
                              g.kernel[1],
                              g.kernel[2],
                              g.stride[1],
                              g.stride[2],
                              g.dilation[1],
                              g.dilation[2],
                              g.pad[1],
                              g.pad[2],
                              int64_t{parameters->input_zero_point},
                              int64_t{parameters->output_zero_point},
                              int64_t{parameters->clamp.min},
                              int64_t{parameters->clamp.max},
                              multiplier}) {
    shape.push_back(static_cast<int32_t>(value));
  }
  w.code().Line(w.Use("shared_conv"), "(", w.X(0), ", ", w.X(1), ", ",
                BiasOf(w, g.out_c), ", ", w.Array(v1::INT32, multipliers), ", ",
                w.Array(v1::UINT8, shifts), ", ", w.Y(0), ", ",
                w.Array(v1::INT32, shape), ");");
  return true;
}

bool FitsSharedAdd(const StepWriter& w) {
  return w.op().has_add() && w.op().rounding() == v1::HALF_UP &&
         IsInt8(w.Out(0)) && w.Out(0).quantization.has_value() &&
         w.In(0).shape == w.In(1).shape && w.In(0).shape == w.Out(0).shape;
}

KernelChoice CostOfSharedAdd(const StepWriter& w) {
  return {"shared", 70 * w.Out(0).num_elements(), 50};
}

bool EmitSharedAdd(StepWriter& w) {
  const auto p = ops::AddParameters(w.op().add().clamp(), w.op().rounding(),
                                    w.InQuantization(0), w.InQuantization(1),
                                    w.OutQuantization(0), w.Out(0).type);
  if (!p.ok()) return false;
  const std::vector<int32_t> table = {
      static_cast<int32_t>(w.Out(0).num_elements()),
      p->zero_point[0],
      p->zero_point[1],
      1 << p->left_shift,
      p->multiplier[0].multiplier,
      31 - p->multiplier[0].shift,
      p->multiplier[1].multiplier,
      31 - p->multiplier[1].shift,
      p->output_multiplier.multiplier,
      31 - p->output_multiplier.shift,
      p->output_zero_point,
      p->clamp.min,
      p->clamp.max};
  w.code().Line(w.Use("shared_add"), "(", w.X(0), ", ", w.X(1), ", ", w.Y(0),
                ", ", w.Array(v1::INT32, table), ");");
  w.MayOverwrite(0);
  w.MayOverwrite(1);
  return true;
}

}  // namespace edgekiln::compiler
