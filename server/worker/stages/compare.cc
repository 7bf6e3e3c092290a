#include "server/worker/stages/compare.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/npy.h"
#include "compiler/ir/same_values.h"
#include "target/layout.h"

namespace edgekiln::server {
namespace {

std::string ValueText(compiler::NpyType type, const char* at) {
  const compiler::NpyArray one{
      type, {}, std::string(at, static_cast<size_t>(NpyTypeBytes(type)))};
  return absl::StrCat(NpyValue(one, 0));
}

// "[0, 1, 2, 3]" of the element that is `element`-th in a dense tensor.
std::string IndexText(const std::vector<int64_t>& shape, int64_t element) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return absl::StrCat("[", absl::StrJoin(index, ", "), "]");
}

}  // namespace

absl::Status Comparison::Add(const compiler::Tensor& tensor,
                             absl::string_view want, const v1::Box& box,
                             absl::string_view got, absl::string_view layer,
                             int64_t sample) {
  const auto misfit = [&] {
    return absl::InternalError(absl::StrCat("layer ", layer, ": a tap of '",
                                            tensor.name,
                                            "' does not fit the tensor"));
  };
  const auto type = compiler::NpyTypeOf(tensor.type);
  if (!type) return misfit();
  const int64_t bytes = NpyTypeBytes(*type);
  const auto part = target::Layout::OfBox(box, tensor.shape, bytes);
  if (!part.ok() || static_cast<int64_t>(want.size()) != part->size_bytes() ||
      static_cast<int64_t>(got.size()) != part->dense_bytes()) {
    return misfit();
  }
  part->VisitRuns([&](const target::Layout::Run& run) {
    const char* is = got.data() + run.dense_offset;
    const char* should = want.data() + run.offset;
    if (std::memcmp(is, should, static_cast<size_t>(run.bytes)) == 0) {
      return true;
    }
    for (int64_t at = 0; at < run.bytes; at += bytes) {
      const auto size = static_cast<size_t>(bytes);
      if (compiler::SameValues(tensor.type, {is + at, size},
                               {should + at, size})) {
        continue;
      }
      if (mismatches_++ > 0) continue;
      first_mismatch_ = absl::StrCat(
          "layer ", layer, ", sample ", sample, ", tensor '", tensor.name,
          "' at ", IndexText(tensor.shape, (run.offset + at) / bytes), ": got ",
          ValueText(*type, is + at), ", want ", ValueText(*type, should + at));
    }
    return true;
  });
  compared_ += part->dense_bytes() / bytes;
  return absl::OkStatus();
}

absl::Status Comparison::AddWhole(const compiler::Tensor& tensor,
                                  absl::string_view want, absl::string_view got,
                                  absl::string_view layer, int64_t sample) {
  return Add(tensor, want, target::WholeBox(tensor.shape), got, layer, sample);
}

}  // namespace edgekiln::server
