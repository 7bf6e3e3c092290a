// Ops whose results' shapes depend on values: these must be known at import.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {
namespace {

absl::StatusOr<TensorId> IndexConstant(const Node& node, Builder& builder,
                                       absl::string_view name,
                                       std::vector<int64_t> shape,
                                       const std::vector<int64_t>& values) {
  if (!builder.MayMake(std::ssize(values) * 8)) {
    return node.TooLarge(absl::StrCat(values.size(), " indices"));
  }
  return builder.AddConstant(Int64Constant(
      absl::StrCat(builder.prefix(), node.main_output(), ".", name),
      std::move(shape), values));
}

// The elements of `x` at `indices` of one axis.
absl::StatusOr<TensorId> Taken(const Node& node, Builder& builder, TensorId x,
                               int32_t axis,
                               const std::vector<int64_t>& indices) {
  EK_ASSIGN_OR_RETURN(
      const TensorId at,
      IndexConstant(node, builder, "indices", {std::ssize(indices)}, indices));
  v1::OpAttributes gather;
  gather.mutable_gather()->set_axis(axis);
  return builder.Emit(node, "", std::move(gather), {x, at});
}

absl::StatusOr<TensorId> Flat(const Node& node, Builder& builder, TensorId x) {
  const int64_t elements = builder.tensor(x).num_elements();
  return builder.Reshape(node, "flat", x, {elements});
}

// Values of a constant that doubles hold exactly.
absl::StatusOr<std::vector<double>> ExactNumbers(const Node& node,
                                                 const Builder& builder) {
  EK_ASSIGN_OR_RETURN(const Tensor* constant, builder.ConstantInput(node, 0));
  EK_ASSIGN_OR_RETURN(std::vector<double> values, Numbers(*constant),
                      node.Label());
  const bool wide = constant->type == v1::INT64 || constant->type == v1::UINT64;
  for (const double value : values) {
    if (wide && std::fabs(value) > 0x1p53) {
      return node.Unsupported("integers beyond 2^53", "-2^53 to 2^53",
                              "replace the node by its result");
    }
  }
  return values;
}

// A strict order of numbers, NaN last.
bool Before(double a, double b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

// What is different among the slices of a tensor along one axis.
struct Groups {
  std::vector<int64_t> first;    // Of each group, the first slice.
  std::vector<int64_t> inverse;  // Of each slice, its group.
  std::vector<int64_t> counts;
};

// `slices` of `outer` runs of `inner` values each, in the order of the first
// appearance or sorted.
Groups GroupsOf(const std::vector<double>& values, int64_t slices,
                int64_t inner, bool sorted) {
  const int64_t outer = slices == 0 ? 0 : std::ssize(values) / (slices * inner);
  const auto compare = [&](int64_t a, int64_t b) {  // < 0, 0, > 0
    for (int64_t i = 0; i < outer * inner; ++i) {
      const int64_t base = i / inner * slices * inner + i % inner;
      const double x = values[base + a * inner];
      const double y = values[base + b * inner];
      if (Before(x, y)) return -1;
      if (Before(y, x)) return 1;
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(slices));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int c = compare(a, b);
    return c < 0 || (c == 0 && a < b);
  });
  Groups groups;
  groups.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[order[i]] = std::ssize(groups.first) - 1;
  }
  if (sorted) return groups;
  std::vector<int64_t> rank(groups.first.size());
  std::iota(rank.begin(), rank.end(), 0);
  std::sort(rank.begin(), rank.end(), [&](int64_t a, int64_t b) {
    return groups.first[a] < groups.first[b];
  });
  Groups unsorted = groups;
  std::vector<int64_t> place(rank.size());
  for (size_t i = 0; i < rank.size(); ++i) {
    unsorted.first[i] = groups.first[rank[i]];
    unsorted.counts[i] = groups.counts[rank[i]];
    place[rank[i]] = static_cast<int64_t>(i);
  }
  for (int64_t& group : unsorted.inverse) group = place[group];
  return unsorted;
}

}  // namespace

absl::Status ConvertCompress(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> condition,
                      builder.ConstantIntegers(node, 1));
  int32_t axis = 0;
  if (node.Has("axis")) {
    EK_ASSIGN_OR_RETURN(axis, AxisAttribute(node, 0, builder.rank(x)));
  } else {
    EK_ASSIGN_OR_RETURN(x, Flat(node, builder, x));
  }
  const int64_t extent = builder.shape(x)[axis];
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < std::min(extent, std::ssize(condition)); ++i) {
    if (condition[i] != 0) kept.push_back(i);
  }
  EK_ASSIGN_OR_RETURN(const TensorId y, Taken(node, builder, x, axis, kept));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertNonZero(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const Tensor* constant, builder.ConstantInput(node, 0));
  EK_ASSIGN_OR_RETURN(const std::vector<double> values, Numbers(*constant),
                      node.Label());
  std::vector<int64_t> shape = constant->shape;
  if (shape.empty()) shape = {1};
  const auto found = static_cast<int64_t>(std::count_if(
      values.begin(), values.end(), [](double value) { return value != 0; }));
  const int64_t rank = std::ssize(shape);
  if (!builder.MayMake(found * rank * 8)) {
    return node.TooLarge(absl::StrCat(found, " values that are not 0"));
  }
  std::vector<int64_t> positions(static_cast<size_t>(found * rank));
  int64_t next = 0;
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    if (values[i] == 0) continue;
    int64_t rest = i;
    for (int64_t d = rank - 1; d >= 0; --d) {
      positions[d * found + next] = rest % shape[d];
      rest /= shape[d];
    }
    ++next;
  }
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      IndexConstant(node, builder, "positions", {rank, found}, positions));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertUnique(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.PlainInput(node, 0));
  EK_ASSIGN_OR_RETURN(const std::vector<double> values,
                      ExactNumbers(node, builder));
  EK_ASSIGN_OR_RETURN(const bool sorted, node.Flag("sorted", true));
  int32_t axis = 0;
  if (node.Has("axis")) {
    EK_ASSIGN_OR_RETURN(axis, AxisAttribute(node, 0, builder.rank(x)));
  } else {
    EK_ASSIGN_OR_RETURN(x, Flat(node, builder, x));
  }
  const std::vector<int64_t> shape = builder.shape(x);
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(axis) + 1; d < shape.size(); ++d) {
    inner *= shape[d];
  }
  if (values.empty()) return node.Invalid("the input is empty");
  const Groups groups = GroupsOf(values, shape[axis], inner, sorted);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      Taken(node, builder, x, axis, groups.first));
  EK_RETURN_IF_ERROR(builder.Bind(node, 0, y));
  const std::pair<const char*, const std::vector<int64_t>*> others[] = {
      {"first", &groups.first},
      {"inverse", &groups.inverse},
      {"counts", &groups.counts}};
  for (int i = 0; i < 3; ++i) {
    if (!node.has_output(i + 1)) continue;
    const auto& [name, list] = others[i];
    EK_ASSIGN_OR_RETURN(
        const TensorId id,
        IndexConstant(node, builder, name, {std::ssize(*list)}, *list));
    EK_RETURN_IF_ERROR(builder.Bind(node, i + 1, id));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::onnx_import
