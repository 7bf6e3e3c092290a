// The descriptors of every chip: presets resolve, and no key can be misspelt or
// dropped unnoticed.

#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/resolve.h"
#include "tests/chips/chip_cases.h"
#include "tests/support/message_keys.h"

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

// What a descriptor without a key resolves to.
enum class Resolves {
  kTheSame,
  kAnotherChip,
  kEither,  // By whether the chip, or only a preset, has the pattern.
};

// Keys that may be left out: what their absence means is a legal chip.
struct Absence {
  const char* path;
  Resolves resolves;
  const char* means;
};

const Absence kAbsences[] = {
    {"doc", Resolves::kTheSame, "prose"},
    {"parameters.doc", Resolves::kTheSame, "prose"},
    {"parameters.unit", Resolves::kTheSame, "prose"},
    {"parameters.source", Resolves::kTheSame, "prose; provenance is not"},
    {"engines.isa.commands.doc", Resolves::kTheSame, "prose"},
    {"parameters.min", Resolves::kTheSame, "may be set to 0, too"},
    {"parameters.default_value", Resolves::kAnotherChip,
     "is 0, where the range has it"},
    {"presets", Resolves::kTheSame, "no named variants"},
    {"presets.set", Resolves::kTheSame, "a variant by name only"},
    {"presets.set.value", Resolves::kTheSame, "is 0, where the range has it"},
    {"recipes", Resolves::kAnotherChip, "only the recipe \"default\""},
    {"recipes.tile", Resolves::kAnotherChip, "a recipe that decides nothing"},
    {"recipes.separate_requantization", Resolves::kAnotherChip,
     "a recipe that fuses requantization"},
    {"host.name", Resolves::kAnotherChip, "reports have none for it"},
    {"engines.patterns", Resolves::kAnotherChip, "an engine without work"},
    {"engines.patterns.when_expr", Resolves::kEither,
     "every variant has the pattern"},
    {"engines.isa.commands.when_expr", Resolves::kEither,
     "every variant has the command"},
    {"engines.patterns.most_kernel_padding", Resolves::kAnotherChip,
     "kernels are taken as they are"},
    {"engines.patterns.phases_expr", Resolves::kAnotherChip,
     "strides are taken as they are"},
    {"engines.patterns.where", Resolves::kEither,
     "no condition but those that registers imply"},
    {"engines.patterns.numerics.per_channel", Resolves::kEither,
     "weights have one scale"},
    {"engines.patterns.numerics.activation_zero_points", Resolves::kEither,
     "they are 0"},
    {"engines.patterns.numerics.weight_zero_points", Resolves::kEither,
     "weights are symmetric"},
    {"engines.patterns.numerics.weight_values", Resolves::kEither,
     "any weights, if the job takes them"},
    {"engines.patterns.numerics.converter.min", Resolves::kEither,
     "codes begin at 0"},
    {"engines.patterns.numerics.converter.max", Resolves::kEither,
     "codes end at 0"},
    {"engines.patterns.numerics.converter.max_shift", Resolves::kEither,
     "codes are not shifted"},
    {"engines.jobs.jobs.weight_values", Resolves::kAnotherChip,
     "any weights are taken"},
    {"engines.jobs.status_done", Resolves::kAnotherChip, "the bits are 0"},
    {"memories.alignment_bytes", Resolves::kAnotherChip, "to single bytes"},
    {"memories.base_address", Resolves::kEither, "is 0"},
    {"constraints", Resolves::kTheSame, "any values within their ranges"},
    {"constraints.message", Resolves::kTheSame, "prose"},
    {"engines.patterns.numerics.plain_clamps", Resolves::kAnotherChip,
     "results may be limited anywhere"},
    {"engines.jobs.registers.doc", Resolves::kTheSame, "prose"},
    {"engines.jobs.registers.offset", Resolves::kEither, "is 0"},
    {"engines.jobs.registers.low_bit", Resolves::kEither, "is 0"},
    {"engines.jobs.registers.in_record", Resolves::kAnotherChip,
     "it is one of the window"},
    {"engines.jobs.job_cycles_expr", Resolves::kAnotherChip, "no cycles"},
    {"engines.jobs.jobs.operands.terms", Resolves::kAnotherChip,
     "an axis of extent 1 needs none"},
    {"engines.jobs.jobs.operands.reversed_bytes", Resolves::kAnotherChip,
     "bytes lie as terms say"},
    {"engines.jobs.jobs.operands.staged_in", Resolves::kAnotherChip,
     "no memory bounds the job"},
    {"links.granule_bytes", Resolves::kAnotherChip, "single bytes"},
    {"links.window", Resolves::kAnotherChip, "beside jobs"},
    {"recipes.round_trips", Resolves::kAnotherChip,
     "tensors stay in shared memory"},
    {"recipes.host_rooms", Resolves::kAnotherChip,
     "host kernels keep nothing in memory"},
    {"recipes.host_rooms.bytes_expr", Resolves::kEither,
     "no bytes, where there is code"},
    {"recipes.host_rooms.code_bytes_expr", Resolves::kEither,
     "no code, where there are bytes"},
    {"recipes.ports_stay", Resolves::kAnotherChip,
     "memory of inputs and outputs serves others, too"},
    {"recipes.narrowest_weights", Resolves::kAnotherChip,
     "weights take the form that is faster"},
    {"engines.jobs.jobs.operands.cell_rows.last_row_first",
     Resolves::kAnotherChip, "the first row comes first"},
};

const Absence* FindAbsence(const std::string& path) {
  for (const Absence& absence : kAbsences) {
    if (path == absence.path) return &absence;
  }
  return nullptr;
}

// Calls `check` with the path of each key and what the descriptor resolves to
// without it.
template <typename Check>
void ForDroppedKeys(const std::string& text, const Check& check) {
  auto descriptor = target::ParseDescriptor(text);
  ASSERT_TRUE(descriptor.ok()) << descriptor.status();
  ForKeys(&*descriptor, "", [&](const std::string& path) {
    std::string rest;
    ASSERT_TRUE(
        google::protobuf::TextFormat::PrintToString(*descriptor, &rest));
    check(path, target::ResolveTarget(rest));
  });
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

TEST(AllDescriptorsTest, EveryTargetResolves) {
  for (const ChipCase& chip : ChipCases()) {
    for (const std::string& name : chip.targets) {
      const auto target = target::ResolveTarget(TextOf(name));
      ASSERT_TRUE(target.ok()) << name << ": " << target.status();
      EXPECT_EQ(target->name(), name);
    }
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

TEST_P(DescriptorsTest, ADroppedKeyIsRefusedByNameOrMeansAnotherChip) {
  const auto whole = target::ResolveTarget(Complete());
  ASSERT_TRUE(whole.ok()) << whole.status();
  int keys = 0;
  ForDroppedKeys(Complete(), [&](const std::string& path, const auto& without) {
    ++keys;
    if (!without.ok()) {
      const std::string key = path.substr(path.rfind('.') + 1);
      EXPECT_THAT(std::string(without.status().message()), HasSubstr(key))
          << "dropped: " << path;
      return;
    }
    const Absence* const absence = FindAbsence(path);
    ASSERT_NE(absence, nullptr) << path << " can be dropped unnoticed";
    if (absence->resolves == Resolves::kEither) return;
    EXPECT_EQ(without->SerializeAsString() == whole->SerializeAsString(),
              absence->resolves == Resolves::kTheSame)
        << path << ": " << absence->means;
  });
  EXPECT_GT(keys, 100);
}

// Each complete descriptor once.
std::vector<const ChipCase*> WithDescriptorsOfTheirOwn() {
  std::set<std::string> seen;
  std::vector<const ChipCase*> chips = AllChips();
  std::erase_if(chips, [&seen](const ChipCase* chip) {
    return !seen.insert(chip->targets[0]).second;
  });
  return chips;
}

INSTANTIATE_TEST_SUITE_P(Chips, DescriptorsTest,
                         testing::ValuesIn(WithDescriptorsOfTheirOwn()),
                         [](const auto& info) { return info.param->name; });

TEST(AllDescriptorsTest, EveryAbsenceIsSomeChips) {
  std::set<std::string> absent;
  for (const ChipCase* chip : WithDescriptorsOfTheirOwn()) {
    ForDroppedKeys(TextOf(chip->targets[0]),
                   [&](const std::string& path, const auto& without) {
                     if (without.ok()) absent.insert(path);
                   });
  }
  for (const Absence& absence : kAbsences) {
    EXPECT_EQ(absent.count(absence.path), 1u)
        << absence.path << " cannot be dropped: take it off the list";
  }
}

TEST(AllDescriptorsTest, EveryBuiltinTargetIsSomeChips) {
  std::set<std::string> tested;
  for (const ChipCase& chip : ChipCases()) {
    tested.insert(chip.targets.begin(), chip.targets.end());
  }
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    const auto resolved = target::ResolveTarget(builtin.text);
    ASSERT_TRUE(resolved.ok()) << resolved.status();
    // What runs C has tests of its own: target/firmware_test.cc, c_targets.
    if (resolved->machine().has_firmware()) continue;
    EXPECT_EQ(tested.count(builtin.name), 1u) << builtin.name;
  }
}

}  // namespace
}  // namespace edgekiln::tests
