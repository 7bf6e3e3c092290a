#include "compiler/dataset/sample_reader.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/dataset/convert.h"
#include "compiler/dataset/data_set.h"
#include "compiler/dataset/little_endian.h"
#include "compiler/dataset/npz.h"
#include "compiler/dataset/testing/test_data.h"
#include "gtest/gtest.h"
#include "tests/support/heap_peak.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;

// A file of int16 values that count up in the order of the file.
std::string NpyFile(const std::string& shape, bool fortran, char order,
                    int count) {
  std::string header =
      absl::StrCat("{'descr': '", std::string(1, order),
                   "i2', 'fortran_order': ", fortran ? "True" : "False",
                   ", 'shape': ", shape, ", }\n");
  std::string file("\x93NUMPY\x01\0", 8);
  AppendAs<uint16_t>(static_cast<uint16_t>(header.size()), file);
  file += header;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<uint16_t>(i);
    AppendAs<uint16_t>(
        order == '>' ? static_cast<uint16_t>(value << 8 | value >> 8) : value,
        file);
  }
  return file;
}

struct StepCase {
  std::string name;
  std::string shape;
  bool fortran;
  char order;
  int count;
};

class SampleReaderTest : public testing::TestWithParam<StepCase> {};

// Whatever the steps, the samples are those of the whole array.
TEST_P(SampleReaderTest, GivesTheSamplesOfTheWhole) {
  const StepCase& row = GetParam();
  const std::string file =
      NpyFile(row.shape, row.fortran, row.order, row.count);
  const auto whole = ParseNpy(file, "x");
  const auto info = ParseNpyStart(file, static_cast<int64_t>(file.size()), "x");
  ASSERT_TRUE(whole.ok() && info.ok()) << whole.status();
  const int64_t sample = StoredSampleBytes(*info);
  for (const int64_t wanted : {int64_t{1}, int64_t{3}, info->shape[0]}) {
    for (const int64_t step : {1, 2, 1000}) {
      ByteStream stream(file, Packing::kNone, "x");
      ASSERT_TRUE(stream.Skip(info->header_bytes).ok());
      const auto reader =
          NewSampleReader(std::move(stream), *info, wanted, {}, "x");
      std::string got;
      for (int64_t done = 0; done < wanted; done += step) {
        const auto next = reader->Next(std::min(step, wanted - done));
        ASSERT_TRUE(next.ok()) << next.status();
        got.append(next->data(), next->size());
      }
      EXPECT_EQ(got,
                whole->data.substr(0, static_cast<size_t>(wanted * sample)))
          << wanted << " by " << step;
      EXPECT_TRUE(reader->Finish().ok());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SampleReaderTest,
    testing::Values(StepCase{"COrder", "(5, 3, 4)", false, '<', 60},
                    StepCase{"Fortran", "(5, 3, 4)", true, '<', 60},
                    StepCase{"FortranBigEndian", "(7, 2)", true, '>', 14},
                    StepCase{"BigEndian", "(5, 2, 2, 2)", false, '>', 40},
                    StepCase{"OneDimension", "(6,)", true, '<', 6},
                    // More than is unpacked at once.
                    StepCase{"Long", "(3, 250000)", true, '<', 750000}),
    [](const auto& info) { return info.param.name; });

// 64 MiB of doubles in as many kilobytes.
std::string SmallFileOfManySamples() {
  return Npz({{"x",
               {NpyType::kFloat64,
                {8192, 1024},
                std::string(static_cast<size_t>(64 * kMebibyte), '\0')}},
              {"y", Bytes({8192}, std::string(8192, '\1'))}});
}

struct MemoryCase {
  const char* name;
  int64_t limit;
  int64_t samples;
  int64_t max_bytes;  // Of heap.
};

TEST(UnpackingTest, TakesMemoryForWhatIsAskedForOnly) {
  const std::string npz = SmallFileOfManySamples();
  ASSERT_LT(npz.size(), size_t{1} << 17);
  const ModelInputs inputs{{Type(v1::INT8, {1, 1024}, 1, 0)}, {false}};
  for (const MemoryCase& row :
       {MemoryCase{"the first ten", 10, 10, 4 * kMebibyte},
        // The samples themselves are 8 MiB, eight times smaller than stored.
        MemoryCase{"all", 0, 8192, 13 * kMebibyte}}) {
    v1::ConvertDataOptions options;
    options.set_chunk_samples(64);
    options.set_limit(row.limit);
    const tests::HeapPeak peak;
    const auto data = ConvertDataSet(options, {absl::string_view(npz)}, inputs);
    EXPECT_LT(peak.bytes(), row.max_bytes) << row.name;
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(data->samples, row.samples);
    EXPECT_EQ(data->labelled, row.samples);
  }
}

// A caller who refuses the size of the samples does so before any is unpacked.
TEST(UnpackingTest, WhatIsNotAdmittedIsNotUnpacked) {
  const std::string npz = SmallFileOfManySamples();
  const ModelInputs inputs{{Type(v1::INT8, {1, 1024}, 1, 0)}, {false}};
  v1::ConvertDataOptions options;
  options.set_chunk_samples(64);
  const tests::HeapPeak peak;
  const auto data = ConvertDataSet(
      options, {absl::string_view(npz)}, inputs,
      [](std::optional<int64_t> bytes) {
        return absl::ResourceExhaustedError(absl::StrCat(bytes.value_or(-1)));
      });
  EXPECT_EQ(data.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(data.status().message().find("8388608"), std::string::npos);
  EXPECT_LT(peak.bytes(), 2 * kMebibyte);
}

// What follows the samples of use is read for the checksum.
TEST(UnpackingTest, DamageBehindTheLimitIsNoticed) {
  std::string values(3000, '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<char>(i * i % 251);
  }
  std::string npz = Npz({{"x", Bytes({3000, 1}, values)}});
  const size_t late = npz.size() / 2;
  npz[late] = static_cast<char>(npz[late] ^ 0x55);
  const ModelInputs inputs{{Type(v1::UINT8, {1, 1}, 1, 0)}, {false}};
  v1::ConvertDataOptions options;
  options.set_chunk_samples(2);
  options.set_limit(2);
  const auto data = ConvertDataSet(options, {absl::string_view(npz)}, inputs);
  EXPECT_EQ(Reason(data.status()), "DATA_CORRUPT");
}

TEST(LabelsTest, BeyondTheLimitAreNotLookedAt) {
  const std::string npz =
      Npz({{"x", U8({3, 1}, {1, 2, 3})}, {"y", I8({3}, {4, -1, -9})}});
  const auto load = [&](int64_t limit) {
    return LoadDataSet({npz}, {.input_names = {"in"}, .limit = limit});
  };
  EXPECT_EQ(Reason(load(0).status()), "DATA_INVALID");
  const auto two = load(2);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(two->labels, (std::vector<int32_t>{4, -1}));
  EXPECT_EQ(two->samples, 3);
  EXPECT_EQ(two->wanted, 2);
}

}  // namespace
}  // namespace edgekiln::compiler
