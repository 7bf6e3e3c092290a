// Any bytes as a data set, as two files split at a byte of the input.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "compiler/dataset/convert.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace compiler = edgekiln::compiler;
  namespace v1 = edgekiln::v1;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  v1::TensorType type;
  type.set_name("in");
  type.set_element_type(v1::INT8);
  for (const int extent : {1, 2, 1}) type.add_shape(extent);
  type.mutable_quantization()->add_scale(0.5f);
  type.mutable_quantization()->add_zero_point(3);
  v1::ConvertDataOptions options;
  options.set_chunk_samples(16);
  options.set_raw(size % 2 == 1);
  const compiler::ModelInputs inputs{{type}, {false}};
  (void)compiler::ConvertDataSet(options, {bytes}, inputs);
  if (size > 0 && data[0] < size) {
    (void)compiler::ConvertDataSet(
        options, {bytes.substr(1, data[0]), bytes.substr(1 + data[0] / 2)},
        inputs);
  }
  return 0;
}
