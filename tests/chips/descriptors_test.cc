// The descriptors of every chip: presets resolve, every number says where it
// is from, and no key can be misspelt unnoticed.

#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/resolve.h"
#include "tests/chips/chip_cases.h"

namespace edgekiln::tests {
namespace {

using testing::HasSubstr;

std::string TextOf(const std::string& name) {
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    if (builtin.name == name) return builtin.text;
  }
  ADD_FAILURE() << "no built-in " << name;
  return "";
}

// "key" of a line "key: value" or "key {"; "" if it is none.
std::string KeyOf(const std::string& line) {
  const std::string text(absl::StripAsciiWhitespace(line));
  size_t end = 0;
  while (end < text.size() &&
         (absl::ascii_isalnum(text[end]) || text[end] == '_')) {
    ++end;
  }
  const bool is_key = end > 0 && (text.compare(end, 1, ":") == 0 ||
                                  text.compare(end, 1, "{") == 0 ||
                                  text.compare(end, 2, " {") == 0);
  return is_key ? text.substr(0, end) : "";
}

class DescriptorsTest : public testing::TestWithParam<const ChipCase*> {
 protected:
  DescriptorsTest() : lines_(absl::StrSplit(Complete(), '\n')) {}

  static std::string Complete() { return TextOf(GetParam()->targets[0]); }

  // The complete descriptor with line `at` replaced.
  std::string With(size_t at, const std::string& line) const {
    std::vector<std::string> lines = lines_;
    lines[at] = line;
    return absl::StrJoin(lines, "\n");
  }

  std::vector<std::string> lines_;
};

TEST_P(DescriptorsTest, EveryTargetResolves) {
  for (const std::string& name : GetParam()->targets) {
    const auto target = target::ResolveTarget(TextOf(name));
    ASSERT_TRUE(target.ok()) << name << ": " << target.status();
    EXPECT_EQ(target->name(), name);
  }
}

TEST_P(DescriptorsTest, AMisspeltKeyIsRefusedByName) {
  int keys = 0;
  for (size_t at = 0; at < lines_.size(); ++at) {
    const std::string key = KeyOf(lines_[at]);
    if (key.empty()) continue;
    std::string line = lines_[at];
    line.insert(line.find(key) + key.size(), "x");
    const absl::Status status = target::ResolveTarget(With(at, line)).status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("unknown key \"", key, "x\"")))
        << "line " << at + 1;
    ++keys;
  }
  EXPECT_GT(keys, 50);
}

TEST_P(DescriptorsTest, EveryNumberSaysWhereItIsFrom) {
  int numbers = 0;
  for (size_t at = 0; at < lines_.size(); ++at) {
    if (KeyOf(lines_[at]) != "provenance") continue;
    const absl::Status status = target::ResolveTarget(With(at, "")).status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("provenance is missing"))
        << "line " << at + 1;
    ++numbers;
  }
  EXPECT_GT(numbers, 10);
}

INSTANTIATE_TEST_SUITE_P(Chips, DescriptorsTest, testing::ValuesIn(AllChips()),
                         [](const auto& info) { return info.param->name; });

TEST(AllDescriptorsTest, EveryBuiltinTargetIsSomeChips) {
  std::set<std::string> tested;
  for (const ChipCase& chip : ChipCases()) {
    tested.insert(chip.targets.begin(), chip.targets.end());
  }
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    EXPECT_EQ(tested.count(builtin.name), 1u) << builtin.name;
  }
}

}  // namespace
}  // namespace edgekiln::tests
