#ifndef EK_COMPILER_PARTITION_UNDO_PHASES_H_
#define EK_COMPILER_PARTITION_UNDO_PHASES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/pad_kernels.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

// A convolution on the phases of its image (phases.h) as one on the image.
struct WholeImage {
  v1::OpAttributes attributes;
  Tensor kernel;
  TensorId image = kNoTensor;
  // The ops that rearrange the image for it alone, rising.
  std::vector<int32_t> rearranging;
};

// Of a graph, for all of its ops.
struct TensorLinks {
  explicit TensorLinks(const Graph& graph);
  std::vector<int32_t> producers;  // By tensor: Producers().
  std::vector<int> uses;           // By tensor: UsesOf().
};

// What `op`, an index into graph.ops, is without phases: every value is the
// same. `unpadded` is what it is without zeros in its kernel (pad_kernels.h),
// null if nothing was padded. `rearranged` is Partition.rearranged: an op that
// makes another tensor is left alone. Rows and columns of zeros at the end of
// the kernel are left out as far as results stay as many. Nothing if
// UsePhases() did not make it. `links` are those of `graph`.
std::optional<WholeImage> WithoutPhases(const Graph& graph,
                                        const TensorLinks& links, int32_t op,
                                        absl::Span<const TensorId> rearranged,
                                        const UnpaddedOp* unpadded);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_UNDO_PHASES_H_
