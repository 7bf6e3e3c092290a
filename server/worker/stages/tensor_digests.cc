#include "server/worker/stages/tensor_digests.h"

#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "compiler/ir/same_values.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kBytes = sizeof(Fingerprint);

}  // namespace

std::vector<int64_t> ComputedPositions(const compiler::Graph& graph) {
  std::vector<int64_t> positions;
  int64_t next = 0;
  for (const int32_t producer : compiler::Producers(graph)) {
    positions.push_back(producer < 0 ? -1 : next++);
  }
  return positions;
}

std::vector<v1::ElementType> TypesOf(const compiler::Graph& graph) {
  std::vector<v1::ElementType> types;
  for (const compiler::Tensor& tensor : graph.tensors) {
    types.push_back(tensor.type);
  }
  return types;
}

void TensorDigestWriter::Append(const compiler::Interpreter& reference) {
  for (size_t i = 0; i < positions_.size(); ++i) {
    if (positions_[i] < 0) continue;
    const Fingerprint print = fingerprint_.Of(compiler::WithOneNan(
        types_[i], reference.value(static_cast<compiler::TensorId>(i)), room_));
    bytes_.append(reinterpret_cast<const char*>(print.data()), print.size());
  }
}

absl::StatusOr<TensorDigests> TensorDigests::Create(
    const StageInputs& inputs, const compiler::Graph& graph, int64_t samples) {
  EK_ASSIGN_OR_RETURN(const absl::string_view bytes, inputs.One("digests"));
  std::vector<int64_t> positions = ComputedPositions(graph);
  int64_t computed = 0;
  for (const int64_t position : positions) computed += position >= 0 ? 1 : 0;
  const auto row = CheckedMul(computed, kBytes);
  const auto all = row ? CheckedMul(*row, samples) : row;
  if (!all || *all != static_cast<int64_t>(bytes.size())) {
    return absl::InternalError("digests do not fit graph and chunk");
  }
  return TensorDigests(TypesOf(graph), std::move(positions), computed, bytes);
}

bool TensorDigests::Matches(int64_t index, compiler::TensorId tensor,
                            absl::string_view bytes) {
  const int64_t position =
      index * computed_ + positions_[static_cast<size_t>(tensor)];
  const Fingerprint print = fingerprint_.Of(
      compiler::WithOneNan(types_[static_cast<size_t>(tensor)], bytes, room_));
  return std::memcmp(print.data(), bytes_.data() + position * kBytes,
                     sizeof(print)) == 0;
}

}  // namespace edgekiln::server
