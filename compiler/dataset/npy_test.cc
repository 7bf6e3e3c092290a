#include "compiler/dataset/npy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "compiler/dataset/little_endian.h"
#include "compiler/dataset/testing/test_data.h"
#include "gtest/gtest.h"

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

struct NpyCase {
  std::string name;
  std::string file;
  std::string want;  // "type shape: values", or the reason of the error.
};

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
    {"BigEndian", NpyFile(Dictionary(">i2", "(2,)"), "\x01\x02\xff\xfe"),
     "int16 2: 258 -2"},
    {"BigEndianFloat",
     NpyFile(Dictionary(">f4", "(1,)"), std::string("\x3f\xc0\x00\x00", 4)),
     "float32 1: 1.5"},
    {"Uint32", NpyFile(Dictionary("<u4", "(1,)"), "\xff\xff\xff\xff"),
     "uint32 1: 4.29497e+09"},
    {"Uint64",
     NpyFile(Dictionary("<u8", "(1,)"), std::string("\x02\0\0\0\0\0\0\0", 8)),
     "uint64 1: 2"},
    {"EmptyBigEndian", NpyFile(Dictionary(">f8", "(2, 0)"), ""),
     "float64 2x0:"},
    {"Complex", NpyFile(Dictionary("<c8", "(1,)"), "abcdefgh"),
     "DATA_UNSUPPORTED"},
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

}  // namespace
}  // namespace edgekiln::compiler
