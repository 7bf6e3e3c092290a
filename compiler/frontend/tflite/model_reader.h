#ifndef EK_COMPILER_FRONTEND_TFLITE_MODEL_READER_H_
#define EK_COMPILER_FRONTEND_TFLITE_MODEL_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/tflite/schema_generated.h"
#include "compiler/ir/graph.h"

// Checked access to a TensorFlow Lite file. A flatbuffer may refer to the same
// bytes from many places, so that a small file can describe a huge model:
// everything that is copied out is counted against a multiple of the file size.
namespace edgekiln::compiler {

// UNIMPLEMENTED or INVALID_ARGUMENT about the model, with all fields of an
// error filled in.
absl::Status TfliteUnsupported(std::string what, std::string where,
                               std::string limit, std::string fix);
absl::Status TfliteBroken(std::string what, std::string where,
                          std::string need = "");

// The generated name of an enum's value, or its number.
std::string OperatorName(tflite::BuiltinOperator code);
std::string TensorTypeName(tflite::TensorType type);

// "op 3 (CONV_2D)".
std::string OperatorPlace(size_t index, absl::string_view name);

class TfliteModelReader {
 public:
  // Verifies the flatbuffer, the version, and that there is one subgraph.
  // `bytes` must be aligned to 16 bytes and outlive the reader.
  static absl::StatusOr<TfliteModelReader> Open(absl::string_view bytes);

  const tflite::SubGraph& subgraph() const { return *subgraph_; }
  int64_t num_tensors() const;
  int64_t num_operators() const;
  const tflite::Operator& op(size_t index) const;

  // Code of an operator, old and new field unified. The index is checked.
  absl::StatusOr<tflite::BuiltinOperator> OperatorCodeOf(
      const tflite::Operator& op) const;
  // Name for errors and layer ids; the custom code of a custom op.
  std::string NameOf(const tflite::Operator& op) const;

  // A tensor index of an operator or subgraph; -1 is allowed if `optional`.
  absl::Status CheckTensorIndex(int32_t index, bool optional) const;

  // Type, shape, quantization and constant data of a tensor as IR. Its name is
  // made unique. Constants that share bytes share memory; 4-bit and sparse ones
  // become int8 and dense. An open batch (dimension 0) is 1.
  absl::StatusOr<Tensor> ReadTensor(int32_t index);
  // What a tensor is besides; the index must be valid.
  bool IsVariable(int32_t index) const;
  // The first dimension that the model leaves open, or -1.
  int64_t OpenDimension(int32_t index) const;

  // Counts memory that the import is about to spend on the model's behalf;
  // INVALID_ARGUMENT once it is out of proportion to the file.
  absl::Status Spend(int64_t bytes);
  // Whether Spend() would allow it.
  bool CanSpend(int64_t bytes) const { return bytes <= budget_bytes_; }

  // `wanted`, or something like it if a tensor has that name.
  std::string UniqueName(std::string wanted);

 private:
  TfliteModelReader(const tflite::Model* model, int64_t budget_bytes)
      : model_(model),
        subgraph_(model->subgraphs()->Get(0)),
        budget_bytes_(budget_bytes) {}

  const tflite::Tensor& tensor(int32_t index) const;
  absl::Status ReadShape(int32_t index, Tensor& to);
  absl::Status ReadType(const tflite::Tensor& from, Tensor& to);
  absl::Status ReadQuantization(const tflite::Tensor& from, Tensor& to);
  absl::Status ReadData(const tflite::Tensor& from, Tensor& to);
  static absl::StatusOr<std::string> Unpack(const tflite::Tensor& from,
                                            const Tensor& to,
                                            absl::string_view bytes);

  const tflite::Model* model_;
  const tflite::SubGraph* subgraph_;
  int64_t budget_bytes_;
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_map<std::string, int64_t> repeats_;  // By name before "#N".
  std::map<std::pair<const void*, size_t>, ConstantData> constants_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_TFLITE_MODEL_READER_H_
