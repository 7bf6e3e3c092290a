#include "compiler/passes/testing/rewrite_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

std::string RandomValues(const Tensor& tensor, Rng& random) {
  std::string bytes;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (tensor.type == v1::FLOAT32) {
      const float value =
          static_cast<float>(static_cast<int>(random.Next() % 2001) - 1000) /
          256;
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    } else {
      for (int64_t k = 0; k < ElementBytes(tensor.type); ++k) {
        bytes.push_back(static_cast<char>(random.Next()));
      }
    }
  }
  return bytes;
}

void ExpectClose(const std::string& a, const std::string& b,
                 const std::string& output) {
  ASSERT_EQ(a.size(), b.size()) << output;
  if (a.empty()) return;  // Then there is no address to copy to.
  std::vector<float> x(a.size() / sizeof(float));
  std::vector<float> y(x.size());
  std::memcpy(x.data(), a.data(), a.size());
  std::memcpy(y.data(), b.data(), b.size());
  float largest = 0;
  for (const float value : x) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < x.size(); ++i) {
    // Written so that NaN fails.
    ASSERT_TRUE(std::abs(x[i] - y[i]) <= 1e-5f * largest + 1e-6f)
        << output << " element " << i << ": " << x[i] << " and " << y[i];
  }
}

}  // namespace

void ExpectSameOutputs(const Graph& a, const Graph& b, uint64_t seed) {
  Rng random(seed);
  std::vector<std::string> values;
  for (const TensorId id : a.inputs) {
    values.push_back(RandomValues(a.tensors[id], random));
  }
  const std::vector<absl::string_view> inputs(values.begin(), values.end());
  const auto from_a = Evaluate(a, inputs);
  const auto from_b = Evaluate(b, inputs);
  ASSERT_TRUE(from_a.ok()) << from_a.status();
  ASSERT_TRUE(from_b.ok()) << from_b.status();
  ASSERT_EQ(from_a->size(), from_b->size());
  for (size_t i = 0; i < from_a->size(); ++i) {
    const Tensor& output = a.tensors[a.outputs[i]];
    const Tensor& other = b.tensors[b.outputs[i]];
    EXPECT_EQ(output.name, other.name);
    EXPECT_EQ(output.shape, other.shape);
    if (output.type == v1::FLOAT32) {
      ExpectClose((*from_a)[i], (*from_b)[i], output.name);
    } else {
      EXPECT_EQ((*from_a)[i], (*from_b)[i]) << output.name;
    }
  }
}

void ExpectRewrite(const Pass& pass, const RewriteCase& row) {
  const absl::StatusOr<Graph> before = ParseGraph(row.before);
  ASSERT_TRUE(before.ok()) << before.status();
  const bool rewrites = row.after[0] != '\0';
  Graph after = *before;
  const absl::StatusOr<Changed> changed = pass.Run(PassContext{}, after);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(*changed == Changed::kYes, rewrites);
  const absl::Status verified = VerifyGraph(after);
  ASSERT_TRUE(verified.ok()) << verified << "\n" << PrintGraph(after);
  if (rewrites) {
    ASSERT_TRUE(NewRemoveDeadOpsPass()->Run(PassContext{}, after).ok());
  }
  const absl::StatusOr<Graph> expected =
      ParseGraph(rewrites ? row.after : row.before);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(PrintGraph(after), PrintGraph(*expected));
  ExpectSameOutputs(*before, after, /*seed=*/1);
}

}  // namespace edgekiln::compiler
