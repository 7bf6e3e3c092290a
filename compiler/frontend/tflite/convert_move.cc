#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/converters.h"
#include "ops/shape_inference.h"

// Operators that give another shape or order to values, or make values out of
// shapes.
namespace edgekiln::compiler::tflite_import {
namespace {

using Code = tflite::BuiltinOperator;

// Replaces a -1 in `shape` by what `elements` leave for it.
absl::Status ResolveShape(int64_t elements, Shape& shape) {
  const auto open = std::find(shape.begin(), shape.end(), -1);
  if (open == shape.end()) return absl::OkStatus();
  *open = 1;
  const auto others = CheckedProduct(shape);
  if (!others || *others == 0 || elements % *others != 0) {
    return TfliteBroken(absl::StrCat("reshape of ", elements, " elements"), "",
                        "a shape that they fill, at most one extent of -1");
  }
  *open = elements / *others;
  return absl::OkStatus();
}

// Native byte order is the file's: both are little-endian.
std::string IntBytes(v1::ElementType type, const std::vector<int64_t>& values) {
  std::string bytes;
  for (const int64_t value : values) {
    const auto narrow = static_cast<int32_t>(value);
    if (type == v1::INT64) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    } else {
      bytes.append(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
    }
  }
  return bytes;
}

// Real value of a constant of one element.
absl::StatusOr<float> PadValue(const Tensor& tensor) {
  if (!tensor.is_constant() || tensor.num_elements() != 1) {
    return TfliteUnsupported("padding value that is not one constant", "",
                             "a constant of one element",
                             "export with a fixed padding value");
  }
  const char* data = tensor.data->data();
  const auto read = [&](auto like) {
    std::memcpy(&like, data, sizeof(like));
    return static_cast<double>(like);
  };
  double value = 0;
  switch (tensor.type) {
    case v1::FLOAT32:
      value = read(float{});
      break;
    case v1::FLOAT64:
      value = read(double{});
      break;
    case v1::INT8:
      value = read(int8_t{});
      break;
    case v1::UINT8:
    case v1::BOOL:
      value = read(uint8_t{});
      break;
    case v1::INT16:
      value = read(int16_t{});
      break;
    case v1::INT32:
      value = read(int32_t{});
      break;
    case v1::INT64:
      value = static_cast<double>(read(int64_t{}));
      break;
    default:
      return TfliteUnsupported("padding value of this element type", "",
                               "float or integers up to 64 bits",
                               "export with a float padding value");
  }
  if (tensor.quantization.has_value()) {
    value = tensor.quantization->scale[0] *
            (value - tensor.quantization->zero_point[0]);
  }
  return static_cast<float>(value);
}

absl::StatusOr<Shape> NewShape(const Conversion& c) {
  const auto* options = c.from().builtin_options_as_ReshapeOptions();
  if (c.Has(1) && c.tensor(c.OptionalInput(1)).is_constant()) {
    EK_ASSIGN_OR_RETURN(Shape shape, c.Ints(1));
    return shape;
  }
  if (!c.Has(1) && options != nullptr && options->new_shape() != nullptr) {
    return Shape(options->new_shape()->begin(), options->new_shape()->end());
  }
  return c.shape(c.output());
}

}  // namespace

absl::Status ConvertReshape(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  if (c.code() == Code::DENSIFY) return c.WriteReshape(x, c.shape(x));
  EK_ASSIGN_OR_RETURN(Shape shape, NewShape(c));
  if (shape.size() > ops::kMaxRank) {
    return TfliteBroken(absl::StrCat("rank ", shape.size()), "",
                        absl::StrCat("at most ", ops::kMaxRank));
  }
  EK_RETURN_IF_ERROR(ResolveShape(c.tensor(x).num_elements(), shape));
  return c.WriteReshape(x, std::move(shape));
}

absl::Status ConvertExpandDims(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const int64_t axis, c.Int(1));
  Shape shape = c.shape(x);
  EK_ASSIGN_OR_RETURN(const int32_t at, NormalAxis(axis, shape.size() + 1));
  shape.insert(shape.begin() + at, 1);
  return c.WriteReshape(x, std::move(shape));
}

absl::Status ConvertSqueeze(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  const Shape shape = c.shape(x);
  const auto* options = c.from().builtin_options_as_SqueezeOptions();
  const auto* dims = options == nullptr ? nullptr : options->squeeze_dims();
  std::vector<bool> dropped(shape.size(), dims == nullptr || dims->size() == 0);
  if (dims != nullptr) {
    for (const int32_t dim : *dims) {
      EK_ASSIGN_OR_RETURN(const int32_t axis, NormalAxis(dim, shape.size()));
      if (shape[axis] != 1) {
        return TfliteBroken(absl::StrCat("squeezed dimension ", axis, " of ",
                                         shape[axis], " elements"),
                            "", "1 element");
      }
      dropped[axis] = true;
    }
  }
  Shape out;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!dropped[d] || shape[d] != 1) out.push_back(shape[d]);
  }
  return c.WriteReshape(x, std::move(out));
}

absl::Status ConvertTranspose(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> from, c.Ints(1));
  std::vector<int32_t> permutation;
  for (const int64_t axis : from) {
    EK_ASSIGN_OR_RETURN(const int32_t normal, NormalAxis(axis, from.size()));
    permutation.push_back(normal);
  }
  return c.WriteTranspose(x, permutation);
}

absl::Status ConvertConcat(Conversion& c) {
  const auto* options = c.from().builtin_options_as_ConcatenationOptions();
  if (options == nullptr) return MissingOptions("ConcatenationOptions");
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < c.num_inputs(); ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(i));
    inputs.push_back(x);
  }
  if (inputs.empty()) return TfliteBroken("concatenation of nothing", "");
  EK_ASSIGN_OR_RETURN(
      const int32_t axis,
      NormalAxis(options->axis(), c.tensor(inputs[0]).shape.size()));
  v1::OpAttributes attributes;
  attributes.mutable_concat()->set_axis(axis);
  return c.WriteActivated(std::move(attributes), std::move(inputs),
                          options->fused_activation_function());
}

// Each input gets the new dimension, then they are joined along it.
absl::Status ConvertPack(Conversion& c) {
  const auto* options = c.from().builtin_options_as_PackOptions();
  if (options == nullptr) return MissingOptions("PackOptions");
  EK_ASSIGN_OR_RETURN(const TensorId first, c.Input(0));
  EK_ASSIGN_OR_RETURN(
      const int32_t axis,
      NormalAxis(options->axis(), c.tensor(first).shape.size() + 1));
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < c.num_inputs(); ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(i));
    Shape shape = c.shape(x);
    if (axis > std::ssize(shape)) {
      return TfliteBroken("inputs of different rank", "", "one shape");
    }
    shape.insert(shape.begin() + axis, 1);
    EK_ASSIGN_OR_RETURN(
        const TensorId expanded,
        c.Reshape(absl::StrCat("input_", i), x, std::move(shape)));
    inputs.push_back(expanded);
  }
  v1::OpAttributes attributes;
  attributes.mutable_concat()->set_axis(axis);
  return c.Write(std::move(attributes), std::move(inputs));
}

absl::Status ConvertPad(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> paddings, c.Ints(1));
  if (paddings.size() % 2 != 0) {
    return TfliteBroken("odd number of paddings", "", "pairs");
  }
  v1::OpAttributes attributes;
  v1::Pad& pad = *attributes.mutable_pad();
  for (size_t i = 0; i < paddings.size(); i += 2) {
    pad.add_before(paddings[i]);
    pad.add_after(paddings[i + 1]);
  }
  if (c.code() == Code::PADV2) {
    EK_ASSIGN_OR_RETURN(const TensorId value, c.Input(2));
    EK_ASSIGN_OR_RETURN(const float real, PadValue(c.tensor(value)));
    pad.set_value(real);
  } else if (c.code() == Code::MIRROR_PAD) {
    const auto* options = c.from().builtin_options_as_MirrorPadOptions();
    if (options == nullptr) return MissingOptions("MirrorPadOptions");
    pad.set_mode(options->mode() == tflite::MirrorPadMode::REFLECT
                     ? v1::Pad::REFLECT
                     : v1::Pad::SYMMETRIC);
  }
  return c.Write(std::move(attributes), {x});
}

absl::Status ConvertTile(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> multiples, c.Ints(1));
  v1::OpAttributes attributes;
  attributes.mutable_tile()->mutable_multiples()->Add(multiples.begin(),
                                                      multiples.end());
  return c.Write(std::move(attributes), {x});
}

absl::Status ConvertBroadcastTo(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, c.Ints(1));
  v1::OpAttributes attributes;
  attributes.mutable_broadcast_to()->mutable_shape()->Add(shape.begin(),
                                                          shape.end());
  return c.Write(std::move(attributes), {x});
}

// Inputs: extents, value.
absl::Status ConvertFill(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, c.Ints(0));
  EK_ASSIGN_OR_RETURN(const TensorId value, c.Input(1));
  v1::OpAttributes attributes;
  attributes.mutable_broadcast_to()->mutable_shape()->Add(shape.begin(),
                                                          shape.end());
  return c.Write(std::move(attributes), {value});
}

absl::Status ConvertShape(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  const v1::ElementType type = c.tensor(c.output()).type;
  if (type != v1::INT32 && type != v1::INT64) {
    return TfliteBroken("element type of a shape", "", "INT32 or INT64");
  }
  const Shape shape = c.shape(x);
  if (c.code() == Code::RANK) {
    return c.WriteConstant({}, IntBytes(type, {std::ssize(shape)}));
  }
  return c.WriteConstant({std::ssize(shape)}, IntBytes(type, shape));
}

absl::Status ConvertZerosLike(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  const Shape shape = c.shape(x);
  const Tensor& output = c.tensor(c.output());
  const auto elements = CheckedProduct(shape);
  const auto bytes = elements ? CheckedMul(*elements, ElementBytes(output.type))
                              : std::nullopt;
  if (!bytes || output.quantization.has_value() ||
      !c.builder().reader().CanSpend(*bytes)) {
    return TfliteUnsupported("ZEROS_LIKE of this tensor", "",
                             "small tensors that are not quantized",
                             "use a constant");
  }
  return c.WriteConstant(shape, std::string(static_cast<size_t>(*bytes), '\0'));
}

}  // namespace edgekiln::compiler::tflite_import
