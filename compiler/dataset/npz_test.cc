// Archives of arrays: .npz, the zip and the deflated bytes in it.

#include "compiler/dataset/npz.h"

#include <functional>
#include <string>
#include <vector>

#include "compiler/dataset/inflate.h"
#include "compiler/dataset/little_endian.h"
#include "compiler/dataset/testing/test_data.h"
#include "gtest/gtest.h"
#include "tests/support/npz.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

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

TEST(InflateTest, GivesTheFirstBytesOfWhatIsCutOff) {
  std::string deflated = DeflateRaw("0123456789");
  EXPECT_EQ(InflateRawPrefix(deflated, 4, "x").value(), "0123");
  EXPECT_EQ(InflateRawPrefix(deflated, 99, "x").value(), "0123456789");
  EXPECT_EQ(InflateRawPrefix("", 4, "x").value(), "");
  deflated.resize(deflated.size() / 2);
  const std::string some = InflateRawPrefix(deflated, 99, "x").value();
  EXPECT_LT(some.size(), 10u);
  EXPECT_EQ(some, std::string("0123456789").substr(0, some.size()));
  EXPECT_EQ(Reason(InflateRaw(deflated, 10, "x").status()), "DATA_CORRUPT");
  deflated[0] = '\xff';
  EXPECT_EQ(Reason(InflateRawPrefix(deflated, 4, "x").status()),
            "DATA_CORRUPT");
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
