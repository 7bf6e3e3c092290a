// The file formats: what is read, what is refused and with which reason.

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/dataset/data_set.h"
#include "compiler/dataset/idx.h"
#include "compiler/dataset/inflate.h"
#include "compiler/dataset/little_endian.h"
#include "compiler/dataset/npz.h"
#include "gtest/gtest.h"
#include "tests/support/npz.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

std::string NpyFile(const std::string& dictionary, const std::string& values,
                    char version = 1) {
  std::string out("\x93NUMPY", 6);
  out += version;
  out += '\0';
  if (version == 1) {
    AppendAs<uint16_t>(static_cast<uint16_t>(dictionary.size()), out);
  } else {
    AppendAs<uint32_t>(static_cast<uint32_t>(dictionary.size()), out);
  }
  return out + dictionary + values;
}

std::string Dictionary(const std::string& descr, const std::string& shape,
                       const std::string& order = "False") {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", order,
                      ", 'shape': ", shape, ", }\n");
}

std::string Reason(const absl::Status& status) {
  const auto detail = GetErrorDetail(status);
  return detail ? detail->reason : status.ToString();
}

struct NpyCase {
  std::string name;
  std::string file;
  std::string want;  // "type shape: values", or the reason of the error.
};

std::string Describe(const absl::StatusOr<NpyArray>& array) {
  if (!array.ok()) return Reason(array.status());
  std::string out =
      absl::StrCat(NpyTypeName(array->type), " ", ShapeText(array->shape), ":");
  for (int64_t i = 0; i < array->elements(); ++i) {
    absl::StrAppend(&out, " ", NpyValue(*array, i));
  }
  return out;
}

class NpyTest : public testing::TestWithParam<NpyCase> {};

TEST_P(NpyTest, Gives) {
  EXPECT_EQ(Describe(ParseNpy(GetParam().file, "x")), GetParam().want);
}

const NpyCase kNpyCases[] = {
    {"Uint8", NpyFile(Dictionary("|u1", "(2, 1)"), "\x01\xff"),
     "uint8 2x1: 1 255"},
    {"Int8", NpyFile(Dictionary("|i1", "(2,)"), "\x01\xff"), "int8 2: 1 -1"},
    {"OneByteTypesMaySayLittleEndian",
     NpyFile(Dictionary("<i1", "(1,)"), "\x02"), "int8 1: 2"},
    {"Bool", NpyFile(Dictionary("|b1", "(2,)"), std::string("\x00\x01", 2)),
     "bool 2: 0 1"},
    {"Scalar", NpyFile(Dictionary("<i2", "()"), "\xfe\xff"),
     "int16 scalar: -2"},
    {"Uint16", NpyFile(Dictionary("<u2", "(1,)"), "\xfe\xff"),
     "uint16 1: 65534"},
    {"Half",
     NpyFile(Dictionary("<f2", "(3,)"),
             std::string("\x00\x3c\x00\xc0\x01\x00", 6)),
     "float16 3: 1 -2 5.96046e-08"},
    {"Float32",
     NpyFile(Dictionary("<f4", "(1,)"), std::string("\x00\x00\xc0\x3f", 4)),
     "float32 1: 1.5"},
    {"Version2", NpyFile(Dictionary("|u1", "(1,)"), "a", 2), "uint8 1: 97"},
    {"Version3", NpyFile(Dictionary("|u1", "(1,)"), "a", 3), "uint8 1: 97"},
    {"Python2Extents", NpyFile(Dictionary("|u1", "(1L, 2L)"), "ab"),
     "uint8 1x2: 97 98"},
    {"FortranOrderIsTurned",
     NpyFile(Dictionary("|u1", "(2, 3)", "True"), "\x01\x04\x02\x05\x03\x06"),
     "uint8 2x3: 1 2 3 4 5 6"},
    {"Empty", NpyFile(Dictionary("|u1", "(0, 3)"), ""), "uint8 0x3:"},
    {"Nothing", "", "DATA_CORRUPT"},
    {"OtherMagic", NpyFile("", "").replace(1, 1, "X"), "DATA_CORRUPT"},
    {"Version9", NpyFile(Dictionary("|u1", "(1,)"), "a", 9),
     "DATA_UNSUPPORTED"},
    {"HeaderLongerThanFile", std::string("\x93NUMPY\x01\x00\xff\xff{", 11),
     "DATA_CORRUPT"},
    {"HugeVersion2Header", std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12),
     "DATA_CORRUPT"},
    {"CutVersion2Header", std::string("\x93NUMPY\x02\x00\x01\x00", 10),
     "DATA_CORRUPT"},
    {"BigEndian", NpyFile(Dictionary(">i2", "(1,)"), "ab"), "DATA_UNSUPPORTED"},
    {"Text", NpyFile(Dictionary("<U1", "(1,)"), "abcd"), "DATA_UNSUPPORTED"},
    {"Object", NpyFile(Dictionary("|O", "(1,)"), "abcdefgh"),
     "DATA_UNSUPPORTED"},
    {"Structured",
     NpyFile(
         "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }",
         "abcd"),
     "DATA_UNSUPPORTED"},
    {"TooFewValues", NpyFile(Dictionary("|u1", "(3,)"), "ab"), "DATA_CORRUPT"},
    {"TooManyValues", NpyFile(Dictionary("|u1", "(1,)"), "ab"), "DATA_CORRUPT"},
    {"ProductOverflows",
     NpyFile(Dictionary("<i8", "(4294967296, 4294967296)"), ""),
     "DATA_CORRUPT"},
    {"BytesOverflow", NpyFile(Dictionary("<i8", "(1152921504606846976,)"), ""),
     "DATA_CORRUPT"},
    {"ExtentOverflows",
     NpyFile(Dictionary("|u1", "(99999999999999999999,)"), ""), "DATA_CORRUPT"},
    {"NegativeExtent", NpyFile(Dictionary("|u1", "(-1,)"), ""), "DATA_CORRUPT"},
    {"NineDimensions", NpyFile(Dictionary("|u1", "(1,1,1,1,1,1,1,1,1)"), "a"),
     "DATA_UNSUPPORTED"},
    {"MissingKey", NpyFile("{'descr': '|u1', 'shape': (1,), }", "a"),
     "DATA_CORRUPT"},
    {"RepeatedKey", NpyFile("{'shape': (1,), 'shape': (1,), }", "a"),
     "DATA_CORRUPT"},
    {"UnknownKey",
     NpyFile("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'z': 1}",
             "a"),
     "DATA_CORRUPT"},
    {"CodeAfterDictionary", NpyFile(Dictionary("|u1", "(1,)") + "+x", "a"),
     "DATA_CORRUPT"},
    {"UnclosedString", NpyFile("{'descr", ""), "DATA_CORRUPT"},
    {"UnclosedTuple", NpyFile("{'shape': (1, ", ""), "DATA_CORRUPT"},
};
INSTANTIATE_TEST_SUITE_P(All, NpyTest, testing::ValuesIn(kNpyCases),
                         [](const auto& info) { return info.param.name; });

NpyArray Bytes(std::vector<int64_t> shape, std::string data) {
  return NpyArray{NpyType::kUint8, std::move(shape), std::move(data)};
}

std::string SmallNpz() {
  const auto npz =
      WriteNpz({{"x", Bytes({2, 2}, "abcd")}, {"y", Bytes({2}, "\x01\x02")}});
  return npz.ok() ? *npz : std::string();
}

TEST(NpzTest, ReadsWhatItWrites) {
  const std::string npz = SmallNpz();
  const auto file = NpzFile::Open(npz);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->names(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(Describe(file->Read("x")), "uint8 2x2: 97 98 99 100");
  EXPECT_EQ(file->Read("z").status().code(), absl::StatusCode::kNotFound);
}

TEST(NpzTest, SameArraysSameBytes) { EXPECT_EQ(SmallNpz(), SmallNpz()); }

TEST(NpzTest, EveryCutIsAnError) {
  const std::string npz = SmallNpz();
  for (size_t size = 0; size < npz.size(); ++size) {
    EXPECT_FALSE(NpzFile::Open(absl::string_view(npz).substr(0, size)).ok())
        << size;
  }
}

// A changed byte must never crash, and never change a value unnoticed.
TEST(NpzTest, EveryFlippedByteIsNoticedOrHarmless) {
  const std::string npz = SmallNpz();
  int refused = 0;
  for (size_t at = 0; at < npz.size(); ++at) {
    std::string bad = npz;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    const auto file = NpzFile::Open(bad);
    const auto array = file.ok() ? file->Read("x") : file.status();
    if (array.ok()) {
      EXPECT_EQ(array->data, "abcd") << at;
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(npz.size() / 3));
}

struct ZipCase {
  std::string name;
  std::function<void(std::string& npz, size_t central, size_t end)> damage;
  std::string want;
};

void Put32(std::string& s, size_t at, uint32_t v) { StoreAs(v, s.data() + at); }
void Put16(std::string& s, size_t at, uint16_t v) { StoreAs(v, s.data() + at); }

class ZipTest : public testing::TestWithParam<ZipCase> {};

TEST_P(ZipTest, IsRefused) {
  std::string npz = SmallNpz();
  GetParam().damage(npz, npz.find("PK\x01\x02"), npz.find("PK\x05\x06"));
  const auto file = NpzFile::Open(npz);
  const auto array = file.ok() ? file->Read("x") : file.status();
  ASSERT_FALSE(array.ok());
  EXPECT_EQ(Reason(array.status()), GetParam().want) << array.status();
}

const ZipCase kZipCases[] = {
    {"Encrypted", [](auto& z, size_t c, size_t) { Put16(z, c + 8, 1); },
     "DATA_UNSUPPORTED"},
    {"OtherMethod", [](auto& z, size_t c, size_t) { Put16(z, c + 10, 14); },
     "DATA_UNSUPPORTED"},
    {"Bomb", [](auto& z, size_t c, size_t) { Put32(z, c + 24, 0xfffffff0); },
     "DATA_CORRUPT"},
    {"ShorterThanAnnounced",
     [](auto& z, size_t c, size_t) { Put32(z, c + 24, 4096); }, "DATA_CORRUPT"},
    {"LongerThanAnnounced",
     [](auto& z, size_t c, size_t) { Put32(z, c + 24, 100); },
     "DATA_TOO_LARGE"},
    {"OffsetOutside",
     [](auto& z, size_t c, size_t) { Put32(z, c + 42, 0x7fffffff); },
     "DATA_CORRUPT"},
    {"StoredOutside",
     [](auto& z, size_t c, size_t) { Put32(z, c + 20, 0x7fffffff); },
     "DATA_CORRUPT"},
    {"WrongChecksum", [](auto& z, size_t c, size_t) { Put32(z, c + 16, 1); },
     "DATA_CORRUPT"},
    {"Zip64Directory",
     [](auto& z, size_t, size_t e) { Put16(z, e + 10, 0xffff); },
     "DATA_UNSUPPORTED"},
    {"TooManyMembers",
     [](auto& z, size_t, size_t e) { Put16(z, e + 10, 5000); },
     "DATA_UNSUPPORTED"},
    {"OneMemberTooMany", [](auto& z, size_t, size_t e) { Put16(z, e + 10, 3); },
     "DATA_CORRUPT"},
    {"DirectoryElsewhere",
     [](auto& z, size_t, size_t e) { Put32(z, e + 16, 3); }, "DATA_CORRUPT"},
    {"SizeInMissingZip64Field",
     [](auto& z, size_t c, size_t) { Put32(z, c + 24, 0xffffffff); },
     "DATA_CORRUPT"},
};
INSTANTIATE_TEST_SUITE_P(All, ZipTest, testing::ValuesIn(kZipCases),
                         [](const auto& info) { return info.param.name; });

TEST(InflateTest, StopsAtTheAnnouncedSize) {
  const std::string deflated = DeflateRaw(std::string(10 << 20, 'a'));
  EXPECT_EQ(Reason(InflateRaw(deflated, 1000, "bomb").status()),
            "DATA_TOO_LARGE");
  const auto all = InflateRaw(deflated, 10 << 20, "x");
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), size_t{10 << 20});
}

const std::string kIdxImages =
    std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02", 16) + "abcd";
const std::string kIdxLabels =
    std::string("\0\0\x08\x01\0\0\0\x02", 8) + "\x07\x03";

std::string Gzip(const std::string& bytes) {
  std::string gzip("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  gzip += DeflateRaw(bytes);
  for (const uint32_t word :
       {Crc32(bytes), static_cast<uint32_t>(bytes.size())}) {
    for (int shift = 0; shift < 32; shift += 8) {
      gzip += static_cast<char>(word >> shift);
    }
  }
  return gzip;
}

struct IdxCase {
  std::string name;
  std::string file;
  std::string want;
};
class IdxTest : public testing::TestWithParam<IdxCase> {};
TEST_P(IdxTest, Gives) {
  EXPECT_EQ(Describe(ParseIdx(GetParam().file, "images")), GetParam().want);
}
const IdxCase kIdxCases[] = {
    {"Images", kIdxImages, "uint8 2x1x2: 97 98 99 100"},
    {"BigEndianShorts",
     std::string("\0\0\x0b\x01\0\0\0\x02\x01\x02\xff\xfe", 12),
     "int16 2: 258 -2"},
    {"Cut", kIdxImages.substr(0, 19), "DATA_CORRUPT"},
    {"TooLong", kIdxImages + "e", "DATA_CORRUPT"},
    {"CutHeader", kIdxImages.substr(0, 9), "DATA_CORRUPT"},
    {"NoDimensions", std::string("\0\0\x08\0", 4), "DATA_CORRUPT"},
    {"UnknownType", std::string("\0\0\x0a\x01\0\0\0\x01z", 9),
     "DATA_UNSUPPORTED"},
    {"HugeExtents",
     std::string("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                 16),
     "DATA_CORRUPT"},
    {"ManyDimensions", std::string("\0\0\x08\xff", 4), "DATA_UNSUPPORTED"},
    {"BrokenGzip", "\x1f\x8b nonsense", "DATA_CORRUPT"},
    {"Gzip", Gzip(kIdxImages), "uint8 2x1x2: 97 98 99 100"},
    {"GzipCut", Gzip(kIdxImages.substr(0, 19)), "DATA_CORRUPT"},
    // A bomb is not unpacked further than its header says.
    {"GzipTooLong", Gzip(kIdxImages + std::string(9'000'000, '\0')),
     "DATA_TOO_LARGE"},
    {"GzipCutHeader", Gzip(kIdxImages.substr(0, 9)), "DATA_CORRUPT"},
    // 16 million bytes of values cannot be in so few.
    {"GzipClaimsTooMuch",
     Gzip(std::string("\0\0\x08\x02\0\0\x10\0\0\0\x10\0", 12)), "DATA_CORRUPT"},
};
INSTANTIATE_TEST_SUITE_P(All, IdxTest, testing::ValuesIn(kIdxCases),
                         [](const auto& info) { return info.param.name; });

struct SetCase {
  std::string name;
  std::vector<std::string> files;
  std::vector<std::string> inputs;
  bool prefer_names;
  std::string want;
};

std::string Npz(std::vector<std::pair<std::string, NpyArray>> arrays) {
  const auto npz = WriteNpz(arrays);
  return npz.ok() ? *npz : std::string();
}

std::string DescribeSet(const absl::StatusOr<DataSet>& set) {
  if (!set.ok()) return Reason(set.status());
  std::string out = absl::StrCat(set->samples, " samples;");
  for (const StoredArray& array : set->arrays) {
    absl::StrAppend(&out, " ", array.name, " *", array.scale[0], " +",
                    array.offset[0]);
  }
  for (const int32_t label : set->labels.value_or(std::vector<int32_t>{})) {
    absl::StrAppend(&out, " y", label);
  }
  return out;
}

class DataSetTest : public testing::TestWithParam<SetCase> {};
TEST_P(DataSetTest, Gives) {
  const std::vector<absl::string_view> files(GetParam().files.begin(),
                                             GetParam().files.end());
  EXPECT_EQ(DescribeSet(
                LoadDataSet(files, GetParam().inputs, GetParam().prefer_names)),
            GetParam().want);
}

// The values are damaged, so reading them would tell.
TEST(LoadDataSetTest, RefusesByTheHeaderBeforeUnpacking) {
  std::string npz =
      Npz({{"x", Bytes({100, 30000}, std::string(3000000, 'a'))}});
  ASSERT_GT(npz.size(), 1000u);
  const size_t late = npz.size() / 2;
  npz[late] = static_cast<char>(npz[late] ^ 0x55);
  const std::vector<std::string> inputs = {"in"};
  const std::vector<absl::string_view> files = {npz};
  const auto unpacked = LoadDataSet(files, inputs, false);
  ASSERT_FALSE(unpacked.ok());
  EXPECT_NE(Reason(unpacked.status()), "DATA_SHAPE");
  const auto refused = LoadDataSet(files, inputs, false, {{28, 28, 1}});
  EXPECT_EQ(Reason(refused.status()), "DATA_SHAPE");
  EXPECT_NE(refused.status().message().find("28x28x1"),
            absl::string_view::npos);
  EXPECT_NE(refused.status().message().find("30000"), absl::string_view::npos);
}

TEST(LoadDataSetTest, FactorsAndLabelsAreBoundedByTheirHeaders) {
  const NpyArray x = Bytes({2, 1}, "ab");
  const NpyArray much = Bytes({3000000}, std::string(3000000, 'a'));
  const std::vector<std::string> inputs = {"in"};
  const struct {
    const char* array;
    const char* reason;
  } cases[] = {{"x_scale", "DATA_INVALID"}, {"y", "DATA_SHAPE"}};
  for (const auto& c : cases) {
    std::string npz = Npz({{"x", x}, {c.array, much}});
    const size_t late = npz.size() / 2;
    npz[late] = static_cast<char>(npz[late] ^ 0x55);
    const auto set = LoadDataSet({npz}, inputs, false, {{1}});
    EXPECT_EQ(Reason(set.status()), c.reason) << c.array << set.status();
  }
}

const NpyArray kX = Bytes({2, 1}, "ab");
const NpyArray kHalf{NpyType::kFloat32, {}, std::string("\0\0\0\x3f", 4)};
const NpyArray kNan{NpyType::kFloat32, {}, std::string("\0\0\xc0\x7f", 4)};

const SetCase kSetCases[] = {
    {"X", {Npz({{"x", kX}})}, {"in"}, false, "2 samples; x *1 +0"},
    {"ScaleAndLabels",
     {Npz({{"x", kX},
           {"x_scale", kHalf},
           {"x_offset", kHalf},
           {"y", Bytes({2}, "ab")}})},
     {"in"},
     false,
     "2 samples; x *0.5 +0.5 y97 y98"},
    {"ByName", {Npz({{"in", kX}})}, {"in"}, false, "2 samples; in *1 +0"},
    {"XFirst",
     {Npz({{"in", kX}, {"x", kX}})},
     {"in"},
     false,
     "2 samples; x *1 +0"},
    {"NameFirst",
     {Npz({{"in", kX}, {"x", kX}})},
     {"in"},
     true,
     "2 samples; in *1 +0"},
    {"TwoInputs",
     {Npz({{"b", kX}, {"a", kX}})},
     {"a", "b"},
     true,
     "2 samples; a *1 +0 b *1 +0"},
    {"NoSuchArray", {Npz({{"z", kX}})}, {"in"}, false, "DATA_ARRAY_MISSING"},
    {"XIsNotForTwoInputs",
     {Npz({{"x", kX}})},
     {"a", "b"},
     false,
     "DATA_ARRAY_MISSING"},
    {"DifferentSamples",
     {Npz({{"a", kX}, {"b", Bytes({1, 1}, "a")}})},
     {"a", "b"},
     false,
     "DATA_SHAPE"},
    {"NoSamples",
     {Npz({{"x", Bytes({0, 1}, "")}})},
     {"in"},
     false,
     "DATA_SHAPE"},
    {"ScalarX", {Npz({{"x", Bytes({}, "a")}})}, {"in"}, false, "DATA_SHAPE"},
    {"NanScale",
     {Npz({{"x", kX}, {"x_scale", kNan}})},
     {"in"},
     false,
     "DATA_INVALID"},
    {"LabelsOfOtherLength",
     {Npz({{"x", kX}, {"y", Bytes({1}, "a")}})},
     {"in"},
     false,
     "DATA_SHAPE"},
    {"FloatLabels",
     {Npz(
         {{"x", Bytes({1, 1}, "a")}, {"y", {NpyType::kFloat32, {1}, "abcd"}}})},
     {"in"},
     false,
     "DATA_INVALID"},
    {"LabelBelowNone",
     {Npz({{"x", Bytes({1, 1}, "a")}, {"y", {NpyType::kInt8, {1}, "\xfe"}}})},
     {"in"},
     false,
     "DATA_INVALID"},
    {"IdxPair",
     {kIdxImages, kIdxLabels},
     {"in"},
     false,
     "2 samples; IDX images *1 +0 y7 y3"},
    {"IdxImagesOnly",
     {kIdxImages},
     {"in"},
     false,
     "2 samples; IDX images *1 +0"},
    {"IdxTheWrongWayRound",
     {kIdxLabels, kIdxImages},
     {"in"},
     false,
     "DATA_INVALID"},
    {"Noise", {"noise"}, {"in"}, false, "DATA_FORMAT"},
    {"TwoNpz", {SmallNpz(), SmallNpz()}, {"in"}, false, "DATA_FORMAT"},
};
INSTANTIATE_TEST_SUITE_P(All, DataSetTest, testing::ValuesIn(kSetCases),
                         [](const auto& info) { return info.param.name; });

// The shape of gzip IDX is checked before its values are unpacked: these are
// damaged, and nobody gets to notice.
TEST(DataSetShapeTest, GzipIdxIsRefusedByItsHeader) {
  const std::string head("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02", 16);
  const std::string images = Gzip(head);  // Without values.
  const std::string labels = Gzip(kIdxLabels);
  const std::string three(Gzip(std::string("\0\0\x08\x01\0\0\0\x03", 8)));
  const auto load = [](std::vector<absl::string_view> files, int64_t width) {
    return Reason(LoadDataSet(files, {"in"}, false, {{1, width}}).status());
  };
  EXPECT_EQ(load({images}, 3), "DATA_SHAPE");
  EXPECT_EQ(load({images, three}, 2), "DATA_SHAPE");
  EXPECT_EQ(load({images, labels}, 2), "DATA_CORRUPT");
}

// NumPy's own files, against a reader written apart.
TEST(SharedFilesTest, AgreesWithTheTestReader) {
  for (const char* name :
       {"data/kws_500.npz", "data/mnist_2k.npz", "data/ad_windows.npz",
        "models/golden/yunet_s_fp32.npz"}) {
    EK_REQUIRE_SHARED(name);
    const std::string path = tests::SharedPath(name);
    const std::string bytes = tests::ReadWholeFile(path);
    const auto file = NpzFile::Open(bytes);
    ASSERT_TRUE(file.ok()) << file.status();
    const auto want = tests::ReadNpz(path);
    ASSERT_TRUE(want.ok()) << want.status();
    EXPECT_FALSE(want->empty());
    for (const auto& [array, values] : *want) {
      const auto got = file->Read(array);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(got->data, values.data) << array;
      EXPECT_EQ(got->shape, values.shape) << array;
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
