#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/fixed_point.h"
#include "ops/gemm.h"
#include "ops/kernels.h"
#include "ops/rules.h"

// Element types and quantization of cells (recurrent_family.cc).
namespace edgekiln::ops {
namespace {

// All inputs but the lengths, and all outputs, of one float type.
absl::Status WantFloats(Views inputs, Views outputs, size_t lengths) {
  const v1::ElementType type = inputs[0].type;
  if (type != v1::FLOAT16 && type != v1::FLOAT32 && type != v1::FLOAT64) {
    return BadType(absl::StrCat("input 0 is ", TypeName(type)), "a float type");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].present()) continue;
    EK_RETURN_IF_ERROR(WantType(inputs[i], absl::StrCat("input ", i),
                                i == lengths ? v1::INT32 : type));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    EK_RETURN_IF_ERROR(WantType(outputs[i], absl::StrCat("output ", i), type));
  }
  return absl::OkStatus();
}

// The kernels rearrange each matrix.
absl::Status CheckMatrices(Views inputs) {
  for (const TensorView& input : inputs) {
    if (!input.present() || input.shape.size() != 2) continue;
    const auto columns = CheckedAdd(input.shape[0], kGemmColumns);
    const auto elements =
        columns ? CheckedMul(*columns, input.shape[1]) : columns;
    if (!elements || *elements > kMaxPackedElements) {
      return BadType(absl::StrCat("matrix of shape ", ShapeText(input.shape)),
                     "", absl::StrCat(kMaxPackedElements, " elements"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBound(float bound, absl::string_view which) {
  if (std::isfinite(bound) && bound >= 0) return absl::OkStatus();
  return BadType(absl::StrCat(which, " ", bound), "finite and 0 or more");
}

// One tensor of an integer cell.
absl::Status WantQuantized(const TensorView& tensor, absl::string_view which,
                           v1::ElementType type, bool zero_point) {
  EK_RETURN_IF_ERROR(WantType(tensor, which, type));
  EK_RETURN_IF_ERROR(WantPerTensor(tensor, which));
  if (zero_point || tensor.quantization.zero_point[0] == 0) {
    return absl::OkStatus();
  }
  return BadType(absl::StrCat(which, " has zero point ",
                              tensor.quantization.zero_point[0]),
                 "0");
}

absl::Status WantNoZeroPoints(const TensorView& tensor,
                              absl::string_view which) {
  for (const int32_t zero : tensor.quantization.zero_point) {
    if (zero == 0) continue;
    return BadType(absl::StrCat(which, " has zero point ", zero), "0");
  }
  return absl::OkStatus();
}

// INT8 with zero point 0, and one scale or one per row; so few columns that a
// sum stays within int32.
absl::Status WantMatrix(const TensorView& w, absl::string_view which) {
  EK_RETURN_IF_ERROR(WantType(w, which, v1::INT8));
  const QuantizationView& q = w.quantization;
  if (!q.present() || (q.per_channel() && q.axis != 0)) {
    return BadType(absl::StrCat(which, " has no scales or some along axis 1"),
                   "one scale, or one per row");
  }
  EK_RETURN_IF_ERROR(WantNoZeroPoints(w, which));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / (255 * 128);
  if (w.shape[1] <= kMost) return absl::OkStatus();
  return BadType(absl::StrCat(w.shape[1], " products per sum"), "",
                 absl::StrCat(kMost, " products in an int32 accumulator"));
}

absl::Status WantSame(const TensorView& a, const TensorView& b,
                      absl::string_view which) {
  if (a.quantization == b.quantization) return absl::OkStatus();
  return BadType(absl::StrCat(which,
                              " has another quantization than its "
                              "initial value"),
                 "the same scale and zero point");
}

// INT16 with zero point 0, and one scale or one per unit.
absl::Status WantGateVector(const TensorView& v, absl::string_view which) {
  EK_RETURN_IF_ERROR(WantType(v, which, v1::INT16));
  if (!v.quantization.present()) {
    return BadType(absl::StrCat(which, " has no scale"),
                   "one scale, or one per unit");
  }
  return WantNoZeroPoints(v, which);
}

// Layer normalization multiplies the units of a gate by one scale.
absl::Status WantOneScalePerGate(const TensorView& v, absl::string_view which,
                                 int64_t units) {
  const absl::Span<const float> scale = v.quantization.scale;
  for (size_t i = 0; v.quantization.per_channel() && i < scale.size(); ++i) {
    const int64_t first = static_cast<int64_t>(i) / units * units;
    if (scale[i] == scale[first]) continue;
    return BadType(absl::StrCat(which, " has several scales in one gate"),
                   "one scale per gate");
  }
  return absl::OkStatus();
}

// Peepholes, projection and layer normalization, each where it is there.
absl::Status CheckIntegerExtras(const v1::Lstm& op, Views inputs) {
  const auto present = [&](size_t i) { return InputOr(inputs, i).present(); };
  if (present(7)) EK_RETURN_IF_ERROR(WantGateVector(inputs[7], "input 7"));
  if (present(8)) EK_RETURN_IF_ERROR(WantMatrix(inputs[8], "input 8"));
  if (present(9)) {
    EK_RETURN_IF_ERROR(WantType(inputs[9], "input 9", v1::INT32));
  }
  if (present(10)) {
    EK_RETURN_IF_ERROR(WantGateVector(inputs[10], "input 10"));
    EK_RETURN_IF_ERROR(
        WantOneScalePerGate(inputs[10], "input 10", inputs[6].shape[1]));
  }
  const int stated = op.intermediate_size();
  if (stated != 0 && stated != 5) {
    return BadType(absl::StrCat(stated, " intermediates of an LSTM"), "5");
  }
  for (int i = 0; i < stated; ++i) {
    const v1::Quantization& q = op.intermediate(i);
    const bool sane = q.scale_size() == 1 && q.zero_point_size() == 1 &&
                      std::isfinite(q.scale(0)) && q.scale(0) > 0 &&
                      q.zero_point(0) >= -32768 && q.zero_point(0) <= 32767;
    if (sane || (q.scale_size() == 0 && q.zero_point_size() == 0)) continue;
    return BadType(absl::StrCat("intermediate ", i, " of an LSTM"),
                   "one scale above 0 and one zero point of 16 bits");
  }
  const auto has = [&](int i) {
    return stated > i && op.intermediate(i).scale_size() > 0;
  };
  for (int i = 0; i < 5; ++i) {
    if (has(i) || (i < 4 ? !present(10) : !present(8))) continue;
    return BadType(absl::StrCat("an integer LSTM without intermediate ", i),
                   i < 4 ? "with layer normalization, the scale of each gate"
                         : "with a projection, the scale of the hidden state");
  }
  return absl::OkStatus();
}

// The states of an integer LSTM, and its outputs like them.
absl::Status CheckIntegerStates(Views inputs, Views outputs) {
  const v1::ElementType type = inputs[0].type;
  EK_RETURN_IF_ERROR(
      WantQuantized(inputs[5], "input 5", type, type == v1::INT8));
  EK_RETURN_IF_ERROR(WantQuantized(inputs[6], "input 6", v1::INT16, false));
  const float cell_scale = inputs[6].quantization.scale[0];
  if (int exponent = 0;
      !IsPowerOfTwo(cell_scale, exponent) || exponent < -15 || exponent > -9) {
    return BadType(absl::StrCat("input 6 has scale ", cell_scale),
                   "a power of two from 2^-15 to 2^-9");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorView& initial = inputs[i == 2 ? 6 : 5];
    const std::string which = absl::StrCat("output ", i);
    EK_RETURN_IF_ERROR(WantType(outputs[i], which, initial.type));
    EK_RETURN_IF_ERROR(WantSame(outputs[i], initial, which));
  }
  return absl::OkStatus();
}

absl::Status CheckIntegerLstm(const v1::Lstm& op, Views inputs, Views outputs) {
  const bool wide = inputs[0].type == v1::INT16;
  if (op.has_gate() || op.has_cell() || op.has_hidden() || op.clip() != 0) {
    return BadType("activations or clip of an integer LSTM",
                   "sigmoid and tanh, no clip");
  }
  EK_RETURN_IF_ERROR(
      WantQuantized(inputs[0], "input 0", inputs[0].type, !wide));
  EK_RETURN_IF_ERROR(WantMatrix(inputs[1], "input 1"));
  EK_RETURN_IF_ERROR(WantMatrix(inputs[2], "input 2"));
  if (inputs[3].present()) {
    EK_RETURN_IF_ERROR(
        WantType(inputs[3], "input 3", wide ? v1::INT64 : v1::INT32));
  }
  if (inputs[4].present()) {
    EK_RETURN_IF_ERROR(WantType(inputs[4], "input 4", v1::INT32));
  }
  EK_RETURN_IF_ERROR(CheckIntegerStates(inputs, outputs));
  if (!wide) return CheckIntegerExtras(op, inputs);
  for (const size_t i : {7, 8, 9, 10}) {
    if (!InputOr(inputs, i).present()) continue;
    return BadType(absl::StrCat("input ", i, " of an LSTM of int16"),
                   "no peepholes, projection or layer normalization");
  }
  return absl::OkStatus();
}

absl::Status CheckIntegerSvdf(Views inputs, Views outputs) {
  const v1::ElementType state = inputs[4].type;
  if (state != v1::INT8 && state != v1::INT16) {
    return BadType(absl::StrCat("input 4 is ", TypeName(state)),
                   "INT8 or INT16");
  }
  EK_RETURN_IF_ERROR(WantQuantized(inputs[0], "input 0", v1::INT8, true));
  EK_RETURN_IF_ERROR(WantQuantized(inputs[1], "input 1", v1::INT8, false));
  EK_RETURN_IF_ERROR(WantMatrix(inputs[1], "input 1"));
  EK_RETURN_IF_ERROR(WantQuantized(inputs[2], "input 2", state, false));
  if (inputs[3].present()) {
    EK_RETURN_IF_ERROR(WantType(inputs[3], "input 3", v1::INT32));
  }
  EK_RETURN_IF_ERROR(
      WantQuantized(inputs[4], "input 4", state, state == v1::INT8));
  EK_RETURN_IF_ERROR(WantQuantized(outputs[0], "output 0", v1::INT8, true));
  if (outputs.size() < 2) return absl::OkStatus();
  EK_RETURN_IF_ERROR(WantType(outputs[1], "output 1", state));
  return WantSame(outputs[1], inputs[4], "output 1");
}

}  // namespace

absl::Status CheckRecurrent(const v1::OpAttributes& op, Views inputs,
                            Views outputs) {
  EK_RETURN_IF_ERROR(CheckMatrices(inputs));
  switch (op.op_case()) {
    case v1::OpAttributes::kLstm:
      EK_RETURN_IF_ERROR(WantCount(inputs, 3, 11));
      EK_RETURN_IF_ERROR(CheckBound(op.lstm().clip(), "clip"));
      EK_RETURN_IF_ERROR(CheckBound(op.lstm().cell_clip(), "cell clip"));
      EK_RETURN_IF_ERROR(
          CheckBound(op.lstm().projection_clip(), "projection clip"));
      if (inputs[0].type == v1::INT8 || inputs[0].type == v1::INT16) {
        return CheckIntegerLstm(op.lstm(), inputs, outputs);
      }
      return WantFloats(inputs, outputs, 4);
    case v1::OpAttributes::kGru:
      EK_RETURN_IF_ERROR(WantCount(inputs, 3, 7));
      EK_RETURN_IF_ERROR(CheckBound(op.gru().clip(), "clip"));
      return WantFloats(inputs, outputs, 5);
    case v1::OpAttributes::kRnn:
      EK_RETURN_IF_ERROR(WantCount(inputs, 3, 7));
      EK_RETURN_IF_ERROR(CheckBound(op.rnn().clip(), "clip"));
      return WantFloats(inputs, outputs, 5);
    case v1::OpAttributes::kSvdf:
      EK_RETURN_IF_ERROR(WantCount(inputs, 3, 5));
      EK_RETURN_IF_ERROR(CheckClamp(op.svdf().clamp()));
      if (inputs[0].type == v1::INT8) return CheckIntegerSvdf(inputs, outputs);
      return WantFloats(inputs, outputs, inputs.size());
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
