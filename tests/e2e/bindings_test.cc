// What an ONNX file leaves open, fixed on the command line: --bind,
// --bind-input, --external-data.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/npz_writer.h"

namespace edgekiln::tests {
namespace {

using compiler::onnx_import::TestModel;
using Shape = std::vector<int64_t>;

constexpr char kTarget[] = "dla-64-o-512k";

template <typename T>
NpyArray Array(const char* dtype, Shape shape, const std::vector<T>& values) {
  return {dtype, std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()),
                      values.size() * sizeof(T))};
}

std::string Integers(const std::vector<int64_t>& values) {
  return NpyBytes(Array("<i8", {static_cast<int64_t>(values.size())}, values));
}

std::string Floats(const std::vector<float>& values) {
  return Array("<f4", {}, values).data;
}

// y = relu(x), x[2,N].
std::string Symbolic() {
  TestModel model;
  return model.Input("x", {2, -1})
      .Output("y")
      .Node("Relu", {"x"}, {"y"})
      .bytes();
}

// y = relu(reshape(x[1,4], shape[3])).
std::string Reshaping() {
  TestModel model;
  model.Input("x", {1, 4})
      .TypedInput("shape", onnx::TensorProto::INT64, {3})
      .Output("y")
      .Node("Reshape", {"x", "shape"}, {"r"})
      .Node("Relu", {"r"}, {"y"});
  return model.bytes();
}

// y = x + w, x[1,4]; w[4] is in another file.
std::string External(const std::string& location) {
  TestModel model;
  model.Input("x", {1, 4}).Floats("w", {4}, {}).Output("y");
  model.Node("Add", {"x", "w"}, {"y"});
  onnx::TensorProto* w = model.proto().mutable_graph()->mutable_initializer(0);
  w->set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto* entry = w->add_external_data();
  entry->set_key("location");
  entry->set_value(location);
  return model.bytes();
}

class BindingsTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    sandbox().Write("symbolic.onnx", Symbolic());
    sandbox().Write("reshaping.onnx", Reshaping());
    sandbox().Write("external.onnx", External("weights.bin"));
    sandbox().Write("climbing.onnx", External("../weights.bin"));
    sandbox().Write("absolute.onnx", External("/etc/passwd"));
    sandbox().Write("fixed.tflite", std::string("\x1c\0\0\0TFL3", 8));
    sandbox().Write("shape.npy", Integers({1, 2, 2}));
    sandbox().Write("flat.npy", Integers({1, 4, 1}));
    sandbox().Write("pair.npy", Integers({2, 2}));
    sandbox().Write("five.npy", Integers({1, 5, 1}));
    sandbox().Write("real.npy", NpyBytes(Array<float>("<f4", {3}, {1, 2, 2})));
    sandbox().Write("text.npy", "no array");
    sandbox().Write("weights.bin", Floats({1, 2, 3, 4}));
    sandbox().Write("other.bin", Floats({5, 6, 7, 8}));
    sandbox().Write("short.bin", Floats({1, 2, 3}));
    sandbox().Write(
        "x.npz",
        NpzBytes({{"x", Array<float>("<f4", {1, 4}, {10, 20, 30, 40})}}));
  }

  // "@name" is the file of that name in the sandbox.
  static std::vector<std::string> Command(
      const std::string& command, const std::string& model,
      const std::vector<std::string>& options) {
    std::vector<std::string> out = {command, "@" + model};
    out.insert(out.end(), options.begin(), options.end());
    for (std::string& word : out) {
      word = absl::StrReplaceAll(word, {{"@", sandbox().Path("")}});
    }
    return out;
  }

  static v1::ModelDescription Inspect(const std::string& model,
                                      std::vector<std::string> options) {
    options.push_back("--json");
    return DescriptionOf(cluster().Cli(Command("inspect", model, options)));
  }

  // The output y for the samples of x.npz.
  static std::vector<float> Run(const std::string& model,
                                std::vector<std::string> options) {
    options.insert(options.end(), {"--data", "@x.npz", "-o", "@y.npz"});
    const Outcome outcome = cluster().Cli(Command("run", model, options));
    EXPECT_EQ(outcome.exit_code, 0) << outcome;
    return NpzOf(sandbox().Path("y.npz"))["y"].As<float>();
  }
};

Shape ShapeOf(const v1::ModelDescription::Port& value) {
  return {value.shape().begin(), value.shape().end()};
}

TEST_F(BindingsTest, ADimensionIsBoundByNameOrByPlace) {
  for (const char* binding : {"N=5", "x:1=5"}) {
    const v1::ModelDescription model =
        Inspect("symbolic.onnx", {"--bind", binding});
    EXPECT_EQ(ShapeOf(model.inputs(0)), Shape({2, 5})) << binding;
    EXPECT_EQ(ShapeOf(model.outputs(0)), Shape({2, 5})) << binding;
  }
}

TEST_F(BindingsTest, ABoundInputIsNoInputAnyMore) {
  for (const auto& [file, shape] : {std::pair("shape", Shape{1, 2, 2}),
                                    std::pair("flat", Shape{1, 4, 1})}) {
    const v1::ModelDescription model =
        Inspect("reshaping.onnx",
                {"--bind-input", std::string("shape=@") + file + ".npy"});
    ASSERT_EQ(model.inputs_size(), 1);
    EXPECT_EQ(model.inputs(0).name(), "x");
    EXPECT_EQ(ShapeOf(model.outputs(0)), shape) << file;
  }
}

// Not only questions about a model: jobs, too.
TEST_F(BindingsTest, JobsTakeThem) {
  const v1::Report report = ReportOf(
      cluster().Cli(Command("profile", "reshaping.onnx",
                            {"--bind-input", "shape=@shape.npy", "--target",
                             kTarget, "--json", "--quiet"})));
  EXPECT_GT(report.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
}

// Another file is another model, whatever the caches hold.
TEST_F(BindingsTest, ExternalWeightsAreThoseOfTheFile) {
  EXPECT_EQ(Run("external.onnx", {"--external-data", "@weights.bin"}),
            (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(Run("external.onnx", {"--external-data", "weights.bin=@other.bin"}),
            (std::vector<float>{15, 26, 37, 48}));
}

// A location is a name to be matched, never a path to be opened.
TEST_F(BindingsTest, ALocationIsOnlyAName) {
  EXPECT_EQ(
      Run("climbing.onnx", {"--external-data", "../weights.bin=@weights.bin"}),
      (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(
      Run("absolute.onnx", {"--external-data", "/etc/passwd=@weights.bin"}),
      (std::vector<float>{11, 22, 33, 44}));
}

struct BadCase {
  const char* name;
  const char* model;
  std::vector<std::string> options;
  int exit_code;
  const char* reason;
  // Parts of the message, where a reader finds the cause and the way out.
  std::vector<std::string> names;
  friend void PrintTo(const BadCase& c, std::ostream* out) { *out << c.name; }
};

class BadBindingTest : public BindingsTest,
                       public testing::WithParamInterface<BadCase> {};

TEST_P(BadBindingTest, SaysWhatAndHowToMendIt) {
  const BadCase& param = GetParam();
  const v1::ErrorDetail error =
      FailureOf(cluster(), Command("inspect", param.model, param.options),
                param.exit_code);
  EXPECT_EQ(error.reason(), param.reason);
  EXPECT_EQ(error.fault(), v1::ErrorDetail::USER);
  EXPECT_FALSE(error.where().empty()) << TextOf(error);
  for (const std::string& name : param.names) EXPECT_NAMES(error, name);
  EXPECT_TRUE(cluster().DaemonIsUp());
}

const std::vector<BadCase>& BadCases() {
  static const auto* const kCases = new std::vector<BadCase>{
      {"OpenDimension",
       "symbolic.onnx",
       {},
       1,
       "SHAPE_DYNAMIC",
       {"dimension 1 ('N')", "graph input 'x'", "--bind 'N=EXTENT'"}},
      {"UnknownDimension",
       "symbolic.onnx",
       {"--bind", "M=5"},
       1,
       "BINDING_INVALID",
       {"'M'", "one of 'N'", "--bind 'M=5'"}},
      {"FixedDimension",
       "symbolic.onnx",
       {"--bind", "x:0=5"},
       1,
       "BINDING_INVALID",
       {"'x:0'", "one of 'N'"}},
      {"DimensionTwice",
       "symbolic.onnx",
       {"--bind", "N=5", "--bind", "N=6"},
       1,
       "BINDING_INVALID",
       {"--bind 'N' is given twice"}},
      {"NoExtent",
       "symbolic.onnx",
       {"--bind", "N"},
       2,
       "USAGE",
       {"'N'", "NAME=EXTENT", "--bind batch=1"}},
      {"ZeroExtent",
       "symbolic.onnx",
       {"--bind", "N=0"},
       2,
       "USAGE",
       {"'N=0'", "at least 1"}},
      {"HugeExtent",
       "symbolic.onnx",
       {"--bind", "N=99999999999"},
       1,
       "MODEL_INVALID",
       {"[2,99999999999]", "graph input 'x'"}},
      {"BoundInTflite",
       "fixed.tflite",
       {"--bind", "N=1"},
       1,
       "BINDING_INVALID",
       {"--bind is for ONNX", "leave --bind out"}},
      {"UnboundInput",
       "reshaping.onnx",
       {},
       1,
       "OP_UNSUPPORTED",
       {"'shape'", "--bind-input 'shape=FILE'"}},
      {"UnknownInput",
       "reshaping.onnx",
       {"--bind-input", "ghost=@shape.npy"},
       1,
       "BINDING_INVALID",
       {"'ghost'", "one of 'x', 'shape'"}},
      {"WrongType",
       "reshaping.onnx",
       {"--bind-input", "shape=@real.npy"},
       1,
       "BINDING_INVALID",
       {"FLOAT32[3]", "INT64[3]", "graph input 'shape'"}},
      {"WrongShape",
       "reshaping.onnx",
       {"--bind-input", "shape=@pair.npy"},
       1,
       "BINDING_INVALID",
       {"INT64[2]", "INT64[3]", "graph input 'shape'"}},
      {"WrongValue",
       "reshaping.onnx",
       {"--bind-input", "shape=@five.npy"},
       1,
       "MODEL_INVALID",
       {"[1,4]", "[1,5,1]"}},
      {"NoArray",
       "reshaping.onnx",
       {"--bind-input", "shape=@text.npy"},
       1,
       "BINDING_INVALID",
       {"neither an .npy", "graph input 'shape'"}},
      {"InputTwice",
       "reshaping.onnx",
       {"--bind-input", "shape=@shape.npy", "--bind-input", "shape=@flat.npy"},
       1,
       "BINDING_INVALID",
       {"--bind-input 'shape' is given twice"}},
      {"InputWithoutFile",
       "reshaping.onnx",
       {"--bind-input", "shape"},
       2,
       "USAGE",
       {"'shape'", "NAME=FILE"}},
      {"AbsentInputFile",
       "reshaping.onnx",
       {"--bind-input", "shape=@absent.npy"},
       2,
       "USAGE",
       {"absent.npy", "--bind-input"}},
      {"NoExternalFile",
       "external.onnx",
       {},
       1,
       "MODEL_INVALID",
       {"tensor 'w'", "'weights.bin'", "--external-data 'weights.bin=FILE'"}},
      {"OtherExternalFile",
       "external.onnx",
       {"--external-data", "@other.bin"},
       1,
       "BINDING_INVALID",
       {"'other.bin'", "one of 'weights.bin'", "--external-data"}},
      {"ShortExternalFile",
       "external.onnx",
       {"--external-data", "weights.bin=@short.bin"},
       1,
       "MODEL_INVALID",
       {"tensor 'w'", "16", "12", "--external-data 'weights.bin=FILE'"}},
      {"ExternalFileTwice",
       "external.onnx",
       {"--external-data", "@weights.bin", "--external-data",
        "weights.bin=@other.bin"},
       1,
       "BINDING_INVALID",
       {"--external-data 'weights.bin' is given twice"}},
      {"AbsentExternalFile",
       "external.onnx",
       {"--external-data", "weights.bin=@absent.bin"},
       2,
       "USAGE",
       {"absent.bin", "--external-data"}},
      // Nobody opens what a model names; /etc/passwd is there.
      {"LocationOutsideOfTheUpload",
       "climbing.onnx",
       {},
       1,
       "MODEL_INVALID",
       {"tensor 'w'", "'../weights.bin'", "did not come"}},
      {"AbsoluteLocation",
       "absolute.onnx",
       {},
       1,
       "MODEL_INVALID",
       {"tensor 'w'", "'/etc/passwd'", "did not come"}},
  };
  return *kCases;
}

INSTANTIATE_TEST_SUITE_P(All, BadBindingTest, testing::ValuesIn(BadCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::tests
