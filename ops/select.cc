#include "ops/broadcast.h"
#include "ops/element_types.h"
#include "ops/kernels.h"

namespace edgekiln::ops {

absl::Status Select(Inputs inputs, const MutableTensorView& output) {
  WithElementSize(ElementBytes(output.type), [&](auto type) {
    using T = decltype(type);
    ForEachRow<3>(
        {inputs[0].shape, inputs[1].shape, inputs[2].shape}, output.shape,
        [&](const BroadcastRow<3>& row) {
          const uint8_t* condition = inputs[0].as<uint8_t>() + row.at[0];
          const T* a = inputs[1].as<T>() + row.at[1];
          const T* b = inputs[2].as<T>() + row.at[2];
          T* to = output.as<T>() + row.out;
          for (int64_t i = 0; i < row.count; ++i) {
            to[i] = condition[i * row.step[0]] != 0 ? a[i * row.step[1]]
                                                    : b[i * row.step[2]];
          }
        });
  });
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
