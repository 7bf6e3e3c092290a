#include "compiler/frontend/tflite/tensor_values.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/model_reader.h"

namespace edgekiln::compiler {
namespace {

absl::Status BadSparsity(std::string what, std::string need = "") {
  return TfliteBroken(absl::StrCat("sparse tensor: ", what), "",
                      std::move(need));
}

// One of the three vector types a union may hold, as wide integers.
absl::StatusOr<std::vector<int64_t>> Indices(tflite::SparseIndexVector type,
                                             const void* table) {
  const auto widened = [](const auto* vector) {
    std::vector<int64_t> out;
    if (vector != nullptr) out.assign(vector->begin(), vector->end());
    return out;
  };
  if (table == nullptr) return BadSparsity("level without segments or indices");
  switch (type) {
    case tflite::SparseIndexVector::Int32Vector:
      return widened(static_cast<const tflite::Int32Vector*>(table)->values());
    case tflite::SparseIndexVector::Uint16Vector:
      return widened(static_cast<const tflite::Uint16Vector*>(table)->values());
    case tflite::SparseIndexVector::Uint8Vector:
      return widened(static_cast<const tflite::Uint8Vector*>(table)->values());
    default:
      return BadSparsity("index vector of an unknown type");
  }
}

// Extent of a level, and how far apart its elements lie in the dense tensor.
struct Level {
  int64_t extent = 0;
  int64_t stride = 0;
};

// The levels in the order of traversal. A dimension that is divided into blocks
// has one level that counts the blocks and one inside them.
absl::StatusOr<std::vector<Level>> Levels(
    const tflite::SparsityParameters& sparsity,
    absl::Span<const int64_t> shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  const auto* order = sparsity.traversal_order();
  const auto* metadata = sparsity.dim_metadata();
  const auto* blocks = sparsity.block_map();
  const int64_t num_blocks = blocks == nullptr ? 0 : blocks->size();
  if (order == nullptr || metadata == nullptr ||
      order->size() != metadata->size() || order->size() != rank + num_blocks ||
      num_blocks > rank) {
    return BadSparsity("number of levels",
                       "one for each dimension and each block");
  }
  std::vector<Level> dims(order->size());
  int64_t stride = 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    dims[d] = {shape[d], stride};
    stride *= shape[d];  // The caller knows that the product fits.
  }
  for (uint32_t b = 0; b < num_blocks; ++b) {
    const int32_t divided = blocks->Get(b);
    // The block's extent stands where its level is traversed.
    int64_t extent = 0;
    for (uint32_t l = 0; l < order->size(); ++l) {
      if (order->Get(l) == rank + b) extent = metadata->Get(l)->dense_size();
    }
    if (divided < 0 || divided >= rank || extent < 1 ||
        dims[divided].extent % extent != 0) {
      return BadSparsity(
          absl::StrCat("block ", b, " of ", extent, " in dimension ", divided),
          "blocks that divide a dimension");
    }
    dims[rank + b] = {extent, dims[divided].stride};
    dims[divided].extent /= extent;
    dims[divided].stride *= extent;
  }
  std::vector<Level> levels;
  std::vector<bool> seen(dims.size(), false);
  for (const int32_t dim : *order) {
    if (dim < 0 || dim >= std::ssize(dims) || seen[dim]) {
      return BadSparsity("traversal order", "each level exactly once");
    }
    seen[dim] = true;
    levels.push_back(dims[dim]);
  }
  return levels;
}

// Where the elements of one level begin, from where those of the level above
// do.
absl::StatusOr<std::vector<int64_t>> Descend(
    const tflite::DimensionMetadata& metadata, const Level& level,
    const std::vector<int64_t>& above, int64_t max_positions) {
  std::vector<int64_t> below;
  if (metadata.format() == tflite::DimensionType::DENSE) {
    const auto count = CheckedMul(std::ssize(above), level.extent);
    if (metadata.dense_size() != level.extent || !count ||
        *count > max_positions) {
      return BadSparsity(absl::StrCat("dense level of ", metadata.dense_size()),
                         "the extent of its dimension, and values for it");
    }
    below.reserve(*count);
    for (const int64_t base : above) {
      for (int64_t i = 0; i < level.extent; ++i) {
        below.push_back(base + i * level.stride);
      }
    }
    return below;
  }
  EK_ASSIGN_OR_RETURN(
      const std::vector<int64_t> segments,
      Indices(metadata.array_segments_type(), metadata.array_segments()));
  EK_ASSIGN_OR_RETURN(
      const std::vector<int64_t> indices,
      Indices(metadata.array_indices_type(), metadata.array_indices()));
  if (segments.size() != above.size() + 1 || segments.front() != 0 ||
      segments.back() != std::ssize(indices)) {
    return BadSparsity("segments", "one for each element of the level above");
  }
  for (size_t i = 0; i < above.size(); ++i) {
    if (segments[i] < 0 || segments[i] > segments[i + 1] ||
        segments[i + 1] > std::ssize(indices)) {
      return BadSparsity("segments", "ascending");
    }
    for (int64_t at = segments[i]; at < segments[i + 1]; ++at) {
      if (indices[at] < 0 || indices[at] >= level.extent) {
        return BadSparsity(absl::StrCat("index ", indices[at]),
                           absl::StrCat("below ", level.extent));
      }
      below.push_back(above[i] + indices[at] * level.stride);
    }
  }
  return below;
}

}  // namespace

absl::StatusOr<std::string> UnpackInt4(absl::string_view packed,
                                       int64_t elements) {
  const int64_t need = elements / 2 + elements % 2;
  if (std::ssize(packed) != need) {
    return TfliteBroken(
        absl::StrCat("constant of ", packed.size(), " bytes"), "",
        absl::StrCat(need, " bytes for its shape and type INT4"));
  }
  std::string values(static_cast<size_t>(elements), '\0');
  for (int64_t i = 0; i < elements; ++i) {
    const int byte = static_cast<uint8_t>(packed[i / 2]);
    const int nibble = i % 2 == 0 ? byte & 15 : byte >> 4;
    values[i] = static_cast<char>((nibble ^ 8) - 8);  // Sign extension.
  }
  return values;
}

absl::StatusOr<std::string> Densify(const tflite::SparsityParameters& sparsity,
                                    absl::Span<const int64_t> shape,
                                    int64_t element_bytes,
                                    absl::string_view values) {
  EK_ASSIGN_OR_RETURN(const std::vector<Level> levels, Levels(sparsity, shape));
  const int64_t num_values = std::ssize(values) / element_bytes;
  // A level that is larger than what is stored would be refused below, after
  // the memory had been spent.
  int64_t max_positions = num_values;
  for (const tflite::DimensionMetadata* level : *sparsity.dim_metadata()) {
    if (level->format() == tflite::DimensionType::DENSE) continue;
    EK_ASSIGN_OR_RETURN(
        const std::vector<int64_t> segments,
        Indices(level->array_segments_type(), level->array_segments()));
    max_positions += std::ssize(segments);
  }
  std::vector<int64_t> positions = {0};
  for (uint32_t i = 0; i < levels.size(); ++i) {
    EK_ASSIGN_OR_RETURN(positions,
                        Descend(*sparsity.dim_metadata()->Get(i), levels[i],
                                positions, max_positions));
  }
  if (std::ssize(positions) != num_values ||
      std::ssize(values) % element_bytes != 0) {
    return BadSparsity(absl::StrCat(values.size(), " bytes of values"),
                       absl::StrCat(positions.size(), " values"));
  }
  int64_t elements = 1;
  for (const int64_t extent : shape) elements *= extent;
  std::string dense(static_cast<size_t>(elements * element_bytes), '\0');
  for (int64_t i = 0; i < num_values; ++i) {
    std::memcpy(dense.data() + positions[i] * element_bytes,
                values.data() + i * element_bytes, element_bytes);
  }
  return dense;
}

}  // namespace edgekiln::compiler
