#include "server/worker/stages/digest_comparison.h"

#include <algorithm>

#include "compiler/ir/same_values.h"

namespace edgekiln::server {

using compiler::TensorId;

DigestComparison::DigestComparison(const compiler::Graph& graph,
                                   TensorDigests digests)
    : graph_(graph),
      digests_(std::move(digests)),
      parts_(graph.tensors.size()),
      tapped_(graph.tensors.size(), 0) {}

void DigestComparison::Begin(int64_t index,
                             absl::Span<const absl::string_view> inputs) {
  index_ = index;
  inputs_ = inputs;
  place_ = 0;
  different_ = false;
  unknown_ = false;
  for (const TensorId tensor : divided_) {
    parts_[static_cast<size_t>(tensor)].filled_bytes = 0;
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
  const int64_t element_bytes = compiler::ElementBytes(At(tensor).type);
  const auto part =
      target::Layout::OfBox(tap.box(), At(tensor).shape, element_bytes);
  if (!part.ok() ||
      static_cast<int64_t>(values.size()) != part->dense_bytes()) {
    unknown_ = true;
    return;
  }
  tapped_[static_cast<size_t>(tensor)] += part->dense_bytes() / element_bytes;
  if (part->dense_bytes() == part->size_bytes()) {
    AddWhole(tensor, values);
  } else if (!values.empty()) {
    AddPart(tensor, *part, values);
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
  const bool equal =
      digests_.Has(tensor)
          ? digests_.Matches(index_, tensor, values)
          : compiler::SameValues(At(tensor).type, Given(tensor), values);
  if (!equal) different_ = true;
}

void DigestComparison::AddPart(TensorId tensor, const target::Layout& part,
                               absl::string_view values) {
  Parts& parts = parts_[static_cast<size_t>(tensor)];
  const int64_t element_bytes = part.element_bytes();
  if (parts.bytes.empty()) {
    parts.bytes.resize(static_cast<size_t>(part.size_bytes()));
    divided_.push_back(tensor);
    if (first_) {
      parts.seen.resize(static_cast<size_t>(part.size_bytes() / element_bytes));
    }
  }
  part.Scatter(values.data(), parts.bytes.data());
  if (first_) {
    part.VisitRuns([&](const target::Layout::Run& run) {
      for (int64_t at = 0; at < run.bytes; at += element_bytes) {
        const auto e = static_cast<size_t>((run.offset + at) / element_bytes);
        if (parts.seen[e]) unknown_ = true;
        parts.seen[e] = true;
      }
      return true;
    });
  }
  parts.filled_bytes += static_cast<int64_t>(values.size());
}

DigestComparison::Verdict DigestComparison::End() {
  for (const TensorId tensor : divided_) {
    Parts& parts = parts_[static_cast<size_t>(tensor)];
    if (parts.filled_bytes != static_cast<int64_t>(parts.bytes.size())) {
      unknown_ = true;
    } else if (!unknown_) {
      AddWhole(tensor, parts.bytes);
    }
    parts.seen = {};
  }
  if (!first_ && place_ != order_.size()) unknown_ = true;
  first_ = false;
  if (unknown_) return Verdict::kUnknown;
  return different_ ? Verdict::kDifferent : Verdict::kEqual;
}

}  // namespace edgekiln::server
