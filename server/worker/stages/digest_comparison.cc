#include "server/worker/stages/digest_comparison.h"

#include <algorithm>
#include <cstring>

namespace edgekiln::server {

using compiler::ImageExtent;
using compiler::TensorId;

DigestComparison::DigestComparison(const compiler::Graph& graph,
                                   TensorDigests digests)
    : graph_(graph),
      digests_(std::move(digests)),
      slices_(graph.tensors.size()),
      tapped_(graph.tensors.size(), 0) {}

void DigestComparison::Begin(int64_t index,
                             absl::Span<const absl::string_view> inputs) {
  index_ = index;
  inputs_ = inputs;
  place_ = 0;
  different_ = false;
  unknown_ = false;
  for (const TensorId tensor : sliced_) {
    slices_[static_cast<size_t>(tensor)].filled_bytes = 0;
  }
  std::fill(tapped_.begin(), tapped_.end(), 0);
  output_values_ = 0;
}

bool DigestComparison::IsExpected(const v1::Program::Tap& tap) {
  if (first_) {
    order_.push_back(&tap);
    return true;
  }
  return place_ < order_.size() && order_[place_++] == &tap;
}

absl::string_view DigestComparison::Given(TensorId tensor) const {
  if (At(tensor).is_constant()) return *At(tensor).data;
  const auto input =
      std::find(graph_.inputs.begin(), graph_.inputs.end(), tensor);
  const auto index = static_cast<size_t>(input - graph_.inputs.begin());
  return index < inputs_.size() ? inputs_[index] : absl::string_view();
}

void DigestComparison::AddTap(const v1::Program::Tap& tap,
                              absl::string_view values) {
  const TensorId tensor = tap.tensor();
  if (tensor < 0 || tensor >= static_cast<int>(graph_.tensors.size()) ||
      !IsExpected(tap)) {
    unknown_ = true;
    return;
  }
  const ImageExtent extent = compiler::ImageExtentOf(At(tensor).shape);
  const v1::TensorSlice& slice = tap.slice();
  const int64_t elements = (slice.h_end() - slice.h_begin()) *
                           (slice.w_end() - slice.w_begin()) *
                           (slice.c_end() - slice.c_begin());
  if (!compiler::Contains(extent, slice) ||
      static_cast<int64_t>(values.size()) !=
          elements * compiler::ElementBytes(At(tensor).type)) {
    unknown_ = true;
    return;
  }
  tapped_[static_cast<size_t>(tensor)] += elements;
  if (elements == extent.elements()) {
    AddWhole(tensor, values);
  } else if (elements > 0) {
    AddSlice(tensor, extent, slice, values);
  }
}

void DigestComparison::AddOutput(TensorId tensor, absl::string_view values) {
  const int64_t elements = At(tensor).num_elements();
  if (static_cast<int64_t>(values.size()) !=
      elements * compiler::ElementBytes(At(tensor).type)) {
    unknown_ = true;
    return;
  }
  output_values_ += elements;
  AddWhole(tensor, values);
}

void DigestComparison::AddWhole(TensorId tensor, absl::string_view values) {
  const bool equal = digests_.Has(tensor)
                         ? digests_.Matches(index_, tensor, values)
                         : Given(tensor) == values;
  if (!equal) different_ = true;
}

void DigestComparison::AddSlice(TensorId tensor, const ImageExtent& extent,
                                const v1::TensorSlice& slice,
                                absl::string_view values) {
  Slices& slices = slices_[static_cast<size_t>(tensor)];
  const int64_t element_bytes = compiler::ElementBytes(At(tensor).type);
  if (slices.bytes.empty()) {
    slices.bytes.resize(static_cast<size_t>(extent.elements() * element_bytes));
    sliced_.push_back(tensor);
    if (first_) slices.seen.resize(static_cast<size_t>(extent.elements()));
  }
  const int64_t channels = slice.c_end() - slice.c_begin();
  const int64_t columns = slice.w_end() - slice.w_begin();
  // What lies together in the tensor as it does in the slice.
  const int64_t run = channels == extent.c ? columns * channels : channels;
  const int64_t runs_per_row = columns * channels / run;
  const char* from = values.data();
  for (int64_t h = slice.h_begin(); h < slice.h_end(); ++h) {
    for (int64_t i = 0; i < runs_per_row; ++i) {
      const int64_t first =
          (h * extent.w + slice.w_begin() + i) * extent.c + slice.c_begin();
      std::memcpy(slices.bytes.data() + first * element_bytes, from,
                  static_cast<size_t>(run * element_bytes));
      from += run * element_bytes;
      for (int64_t e = first; first_ && e < first + run; ++e) {
        if (slices.seen[static_cast<size_t>(e)]) unknown_ = true;
        slices.seen[static_cast<size_t>(e)] = true;
      }
    }
  }
  slices.filled_bytes += static_cast<int64_t>(values.size());
}

DigestComparison::Verdict DigestComparison::End() {
  for (const TensorId tensor : sliced_) {
    Slices& slices = slices_[static_cast<size_t>(tensor)];
    if (slices.filled_bytes != static_cast<int64_t>(slices.bytes.size())) {
      unknown_ = true;
    } else if (!unknown_) {
      AddWhole(tensor, slices.bytes);
    }
    slices.seen = {};
  }
  if (!first_ && place_ != order_.size()) unknown_ = true;
  first_ = false;
  if (unknown_) return Verdict::kUnknown;
  return different_ ? Verdict::kDifferent : Verdict::kEqual;
}

}  // namespace edgekiln::server
