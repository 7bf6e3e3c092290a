#include "compiler/quantize/data_windows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace edgekiln::compiler {
namespace {

// Of one spatial dimension.
struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_before = 0;
};

// By spatial dimension; empty if the op is no maximum over windows.
std::vector<Window> WindowsOfMaximum(const Op& op) {
  if (op.attributes.has_max_pool2d()) {
    const v1::MaxPool2d& pool = op.attributes.max_pool2d();
    const v1::Window2d& window = pool.window();
    return {{pool.kernel_h(), window.stride_h(), window.dilation_h(),
             window.pad_top()},
            {pool.kernel_w(), window.stride_w(), window.dilation_w(),
             window.pad_left()}};
  }
  const v1::Pool& pool = op.attributes.pool();
  std::vector<Window> windows;
  // Indices of the maxima may point at the border.
  if (pool.function() != v1::Pool::MAXIMUM || op.outputs.size() != 1) {
    return windows;
  }
  for (int i = 0; i < pool.kernel_size(); ++i) {
    windows.push_back({pool.kernel(i), pool.window().stride(i),
                       pool.window().dilation(i), pool.window().pad_before(i)});
  }
  return windows;
}

}  // namespace

bool EveryWindowHasData(const Graph& graph, const Op& pad, const Op& reader) {
  const std::vector<Window> windows = WindowsOfMaximum(reader);
  const std::vector<int64_t>& data = graph.tensors[pad.inputs[0]].shape;
  const std::vector<int64_t>& results = graph.tensors[reader.outputs[0]].shape;
  if (windows.empty() || reader.inputs[0] != pad.outputs[0] ||
      data.size() != windows.size() + 2 || results.size() != data.size()) {
    return false;
  }
  for (size_t d = 0; d < data.size(); ++d) {
    const int64_t before = pad.attributes.pad().before(static_cast<int>(d));
    const int64_t after = pad.attributes.pad().after(static_cast<int>(d));
    if (before == 0 && after == 0) continue;
    if (d == 0 || d + 1 == data.size()) return false;
    const Window& window = windows[d - 1];
    for (int64_t i = 0; i < results[d]; ++i) {
      const int64_t start = i * window.stride - window.pad_before;
      // The first element of the window that is not in front of the data.
      const int64_t k =
          start >= before
              ? 0
              : (before - start + window.dilation - 1) / window.dilation;
      if (k >= window.kernel ||
          start + k * window.dilation >= before + data[d]) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace edgekiln::compiler
