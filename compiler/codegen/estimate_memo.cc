#include "compiler/codegen/estimate_memo.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace edgekiln::compiler {
namespace {

// Writes a region as text in which tensors are numbered as they appear.
class RegionText {
 public:
  RegionText(const Region& region, int32_t engine) : region_(region) {
    absl::StrAppend(&text_, engine, ";");
    for (const int32_t index : region.ops) {
      const Op& op = region.graph->ops[index];
      const std::string attributes = op.attributes.SerializeAsString();
      absl::StrAppend(&text_, attributes.size(), ":", attributes, "(");
      for (const TensorId input : op.inputs) Add(input);
      text_ += ")";
      for (const TensorId output : op.outputs) Add(output);
    }
    // Their order may decide between equals.
    text_ += "<";
    for (const TensorId input : region.inputs) Add(input);
  }

  std::string Take() { return std::move(text_); }

 private:
  void Add(TensorId id) {
    if (id == kNoTensor) {
      text_ += "-,";
      return;
    }
    const auto [found, is_new] =
        numbers_.try_emplace(id, static_cast<int>(numbers_.size()));
    absl::StrAppend(&text_, found->second, ",");
    if (!is_new) return;
    const TensorId stored = region_.storage[id];
    absl::StrAppend(&text_, "@", region_.external.contains(stored) ? "x" : "",
                    "{");
    const Tensor& tensor = region_.graph->tensors[id];
    absl::StrAppend(&text_, static_cast<int>(tensor.type),
                    tensor.is_constant() ? "c" : "");
    for (const int64_t extent : tensor.shape) {
      absl::StrAppend(&text_, " ", extent);
    }
    if (tensor.quantization) {
      const Quantization& of = *tensor.quantization;
      absl::StrAppend(&text_, "q", of.axis, ":", of.scale.size(), ":");
      text_.append(reinterpret_cast<const char*>(of.scale.data()),
                   of.scale.size() * sizeof(float));
      text_.append(reinterpret_cast<const char*>(of.zero_point.data()),
                   of.zero_point.size() * sizeof(int32_t));
    }
    text_ += "}";
    // What it shares its memory with.
    if (stored != id) Add(stored);
  }

  const Region& region_;
  std::map<TensorId, int> numbers_;
  std::string text_;
};

}  // namespace

const std::optional<int64_t>* EstimateMemo::Find(const Region& region,
                                                 int32_t engine) {
  last_ = RegionText(region, engine).Take();
  const auto found = cycles_.find(last_);
  return found == cycles_.end() ? nullptr : &found->second;
}

void EstimateMemo::Add(std::optional<int64_t> cycles) {
  cycles_[std::move(last_)] = cycles;
}

}  // namespace edgekiln::compiler
