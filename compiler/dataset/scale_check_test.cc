#include "compiler/dataset/scale_check.h"

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/dataset/convert.h"
#include "compiler/dataset/testing/test_data.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// "" without remark, "warning: ..", or the error's fix.
std::string Remark(const NpyArray& x, float data_scale,
                   const v1::TensorType& type, std::optional<InputGrid> grid,
                   const std::function<void(v1::InputTransform&)>& given) {
  Arrays arrays = {{"x", x}};
  if (data_scale != 1) arrays.push_back({"x_scale", F32({}, {data_scale})});
  const std::string npz = Npz(arrays);
  v1::ConvertDataOptions options;
  options.set_chunk_samples(100);
  if (given) given(*options.add_transforms());
  ModelInputs inputs{{type}, {false}};
  if (grid) inputs.grids = {grid};
  const auto data = ConvertDataSet(options, {absl::string_view(npz)}, inputs);
  if (!data.ok()) return GetErrorDetail(data.status())->fix;
  std::string out;
  for (const std::string& warning : data->warnings) {
    out += "warning: " + warning;
  }
  return out;
}

NpyArray Pixels() {
  std::vector<uint8_t> values(256);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<uint8_t>(i);
  }
  return U8({1, 256}, values);
}

// `low` .. `high` in even steps.
NpyArray Reals(float low, float high) {
  std::vector<float> values(256);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = low + (high - low) * static_cast<float>(i) / 255;
  }
  return F32({1, 256}, values);
}

// Mostly 0; some ends and nothing between.
NpyArray Mask() {
  std::vector<float> values(256, 0);
  for (size_t i = 0; i < values.size(); i += 5) values[i] = 1;
  return F32({1, 256}, values);
}

v1::TensorType Int8(float scale, int zero_point) {
  return Type(v1::INT8, {1, 256}, scale, zero_point);
}

// Of a model that quantizes behind a float input.
InputGrid Behind(float scale, int zero_point) {
  InputGrid grid = *GridOf(Int8(scale, zero_point));
  grid.declared = false;
  return grid;
}

const float kSignedUnit = 2 / 255.f;  // With zero point -1: -0.996 .. 1.004.

struct Case {
  std::string name;
  NpyArray x;
  float data_scale;
  v1::TensorType type;
  std::string want;  // Part of it; "": no remark at all.
  std::function<void(v1::InputTransform&)> given = nullptr;
  std::optional<InputGrid> grid = std::nullopt;
};

class ScaleCheckTest : public testing::TestWithParam<Case> {};

TEST_P(ScaleCheckTest, Remarks) {
  const Case& c = GetParam();
  const std::string got = Remark(c.x, c.data_scale, c.type, c.grid, c.given);
  if (c.want.empty()) {
    EXPECT_EQ(got, "");
  } else {
    EXPECT_NE(got.find(c.want), std::string::npos) << got;
  }
}

void UnitPixels(v1::InputTransform& t) { t.add_scale(1 / 255.0); }
const v1::TensorType kFloat = Type(v1::FLOAT32, {1, 256});

const Case kCases[] = {
    // Errors are about what was declared; the fix is complete.
    {"PixelsForSignedUnit", Pixels(), 1, Int8(kSignedUnit, -1),
     "add --input 'in:scale=0.00784313772,offset=-0.99607849', which maps"},
    {"WrongScaleGiven", Pixels(), 1, Int8(1, -128),
     "replace --input 'scale=0.00392156863' by --input 'in:scale=1,offset=0'",
     UnitPixels},
    {"WrongScaleOfFloats", Reals(1000, 2000), 1, Int8(1, -128),
     "correct scale and offset in --input 'scale=0.5,layout=nhwc' to what",
     [](auto& t) {
       t.add_scale(0.5);
       t.set_layout(v1::InputTransform::NHWC);
     }},
    // 0 .. 1 for -1 .. 1.
    {"UnitForSignedUnit", Reals(0, 1), 1, Int8(kSignedUnit, -1),
     "upper half of its range alone: the data holds 0 .. 1, the network "
     "quantizes -0.996078 .. 1.00392 in steps of 0.00784314; if the network "
     "was trained on both halves, as -1 .. 1 for pixels, add --input "
     "'in:scale=2,offset=-1'"},
    {"UnitPixelsForSignedUnit", Pixels(), 1, Int8(kSignedUnit, -1),
     "replace --input 'scale=0.00392156863' by --input "
     "'in:scale=0.00784313772,offset=-0.99607849'",
     UnitPixels},
    {"UnitForPowerOfTwo", Reals(0, 1), 1, Int8(0.0078125f, 0),
     "add --input 'in:scale=2,offset=-1'"},
    {"ScaledFloatsForSignedUnit", Reals(0, 255), 1, Int8(kSignedUnit, -1),
     "replace --input 'scale=0.00392156863,offset=0,order=rgb' by --input "
     "'in:scale=0.00784313725,offset=-1,order=rgb'",
     [](auto& t) {
       t.add_scale(1 / 255.0);
       t.add_offset(0);
       t.set_order(v1::InputTransform::RGB);
     }},
    {"UnitBehindAFloatInput", Reals(0, 1), 1, kFloat, "add --input", nullptr,
     Behind(kSignedUnit, -1)},
    {"SignedUnitIsRight", Reals(-1, 1), 1, Int8(kSignedUnit, -1), ""},
    {"SomeNegativesAreRight", Reals(-0.1f, 1), 1, Int8(kSignedUnit, -1), ""},
    {"UnitForUnitIsRight", Reals(0, 1), 1, Int8(1 / 255.f, -128), ""},
    {"DimPicturesAreLeftAlone", Reals(0, 0.5f), 1, Int8(kSignedUnit, -1), ""},
    {"MasksAreLeftAlone", Mask(), 1, Int8(kSignedUnit, -1), ""},
    {"AsymmetricGridsAreLeftAlone", Reals(0, 94), 1, Int8(0.5847029f, -33), ""},
    {"Int16IsSymmetricAnyway", Reals(0, 1), 1,
     Type(v1::INT16, {1, 256}, 1 / 32767.f, 0), ""},
    {"ZerosAreLeftAlone", F32({1, 256}, std::vector<float>(256, 0)), 1,
     Int8(kSignedUnit, -1), ""},
    // Much is clipped, but less than half.
    {"APartIsClipped", Reals(-64, 192), 1, Int8(1, 0),
     "25 % of the data's values are beyond its range and become its ends"},
    {"OutliersAreNot", Reals(-128, 135), 1, Int8(1, 0), ""},
    {"FloatsCollapse", Reals(0, 1), 1, Int8(1, -128),
     "the data spans less than two steps of its range"},
    // Behind a float input nothing is refused.
    {"PixelsBehindAFloatInput", Pixels(), 1, kFloat,
     "warning: input 'in': 99 % of the data's values are beyond", nullptr,
     Behind(kSignedUnit, -1)},
    {"RightBehindAFloatInput", Reals(-1, 1), 1, kFloat, "", nullptr,
     Behind(kSignedUnit, -1)},
    {"FloatInputsHaveNoRange", Pixels(), 1, kFloat, ""},
};
INSTANTIATE_TEST_SUITE_P(All, ScaleCheckTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// A graph whose input 0 is quantized behind a transposition, twice.
v1::Graph QuantizedBehind(float second_scale) {
  v1::Graph graph;
  graph.add_inputs(0);
  *graph.add_tensors()->mutable_type() = Type(v1::FLOAT32, {1, 1, 2, 2});
  for (const float scale : {0.5f, second_scale}) {
    const int moved = graph.tensors_size();
    *graph.add_tensors()->mutable_type() = Type(v1::FLOAT32, {1, 2, 2, 1});
    *graph.add_tensors()->mutable_type() =
        Type(v1::INT8, {1, 2, 2, 1}, scale, 3);
    v1::Op* move = graph.add_ops();
    move->mutable_attributes()->mutable_transpose();
    move->add_inputs(0);
    move->add_outputs(moved);
    v1::Op* quantize = graph.add_ops();
    quantize->mutable_attributes()->mutable_quantize();
    quantize->add_inputs(moved);
    quantize->add_outputs(moved + 1);
  }
  return graph;
}

TEST(GridOfInputTest, IsThatOfAllReaders) {
  const auto grid = GridOfInput(QuantizedBehind(0.5f), 0);
  ASSERT_TRUE(grid.has_value());
  EXPECT_EQ(grid->scale, 0.5);
  EXPECT_EQ(grid->zero_point, 3);
  EXPECT_EQ(grid->lowest, -128);
  EXPECT_FALSE(grid->declared);
  EXPECT_FALSE(GridOfInput(QuantizedBehind(0.25f), 0).has_value());
}

TEST(GridOfInputTest, ConvertedPortsAreNotDeclared) {
  v1::Graph graph;
  graph.add_inputs(0);
  *graph.add_tensors()->mutable_type() = Int8(0.5f, 3);
  EXPECT_TRUE(GridOfInput(graph, 0)->declared);
  v1::ConvertedPort& port = *graph.add_converted_inputs();
  port.set_element_type(v1::FLOAT32);
  EXPECT_FALSE(GridOfInput(graph, 0)->declared);
  port.set_element_type(v1::UINT8);
  EXPECT_TRUE(GridOfInput(graph, 0)->declared);
}

}  // namespace
}  // namespace edgekiln::compiler
