#include "compiler/dataset/pack.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/npz.h"
#include "compiler/dataset/sample_layout.h"

namespace edgekiln::compiler {
namespace {

absl::Status CheckTransforms(const v1::PackOutputsOptions& options,
                             const v1::Chunk& first) {
  for (const v1::InputTransform& transform : options.transforms()) {
    for (const v1::Chunk::Array& array : first.arrays()) {
      if (transform.input().empty() ||
          transform.input() != array.type().name()) {
        continue;
      }
      return MakeError(absl::StatusCode::kUnimplemented,
                       {.reason = "INPUT_OPTION",
                        .what = "--input names an output",
                        .where = transform.input(),
                        .need = "the name of a model input",
                        .fix = "outputs come as the network gives them"});
    }
  }
  return absl::OkStatus();
}

// Chunks in sample order, without gaps, with the same arrays.
absl::StatusOr<std::vector<const v1::Chunk*>> InOrder(
    absl::Span<const v1::Chunk> chunks) {
  std::vector<const v1::Chunk*> ordered;
  for (const v1::Chunk& chunk : chunks) ordered.push_back(&chunk);
  std::sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) {
    return a->first_sample() < b->first_sample();
  });
  int64_t next = 0;
  for (const v1::Chunk* chunk : ordered) {
    if (chunk->first_sample() != next || chunk->samples() < 0 ||
        chunk->arrays_size() != ordered[0]->arrays_size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "chunks of outputs do not belong together at sample ", next));
    }
    const auto after = CheckedAdd(next, chunk->samples());
    if (!after) return absl::InvalidArgumentError("too many samples");
    next = *after;
  }
  return ordered;
}

// In the network's element type.
absl::StatusOr<NpyArray> JoinOutput(const std::vector<const v1::Chunk*>& chunks,
                                    int index) {
  const v1::TensorType& type = chunks[0]->arrays(index).type();
  const std::optional<NpyType> element = NpyTypeOf(type.element_type());
  if (!element) return absl::InvalidArgumentError("output without a type");
  NpyArray array{*element, SampleShape(type), std::string()};
  const auto elements = CheckedProduct(array.shape);
  const auto bytes =
      elements ? CheckedMul(*elements, NpyTypeBytes(*element)) : std::nullopt;
  int64_t samples = 0;
  for (const v1::Chunk* chunk : chunks) {
    const v1::Chunk::Array& part = chunk->arrays(index);
    const auto wanted =
        bytes ? CheckedMul(*bytes, chunk->samples()) : std::nullopt;
    if (!wanted || static_cast<int64_t>(part.data().size()) != *wanted ||
        part.type().SerializeAsString() != type.SerializeAsString()) {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", type.name(), "': chunk at sample ",
                       chunk->first_sample(), " does not fit"));
    }
    array.data += part.data();
    samples += chunk->samples();
  }
  array.shape.insert(array.shape.begin(), samples);
  return array;
}

absl::Status ConvertOutput(const PortConversion& conversion, NpyArray& array) {
  const auto type = NpyTypeOf(conversion.source().element_type());
  if (!type) return absl::InternalError("output converted to no array type");
  EK_ASSIGN_OR_RETURN(array.data, conversion.ToSource(array.data));
  array.type = *type;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> PackOutputs(const v1::PackOutputsOptions& options,
                                        absl::Span<const v1::Chunk> chunks,
                                        const OutputConversions& outputs) {
  if (chunks.empty()) return absl::InvalidArgumentError("no outputs to pack");
  EK_RETURN_IF_ERROR(CheckTransforms(options, chunks[0]), "packing outputs");
  EK_ASSIGN_OR_RETURN(const auto ordered, InOrder(chunks), "packing outputs");
  std::vector<std::pair<std::string, NpyArray>> arrays;
  for (int i = 0; i < ordered[0]->arrays_size(); ++i) {
    EK_ASSIGN_OR_RETURN(NpyArray array, JoinOutput(ordered, i),
                        "packing outputs");
    const auto at = static_cast<size_t>(i);
    if (at < outputs.size() && outputs[at]) {
      EK_RETURN_IF_ERROR(ConvertOutput(*outputs[at], array), "packing outputs");
    }
    arrays.emplace_back(ordered[0]->arrays(i).type().name(), std::move(array));
  }
  return WriteNpz(arrays);
}

}  // namespace edgekiln::compiler
