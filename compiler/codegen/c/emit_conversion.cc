#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "ops/quantized_parameters.h"

// Quantize, Dequantize, Requantize, Cast.
namespace edgekiln::compiler {
namespace {

int64_t InnerOf(absl::Span<const int64_t> shape, int32_t axis) {
  return Product(shape.subspan(static_cast<size_t>(axis) + 1));
}

// The index of the channel of element i: of a tensor with a scale per channel.
std::string ChannelOf(absl::Span<const int64_t> shape,
                      const ops::QuantizationView& q) {
  if (!q.per_channel()) return "0";
  const auto axis = static_cast<size_t>(q.axis);
  return absl::StrCat("i / ", InnerOf(shape, q.axis), " % ", shape[axis]);
}

// Expressions of scale and zero point of the channel.
struct Steps {
  std::string scale;
  std::string zero;
};

Steps StepsOf(StepWriter& w, const ops::QuantizationView& q,
              const std::string& channel) {
  if (!q.per_channel()) {
    return {CFloat(q.scale[0]), CInteger(q.zero_point[0])};
  }
  const std::vector<float> scale(q.scale.begin(), q.scale.end());
  const std::vector<int32_t> zero(q.zero_point.begin(), q.zero_point.end());
  return {absl::StrCat(w.Array(v1::FLOAT32, scale), "[", channel, "]"),
          absl::StrCat(w.Array(v1::INT32, zero), "[", channel, "]")};
}

void EmitFromFloat(StepWriter& w) {
  const ops::QuantizationView q = w.OutQuantization(0);
  const std::string type(CTypeOf(w.In(0).type));
  const std::string to(CTypeOf(w.Out(0).type));
  const bool even = w.op().rounding() == v1::HALF_EVEN;
  const ops::QuantizedRange range = ops::RangeOf(w.Out(0).type);
  CodeWriter& code = w.code();
  const Steps steps = StepsOf(w, q, "c");
  code.OpenLoop("i", w.Out(0).num_elements());
  if (q.per_channel()) {
    code.Line("const int32_t c = ", ChannelOf(w.Out(0).shape, q), ";");
  }
  code.Line("const ", type, " ratio = ", w.X(0), "[i] / (", type, ")",
            steps.scale, ";");
  code.Line(w.Y(0), "[i] = (", to, ")", w.Use("limited"), "(",
            w.Use(even ? "nearbyint" : "round"), "((double)ratio) + ",
            steps.zero, ", ", CInteger(range.min), ", ", CInteger(range.max),
            ");");
  code.Close();
}

absl::Status EmitFromSteps(StepWriter& w) {
  EK_ASSIGN_OR_RETURN(
      const ops::RescaleParameters p,
      ops::ChangeOfScale({}, w.op().rounding(), w.InQuantization(0),
                         w.OutQuantization(0), w.Out(0).type));
  EmitElementwise(w, 1, [&](const OperandNames& x) {
    return FinishCall(w, absl::StrCat(x[0], " - (", p.input_zero_point, ")"),
                      p.multiplier, p.output_zero_point, p.clamp);
  });
  return absl::OkStatus();
}

// Loops over all elements with their channel `c` (0 if there is one); closed by
// CloseLoops(code, count).
struct ChannelLoops {
  std::string at;  // The element.
  int count = 2;
};

ChannelLoops OpenChannels(StepWriter& w, int64_t channels) {
  CodeWriter& code = w.code();
  const int64_t elements = w.Out(0).num_elements();
  if (w.OutChannelFirst(0) && channels > 1) {
    const int64_t batch = w.Out(0).shape[0];
    const int64_t pixels = elements / (batch * channels);
    code.OpenLoop("r", batch);
    code.OpenLoop("c", channels);
    code.OpenLoop("p", pixels);
    return {absl::StrCat("(r * ", channels, " + c) * ", pixels, " + p"), 3};
  }
  code.OpenLoop("r", elements / channels);
  code.OpenLoop("c", channels);
  return {absl::StrCat("r * ", channels, " + c")};
}

void EmitConverter(StepWriter& w) {
  const v1::Converter& converter = w.op().converter();
  const ops::QuantizedRange range =
      ops::ClampRange(w.op().requantize().clamp(), w.op().rounding(),
                      w.OutQuantization(0), w.Out(0).type);
  const std::vector<int64_t>& shape = w.Out(0).shape;
  const int64_t channels = shape.empty() ? 1 : shape.back();
  const std::vector<int32_t> scales(converter.scale().begin(),
                                    converter.scale().end());
  const std::vector<int32_t> offsets(converter.offset().begin(),
                                     converter.offset().end());
  CodeWriter& code = w.code();
  const std::string scale = PerChannel(w, v1::INT32, scales, "c");
  const std::string offset = PerChannel(w, v1::INT32, offsets, "c");
  const ChannelLoops loops = OpenChannels(w, channels);
  code.Line("const int32_t sum = ", w.X(0), "[", loops.at, "];");
  code.Line("const int32_t code = ", w.Use("clamp"), "(sum / ",
            converter.gain(), " - (sum % ", converter.gain(), " < 0 ? 1 : 0), ",
            converter.min(), ", ", converter.max(), ");");
  code.Line(
      "const int32_t scaled = (int16_t)(uint16_t)((uint32_t)code * "
      "(uint32_t)(",
      scale, ") + (uint32_t)(", offset, "));");
  code.Line(w.Y(0), "[", loops.at, "] = (int8_t)", w.Use("clamp"),
            "(scaled >> ", converter.shift(), ", ", range.min, ", ", range.max,
            ");");
  CloseLoops(code, loops.count);
}

}  // namespace

std::string SaturatingCast(v1::ElementType type, const std::string& value) {
  struct Range {
    const char* low;
    const char* high;
    const char* end;
    const char* begin;
  };
  const auto range = [&]() -> Range {
    switch (type) {
      case v1::INT8:
        return {"-128", "127", "128.0", "-128.0"};
      case v1::UINT8:
        return {"0", "255", "256.0", "0.0"};
      case v1::INT16:
        return {"-32768", "32767", "32768.0", "-32768.0"};
      case v1::UINT16:
        return {"0", "65535", "65536.0", "0.0"};
      case v1::INT32:
        return {"(-2147483647 - 1)", "2147483647", "2147483648.0",
                "-2147483648.0"};
      case v1::UINT32:
        return {"0", "4294967295u", "4294967296.0", "0.0"};
      case v1::INT64:
        return {"(-9223372036854775807 - 1)", "9223372036854775807", "0x1p63",
                "-0x1p63"};
      default:
        return {"0", "18446744073709551615u", "0x1p64", "0.0"};
    }
  }();
  const std::string t(CTypeOf(type));
  return absl::StrCat(value, " != ", value, " ? 0 : ", value, " >= ", range.end,
                      " ? (", t, ")", range.high, " : ", value,
                      " <= ", range.begin, " ? (", t, ")", range.low, " : (", t,
                      ")", value);
}

absl::Status EmitQuantize(StepWriter& w) {
  if (!IsFloat(w.In(0).type)) return EmitFromSteps(w);
  EmitFromFloat(w);
  return absl::OkStatus();
}

absl::Status EmitDequantize(StepWriter& w) {
  const ops::QuantizationView q = w.InQuantization(0);
  CodeWriter& code = w.code();
  const Steps steps = StepsOf(w, q, "c");
  code.OpenLoop("i", w.Out(0).num_elements());
  if (q.per_channel()) {
    code.Line("const int32_t c = ", ChannelOf(w.In(0).shape, q), ";");
  }
  code.Line(w.Y(0), "[i] = (", CTypeOf(w.Out(0).type), ")((double)",
            steps.scale, " * (double)((int64_t)", w.X(0), "[i] - (", steps.zero,
            ")));");
  code.Close();
  return absl::OkStatus();
}

absl::Status EmitRequantize(StepWriter& w) {
  if (w.op().has_converter()) {
    EmitConverter(w);
    return absl::OkStatus();
  }
  const std::vector<int64_t>& shape = w.Out(0).shape;
  const v1::Requantize& op = w.op().requantize();
  const int64_t channels =
      op.multiplier_size() > 1 && !shape.empty() ? shape.back() : 1;
  EK_ASSIGN_OR_RETURN(
      const ops::QuantizedDotParameters p,
      ops::RequantizeParameters(op, w.op().rounding(), w.OutQuantization(0),
                                w.Out(0).type, channels));
  std::vector<int32_t> multipliers;
  std::vector<uint8_t> shifts;
  for (const ops::FixedPointMultiplier& factor : p.multiplier) {
    multipliers.push_back(factor.multiplier);
    shifts.push_back(static_cast<uint8_t>(31 - factor.shift));
  }
  CodeWriter& code = w.code();
  const std::string multiplier = PerChannel(w, v1::INT32, multipliers, "c");
  const std::string shift = PerChannel(w, v1::UINT8, shifts, "c");
  const ChannelLoops loops = OpenChannels(w, channels);
  code.Line(w.Y(0), "[", loops.at, "] = (", CTypeOf(w.Out(0).type), ")",
            w.Use(FinishName(w.op().rounding())), "(", w.X(0), "[", loops.at,
            "], ", multiplier, ", ", shift, ", ", p.output_zero_point, ", ",
            CInteger(p.clamp.min), ", ", CInteger(p.clamp.max), ");");
  CloseLoops(code, loops.count);
  return absl::OkStatus();
}

absl::Status EmitCast(StepWriter& w) {
  const v1::ElementType from = w.In(0).type;
  const v1::ElementType to = w.Out(0).type;
  EmitElementwise(w, 1, [&](const OperandNames& x) -> std::string {
    std::string value = x[0];
    v1::ElementType type = from;
    if (from == v1::FLOAT16) {
      value = absl::StrCat(w.Use("float_from_half"), "(", value, ")");
      type = v1::FLOAT32;
    } else if (from == v1::BOOL) {
      value = absl::StrCat("(", value, " != 0)");
      type = v1::UINT8;
    }
    if (to == v1::BOOL) return absl::StrCat(value, " != 0 ? 1 : 0");
    if (to == v1::FLOAT16) {
      if (type == v1::FLOAT32) {
        return absl::StrCat(w.Use("half_from_float"), "(", value, ")");
      }
      return absl::StrCat(w.Use("half_from_double"), "((double)", value, ")");
    }
    if (IsFloat(type) && !IsFloat(to)) {
      w.code().Line("const double real = (double)", value, ";");
      return SaturatingCast(to, "real");
    }
    return value;
  });
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
