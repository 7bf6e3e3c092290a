#include "server/worker/stages/compare.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/npy.h"
#include "compiler/ir/image_extent.h"

namespace edgekiln::server {
namespace {

std::string ValueText(compiler::NpyType type, const char* at) {
  const compiler::NpyArray one{
      type, {}, std::string(at, static_cast<size_t>(NpyTypeBytes(type)))};
  return absl::StrCat(NpyValue(one, 0));
}

}  // namespace

absl::Status Comparison::Add(const compiler::Tensor& tensor,
                             absl::string_view want,
                             const v1::TensorSlice& slice,
                             absl::string_view got, absl::string_view layer,
                             int64_t sample) {
  const compiler::ImageExtent extent = compiler::ImageExtentOf(tensor.shape);
  const auto type = compiler::NpyTypeOf(tensor.type);
  const auto misfit = [&] {
    return absl::InternalError(absl::StrCat("layer ", layer, ": a tap of '",
                                            tensor.name,
                                            "' does not fit the tensor"));
  };
  if (!type || !compiler::Contains(extent, slice)) return misfit();
  const int64_t bytes = NpyTypeBytes(*type);
  const int64_t channels = slice.c_end() - slice.c_begin();
  const int64_t elements = (slice.h_end() - slice.h_begin()) *
                           (slice.w_end() - slice.w_begin()) * channels;
  if (static_cast<int64_t>(want.size()) != extent.elements() * bytes ||
      static_cast<int64_t>(got.size()) != elements * bytes) {
    return misfit();
  }
  const char* is = got.data();
  const size_t run = static_cast<size_t>(channels * bytes);
  for (int64_t h = slice.h_begin(); h < slice.h_end(); ++h) {
    for (int64_t w = slice.w_begin(); w < slice.w_end(); ++w, is += run) {
      const int64_t first = (h * extent.w + w) * extent.c + slice.c_begin();
      const char* should = want.data() + first * bytes;
      if (std::memcmp(is, should, run) == 0) continue;
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t at = c * bytes;
        if (std::memcmp(is + at, should + at, static_cast<size_t>(bytes)) ==
            0) {
          continue;
        }
        if (mismatches_++ > 0) continue;
        first_mismatch_ = absl::StrCat(
            "layer ", layer, ", sample ", sample, ", tensor '", tensor.name,
            "' at row ", h, ", column ", w, ", channel ", slice.c_begin() + c,
            ": got ", ValueText(*type, is + at), ", want ",
            ValueText(*type, should + at));
      }
    }
  }
  compared_ += elements;
  return absl::OkStatus();
}

absl::Status Comparison::AddWhole(const compiler::Tensor& tensor,
                                  absl::string_view want, absl::string_view got,
                                  absl::string_view layer, int64_t sample) {
  const auto whole =
      compiler::WholeSlice(compiler::ImageExtentOf(tensor.shape));
  return Add(tensor, want, whole, got, layer, sample);
}

}  // namespace edgekiln::server
