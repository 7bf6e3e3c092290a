#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/float16.h"
#include "ops/kernels.h"
#include "ops/rules.h"
#include "ops/window_rules.h"

// Pooling windows.
namespace edgekiln::ops {
namespace {

// Sums of 8-bit values in int32 must hold the window.
constexpr int64_t kMaxPositions = 1 << 22;

// Any of the three pooling ops.
struct Pooling {
  v1::Window window;
  Shape kernel;
  const v1::Clamp* clamp = nullptr;
  bool average = false;
  bool indices = false;  // There may be a second output.
  bool norm = false;
};

template <typename Op>
Pooling Pooling2d(const Op& op, bool average) {
  return {WindowOf(op.window()),
          {op.kernel_h(), op.kernel_w()},
          &op.clamp(),
          average};
}

absl::StatusOr<Pooling> PoolingOf(const v1::OpAttributes& op) {
  switch (op.op_case()) {
    case v1::OpAttributes::kAveragePool2D:
      return Pooling2d(op.average_pool2d(), true);
    case v1::OpAttributes::kMaxPool2D:
      return Pooling2d(op.max_pool2d(), false);
    case v1::OpAttributes::kPool:
      break;
    default:
      return NoSuchOp(op);
  }
  const v1::Pool& pool = op.pool();
  const bool average = pool.function() == v1::Pool::AVERAGE;
  const bool norm = pool.function() == v1::Pool::LP_NORM;
  if (!average && !norm && pool.function() != v1::Pool::MAXIMUM) {
    return BadShape("pooling without a function",
                    "AVERAGE, MAXIMUM or LP_NORM");
  }
  if (norm && pool.p() < 1) {
    return BadShape(absl::StrCat("a norm of order ", pool.p()), "1 or more");
  }
  return Pooling{
      pool.window(),     {pool.kernel().begin(), pool.kernel().end()},
      &pool.clamp(),     average,
      !average && !norm, norm};
}

// A window of padding only has nothing to average or compare.
absl::Status CheckReach(const Pooling& pooling) {
  for (size_t d = 0; d < pooling.kernel.size(); ++d) {
    const int i = static_cast<int>(d);
    const int64_t reach =
        (pooling.kernel[d] - 1) * pooling.window.dilation(i) + 1;
    if (pooling.window.pad_before(i) >= reach ||
        pooling.window.pad_after(i) >= reach) {
      return BadType("pooling window that lies in the padding entirely",
                     "paddings smaller than the window");
    }
  }
  const auto positions = CheckedProduct(pooling.kernel);
  if (positions && *positions <= kMaxPositions) return absl::OkStatus();
  return BadType("pooling window is too large", "",
                 absl::StrCat(kMaxPositions, " elements"));
}

absl::Status CheckValues(const Pooling& pooling, const TensorView& input) {
  const bool is_float = input.type == v1::FLOAT16 ||
                        input.type == v1::FLOAT32 || input.type == v1::FLOAT64;
  if (is_float) return absl::OkStatus();
  if (pooling.norm) {
    return BadType(absl::StrCat("norm of ", TypeName(input.type)),
                   "a float type");
  }
  if (input.quantization.present()) {
    const bool known = IsQuantizedType(input.type) || input.type == v1::INT16;
    if (!known) {
      return BadType(
          absl::StrCat("input 0 is a quantized ", TypeName(input.type)),
          "INT8, UINT8 or INT16");
    }
    return WantPerTensor(input, "input 0");
  }
  if (pooling.average) {
    return BadType(
        absl::StrCat("average of ", TypeName(input.type), " without a scale"),
        "a float or quantized tensor");
  }
  if (!pooling.clamp->has_min() && !pooling.clamp->has_max()) {
    return absl::OkStatus();
  }
  return BadType("a clamp of plain integers", "none");
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferPooling(const v1::OpAttributes& op,
                                                Views inputs) {
  EK_ASSIGN_OR_RETURN(const Pooling pooling, PoolingOf(op));
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  const size_t dims = pooling.kernel.size();
  if (dims < 1 || dims > 3) {
    return BadShape(absl::StrCat("pooling over ", dims, " dimensions"),
                    "one to three");
  }
  EK_RETURN_IF_ERROR(WantRank(inputs, 0, dims + 2));
  EK_ASSIGN_OR_RETURN(const Shape out,
                      WindowShape(pooling.window, x, pooling.kernel, x.back()));
  std::vector<Shape> shapes{out};
  if (pooling.indices) shapes.push_back(out);
  return shapes;
}

absl::Status CheckPooling(const v1::OpAttributes& op, Views inputs,
                          Views outputs) {
  EK_ASSIGN_OR_RETURN(const Pooling pooling, PoolingOf(op));
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(CheckClamp(*pooling.clamp));
  EK_RETURN_IF_ERROR(CheckReach(pooling));
  EK_RETURN_IF_ERROR(CheckValues(pooling, inputs[0]));
  if (outputs.size() > 1) {
    EK_RETURN_IF_ERROR(WantType(outputs[1], "output 1", v1::INT64));
  }
  return CheckMove(inputs[0], outputs[0]);
}

absl::Status ComputePooling(const v1::OpAttributes& op, Inputs inputs,
                            Outputs outputs, CpuPath path) {
  if (inputs[0].type == v1::FLOAT16) {
    return ComputeInFloat(inputs, outputs, [&](Inputs from, Outputs to) {
      return ComputePooling(op, from, to, path);
    });
  }
  switch (op.op_case()) {
    case v1::OpAttributes::kAveragePool2D:
      return AveragePool2d(op.average_pool2d(), op.rounding(), inputs[0],
                           outputs[0]);
    case v1::OpAttributes::kMaxPool2D:
      return MaxPool2d(op.max_pool2d(), inputs[0], outputs[0]);
    case v1::OpAttributes::kPool:
      return Pool(op.pool(), op.rounding(), inputs[0], outputs);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
