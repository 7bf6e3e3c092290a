// docs/check.md has every field of the project file and of --json, and no
// other.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/check/rules.h"
#include "edgekiln/v1/check.pb.h"
#include "edgekiln/v1/project.pb.h"
#include "tests/support/golden.h"

namespace edgekiln::client {
namespace {

std::vector<std::string> Lines() {
  std::ifstream file(tests::SourcePath("docs/check.md"));
  std::stringstream all;
  all << file.rdbuf();
  return absl::StrSplit(all.str(), '\n');
}

// The words in backticks of a table's first column.
std::set<std::string> Words(const std::string& row) {
  std::set<std::string> words;
  const std::vector<std::string> cells = absl::StrSplit(row, " | ");
  const std::vector<std::string> parts = absl::StrSplit(cells[0], '`');
  for (size_t i = 1; i < parts.size(); i += 2) words.insert(parts[i]);
  return words;
}

// By the word in backticks of the title "| field of `X` |": all fields.
std::map<std::string, std::set<std::string>> Documented() {
  std::map<std::string, std::set<std::string>> found;
  std::string name;
  for (const std::string& line : Lines()) {
    if (!absl::StartsWith(line, "|")) {
      name.clear();
    } else if (absl::StartsWith(line, "| field of `")) {
      name = *Words(line).begin();
    } else if (!name.empty()) {
      found[name].merge(Words(line));
    }
  }
  return found;
}

// Filled in by the client, not by people.
bool IsInternal(const google::protobuf::FieldDescriptor& field) {
  return field.name() == "digest";
}

TEST(CheckDocsTest, HasEveryFieldAndNoOther) {
  const std::map<std::string, std::set<std::string>> documented = Documented();
  std::set<std::string> seen;
  for (const google::protobuf::Descriptor* type :
       {v1::Project::descriptor(),
        v1::ProjectGroup::descriptor(),
        v1::Project::Regression::descriptor(),
        v1::SweepModel::descriptor(),
        v1::SweepFile::descriptor(),
        v1::SweepTarget::descriptor(),
        v1::SweepVary::descriptor(),
        v1::SweepExclude::descriptor(),
        v1::SweepOptions::descriptor(),
        v1::SweepGates::descriptor(),
        v1::ProjectStart::descriptor(),
        v1::CheckResult::descriptor(),
        v1::CheckResult::Counts::descriptor(),
        v1::CheckCell::descriptor(),
        v1::CheckCell::MemoryAmount::descriptor(),
        v1::CheckBaseline::descriptor(),
        v1::CheckBaseline::Layer::descriptor(),
        v1::CheckFinding::descriptor(),
        v1::CheckNote::descriptor(),
        v1::CheckPlace::descriptor()}) {
    const std::string name(type->name());
    ASSERT_TRUE(documented.contains(name)) << name;
    EXPECT_TRUE(seen.insert(name).second) << name;
    std::set<std::string> fields;
    for (int i = 0; i < type->field_count(); ++i) {
      if (!IsInternal(*type->field(i))) {
        fields.emplace(type->field(i)->name());
      }
    }
    EXPECT_EQ(absl::StrJoin(documented.at(name), " "),
              absl::StrJoin(fields, " "))
        << name;
  }
  for (const auto& [name, fields] : documented) {
    EXPECT_TRUE(seen.contains(name)) << name << " is not a message of these";
  }
}

TEST(CheckDocsTest, HasEveryRuleWithItsLevel) {
  std::map<std::string, std::string> documented;
  bool in_table = false;
  for (const std::string& line : Lines()) {
    if (!absl::StartsWith(line, "|")) in_table = false;
    if (absl::StartsWith(line, "| rule | level |")) in_table = true;
    if (!in_table) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    for (const std::string& word : Words(line)) documented[word] = cells[1];
  }
  std::map<std::string, std::string> rules;
  for (const CheckRule& rule : CheckRules()) rules[rule.id] = rule.level;
  EXPECT_EQ(documented, rules);
}

}  // namespace
}  // namespace edgekiln::client
