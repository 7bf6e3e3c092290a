#include "server/worker/stages/real_values.h"

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

using testing::ElementsAre;

v1::Chunk::Array Array(v1::ElementType element, std::vector<int64_t> shape,
                       std::string data) {
  v1::Chunk::Array array;
  array.mutable_type()->set_name("y");
  array.mutable_type()->set_element_type(element);
  for (const int64_t extent : shape) array.mutable_type()->add_shape(extent);
  array.set_data(std::move(data));
  return array;
}

std::vector<double> Read(const v1::Chunk::Array& array, int64_t samples,
                         int64_t index) {
  const auto values = RealValues::Create(array, samples);
  EXPECT_TRUE(values.ok()) << values.status();
  std::vector<double> read;
  if (values.ok()) values->Read(index, read);
  return read;
}

TEST(RealValuesTest, IntegersAreWorthWhatTheyStandFor) {
  v1::Chunk::Array array = Array(v1::INT8, {1, 2}, "\x01\x02\x03\xff");
  EXPECT_THAT(Read(array, 2, 1), ElementsAre(3, -1));
  array.mutable_type()->mutable_quantization()->add_scale(0.1f);
  array.mutable_type()->mutable_quantization()->add_zero_point(1);
  // As Dequantize rounds.
  EXPECT_THAT(Read(array, 2, 1), ElementsAre(0.1f * 2, 0.1f * -2));
}

TEST(RealValuesTest, ChannelsHaveScalesOfTheirOwn) {
  v1::Chunk::Array array = Array(v1::INT8, {1, 2, 2}, "\x01\x02\x03\x04");
  v1::Quantization& quantization =
      *array.mutable_type()->mutable_quantization();
  for (const float scale : {1.0f, 10.0f}) {
    quantization.add_scale(scale);
    quantization.add_zero_point(0);
  }
  quantization.set_axis(1);
  EXPECT_THAT(Read(array, 1, 0), ElementsAre(1, 2, 30, 40));
  quantization.set_axis(2);
  EXPECT_THAT(Read(array, 1, 0), ElementsAre(1, 20, 3, 40));
}

TEST(RealValuesTest, FloatsStayAsTheyAre) {
  const float stored[] = {1.5f, -2.25f};
  std::string data(sizeof(stored), '\0');
  std::memcpy(data.data(), stored, sizeof(stored));
  EXPECT_THAT(Read(Array(v1::FLOAT32, {2}, data), 1, 0),
              ElementsAre(1.5, -2.25));
}

TEST(RealValuesTest, WhatDoesNotFitIsABug) {
  v1::Chunk::Array axis = Array(v1::INT8, {1, 2}, "ab");
  axis.mutable_type()->mutable_quantization()->add_scale(1);
  axis.mutable_type()->mutable_quantization()->add_scale(1);
  v1::Chunk::Array unequal = axis;
  for (int i = 0; i < 2; ++i) {
    axis.mutable_type()->mutable_quantization()->add_zero_point(0);
  }
  for (const int32_t bad : {-1, 0, 2}) {
    axis.mutable_type()->mutable_quantization()->set_axis(bad);
    EXPECT_FALSE(RealValues::Create(axis, 1).ok()) << bad;
  }
  axis.mutable_type()->mutable_quantization()->set_axis(1);
  EXPECT_TRUE(RealValues::Create(axis, 1).ok());
  EXPECT_FALSE(RealValues::Create(unequal, 1).ok());
  EXPECT_FALSE(RealValues::Create(Array(v1::INT8, {1, 2}, "abc"), 1).ok());
  EXPECT_FALSE(RealValues::Create(Array(v1::INT8, {1, 2}, "ab"), 2).ok());
  EXPECT_FALSE(
      RealValues::Create(Array(v1::ELEMENT_TYPE_UNSPECIFIED, {2}, "ab"), 1)
          .ok());
}

}  // namespace
}  // namespace edgekiln::server
