#include "compiler/dataset/port_conversion.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

v1::TensorType Port(v1::ElementType type, float scale, int32_t zero) {
  v1::TensorType port;
  port.set_name("x");
  port.set_element_type(type);
  port.add_shape(4);
  port.mutable_quantization()->add_scale(scale);
  port.mutable_quantization()->add_zero_point(zero);
  return port;
}

PortConversion Conversion(const v1::TensorType& port, v1::ElementType type,
                          v1::Rounding rounding = v1::HALF_UP) {
  v1::ConvertedPort conversion;
  conversion.set_element_type(type);
  conversion.set_rounding(rounding);
  return *PortConversion::Create(port, conversion);
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

template <typename T>
std::vector<T> Values(const absl::StatusOr<std::string>& bytes) {
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (!bytes.ok()) return {};
  std::vector<T> values(bytes->size() / sizeof(T));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

TEST(PortConversionTest, RoundsAsTheNetworkDoes) {
  const std::vector<float> real = {0.25f, 0.75f, -0.25f, -0.75f, 1e9f, -1e9f};
  const v1::TensorType port = Port(v1::INT8, 0.5f, 3);
  EXPECT_EQ(
      Values<int8_t>(Conversion(port, v1::FLOAT32).ToIntegers(Bytes(real))),
      (std::vector<int8_t>{4, 5, 2, 1, 127, -128}));
  EXPECT_EQ(
      Values<int8_t>(
          Conversion(port, v1::FLOAT32, v1::HALF_EVEN).ToIntegers(Bytes(real))),
      (std::vector<int8_t>{3, 5, 3, 1, 127, -128}));
}

// 0.3f / 0.1f is 3 in double and above it in float.
TEST(PortConversionTest, DividesInSinglePrecision) {
  const float scale = 0.1f;
  for (int steps = -128; steps < 128; ++steps) {
    const std::vector<float> real = {(static_cast<float>(steps) + 0.5f) *
                                     scale};
    const auto want =
        static_cast<int8_t>(std::min(127.0f, std::nearbyint(real[0] / scale)));
    EXPECT_EQ(Values<int8_t>(Conversion(Port(v1::INT8, scale, 0), v1::FLOAT32,
                                        v1::HALF_EVEN)
                                 .ToIntegers(Bytes(real))),
              std::vector<int8_t>{want})
        << steps;
  }
}

TEST(PortConversionTest, EveryIntegerComesBack) {
  std::vector<int8_t> all;
  for (int i = -128; i < 128; ++i) all.push_back(static_cast<int8_t>(i));
  for (const v1::ElementType type :
       {v1::FLOAT32, v1::FLOAT64, v1::FLOAT16, v1::UINT8}) {
    const PortConversion conversion =
        Conversion(Port(v1::INT8, 0.0625f, -7), type);
    const auto source = conversion.ToSource(Bytes(all));
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ(Values<int8_t>(conversion.ToIntegers(*source)), all)
        << v1::ElementType_Name(type);
  }
}

TEST(PortConversionTest, TheSourceHasItsOwnType) {
  const v1::TensorType port = Port(v1::INT8, 0.5f, 3);
  EXPECT_EQ(Conversion(port, v1::FLOAT16).source().ShortDebugString(),
            "name: \"x\" element_type: FLOAT16 shape: 4");
  const v1::TensorType shifted = Conversion(port, v1::UINT8).source();
  EXPECT_EQ(shifted.element_type(), v1::UINT8);
  EXPECT_EQ(shifted.quantization().zero_point(0), 131);
  EXPECT_EQ(
      Values<uint8_t>(
          Conversion(port, v1::UINT8).ToSource(Bytes<int8_t>({-128, 0, 127}))),
      (std::vector<uint8_t>{0, 128, 255}));
}

TEST(PortConversionTest, RefusesPortsThatAreNone) {
  v1::ConvertedPort conversion;
  conversion.set_element_type(v1::FLOAT32);
  v1::TensorType plain;
  plain.set_element_type(v1::INT8);
  EXPECT_FALSE(PortConversion::Create(plain, conversion).ok());
  EXPECT_FALSE(PortConversion::Create(Port(v1::INT8, 1, 0), {}).ok());
  v1::Graph graph;
  graph.add_converted_inputs()->set_port(0);
  EXPECT_FALSE(InputConversionsOf(graph).ok());
  graph.add_inputs(5);
  EXPECT_FALSE(InputConversionsOf(graph).ok());
}

}  // namespace
}  // namespace edgekiln::compiler
