#include "compiler/frontend/onnx/model_file.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/rng.h"
#include "compiler/frontend/onnx/testing/seed_models.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// A length-delimited field; bodies of this test are shorter than 128 bytes.
std::string Field(int number, const std::string& body) {
  return std::string(1, static_cast<char>(number << 3 | 2)) +
         std::string(1, static_cast<char>(body.size())) + body;
}

constexpr int kGraph = onnx::ModelProto::kGraphFieldNumber;
constexpr int kInitializer = onnx::GraphProto::kInitializerFieldNumber;
constexpr int kName = onnx::TensorProto::kNameFieldNumber;
constexpr int kRawData = onnx::TensorProto::kRawDataFieldNumber;

// The model with the values back in their place.
onnx::ModelProto Whole(const ModelFile& file) {
  onnx::ModelProto model = file.model;
  for (size_t i = 0; i < file.raw_data.size(); ++i) {
    if (file.raw_data[i].data() == nullptr) continue;
    model.mutable_graph()
        ->mutable_initializer(static_cast<int>(i))
        ->set_raw_data(file.raw_data[i].data(), file.raw_data[i].size());
  }
  return model;
}

// Whether it reads what protobuf's own parser reads, and nothing else.
void ExpectSameAsProtobuf(const std::string& bytes) {
  onnx::ModelProto want;
  const bool parses = want.ParseFromString(bytes) && want.has_graph();
  const absl::StatusOr<ModelFile> file = ParseModelFile(bytes);
  ASSERT_EQ(file.ok(), parses) << file.status();
  if (!parses) return;
  EXPECT_EQ(std::ssize(file->raw_data), want.graph().initializer_size());
  for (const onnx::TensorProto& kept : file->model.graph().initializer()) {
    EXPECT_FALSE(kept.has_raw_data());
  }
  EXPECT_EQ(Whole(*file).SerializeAsString(), want.SerializeAsString());
}

TEST(ModelFileTest, LeavesValuesInTheFile) {
  const std::string values = "values";
  const std::string bytes = Field(
      kGraph, Field(kInitializer, Field(kName, "a") + Field(kRawData, values)) +
                  Field(kInitializer, Field(kName, "b")));
  const absl::StatusOr<ModelFile> file = ParseModelFile(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->raw_data.size(), 2u);
  EXPECT_EQ(file->raw_data[0].data(), bytes.data() + bytes.find(values));
  EXPECT_EQ(file->raw_data[0], values);
  EXPECT_EQ(file->raw_data[1].data(), nullptr);
}

TEST(ModelFileTest, ReadsWhatProtobufReads) {
  const std::string tensor = Field(kName, "a") + Field(kRawData, "12");
  const std::string kCases[] = {
      "",
      Field(kGraph, ""),
      Field(kGraph, Field(kInitializer, "")),
      // The last values count, also if there are none.
      Field(kGraph, Field(kInitializer, tensor + Field(kRawData, "345"))),
      Field(kGraph, Field(kInitializer, tensor + Field(kRawData, ""))),
      // Two graphs are one.
      Field(kGraph, Field(kInitializer, tensor) + Field(2, "name")) +
          Field(kGraph, Field(kInitializer, tensor + tensor)),
      // Other fields in between, known and unknown, groups among them.
      Field(2, "producer") +
          Field(kGraph,
                Field(2, "n") + Field(kInitializer, tensor) +
                    std::string("\x7b\x08\x01\x7c") +
                    Field(kInitializer, std::string("\x08\x02") + tensor)) +
          Field(3, "1"),
      // Lengths that lead out of the message, the graph, or the tensor.
      Field(kGraph, Field(kInitializer, "\x4a\x7f")),
      Field(kGraph, "\x2a\x7f"),
      "\x3a\x7f",
      std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
      // A tag of field 0, a group that does not end, a cut varint.
      Field(kGraph, std::string("\x00", 1)),
      Field(kGraph, "\x7b\x08\x01"),
      Field(kGraph, "\x08\x80"),
  };
  for (const std::string& bytes : kCases) {
    SCOPED_TRACE(testing::PrintToString(bytes));
    ExpectSameAsProtobuf(bytes);
  }
}

TEST(ModelFileTest, ReadsWhatProtobufReadsOfDamagedModels) {
  Rng rng(3);
  for (const std::string& seed : SeedModels()) {
    ExpectSameAsProtobuf(seed);
    for (int round = 0; round < 20; ++round) {
      std::string bytes = seed;
      for (int64_t i = rng.InRange(1, 3); i > 0; --i) {
        bytes[rng.InRange(0, std::ssize(bytes) - 1)] ^=
            static_cast<char>(1 << rng.InRange(0, 7));
      }
      if (round % 4 == 0) bytes.resize(rng.InRange(0, std::ssize(bytes)));
      ExpectSameAsProtobuf(bytes);
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler::onnx_import
