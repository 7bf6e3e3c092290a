#include "compiler/dataset/port_conversion.h"

#include <utility>

#include "absl/types/span.h"
#include "base/status_macros.h"
#include "compiler/ir/integer_shift.h"
#include "ops/evaluate.h"

namespace edgekiln::compiler {
namespace {

bool IsFloat(v1::ElementType type) {
  return type == v1::FLOAT32 || type == v1::FLOAT16 || type == v1::FLOAT64;
}

ops::QuantizationView QuantizationOf(const v1::TensorType& type) {
  const v1::Quantization& q = type.quantization();
  return {absl::MakeConstSpan(q.scale().data(), q.scale_size()),
          absl::MakeConstSpan(q.zero_point().data(), q.zero_point_size()),
          q.axis()};
}

v1::TensorType Plain(v1::ElementType type) {
  v1::TensorType plain;
  plain.set_element_type(type);
  return plain;
}

// One op on a list of elements.
absl::StatusOr<std::string> Compute(const v1::OpAttributes& op,
                                    const v1::TensorType& from,
                                    absl::string_view values,
                                    const v1::TensorType& to) {
  const int64_t elements = static_cast<int64_t>(values.size()) /
                           ops::ElementBytes(from.element_type());
  const int64_t shape[] = {elements};
  std::string result;
  result.resize(
      static_cast<size_t>(elements * ops::ElementBytes(to.element_type())));
  const ops::TensorView input = {from.element_type(), shape, values.data(),
                                 QuantizationOf(from)};
  const ops::MutableTensorView output = {to.element_type(), shape,
                                         result.data(), QuantizationOf(to)};
  EK_RETURN_IF_ERROR(ops::Evaluate(op, {input}, {output}), "converting");
  return result;
}

absl::StatusOr<std::string> Cast(v1::ElementType from, absl::string_view values,
                                 v1::ElementType to) {
  v1::OpAttributes cast;
  cast.mutable_cast();
  return Compute(cast, Plain(from), values, Plain(to));
}

absl::StatusOr<std::vector<std::optional<PortConversion>>> ConversionsOf(
    const v1::Graph& graph,
    const google::protobuf::RepeatedField<int32_t>& tensors,
    const google::protobuf::RepeatedPtrField<v1::ConvertedPort>& ports) {
  std::vector<std::optional<PortConversion>> conversions(
      static_cast<size_t>(tensors.size()));
  for (const v1::ConvertedPort& port : ports) {
    if (port.port() < 0 || port.port() >= tensors.size() ||
        tensors.Get(port.port()) < 0 ||
        tensors.Get(port.port()) >= graph.tensors_size()) {
      return absl::InternalError("a graph converts a port that it has not");
    }
    EK_ASSIGN_OR_RETURN(
        conversions[static_cast<size_t>(port.port())],
        PortConversion::Create(graph.tensors(tensors.Get(port.port())).type(),
                               port));
  }
  return conversions;
}

}  // namespace

absl::StatusOr<PortConversion> PortConversion::Create(
    v1::TensorType port, const v1::ConvertedPort& conversion) {
  if (port.quantization().scale_size() != 1 ||
      port.quantization().zero_point_size() != 1 ||
      ops::ElementBytes(port.element_type()) == 0 ||
      ops::ElementBytes(conversion.element_type()) == 0) {
    return absl::InternalError("a graph converts a port that is not quantized");
  }
  PortConversion made;
  made.source_ = port;
  made.source_.set_element_type(conversion.element_type());
  if (IsFloat(conversion.element_type())) {
    made.source_.clear_quantization();
  } else {
    made.source_.mutable_quantization()->set_zero_point(
        0,
        port.quantization().zero_point(0) + ShiftTo(conversion.element_type()));
  }
  made.port_ = std::move(port);
  made.rounding_ = conversion.rounding();
  return made;
}

absl::StatusOr<std::string> PortConversion::ToIntegers(
    absl::string_view source) const {
  v1::OpAttributes quantize;
  quantize.mutable_quantize();
  quantize.set_rounding(rounding_);
  const v1::ElementType type = source_.element_type();
  if (!IsFloat(type) || type == v1::FLOAT32) {
    return Compute(quantize, source_, source, port_);
  }
  EK_ASSIGN_OR_RETURN(const std::string real, Cast(type, source, v1::FLOAT32));
  return Compute(quantize, Plain(v1::FLOAT32), real, port_);
}

absl::StatusOr<std::string> PortConversion::ToSource(
    absl::string_view integers) const {
  v1::OpAttributes op;
  const v1::ElementType type = source_.element_type();
  if (!IsFloat(type)) {
    op.mutable_quantize();
    return Compute(op, port_, integers, source_);
  }
  op.mutable_dequantize();
  EK_ASSIGN_OR_RETURN(std::string real,
                      Compute(op, port_, integers, Plain(v1::FLOAT32)));
  if (type == v1::FLOAT32) return real;
  return Cast(v1::FLOAT32, real, type);
}

absl::StatusOr<std::vector<std::optional<PortConversion>>> InputConversionsOf(
    const v1::Graph& graph) {
  return ConversionsOf(graph, graph.inputs(), graph.converted_inputs());
}

absl::StatusOr<std::vector<std::optional<PortConversion>>> OutputConversionsOf(
    const v1::Graph& graph) {
  return ConversionsOf(graph, graph.outputs(), graph.converted_outputs());
}

}  // namespace edgekiln::compiler
