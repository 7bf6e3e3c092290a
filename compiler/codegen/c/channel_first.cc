#include "compiler/codegen/c/channel_first.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/c/dot_arithmetic.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/weight_order.h"
#include "ops/window.h"

namespace edgekiln::compiler {
namespace {

using Op = v1::OpAttributes;
using ops::WindowGeometry;

bool Is8Bit(const Tensor& tensor) {
  return (tensor.type == v1::INT8 || tensor.type == v1::UINT8) &&
         tensor.quantization.has_value();
}

// Whether the two orders differ.
bool HasOrders(const Tensor& tensor) {
  const std::vector<int64_t>& shape = tensor.shape;
  return shape.size() == 4 && shape[3] > 1 && shape[1] * shape[2] > 1;
}

bool IsPool(const StepWriter& w) {
  return (w.op().has_average_pool2d() || w.op().has_max_pool2d()) &&
         w.outputs() == 1 && Is8Bit(w.In(0));
}

bool IsElementwise(const v1::OpAttributes& op) {
  switch (op.op_case()) {
    case Op::kUnary:
    case Op::kClip:
    case Op::kAdd:
    case Op::kMul:
    case Op::kBinary:
    case Op::kRequantize:
      return true;
    default:
      return false;
  }
}

// Element i of the output depends on element i of inputs that lie channel-first
// and on single constants.
bool FollowsInputs(const StepWriter& w) {
  if (!IsElementwise(w.op())) return false;
  for (size_t i = 0; i < w.inputs(); ++i) {
    if (!w.Has(i)) return false;
    const Tensor& x = w.In(i);
    if (x.is_constant() && x.num_elements() == 1) continue;
    if (!w.InChannelFirst(i) || x.shape != w.Out(0).shape) return false;
  }
  return true;
}

const v1::Clamp& ClampOf(const v1::OpAttributes& op) {
  return op.has_conv2d() ? op.conv2d().clamp() : op.depthwise_conv2d().clamp();
}

WindowGeometry GeometryOf(const StepWriter& w) {
  const v1::Window2d& window = w.op().has_conv2d()
                                   ? w.op().conv2d().window()
                                   : w.op().depthwise_conv2d().window();
  return ops::GeometryOf(window, w.In(0).shape,
                         absl::MakeConstSpan(w.In(1).shape).subspan(1, 2),
                         w.Out(0).shape);
}

// Steps along batch, channel, row and column of a tensor.
struct Steps {
  int64_t batch, channel, row, column;
};

Steps StepsOf(bool channel_first, int64_t h, int64_t w, int64_t c) {
  if (channel_first) return {h * w * c, h * w, w, 1};
  return {h * w * c, 1, w * c, c};
}

// Of the image that all windows lie in, along a dimension.
int64_t Extent(const WindowGeometry& g, int d) {
  return (g.out[d] - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] + 1;
}

// Whether windows leave the input.
bool HasBorder(const WindowGeometry& g) {
  return g.pad[1] > 0 || g.pad[2] > 0 || Extent(g, 1) > g.in[1] ||
         Extent(g, 2) > g.in[2];
}

// Of the rows that the windows of one output row read.
int64_t RowsElements(const WindowGeometry& g) {
  return g.in_c * g.kernel[1] * Extent(g, 2);
}

class DotKernel {
 public:
  DotKernel(StepWriter& w, DotArithmetic dot, v1::CWeightOrder order)
      : w_(w),
        code_(w.code()),
        g_(GeometryOf(w)),
        dot_(std::move(dot)),
        order_(order) {
    const v1::OpAttributes& op = w.op();
    if (op.has_depthwise_conv2d()) {
      depth_ = 1;
      channels_out_ = op.depthwise_conv2d().depth_multiplier();
    } else {
      const int64_t groups = std::max(op.conv2d().groups(), 1);
      depth_ = g_.in_c / groups;
      channels_out_ = g_.out_c / groups;
    }
    image_ = StepsOf(w.InChannelFirst(0), g_.in[1], g_.in[2], g_.in_c);
  }

  void Emit() {
    const std::string weights =
        w_.Array(w_.In(1).type, WeightsInOrder(w_, order_));
    dot_.Prepare("o");
    code_.OpenLoop("b", g_.batch);
    std::string rows;
    if (HasBorder(g_)) {
      code_.OpenLoop("oy", g_.out[1]);
      rows = RowsWithBorder();
      code_.OpenLoop("o", g_.out_c);
    } else {
      code_.OpenLoop("o", g_.out_c);
      code_.OpenLoop("oy", g_.out[1]);
      rows = absl::StrCat(w_.X(0), " + b * ", image_.batch, " + oy * ",
                          g_.stride[1] * image_.row);
      image_.row *= g_.dilation[1];
    }
    code_.OpenLoop("ox", g_.out[2]);
    code_.Line("const ", CTypeOf(w_.In(1).type), " *const pw = ", weights,
               " + o * ", depth_ * g_.positions(), ";");
    code_.Line("const ", CTypeOf(w_.In(0).type), " *const px = ", rows, " + ",
               FirstChannel(), " * ", image_.channel, " + ox * ",
               g_.stride[2] * image_.column, ";");
    code_.Line(dot_.sum_type(), " sum = 0;");
    Sum();
    const Steps out =
        StepsOf(w_.OutChannelFirst(0), g_.out[1], g_.out[2], g_.out_c);
    dot_.Finish("sum", "o",
                absl::StrCat("b * ", out.batch, " + o * ", out.channel,
                             " + oy * ", out.row, " + ox * ", out.column));
    CloseLoops(code_, 4);
  }

 private:
  std::string FirstChannel() const {
    if (w_.op().has_depthwise_conv2d() && channels_out_ == 1) return "o";
    if (channels_out_ == g_.out_c) return "0";
    const std::string group = absl::StrCat("o / ", channels_out_);
    return depth_ == 1 ? group : absl::StrCat(group, " * ", depth_);
  }

  // A copy, with its border, of the rows that the windows of row oy read: the
  // whole image would take about as much memory as the input once more.
  std::string RowsWithBorder() {
    const int64_t h = g_.kernel[1];
    const int64_t w = Extent(g_, 2);
    const std::string copy = w_.Scratch(w_.In(0).type, RowsElements(g_));
    code_.OpenLoop("c", g_.in_c);
    code_.OpenLoop("y", h);
    code_.OpenLoop("x", w);
    code_.Line("const int32_t iy = oy * ", g_.stride[1], " + y * ",
               g_.dilation[1], " - ", g_.pad[1], ", ix = x - ", g_.pad[2], ";");
    code_.Line(copy, "[(c * ", h, " + y) * ", w, " + x] = iy >= 0 && iy < ",
               g_.in[1], " && ix >= 0 && ix < ", g_.in[2], " ? ", w_.X(0),
               "[b * ", image_.batch, " + c * ", image_.channel, " + iy * ",
               image_.row, " + ix * ", image_.column,
               "] : ", w_.InQuantization(0).zero_point[0], ";");
    CloseLoops(code_, 3);
    image_ = StepsOf(true, h, w, g_.in_c);
    return copy;
  }

  void Sum() {
    const auto index = [](std::vector<std::pair<const char*, int64_t>> terms) {
      std::string text;
      for (const auto& [name, step] : terms) {
        if (step == 0) continue;
        absl::StrAppend(&text, text.empty() ? "" : " + ", name, " * ", step);
      }
      return text.empty() ? std::string("0") : text;
    };
    int opened = 0;
    const auto open = [&](const char* name, int64_t count) {
      if (count == 1) return false;
      code_.OpenLoop(name, count);
      ++opened;
      return true;
    };
    const bool c = open("c", depth_);
    const bool ky = open("ky", g_.kernel[1]);
    const bool kx = open("kx", g_.kernel[2]);
    code_.Line(dot_.AddProduct(
        "sum",
        absl::StrCat("px[",
                     index({{"c", c ? image_.channel : 0},
                            {"ky", ky ? image_.row : 0},
                            {"kx", kx ? g_.dilation[2] * image_.column : 0}}),
                     "]"),
        absl::StrCat("pw[",
                     index({{"c", c ? g_.positions() : 0},
                            {"ky", ky ? g_.kernel[2] : 0},
                            {"kx", kx ? 1 : 0}}),
                     "]")));
    CloseLoops(code_, opened);
  }

  StepWriter& w_;
  CodeWriter& code_;
  const WindowGeometry g_;
  DotArithmetic dot_;
  const v1::CWeightOrder order_;
  int64_t depth_ = 1;         // Input channels of one output channel.
  int64_t channels_out_ = 1;  // Of a group.
  Steps image_;  // Of what windows read; a row is one of the kernel's.
};

}  // namespace

void PlanOrder(StepWriter& w, bool knows_orders, bool may_give) {
  const bool gives = may_give && HasOrders(w.Out(0));
  if (knows_orders || IsPool(w)) {
    w.SetKnowsOrders();
    if (gives && !w.op().has_reshape()) w.GiveChannelFirst();
  } else if (gives && FollowsInputs(w)) {
    w.SetKnowsOrders();
    w.GiveChannelFirst();
  }
}

bool EmitChannelFirstDot(StepWriter& w, v1::CWeightOrder order) {
  auto dot = DotArithmetic::Of(w, ClampOf(w.op()), GeometryOf(w).out_c);
  if (!dot.ok()) return false;
  DotKernel(w, *std::move(dot), order).Emit();
  return true;
}

bool EmitChannelFirstReshape(StepWriter& w, v1::CWeightOrder /*order*/) {
  const std::vector<int64_t>& shape = w.In(0).shape;
  const int64_t pixels = shape[1] * shape[2];
  CodeWriter& code = w.code();
  code.OpenLoop("b", shape[0]);
  code.OpenLoop("p", pixels);
  code.OpenLoop("c", shape[3]);
  code.Line(w.Y(0), "[(b * ", pixels, " + p) * ", shape[3], " + c] = ", w.X(0),
            "[(b * ", shape[3], " + c) * ", pixels, " + p];");
  CloseLoops(code, 3);
  return true;
}

}  // namespace edgekiln::compiler
