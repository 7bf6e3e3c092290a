#ifndef EK_COMPILER_EXPORT_ONNX_MODEL_H_
#define EK_COMPILER_EXPORT_ONNX_MODEL_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::compiler::onnx_export {

inline constexpr int kOpset = 17;
inline constexpr absl::string_view kMicrosoftDomain = "com.microsoft";

// The ONNX element type; UNDEFINED for ELEMENT_TYPE_UNSPECIFIED.
int OnnxTypeOf(v1::ElementType type);

// Attributes of a node.
void SetInt(onnx::NodeProto& node, absl::string_view name, int64_t value);
void SetFloat(onnx::NodeProto& node, absl::string_view name, float value);
void SetString(onnx::NodeProto& node, absl::string_view name,
               absl::string_view value);
void SetInts(onnx::NodeProto& node, absl::string_view name,
             absl::Span<const int64_t> values);

// An ONNX model while it is written. Not thread-safe.
class OnnxModel {
 public:
  // Names of the graph's tensors are kept for them.
  explicit OnnxModel(const Graph& graph);

  // A name like `wanted` that no value has.
  std::string FreshValue(absl::string_view wanted);

  // `name` is made unique. An empty input is one that is absent. The node stays
  // where it is.
  onnx::NodeProto& AddNode(absl::string_view name, absl::string_view type,
                           absl::Span<const std::string> inputs,
                           absl::Span<const std::string> outputs);
  // A node with one output that is no layer of its own. It is named `of` and
  // its role, or by role and number where the importer would make another
  // layer's id of that.
  onnx::NodeProto& AddHelper(absl::string_view of, absl::string_view role,
                             absl::string_view type,
                             absl::Span<const std::string> inputs,
                             const std::string& output);
  // The constant's type, shape and data as initializer `name`.
  void AddInitializer(const std::string& name, const Tensor& constant);
  // Initializers with a name like `name`; return the one that they got.
  std::string AddIntegers(absl::string_view name,
                          absl::Span<const int64_t> values);
  std::string AddFloats(absl::string_view name, absl::Span<const float> values);
  std::string AddScalar(absl::string_view name, float value);
  // Without dimensions, or one entry per channel.
  std::string AddScale(absl::string_view name,
                       const Quantization& quantization);
  std::string AddZeroPoint(absl::string_view name, v1::ElementType type,
                           const Quantization& quantization);

  void AddInput(const Tensor& tensor);
  void AddOutput(const Tensor& tensor);
  // The value that a node makes gets another name, for all its readers, too.
  // False if no node makes it.
  bool RenameResult(const std::string& from, const std::string& to);

  // The model's bytes. Not to be used after.
  absl::StatusOr<std::string> Finish();

 private:
  std::string AddBytes(absl::string_view name, int type,
                       absl::Span<const int64_t> shape, std::string bytes);

  onnx::ModelProto model_;
  std::set<std::string> values_;
  std::set<std::string> nodes_;
  std::set<std::string> ids_;  // Of the graph's ops, and of helpers.
  // Last number behind each name.
  std::map<std::string, int> counts_;
  std::map<std::string, int> node_counts_;
  std::map<std::string, int> helper_counts_;
};

}  // namespace edgekiln::compiler::onnx_export

#endif  // EK_COMPILER_EXPORT_ONNX_MODEL_H_
