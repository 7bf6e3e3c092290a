#include "compiler/frontend/tflite/model_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/dead_channels.h"
#include "compiler/frontend/tflite/tensor_values.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

// Far above any real model; keeps IR objects in proportion to the file.
constexpr int64_t kMaxObjects = 1 << 16;
constexpr int64_t kMaxNameBytes = 1024;
constexpr int kMaxTables = 1 << 20;
constexpr int kMaxDepth = 32;

v1::ElementType ElementTypeOf(tflite::TensorType type) {
  switch (type) {
    case tflite::TensorType::FLOAT32:
      return v1::FLOAT32;
    case tflite::TensorType::FLOAT16:
      return v1::FLOAT16;
    case tflite::TensorType::INT32:
      return v1::INT32;
    case tflite::TensorType::UINT8:
      return v1::UINT8;
    case tflite::TensorType::INT64:
      return v1::INT64;
    case tflite::TensorType::BOOL:
      return v1::BOOL;
    case tflite::TensorType::INT16:
      return v1::INT16;
    case tflite::TensorType::INT8:
    case tflite::TensorType::INT4:  // Unpacked.
      return v1::INT8;
    case tflite::TensorType::UINT16:
      return v1::UINT16;
    case tflite::TensorType::UINT32:
      return v1::UINT32;
    case tflite::TensorType::UINT64:
      return v1::UINT64;
    case tflite::TensorType::FLOAT64:
      return v1::FLOAT64;
    default:
      return v1::ELEMENT_TYPE_UNSPECIFIED;
  }
}

template <typename T>
int64_t SizeOf(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// The verifier says yes or no only; these are what can be told besides.
absl::Status NotWellFormed(absl::string_view bytes) {
  std::string where = absl::StrCat("file of ", bytes.size(), " bytes");
  uint32_t root = 0;
  if (bytes.size() < 8) {
    absl::StrAppend(&where, ": shorter than root offset and identifier");
  } else if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    absl::StrAppend(&where, ": larger than any flatbuffer");
  } else if (bytes.substr(4, 4) != "TFL3") {
    absl::StrAppend(&where, ": identifier at byte 4");
  } else if (std::memcpy(&root, bytes.data(), sizeof(root));
             root >= bytes.size()) {
    absl::StrAppend(&where, ": root offset ", root);
  } else {
    absl::StrAppend(&where, ": a table or vector behind root offset ", root);
  }
  return TfliteBroken("not a well-formed TensorFlow Lite model",
                      std::move(where),
                      "a whole flatbuffer with identifier TFL3, offsets within "
                      "the file");
}

std::string NameText(const flatbuffers::String* name) {
  return name == nullptr ? "" : name->str();
}

}  // namespace

absl::Status TfliteUnsupported(std::string what, std::string where,
                               std::string limit, std::string fix) {
  return MakeError(absl::StatusCode::kUnimplemented,
                   {.fault = Fault::kUser,
                    .reason = "TFLITE_UNSUPPORTED",
                    .what = std::move(what),
                    .where = std::move(where),
                    .limit = std::move(limit),
                    .fix = std::move(fix)});
}

absl::Status TfliteBroken(std::string what, std::string where,
                          std::string need) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "TFLITE_BROKEN",
                    .what = std::move(what),
                    .where = std::move(where),
                    .need = std::move(need),
                    .fix = "convert the model again; the file is damaged or "
                           "not a TensorFlow Lite model"});
}

std::string OperatorName(tflite::BuiltinOperator code) {
  const char* name = tflite::EnumNameBuiltinOperator(code);
  return name[0] != '\0' ? name
                         : absl::StrCat("builtin ", static_cast<int>(code));
}

std::string TensorTypeName(tflite::TensorType type) {
  const char* name = tflite::EnumNameTensorType(type);
  return name[0] != '\0' ? name : absl::StrCat("type ", static_cast<int>(type));
}

std::string OperatorPlace(size_t index, absl::string_view name) {
  return absl::StrCat("op ", index, " (", name, ")");
}

absl::StatusOr<TfliteModelReader> TfliteModelReader::Open(
    absl::string_view bytes) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()),
                                 bytes.size(), kMaxDepth, kMaxTables);
  if (bytes.size() < 8 || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE ||
      !tflite::VerifyModelBuffer(verifier)) {
    return NotWellFormed(bytes);
  }
  const tflite::Model* model = tflite::GetModel(bytes.data());
  if (model->version() != 3) {
    return TfliteUnsupported(absl::StrCat("schema version ", model->version()),
                             "file", "version 3",
                             "convert the model with TensorFlow 2");
  }
  if (SizeOf(model->subgraphs()) != 1 ||
      model->subgraphs()->Get(0) == nullptr) {
    return TfliteUnsupported(
        absl::StrCat(SizeOf(model->subgraphs()), " subgraphs"), "file",
        "1 subgraph", "export a model without control flow");
  }
  const tflite::SubGraph* subgraph = model->subgraphs()->Get(0);
  for (const int64_t count :
       {SizeOf(subgraph->tensors()), SizeOf(subgraph->operators()),
        SizeOf(subgraph->inputs()), SizeOf(subgraph->outputs())}) {
    if (count > kMaxObjects) {
      return TfliteUnsupported(
          absl::StrCat(count, " tensors, ops, inputs or outputs"), "subgraph 0",
          absl::StrCat(kMaxObjects), "split the model");
    }
  }
  // Sparse weights may be a fiftieth of their dense values.
  const int64_t budget = int64_t{64} * std::ssize(bytes) + (4 << 20);
  return TfliteModelReader(model, budget);
}

int64_t TfliteModelReader::num_tensors() const {
  return SizeOf(subgraph_->tensors());
}

int64_t TfliteModelReader::num_operators() const {
  return SizeOf(subgraph_->operators());
}

const tflite::Tensor& TfliteModelReader::tensor(int32_t index) const {
  return *subgraph_->tensors()->Get(static_cast<uint32_t>(index));
}

const tflite::Operator& TfliteModelReader::op(size_t index) const {
  return *subgraph_->operators()->Get(static_cast<uint32_t>(index));
}

absl::StatusOr<tflite::BuiltinOperator> TfliteModelReader::OperatorCodeOf(
    const tflite::Operator& op) const {
  if (op.opcode_index() >= SizeOf(model_->operator_codes())) {
    return TfliteBroken(
        absl::StrCat("operator code ", op.opcode_index()), "operator",
        absl::StrCat("an index below ", SizeOf(model_->operator_codes())));
  }
  const tflite::OperatorCode* code =
      model_->operator_codes()->Get(op.opcode_index());
  // Writers before 2020 know only the byte field, which ends at 127.
  return std::max(code->builtin_code(), static_cast<tflite::BuiltinOperator>(
                                            code->deprecated_builtin_code()));
}

std::string TfliteModelReader::NameOf(const tflite::Operator& op) const {
  const absl::StatusOr<tflite::BuiltinOperator> code = OperatorCodeOf(op);
  if (!code.ok()) return "unknown";
  if (*code != tflite::BuiltinOperator::CUSTOM) return OperatorName(*code);
  const flatbuffers::String* custom =
      model_->operator_codes()->Get(op.opcode_index())->custom_code();
  return SanitizeText(NameText(custom), 64);
}

absl::Status TfliteModelReader::CheckTensorIndex(int32_t index,
                                                 bool optional) const {
  if (index == -1 && optional) return absl::OkStatus();
  if (index >= 0 && index < num_tensors()) return absl::OkStatus();
  return TfliteBroken(absl::StrCat("tensor index ", index), "subgraph 0",
                      absl::StrCat("an index below ", num_tensors()));
}

absl::Status TfliteModelReader::Spend(int64_t bytes) {
  budget_bytes_ -= bytes;
  if (budget_bytes_ >= 0) return absl::OkStatus();
  return TfliteBroken("the model describes far more than its file holds",
                      "file", "names, shapes and scales stored once each");
}

absl::Status TfliteModelReader::ReadType(const tflite::Tensor& from,
                                         Tensor& to) {
  to.type = ElementTypeOf(from.type());
  if (to.type == v1::ELEMENT_TYPE_UNSPECIFIED) {
    return TfliteUnsupported(
        absl::StrCat("element type ", TensorTypeName(from.type())), "",
        "FLOAT16 to FLOAT64, integers of 8 to 64 bits, BOOL; INT4 for weights",
        "convert the model to float32 or to full integer int8");
  }
  return absl::OkStatus();
}

absl::Status TfliteModelReader::ReadShape(int32_t index, Tensor& to) {
  const tflite::Tensor& from = tensor(index);
  const int64_t rank = SizeOf(from.shape());
  if (rank > ops::kMaxRank) {
    return TfliteUnsupported(absl::StrCat("rank ", rank), "",
                             absl::StrCat("rank ", ops::kMaxRank),
                             "reshape to fewer dimensions");
  }
  for (int64_t d = 0; d < rank; ++d) {
    const int32_t extent = from.shape()->Get(static_cast<uint32_t>(d));
    // Old writers leave the -1 of the signature here.
    to.shape.push_back(extent == -1 && d == 0 ? 1 : extent);
    if (to.shape.back() < 0) {
      return TfliteUnsupported(
          absl::StrCat("dimension ", d, " has no fixed extent"), "",
          "static shapes but for the batch",
          "export the model with a fixed input shape");
    }
  }
  // As if nothing were empty: strides must not overflow either.
  std::vector<int64_t> extents = to.shape;
  std::replace(extents.begin(), extents.end(), int64_t{0}, int64_t{1});
  const std::optional<int64_t> elements = CheckedProduct(extents);
  if (!elements.has_value() || *elements > ops::kMaxTensorBytes) {
    return TfliteUnsupported(
        absl::StrCat("shape [", absl::StrJoin(to.shape, ","), "]"), "",
        absl::StrCat(ops::kMaxTensorBytes, " bytes per tensor"),
        "export the model with a smaller input");
  }
  return absl::OkStatus();
}

bool TfliteModelReader::IsVariable(int32_t index) const {
  return tensor(index).is_variable();
}

int64_t TfliteModelReader::OpenDimension(int32_t index) const {
  for (const auto* extents :
       {tensor(index).shape_signature(), tensor(index).shape()}) {
    if (extents == nullptr) continue;
    const auto at = std::find(extents->begin(), extents->end(), -1);
    if (at != extents->end()) return at - extents->begin();
  }
  return -1;
}

absl::Status TfliteModelReader::ReadQuantization(const tflite::Tensor& from,
                                                 Tensor& to) {
  const tflite::QuantizationParameters* q = from.quantization();
  // Float tensors carry min and max of training at most.
  const bool integer = to.type == v1::INT8 || to.type == v1::UINT8 ||
                       to.type == v1::INT16 || to.type == v1::INT32 ||
                       to.type == v1::INT64;
  if (q == nullptr || SizeOf(q->scale()) == 0 || !integer) {
    return absl::OkStatus();
  }
  const int64_t scales = SizeOf(q->scale());
  EK_RETURN_IF_ERROR(Spend(scales * 8));
  Quantization quantization;
  quantization.axis = q->quantized_dimension();
  quantization.scale.assign(q->scale()->begin(), q->scale()->end());
  const int64_t zeros = SizeOf(q->zero_point());
  if (zeros > 1 && zeros != scales) {
    return TfliteBroken(
        absl::StrCat(scales, " scales and ", zeros, " zero points"), "",
        "as many of each");
  }
  for (int64_t i = 0; i < scales; ++i) {
    int64_t zero = 0;
    if (zeros > 0) {
      // The verifier leaves the alignment of 8-byte elements unchecked.
      std::memcpy(&zero,
                  q->zero_point()->Data() + (zeros == 1 ? 0 : i) * sizeof(zero),
                  sizeof(zero));
    }
    const auto fits = CheckedCast<int32_t>(zero);
    if (!fits) return TfliteBroken(absl::StrCat("zero point ", zero), "");
    quantization.zero_point.push_back(*fits);
  }
  // One scale needs no axis, and a vector has one only; writers leave other
  // numbers behind, such as the weights' axis at a bias.
  if (scales == 1 || to.shape.size() == 1) quantization.axis = 0;
  to.quantization = std::move(quantization);
  return absl::OkStatus();
}

absl::Status TfliteModelReader::ReadData(const tflite::Tensor& from,
                                         Tensor& to) {
  if (from.buffer() >= SizeOf(model_->buffers())) {
    // Writers that store no buffers at all leave 0 in every tensor.
    if (from.buffer() == 0) return absl::OkStatus();
    return TfliteBroken(
        absl::StrCat("buffer index ", from.buffer()), "",
        absl::StrCat("an index below ", SizeOf(model_->buffers())));
  }
  const tflite::Buffer* buffer = model_->buffers()->Get(from.buffer());
  if (buffer->offset() > 1) {
    return TfliteUnsupported("data outside the flatbuffer", "",
                             "models below 2 GiB", "use a smaller model");
  }
  if (SizeOf(buffer->data()) == 0) return absl::OkStatus();
  const absl::string_view bytes(
      reinterpret_cast<const char*>(buffer->data()->data()),
      buffer->data()->size());
  const auto elements = CheckedProduct(to.shape);
  const auto need =
      elements ? CheckedMul(*elements, ElementBytes(to.type)) : std::nullopt;
  if (!need) {
    return TfliteBroken("constant of too large a shape", "", "a smaller shape");
  }
  if (from.sparsity() != nullptr || from.type() == tflite::TensorType::INT4) {
    EK_RETURN_IF_ERROR(Spend(*need));
    EK_ASSIGN_OR_RETURN(std::string values, Unpack(from, to, bytes));
    to.data = ConstantData(std::move(values));
    return absl::OkStatus();
  }
  if (*need != std::ssize(bytes)) {
    return TfliteBroken(absl::StrCat("constant of ", bytes.size(), " bytes"),
                        "",
                        absl::StrCat(*need, " bytes for its shape and type"));
  }
  ConstantData& shared = constants_[{bytes.data(), bytes.size()}];
  if (!shared.has_value()) {
    EK_RETURN_IF_ERROR(Spend(*need));
    shared = ConstantData(std::string(bytes));
  }
  to.data = shared;
  return absl::OkStatus();
}

// The values of a sparse or 4-bit constant whose size has been paid for.
absl::StatusOr<std::string> TfliteModelReader::Unpack(
    const tflite::Tensor& from, const Tensor& to, absl::string_view bytes) {
  const bool nibbles = from.type() == tflite::TensorType::INT4;
  if (from.sparsity() == nullptr) return UnpackInt4(bytes, to.num_elements());
  if (nibbles || to.shape.empty() || to.num_elements() == 0) {
    return TfliteUnsupported("sparse tensor of INT4 or without elements", "",
                             "sparse weights of whole bytes",
                             "convert without sparse weights");
  }
  return Densify(*from.sparsity(), to.shape, ElementBytes(to.type), bytes);
}

std::string TfliteModelReader::UniqueName(std::string wanted) {
  std::string unique = wanted;
  // Numbers go on where the last tensor of that name left off.
  while (!names_.insert(unique).second) {
    unique = absl::StrCat(wanted, "#", ++repeats_[wanted]);
  }
  return unique;
}

absl::StatusOr<Tensor> TfliteModelReader::ReadTensor(int32_t index) {
  EK_RETURN_IF_ERROR(CheckTensorIndex(index, /*optional=*/false));
  const tflite::Tensor& from = tensor(index);
  const int64_t name_bytes = from.name() == nullptr ? 0 : from.name()->size();
  if (name_bytes > kMaxNameBytes) {
    return TfliteUnsupported(
        absl::StrCat("tensor name of ", name_bytes, " bytes"),
        absl::StrCat("tensor ", index), absl::StrCat(kMaxNameBytes, " bytes"),
        "rename the tensor");
  }
  EK_RETURN_IF_ERROR(Spend(name_bytes));
  Tensor to;
  const auto place = [&] {
    return absl::StrCat("tensor ", index, " '",
                        SanitizeText(NameText(from.name()), 80), "'");
  };
  EK_RETURN_IF_ERROR(ReadType(from, to), place());
  EK_RETURN_IF_ERROR(ReadShape(index, to), place());
  EK_RETURN_IF_ERROR(ReadQuantization(from, to), place());
  EK_RETURN_IF_ERROR(ReadData(from, to), place());
  ReviveDeadChannels(to);
  if (from.type() == tflite::TensorType::INT4 && !to.is_constant()) {
    return TfliteUnsupported("INT4 activations", place(), "INT4 for weights",
                             "convert with int8 activations");
  }
  std::string name = NameText(from.name());
  to.name = UniqueName(name.empty() ? absl::StrCat("tensor_", index)
                                    : std::move(name));
  return to;
}

}  // namespace edgekiln::compiler
