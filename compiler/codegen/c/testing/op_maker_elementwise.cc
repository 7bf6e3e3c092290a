#include <utility>

#include "absl/strings/str_split.h"
#include "compiler/codegen/c/testing/op_maker.h"

// Unary and binary functions, changes of type and scale.
namespace edgekiln::compiler {

bool OpMaker::MakeElementwise(const std::string& kind) {
  const Shape shape = RandomShape(1 + Below(3), 6);
  const std::vector<std::string> parts = absl::StrSplit(kind, '/');
  if (parts[0] == "unary") {
    v1::Unary& unary = *op_.mutable_unary();
    v1::Unary::Function function;
    if (!v1::Unary::Function_Parse(parts[1], &function)) return false;
    unary.set_function(function);
    unary.set_alpha(static_cast<float>(Below(9)) / 4 - 0.75f);
    unary.set_beta(static_cast<float>(Below(9)) / 4 - 1);
    if (quantized_ && OneOf(3)) op_.set_rounding(v1::HALF_EVEN);
    const bool classifies =
        function == v1::Unary::IS_NAN || function == v1::Unary::IS_INF;
    const TensorId x = Input(shape);
    if (classifies) {
      Emit({x}, 0, v1::BOOL);
    } else {
      Emit({x});
    }
    return true;
  }
  if (kind == "clip") {
    op_.mutable_clip();
    if (quantized_ || type_ == v1::FLOAT32 || type_ == v1::FLOAT64 ||
        type_ == v1::FLOAT16) {
      RandomClamp(op_.mutable_clip()->mutable_clamp());
    }
    if (quantized_ && OneOf(3)) op_.set_rounding(v1::HALF_EVEN);
    Emit({Input(shape)}, OneOf(2) ? 1 : 0);
    return true;
  }
  static constexpr v1::ElementType kSteps[] = {v1::INT8, v1::UINT8, v1::INT16,
                                               v1::UINT16, v1::INT32};
  if (kind == "add" || kind == "mul") return MakeBinary(kind);
  if (kind == "select") {
    op_.mutable_select();
    const TensorId condition =
        InputOf(OneOf(2) ? shape : Shape{shape.back()}, v1::BOOL, false);
    const TensorId a = Input(shape);
    const TensorId b = Either(OneOf(2) ? shape : Shape{1});
    SameQuantization(a, b);
    Emit({condition, a, b}, 2);
    return true;
  }
  if (kind == "cast") {
    op_.mutable_cast();
    quantized_ = false;
    Emit({Input(shape)}, 0, static_cast<v1::ElementType>(1 + Below(12)));
    return true;
  }
  const bool steps = type_ == v1::UINT16 || type_ == v1::INT32;
  if (kind == "quantize") {
    op_.mutable_quantize();
    const TensorId x = Input(shape);
    if (steps) {
      Of(x).quantization = {.scale = {0.01f}, .zero_point = {0}, .axis = 0};
    }
    const bool from_float = !Of(x).quantization.has_value();
    if (OneOf(3)) op_.set_rounding(v1::HALF_EVEN);
    Emit({x}, 0, kSteps[Below(5)]);
    const TensorId y = graph_.ops.back().outputs[0];
    if (!Of(y).quantization) {
      Of(y).quantization = {.scale = {0.02f}, .zero_point = {0}, .axis = 0};
    }
    if (from_float && OneOf(2)) {
      PerChannel(y, shape.back(), static_cast<int32_t>(shape.size()) - 1);
    }
    return true;
  }
  if (kind == "dequantize") {
    op_.mutable_dequantize();
    const TensorId x = Input(shape);
    if (steps) {
      Of(x).quantization = {.scale = {0.01f}, .zero_point = {0}, .axis = 0};
    }
    if (Of(x).quantization && OneOf(2)) PerChannel(x, shape[0], 0);
    static constexpr v1::ElementType kFloats[] = {v1::FLOAT32, v1::FLOAT64,
                                                  v1::FLOAT16};
    Emit({x}, 0, kFloats[Below(3)]);
    return true;
  }
  if (kind != "requantize") return false;
  v1::Requantize& r = *op_.mutable_requantize();
  const TensorId x = Input(shape);
  Of(x).quantization = {.scale = {0.001f}, .zero_point = {0}, .axis = 0};
  const int64_t factors = OneOf(2) ? 1 : shape.back();
  for (int64_t i = 0; i < factors; ++i) {
    r.add_multiplier(static_cast<int32_t>((int64_t{1} << 30) + Below(1 << 30)));
    r.add_shift(static_cast<int32_t>(Below(30)) - 25);
  }
  if (OneOf(2)) RandomClamp(r.mutable_clamp());
  op_.set_rounding(static_cast<v1::Rounding>(Below(3)));
  Emit({x}, 0, kSteps[Below(3)]);
  Of(graph_.ops.back().outputs[0]).quantization = {
      .scale = {0.05f},
      .zero_point = {static_cast<int32_t>(Below(20))},
      .axis = 0};
  return true;
}

bool OpMaker::MakeBinary(const std::string& function) {
  v1::ElementType out = v1::ELEMENT_TYPE_UNSPECIFIED;
  v1::Clamp* clamp = nullptr;
  v1::ElementType second = type_;
  if (function == "add") {
    clamp = op_.mutable_add()->mutable_clamp();
    RandomRounding();
  } else if (function == "mul") {
    clamp = op_.mutable_mul()->mutable_clamp();
    if (quantized_ && OneOf(3)) op_.set_rounding(v1::HALF_EVEN);
  } else {
    v1::Binary::Function f;
    if (!v1::Binary::Function_Parse(function, &f)) return false;
    op_.mutable_binary()->set_function(f);
    if (f == v1::Binary::SUB || f == v1::Binary::DIV) {
      clamp = op_.mutable_binary()->mutable_clamp();
    }
    if (f >= v1::Binary::EQUAL && f <= v1::Binary::LESS_OR_EQUAL) {
      out = v1::BOOL;
    } else if (quantized_ && OneOf(3)) {
      op_.set_rounding(v1::HALF_EVEN);
    }
    if (f == v1::Binary::POW && OneOf(2)) {
      second = static_cast<v1::ElementType>(1 + Below(12));
    }
  }
  if (clamp != nullptr && OneOf(3) &&
      (quantized_ || type_ == v1::FLOAT32 || type_ == v1::FLOAT64)) {
    RandomClamp(clamp);
  }
  Shape a = RandomShape(1 + Below(4), 4);
  Shape b = a;
  for (int64_t& extent : b) {
    if (OneOf(4)) extent = 1;
  }
  while (b.size() > 1 && OneOf(4)) b.erase(b.begin());
  if (OneOf(3)) std::swap(a, b);
  const TensorId left = Input(a);
  const TensorId right =
      second == type_ ? Either(b) : InputOf(b, second, false);
  Emit({left, right}, 0, out);
  return true;
}

}  // namespace edgekiln::compiler
