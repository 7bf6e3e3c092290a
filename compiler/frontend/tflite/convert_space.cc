#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/converters.h"

// Blocks of space to channels or batch and back: reshapes and transposes.
namespace edgekiln::compiler::tflite_import {
namespace {

absl::Status BadBlock(int64_t block, int64_t extent) {
  return TfliteBroken(absl::StrCat("block of ", block, " in ", extent), "",
                      "a block above 0 that divides the extent");
}

bool Divides(int64_t block, int64_t extent) {
  return block >= 1 && extent % block == 0;
}

// Blocks of the spatial dimensions 1.. of input 0, from input 1, and the pairs
// of input 2.
struct Blocks {
  TensorId x = kNoTensor;
  Shape shape;
  std::vector<int64_t> block;
  std::vector<int64_t> pairs;
};

absl::StatusOr<Blocks> ReadBlocks(const Conversion& c) {
  Blocks b;
  EK_ASSIGN_OR_RETURN(b.x, c.Input(0));
  EK_ASSIGN_OR_RETURN(b.block, c.Ints(1));
  EK_ASSIGN_OR_RETURN(b.pairs, c.Ints(2));
  b.shape = c.shape(b.x);
  // One or two spatial dimensions, as the operator has them.
  if (b.shape.size() < 3 || b.shape.size() > 4 || b.block.empty() ||
      b.block.size() > 2 || b.block.size() + 1 > b.shape.size() ||
      b.pairs.size() != 2 * b.block.size()) {
    return TfliteUnsupported(
        absl::StrCat("blocks of ", b.block.size(), " dimensions on rank ",
                     b.shape.size()),
        "", "rank 3 or 4, 1 or 2 spatial dimensions", "reshape the tensor");
  }
  for (const int64_t block : b.block) {
    if (block < 1 || block > (int64_t{1} << 31)) return BadBlock(block, 0);
  }
  for (const int64_t value : b.pairs) {
    if (value < 0 || value > (int64_t{1} << 31)) {
      return TfliteBroken(absl::StrCat("padding or crop ", value), "",
                          "0 or more");
    }
  }
  return b;
}

}  // namespace

absl::Status ConvertSpaceToDepth(Conversion& c) {
  const auto* options = c.from().builtin_options_as_SpaceToDepthOptions();
  if (options == nullptr) return MissingOptions("SpaceToDepthOptions");
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const auto s, c.ShapeOfRank(0, 4));
  const int64_t b = options->block_size();
  if (!Divides(b, s[1])) return BadBlock(b, s[1]);
  if (!Divides(b, s[2])) return BadBlock(b, s[2]);
  EK_ASSIGN_OR_RETURN(
      const TensorId blocks,
      c.Reshape("blocks", x, {s[0], s[1] / b, b, s[2] / b, b, s[3]}));
  EK_ASSIGN_OR_RETURN(const TensorId turned,
                      c.Transpose("turned", blocks, {0, 1, 3, 2, 4, 5}));
  return c.WriteReshape(turned, {s[0], s[1] / b, s[2] / b, b * b * s[3]});
}

absl::Status ConvertDepthToSpace(Conversion& c) {
  const auto* options = c.from().builtin_options_as_DepthToSpaceOptions();
  if (options == nullptr) return MissingOptions("DepthToSpaceOptions");
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const auto s, c.ShapeOfRank(0, 4));
  const int64_t b = options->block_size();
  const auto area = CheckedMul(b, b);
  if (b < 1 || !area || !Divides(*area, s[3])) return BadBlock(b, s[3]);
  const int64_t depth = s[3] / *area;
  EK_ASSIGN_OR_RETURN(const TensorId blocks,
                      c.Reshape("blocks", x, {s[0], s[1], s[2], b, b, depth}));
  EK_ASSIGN_OR_RETURN(const TensorId turned,
                      c.Transpose("turned", blocks, {0, 1, 3, 2, 4, 5}));
  return c.WriteReshape(turned, {s[0], s[1] * b, s[2] * b, depth});
}

absl::Status ConvertSpaceToBatch(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const Blocks b, ReadBlocks(c));
  const size_t spatial = b.block.size();
  v1::OpAttributes attributes;
  v1::Pad& pad = *attributes.mutable_pad();
  bool padded = false;
  for (size_t d = 0; d < b.shape.size(); ++d) {
    const bool in = d >= 1 && d <= spatial;
    pad.add_before(in ? b.pairs[2 * (d - 1)] : 0);
    pad.add_after(in ? b.pairs[2 * (d - 1) + 1] : 0);
    padded = padded || pad.before(d) != 0 || pad.after(d) != 0;
  }
  TensorId x = b.x;
  if (padded) {
    EK_ASSIGN_OR_RETURN(x, c.Emit("padded", std::move(attributes), {x}, x));
  }
  const Shape s = c.shape(x);
  // [N, H/b, b, W/b, b, C] -> [b, b, N, H/b, W/b, C]
  Shape blocks = {s[0]};
  Shape out = {s[0]};
  std::vector<int32_t> order;
  std::vector<int32_t> kept = {0};
  for (size_t d = 1; d < s.size(); ++d) {
    if (d > spatial) {
      kept.push_back(static_cast<int32_t>(blocks.size()));
      blocks.push_back(s[d]);
      out.push_back(s[d]);
      continue;
    }
    const int64_t block = b.block[d - 1];
    if (!Divides(block, s[d])) return BadBlock(block, s[d]);
    kept.push_back(static_cast<int32_t>(blocks.size()));
    blocks.push_back(s[d] / block);
    out.push_back(s[d] / block);
    order.push_back(static_cast<int32_t>(blocks.size()));
    blocks.push_back(block);
    out[0] *= block;  // No more than elements, unless the batch is empty.
  }
  order.insert(order.end(), kept.begin(), kept.end());
  EK_ASSIGN_OR_RETURN(const TensorId split,
                      c.Reshape("blocks", x, std::move(blocks)));
  EK_ASSIGN_OR_RETURN(const TensorId turned,
                      c.Transpose("turned", split, order));
  return c.WriteReshape(turned, std::move(out));
}

absl::Status ConvertBatchToSpace(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const Blocks b, ReadBlocks(c));
  const size_t spatial = b.block.size();
  int64_t batch = b.shape[0];
  for (const int64_t block : b.block) {
    if (!Divides(block, batch)) return BadBlock(block, b.shape[0]);
    batch /= block;
  }
  // [b, b, N, H, W, C] -> [N, H, b, W, b, C]
  Shape blocks = b.block;
  blocks.push_back(batch);
  Shape grown = {batch};
  const auto first = static_cast<int32_t>(spatial);
  std::vector<int32_t> order = {first};
  for (size_t d = 1; d < b.shape.size(); ++d) {
    order.push_back(static_cast<int32_t>(blocks.size()));
    blocks.push_back(b.shape[d]);
    grown.push_back(b.shape[d]);
    if (d > spatial) continue;
    order.push_back(static_cast<int32_t>(d) - 1);
    grown.back() *= b.block[d - 1];
  }
  EK_ASSIGN_OR_RETURN(const TensorId split,
                      c.Reshape("blocks", b.x, std::move(blocks)));
  EK_ASSIGN_OR_RETURN(const TensorId turned,
                      c.Transpose("turned", split, order));
  v1::OpAttributes attributes;
  v1::Slice& slice = *attributes.mutable_slice();
  bool cropped = false;
  for (size_t d = 0; d < grown.size(); ++d) {
    const bool in = d >= 1 && d <= spatial;
    const int64_t before = in ? b.pairs[2 * (d - 1)] : 0;
    const int64_t after = in ? b.pairs[2 * (d - 1) + 1] : 0;
    if (before + after > grown[d]) {
      return TfliteBroken(absl::StrCat("crops of ", before, " and ", after), "",
                          absl::StrCat("at most ", grown[d], " together"));
    }
    slice.add_begin(before);
    slice.add_extent(grown[d] - before - after);
    slice.add_stride(1);
    cropped = cropped || before + after > 0;
  }
  if (!cropped) return c.WriteReshape(turned, std::move(grown));
  EK_ASSIGN_OR_RETURN(const TensorId whole,
                      c.Reshape("whole", turned, std::move(grown)));
  return c.Write(std::move(attributes), {whole});
}

}  // namespace edgekiln::compiler::tflite_import
