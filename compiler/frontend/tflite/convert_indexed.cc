#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/converters.h"

// Operators that pick or place values by tuples of indices, by lengths, or by
// what an index equals.
namespace edgekiln::compiler::tflite_import {
namespace {

absl::StatusOr<std::vector<TensorId>> TwoInputs(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId a, c.Input(0));
  EK_ASSIGN_OR_RETURN(const TensorId b, c.Input(1));
  return std::vector<TensorId>{a, b};
}

// 0, 1, ... of the type of `like`, which is INT32 or INT64.
std::string Counting(v1::ElementType type, int64_t count) {
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    const auto narrow = static_cast<int32_t>(i);
    bytes.append(type == v1::INT32 ? reinterpret_cast<const char*>(&narrow)
                                   : reinterpret_cast<const char*>(&i),
                 type == v1::INT32 ? sizeof(narrow) : sizeof(i));
  }
  return bytes;
}

}  // namespace

absl::Status ConvertGatherNd(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, TwoInputs(c));
  v1::OpAttributes attributes;
  attributes.mutable_gather_nd();
  return c.Write(std::move(attributes), inputs);
}

absl::Status ConvertReverseSequence(Conversion& c) {
  const auto* options = c.from().builtin_options_as_ReverseSequenceOptions();
  if (options == nullptr) return MissingOptions("ReverseSequenceOptions");
  EK_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, TwoInputs(c));
  const size_t rank = c.shape(inputs[0]).size();
  EK_ASSIGN_OR_RETURN(const int32_t time, NormalAxis(options->seq_dim(), rank));
  EK_ASSIGN_OR_RETURN(const int32_t batch,
                      NormalAxis(options->batch_dim(), rank));
  v1::OpAttributes attributes;
  attributes.mutable_reverse_sequence()->set_time_axis(time);
  attributes.mutable_reverse_sequence()->set_batch_axis(batch);
  return c.Write(std::move(attributes), inputs);
}

// Inputs: indices, updates, the shape of what starts as zeros. Updates of one
// element are added up.
absl::Status ConvertScatterNd(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, TwoInputs(c));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, c.Ints(2));
  const Tensor updates = c.tensor(inputs[1]);
  if (updates.quantization.has_value()) {
    return TfliteUnsupported("SCATTER_ND of quantized tensors", "",
                             "float and plain integer tensors",
                             "dequantize in front of it");
  }
  EK_ASSIGN_OR_RETURN(
      const TensorId zero,
      c.builder().AddConstant(
          absl::StrCat(c.tensor(c.output()).name, "#zero"), updates, {},
          std::string(static_cast<size_t>(ElementBytes(updates.type)), '\0')));
  v1::OpAttributes broadcast;
  broadcast.mutable_broadcast_to()->mutable_shape()->Add(shape.begin(),
                                                         shape.end());
  EK_ASSIGN_OR_RETURN(const TensorId empty,
                      c.Emit("empty", std::move(broadcast), {zero}, inputs[1]));
  v1::OpAttributes attributes;
  attributes.mutable_scatter_nd()->set_reduction(v1::SCATTER_ADD);
  return c.Write(std::move(attributes), {empty, inputs[0], inputs[1]});
}

// Inputs: indices, depth, the values for equal and for others.
absl::Status ConvertOneHot(Conversion& c) {
  const auto* options = c.from().builtin_options_as_OneHotOptions();
  if (options == nullptr) return MissingOptions("OneHotOptions");
  EK_ASSIGN_OR_RETURN(TensorId at, c.Input(0));
  EK_ASSIGN_OR_RETURN(const int64_t depth, c.Int(1));
  EK_ASSIGN_OR_RETURN(const TensorId on, c.Input(2));
  EK_ASSIGN_OR_RETURN(const TensorId off, c.Input(3));
  const v1::ElementType type = c.tensor(at).type;
  constexpr int64_t kMaxDepth = 1 << 24;
  if ((type != v1::INT32 && type != v1::INT64) || depth < 0 ||
      depth > kMaxDepth ||
      !c.builder().reader().CanSpend(depth * ElementBytes(type))) {
    return TfliteUnsupported(absl::StrCat("ONE_HOT of depth ", depth), "",
                             "INT32 or INT64 indices, a depth that fits the "
                             "size of the model",
                             "replace it by a GATHER from an identity matrix");
  }
  Shape shape = c.shape(at);
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      NormalAxis(options->axis(), shape.size() + 1));
  shape.insert(shape.begin() + axis, 1);
  EK_ASSIGN_OR_RETURN(at, c.Reshape("indices", at, shape));
  Shape line(shape.size(), 1);
  line[axis] = depth;
  const std::string name = c.tensor(c.output()).name;
  const Tensor index = c.tensor(at);
  EK_ASSIGN_OR_RETURN(
      const TensorId classes,
      c.builder().AddConstant(absl::StrCat(name, "#classes"), index,
                              std::move(line), Counting(type, depth)));
  Tensor boolean;
  boolean.type = v1::BOOL;
  shape[axis] = depth;
  const TensorId hit = c.builder().AddTensor(absl::StrCat(name, "#hit"),
                                             boolean, std::move(shape));
  v1::OpAttributes equal;
  equal.mutable_binary()->set_function(v1::Binary::EQUAL);
  EK_RETURN_IF_ERROR(c.WriteAll(std::move(equal), {at, classes}, {hit}));
  v1::OpAttributes attributes;
  attributes.mutable_select();
  return c.Write(std::move(attributes), {hit, on, off});
}

}  // namespace edgekiln::compiler::tflite_import
