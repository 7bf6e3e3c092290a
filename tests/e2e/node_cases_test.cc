// ONNX's own node tests (Debian: libonnx-testdata) as somebody runs them: a
// model, an .npz of inputs, an .npz of outputs, through command line, daemon
// and worker. What the interpreter passes must pass here. Minutes long.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/conformance_onnx/conformance_case.h"
#include "tests/conformance_onnx/skip_list.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/npz_writer.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Tensor;

constexpr char kNodeCases[] = "/usr/share/libonnx-testdata/data/node/";

struct Dtype {
  v1::ElementType type;
  const char* name;
};

constexpr Dtype kDtypes[] = {
    {v1::BOOL, "|b1"},    {v1::INT8, "|i1"},    {v1::UINT8, "|u1"},
    {v1::INT16, "<i2"},   {v1::UINT16, "<u2"},  {v1::INT32, "<i4"},
    {v1::UINT32, "<u4"},  {v1::INT64, "<i8"},   {v1::UINT64, "<u8"},
    {v1::FLOAT16, "<f2"}, {v1::FLOAT32, "<f4"}, {v1::FLOAT64, "<f8"},
};

// One sample of a data set.
NpyArray Sample(const Tensor& tensor) {
  NpyArray array;
  for (const Dtype& dtype : kDtypes) {
    if (dtype.type == tensor.type) array.dtype = dtype.name;
  }
  array.shape = tensor.shape;
  // A batch of 1 is the axis of samples; else that comes in front.
  if (array.shape.size() < 2 || array.shape[0] != 1) {
    array.shape.insert(array.shape.begin(), 1);
  }
  array.data = std::string(*tensor.data);
  return array;
}

Tensor TensorOf(const NpyArray& array, std::vector<int64_t> shape) {
  Tensor tensor;
  for (const Dtype& dtype : kDtypes) {
    if (dtype.name == array.dtype) tensor.type = dtype.type;
  }
  tensor.shape = std::move(shape);
  tensor.data = compiler::ConstantData(array.data);
  return tensor;
}

class NodeCasesTest : public ClusterTest {
 protected:
  // `run`, its inputs bound as its errors ask.
  static Outcome Run(const std::string& folder, const CaseValues& values) {
    std::set<std::string> bound;
    while (true) {
      std::vector<std::string> arguments = {"run",
                                            absl::StrCat(folder, "/model.onnx"),
                                            "-o", sandbox().Path("out.npz")};
      std::map<std::string, NpyArray> arrays;
      for (const CaseValues::Value& input : values.inputs) {
        if (bound.contains(input.name)) {
          arguments.emplace_back("--bind-input");
          arguments.push_back(absl::StrCat(input.name, "=", input.file));
        } else {
          arrays[input.name] = Sample(input.tensor);
        }
      }
      if (!arrays.empty()) {
        const std::string data = sandbox().Path("in.npz");
        EXPECT_TRUE(WriteNpz(data, arrays).ok());
        arguments.insert(arguments.end(), {"--data", data});
      }
      Outcome outcome = cluster().Cli(arguments);
      const size_t before = bound.size();
      if (outcome.exit_code != 0) bound.merge(InputsToBind(outcome.err));
      if (bound.size() == before) return outcome;
    }
  }

  static absl::Status Check(const CaseValues& values) {
    const auto arrays = NpzOf(sandbox().Path("out.npz"));
    for (const CaseValues::Value& output : values.outputs) {
      const auto found = arrays.find(output.name);
      if (found == arrays.end()) {
        return absl::NotFoundError(absl::StrCat("no array ", output.name));
      }
      if (found->second.size() != output.tensor.num_elements()) {
        return absl::InternalError(
            absl::StrCat(found->second.size(), " values of ", output.name));
      }
      absl::Status same = CompareValues(
          TensorOf(found->second, output.tensor.shape), output.tensor);
      if (!same.ok()) return same;
    }
    return absl::OkStatus();
  }
};

TEST_F(NodeCasesTest, RunThroughTheCommandLine) {
  if (!std::filesystem::exists(kNodeCases)) {
    EK_SKIP(
        absl::StrCat("there is no ", kNodeCases, ": install libonnx-testdata"));
  }
  const auto skipped = ParseSkipList(
      ReadWholeFile(SourcePath("tests/conformance_onnx/skipped.txt")));
  ASSERT_TRUE(skipped.ok()) << skipped.status();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kNodeCases)) {
    const std::string name = entry.path().filename();
    if (!skipped->contains("node/" + name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  int passed = 0;
  for (const std::string& name : names) {
    const auto values = ReadCaseValues(kNodeCases + name);
    ASSERT_TRUE(values.ok()) << name << ": " << values.status();
    const Outcome run = Run(kNodeCases + name, *values);
    if (run.exit_code != 0) {
      ADD_FAILURE() << name << ": " << run;
      continue;
    }
    const absl::Status same = Check(*values);
    EXPECT_TRUE(same.ok()) << name << ": " << same.message();
    passed += same.ok() ? 1 : 0;
  }
  std::cout << passed << " of " << names.size() << " node cases pass\n";
}

}  // namespace
}  // namespace edgekiln::tests
